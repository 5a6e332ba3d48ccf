"""ldapdiag: who holds an LDAP server's connections, which are dead at the other end, and what to set."""

__version__ = "0.1.0"
