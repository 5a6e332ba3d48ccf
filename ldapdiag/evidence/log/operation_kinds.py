"""The kinds of LDAP operation (RFC 4511, 4.2 to 4.12) as small numbers, since a log has millions of them."""

from __future__ import annotations

BIND, UNBIND, SEARCH, MODIFY, ADD, DELETE, MODRDN, COMPARE, ABANDON, EXTENDED = range(10)

UNKNOWN = -1
"""The kind of a result with an unknown tag."""

NAMES = ("bind", "unbind", "search", "modify", "add", "delete", "modrdn", "compare", "abandon", "extended")
"""Names by kind; the keys of `operations` in the JSON."""

OF_TAG = {97: BIND, 101: SEARCH, 103: MODIFY, 105: ADD, 107: DELETE, 109: MODRDN, 111: COMPARE, 120: EXTENDED}
"""Kinds by the tag of their response, as 389-ds and slapd log it (the BER tag of the protocolOp)."""
