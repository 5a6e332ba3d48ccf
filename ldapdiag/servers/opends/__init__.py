"""What OpenDJ and PingDirectory share: index lookup, candidates, dsconfig."""
