"""The trial search: the one that shows whether an index is used, made of a filter that came out of a log.

Nothing of the log is in it but names that fit their grammar (RFC 4512) and a base that is a DN (RFC 4514); the values
are digits, which nearly every syntax allows.
"""

from __future__ import annotations

import shlex

from ldapdiag.evidence.filter_tree import And, Assertion, AssertionKind, Node, Not, Or
from ldapdiag.remedy import is_attribute_description, is_attribute_type, is_distinguished_name

DIGITS = "123456789"
TIME = "20260101000000Z"
OPERATORS = {
    AssertionKind.EQUALITY: "=",
    AssertionKind.APPROXIMATE: "~=",
    AssertionKind.GREATER: ">=",
    AssertionKind.LESS: "<=",
}


def search_command(tool: str, base: str, scope: str, filter_: Node | None) -> str | None:
    """Return the search that asks like those of a shape did; None where a name in it fits no grammar.

    `tool` is ldapsearch as it reaches the server (`index_remedies.ldapsearch_command`); empty: there is no way.
    """
    asked = _filter(filter_) if filter_ is not None else None
    below = known_part(base)
    if not tool or asked is None or below is None:
        return None
    depth = {"one": "one", "subordinate": "children"}.get(scope, "sub")
    return f"{tool} -LLL -b {shlex.quote(below)} -s {depth} {shlex.quote(asked)} 1.1"


def known_part(base: str) -> str | None:
    """Return the part of a base's class in which no value is left out; None for what is no DN."""
    parts = base.split(",")
    unknown = [place for place, part in enumerate(parts) if part.endswith("=?")]
    below = ",".join(parts[unknown[-1] + 1 :] if unknown else parts)
    return below if not below or is_distinguished_name(below) else None


def _filter(node: Node) -> str | None:
    match node:
        case And(members):
            return _set("&", members)
        case Or(members):
            return _set("|", members)
        case Not(member):
            return _set("!", (member,))
        case Assertion():
            return _assertion(node)


def _set(operator: str, members: tuple[Node, ...]) -> str | None:
    told = [_filter(member) for member in members]
    return None if None in told else f"({operator}{''.join(filter(None, told))})"


def _assertion(asked: Assertion) -> str | None:
    name = ";".join((asked.attribute, *asked.options))
    if not is_attribute_description(name) or (asked.rule and not is_attribute_type(asked.rule)):
        return None
    if asked.kind is AssertionKind.PRESENCE:
        return f"({name}=*)"
    if asked.kind is AssertionKind.SUBSTRING:
        return f"({name}={_pieces(asked)})"
    if asked.kind is AssertionKind.EXTENSIBLE:
        return f"({name}{':dn' if asked.dn else ''}{f':{asked.rule}' if asked.rule else ''}:={DIGITS})"
    value = TIME if name.endswith("timestamp") else DIGITS
    if name == "objectclass" and asked.value is not None:
        value = asked.value
    return f"({name}{OPERATORS[asked.kind]}{value})" if is_attribute_type(value) or value in {TIME, DIGITS} else None


def _pieces(asked: Assertion) -> str:
    """Return pieces as long as those that were asked for."""
    initial, *middle, final = (
        "" if length == 0 else DIGITS[: length or len(DIGITS)] for length in (asked.initial, *asked.middle, asked.final)
    )
    return "*".join((initial, *middle, final)) if middle or initial or final else "*"
