"""The tree of a search filter (RFC 4511 4.5.1.7, RFC 4515).

    (&(objectClass=person)(cn=*jo*))     And((EQUALITY objectclass "person", SUBSTRING cn middle=(2,)))
    (&(objectClass=person)(cn=*?*))      the same tree of a shape: values and their lengths are unknown
    (cn;lang-fr:caseExactMatch:=x)       EXTENSIBLE cn, options ("lang-fr",), rule "caseexactmatch"
    (?employeeNumber>=10)                slapd could not evaluate it: undefined

Names are in lower case for comparison; `text` is the assertion as logged. A filter is untrusted input: validate a name
before it is used in a command.
"""

from __future__ import annotations

import re
from dataclasses import replace
from enum import StrEnum
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

DEEPEST = 40
"""Nesting depth of sets, as 389-ds' nsslapd-max-filter-nest-level; deeper filters are not parsed."""

MOST_REMEMBERED = 1 << 14
"""Cached trees of shapes, more than a log has rows, and their leaves; a shape is parsed many times in a run."""

ASSERTION = pattern(
    r"(?P<undefined>\??)(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)?(?P<options>(?:;[A-Za-z0-9_=-]+)*)"
    r"(?:(?P<dn>:dn)?(?::(?P<rule>[A-Za-z0-9][A-Za-z0-9._-]*))?(?P<extended>:))?(?P<operator>[~<>]?)=(?P<value>.*)",
    re.DOTALL | re.IGNORECASE,
)
WRITTEN = pattern(r"\(\s*\??([A-Za-z0-9][A-Za-z0-9._-]*)")
HIDDEN = "?"
"""The placeholder of a value in a shape."""
MASKED_CONSTANT = "(?=?)"
"""The shape of what slapd logs for the empty AND and the empty OR of a client (RFC 4526)."""
ESCAPE = pattern(rb"\\([0-9A-Fa-f]{2})")
SHORT_PIECE = 9
"""Octets: substring pieces of this length or longer are treated alike (no server's default keys are longer)."""


class AssertionKind(StrEnum):
    """The kind of an assertion (RFC 4511, 4.5.1.7)."""

    EQUALITY = "equality"
    SUBSTRING = "substring"
    GREATER = "greater-or-equal"
    LESS = "less-or-equal"
    PRESENCE = "presence"
    APPROXIMATE = "approximate"
    EXTENSIBLE = "extensible"


RANGES = frozenset({AssertionKind.GREATER, AssertionKind.LESS})


@dataclass(frozen=True, slots=True)
class Assertion:
    """One assertion: a leaf of the filter tree."""

    kind: AssertionKind
    attribute: str
    """Lower case, without options; empty in an extensible match that names none."""
    text: str
    """As logged, in parentheses."""
    options: tuple[str, ...] = ()
    value: str | None = None
    """None: unknown, as in a shape; always None for a substring assertion."""
    initial: int | None = 0
    """Octets of a substring's initial piece; 0: there is none; None: of unknown length."""
    middle: tuple[int | None, ...] = ()
    final: int | None = 0
    rule: str = ""
    dn: bool = False
    undefined: bool = False
    """slapd could not evaluate the assertion, so it matches nothing; logged with a `?` before the name."""

    @property
    def name(self) -> str:
        """Return the attribute as written, without options."""
        found = WRITTEN.match(self.text)
        return found[1] if found else self.attribute

    @property
    def rule_name(self) -> str:
        """Return the matching rule of an extensible match as written; for 389-ds two spellings are two rules."""
        found = ASSERTION.fullmatch(self.text[1:-1].lstrip())
        return (found["rule"] if found else None) or self.rule

    @property
    def pieces(self) -> tuple[int | None, ...]:
        """Return the lengths of a substring's pieces in order: octets, or None where unknown."""
        return tuple(length for length in (self.initial, *self.middle, self.final) if length != 0)


@dataclass(frozen=True, slots=True)
class And:
    """A conjunction; without members, true (RFC 4526)."""

    members: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """A disjunction; without members, false (RFC 4526)."""

    members: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """A negation."""

    member: Node


Node = And | Or | Not | Assertion


def parse(text: str) -> Node | None:
    """Return the tree of a filter as logged, with values; None if it is truncated, nested too deeply or malformed."""
    return _Parser(text, shape=False).read()


@lru_cache(maxsize=MOST_REMEMBERED)
def _tree_of(shape: str) -> Node | None:
    return _Parser(shape, shape=True).read()


@lru_cache(maxsize=MOST_REMEMBERED)
def parse_shape(text: str, lengths: str = "") -> Node | None:
    """Return the tree of a shape; `lengths` contains one digit (9: 9 or more octets) per substring piece, in order.

    A shape contains equal neighbours of an OR once. Where the number of digits and pieces differ, all pieces get the
    smallest digit.
    """
    tree = _tree_of(text)
    if tree is None or not lengths:
        return tree
    pieces = sum(len(assertion.pieces) for assertion in assertions(tree))
    digits = lengths if len(lengths) == pieces else min(lengths) * pieces
    return _with_lengths(tree, iter(map(int, digits)))


