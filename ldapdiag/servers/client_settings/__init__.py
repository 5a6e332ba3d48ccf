"""The cure on the side of clients: what LDAP clients must set to use no connection that was closed or dropped."""
