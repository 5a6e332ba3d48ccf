"""What every printed command is made of: the server's address, the LDAP tools, shell text and sessions."""
