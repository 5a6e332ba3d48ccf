"""Domain controllers of Active Directory. They have no cn=monitor: netstat and the LDAP policies tell of them."""
