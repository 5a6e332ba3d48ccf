"""OpenDJ and its relatives: OpenDS, Oracle Unified Directory, ForgeRock Directory Services, PingDS."""