def assertions(node: Node) -> Iterator[Assertion]:
    """Yield the leaves in the order of the text."""
    match node:
        case And(members) | Or(members):
            yield from chain.from_iterable(map(assertions, members))
        case Not(member):
            yield from assertions(member)
        case Assertion():
            yield node


def _with_lengths(node: Node, lengths: Iterator[int]) -> Node:
    match node:
        case And(members):
            return And(tuple(_with_lengths(member, lengths) for member in members))
        case Or(members):
            return Or(tuple(_with_lengths(member, lengths) for member in members))
        case Not(member):
            return Not(_with_lengths(member, lengths))
        case Assertion(kind=AssertionKind.SUBSTRING):
            initial = next(lengths) if node.initial != 0 else 0
            middle = tuple(next(lengths) for _ in node.middle)
            return replace(node, initial=initial, middle=middle, final=next(lengths) if node.final != 0 else 0)
        case _:
            return node


@lru_cache(maxsize=MOST_REMEMBERED)
def _leaf_of_shape(written: str) -> Assertion | None:
    return _Parser(written, shape=True).leaf(written)


class _Parser:
    """A parser of one filter; not recursive, because the client decides how deeply a filter is nested."""

    def __init__(self, text: str, *, shape: bool) -> None:
        self.text = text.strip()
        self.shape = shape

    def read(self) -> Node | None:
        """Return the tree, or None."""
        text = self.text if self.text.startswith("(") else f"({self.text})"
        open_sets: list[tuple[str, list[Node]]] = [("", [])]
        at = 0
        while at < len(text):
            if text[at].isspace():
                at += 1
            elif text[at] == ")":
                operator, members = open_sets.pop()
                node = _set_of(operator, members)
                if not open_sets or node is None:
                    return None
                open_sets[-1][1].append(node)
                at += 1
            elif text[at] != "(":
                return None
            elif text[at + 1 : at + 2] in {"&", "|", "!"}:
                if len(open_sets) > DEEPEST:
                    return None
                open_sets.append((text[at + 1], []))
                at += 2
            else:
                end = text.find(")", at)
                leaf = self._leaf_or_constant(text[at : end + 1], open_sets[-1][0]) if end > 0 else None
                if leaf is None:
                    return None
                open_sets[-1][1].append(leaf)
                at = end + 1
        return open_sets[0][1][0] if len(open_sets) == 1 and len(open_sets[0][1]) == 1 else None

    def _leaf_or_constant(self, written: str, operator: str) -> Node | None:
        """Return an assertion, or one of slapd's constants `(?=true)`, `(?=false)` and `(?=undefined)`.

        A shape contains `(?=?)` for each of them: in a set it is taken for the one that changes nothing there.
        """
        if self.shape and written == MASKED_CONSTANT:
            return _set_of(operator, []) if operator in {"&", "|"} else None
        if written in {"(?=true)", "(?=false)"}:
            return And(()) if "true" in written else Or(())
        if written == "(?=undefined)":
            return Assertion(AssertionKind.EQUALITY, "", written, undefined=True)
        return _leaf_of_shape(written) if self.shape else self.leaf(written)

    def leaf(self, written: str) -> Assertion | None:
        """Return the assertion between two parentheses."""
        found = ASSERTION.fullmatch(written[1:-1].lstrip())
        if found is None or not (found["name"] or found["rule"] or found["dn"]):
            return None
        value = found["value"]
        leaf = Assertion(
            kind=_kind(found["operator"], value, extended=bool(found["extended"])),
            attribute=(found["name"] or "").lower(),
            text=written,
            options=tuple(option for option in found["options"].lower().split(";") if option),
            rule=(found["rule"] or "").lower(),
            dn=bool(found["dn"]),
            undefined=bool(found["undefined"]),
        )
        if leaf.kind is not AssertionKind.SUBSTRING:
            return replace(
                leaf, value=None if self.shape and value == HIDDEN else _octets(value).decode(errors="replace")
            )
        initial, *middle, final = map(self._length, value.split("*"))
        return replace(leaf, initial=initial, middle=tuple(one for one in middle if one != 0), final=final)

    def _length(self, piece: str) -> int | None:
        return None if self.shape and piece == HIDDEN else len(_octets(piece))


def _kind(operator: str, value: str, *, extended: bool) -> AssertionKind:
    if extended:
        return AssertionKind.EXTENSIBLE
    if operator:
        return {"~": AssertionKind.APPROXIMATE, ">": AssertionKind.GREATER, "<": AssertionKind.LESS}[operator]
    if value == "*":
        return AssertionKind.PRESENCE
    return AssertionKind.SUBSTRING if "*" in value else AssertionKind.EQUALITY


def _set_of(operator: str, members: list[Node]) -> Node | None:
    match operator:
        case "&":
            return And(tuple(members))
        case "|":
            return Or(tuple(members))
        case "!" if len(members) == 1:
            return Not(members[0])
    return None


def _octets(value: str) -> bytes:
    """Return the octets of an assertion value, with escapes resolved."""
    return ESCAPE.sub(lambda found: bytes([int(found[1], 16)]), value.encode())
