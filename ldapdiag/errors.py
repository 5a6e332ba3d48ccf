"""Errors shown to the operator: each states what was attempted, on what, why it failed, and what to do next."""


class LdapdiagError(Exception):
    """End a run with one plain line instead of a traceback; the base class of all expected errors."""


class UsageError(LdapdiagError):
    """Report an invalid command line."""
