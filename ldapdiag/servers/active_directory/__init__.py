"""Domain controllers of Active Directory. They have no cn=monitor; the evidence is netstat and the LDAP policies."""
