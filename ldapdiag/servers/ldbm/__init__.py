"""What 389 Directory Server and DSEE share: the LDIF of their ldbm databases, and its changes."""
