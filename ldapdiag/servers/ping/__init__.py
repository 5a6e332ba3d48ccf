"""PingDirectory, formerly UnboundID Directory Server."""
