"""An example of the searches of a filter shape, to verify that an index is used.

From the log it contains only attribute names (validated by RFC 4512) and the base DN (RFC 4514); the values are digits,
which nearly every syntax allows, and a word in approximate matches.
"""

from __future__ import annotations

import shlex

from ldapdiag.evidence.filter_tree import And, Assertion, AssertionKind, Node, Not, Or
from ldapdiag.remedy import is_attribute_description, is_attribute_type, is_distinguished_name

DIGITS = "123456789"
WORD = "example"
"""slapd has no phonetic key for digits, and would scan."""
TIME = "20260101000000Z"
OPERATORS = {
    AssertionKind.EQUALITY: "=",
    AssertionKind.APPROXIMATE: "~=",
    AssertionKind.GREATER: ">=",
    AssertionKind.LESS: "<=",
}


def search_command(tool: str, base: str, scope: str, filter_: Node | None) -> str | None:
    """Return an ldapsearch command for a filter shape; None if a name in it is invalid or `tool` is empty.

    `tool` is ldapsearch with its connection options (`index_remedies.ldapsearch_command`).
    """
    example = _filter(filter_) if filter_ is not None else None
    below = known_part(base)
    if not tool or example is None or below is None:
        return None
    depth = {"one": "one", "subordinate": "children"}.get(scope, "sub")
    return f"{tool} -LLL -b {shlex.quote(below)} -s {depth} {shlex.quote(example)} 1.1"


def known_part(base: str) -> str | None:
    """Return the part of a base shape without left-out values (`?`); None if it is not a DN."""
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
    examples = [_filter(member) for member in members]
    return None if None in examples else f"({operator}{''.join(filter(None, examples))})"


def _assertion(assertion: Assertion) -> str | None:
    name = ";".join((assertion.attribute, *assertion.options))
    if not is_attribute_description(name) or (assertion.rule and not is_attribute_type(assertion.rule)):
        return None
    if assertion.kind is AssertionKind.PRESENCE:
        return f"({name}=*)"
    if assertion.kind is AssertionKind.SUBSTRING:
        return f"({name}={_substring_value(assertion)})"
    if assertion.kind is AssertionKind.EXTENSIBLE:
        return f"({name}{':dn' if assertion.dn else ''}{f':{assertion.rule}' if assertion.rule else ''}:={DIGITS})"
    value = TIME if name.endswith("timestamp") else DIGITS
    if assertion.kind is AssertionKind.APPROXIMATE:
        value = WORD
    if name == "objectclass" and assertion.value is not None:
        value = assertion.value
    return (
        f"({name}{OPERATORS[assertion.kind]}{value})" if is_attribute_type(value) or value in {TIME, DIGITS} else None
    )


def _substring_value(assertion: Assertion) -> str:
    """Return substring pieces as long as those of the shape."""
    initial, *middle, final = (
        "" if length == 0 else DIGITS[: length or len(DIGITS)]
        for length in (assertion.initial, *assertion.middle, assertion.final)
    )
    return "*".join((initial, *middle, final)) if middle or initial or final else "*"
