"""The errors people see: each says what was tried, on what, and what to do next."""


class LdapdiagError(Exception):
    """Base of every error that ends a run with one plain line instead of a traceback."""


class UsageError(LdapdiagError):
    """The command line asks for something that does not exist."""
