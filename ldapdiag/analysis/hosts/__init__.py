"""Whose each table is: hosts, their snapshots and the LDAP servers on them."""
