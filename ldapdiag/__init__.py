"""ldapdiag: the owners of an LDAP server's connections, the dead ones among them, missing indexes, and what to set."""

__version__ = "0.1.0"
