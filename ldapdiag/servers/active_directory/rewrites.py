"""What to search for in place of a filter that no index of Active Directory answers. By Microsoft's documentation."""

from __future__ import annotations

from ldapdiag.evidence.filter_tree import Assertion, AssertionKind, parse_shape
from ldapdiag.servers.active_directory.candidates import IN_CHAIN

POSITIVE = (
    "Add an indexed part that few entries match, as in (&(objectCategory=person)(sAMAccountType=805306368){part}) for "
    "the accounts of users, and search below a lower base."
)
IN_CHAIN_INSTEAD = (
    "To test one account, read its tokenGroups with scope base, or search with scope base for the filter {part}. "
    "msds-memberOfTransitive (2012 R2 and later) is read likewise. To list a group, read its member values and "
    "those of the groups among them, one after the other."
)
BITWISE_INSTEAD = (
    "An index of {name} would not be used. Combine {part} with an indexed equality, as in "
    "(&(sAMAccountType=805306368){part}): the server then tests only those entries."
)
OTHER = "1.2.840.113556.1.4.80"
"""The beginning of the OIDs of both bitwise rules."""


def rewrite(part: str, *, negated: bool) -> str:
    """Return what to do about a part of a filter, as logged; empty: nothing but what is true of every product."""
    tree = parse_shape(part)
    if negated or not isinstance(tree, Assertion):
        return POSITIVE.format(part=part)
    if tree.rule == IN_CHAIN:
        return IN_CHAIN_INSTEAD.format(part=part)
    if tree.rule.startswith(OTHER):
        return BITWISE_INSTEAD.format(name=tree.name, part=part)
    if tree.kind is AssertionKind.PRESENCE or tree.attribute == "objectclass":
        return POSITIVE.format(part=part if tree.attribute != "objectclass" else "")
    return ""
