"""The words of each family for the kinds of index, and which kind answers which assertion.

`>=` and `<=` are answered by eq on 389-ds, DSEE and slapd (there, only where the attribute has an ordering rule), by
ordering on OpenDJ and PingDirectory. No index answers an extensible match without further settings.
"""

from __future__ import annotations

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.filter_tree import AssertionKind

SHORT = {
    AssertionKind.EQUALITY: "eq",
    AssertionKind.GREATER: "eq",
    AssertionKind.LESS: "eq",
    AssertionKind.PRESENCE: "pres",
    AssertionKind.SUBSTRING: "sub",
    AssertionKind.APPROXIMATE: "approx",
}
LONG = {
    AssertionKind.EQUALITY: "equality",
    AssertionKind.GREATER: "ordering",
    AssertionKind.LESS: "ordering",
    AssertionKind.PRESENCE: "presence",
    AssertionKind.SUBSTRING: "substring",
    AssertionKind.APPROXIMATE: "approximate",
}

SUBSTRING_KINDS = frozenset({"sub", "subinitial", "subany", "subfinal", "substring"})
"""Every word for an index of substrings, or of some of them."""


def index_type(family: Family | None, kind: AssertionKind) -> str | None:
    """Return the type of index that answers assertions of a kind; None where none does."""
    return (LONG if family in {Family.OPENDJ, Family.PING} else SHORT).get(kind)
