"""The order in which 389-ds goes through a filter: it rearranges the filter before it looks anything up.

    (&(employeeNumber=1)(objectClass=person)(uid=u1))    (&(uid=u1)(employeeNumber=1)(objectClass=person))
    (|(uid=u1)(cn=*a*)(|(sn=x)(mail=*b*)))               (|(mail=*b*)(cn=*a*)(uid=u1)(sn=x))

In an AND equalities go first, last written first, but for objectClass; in an OR what usually has no index does. Sets of
the same kind within each other are one. Only the first set among the members of a set is treated so in its turn, and
nothing within a NOT is. Source: ldap/servers/slapd/filter.c, slapi_filter_optimise(), since ticket 49372.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from ldapdiag.evidence.filter_tree import And, Assertion, AssertionKind, Node, Not, Or

if TYPE_CHECKING:
    from collections.abc import Iterator

OBJECT_CLASS = frozenset({"objectclass", "2.5.4.0"})
FIRST_IN_OR = frozenset({AssertionKind.SUBSTRING, AssertionKind.GREATER, AssertionKind.LESS, AssertionKind.APPROXIMATE})


@dataclass(frozen=True, slots=True)
class LeafPart:
    """An assertion, and where it is written: the how manieth of its filter."""

    assertion: Assertion
    place: int


@dataclass(frozen=True, slots=True)
class Set:
    """A set of parts; `not` has one member."""

    operator: Literal["and", "or", "not"]
    members: tuple[Part, ...]


Part = LeafPart | Set


def as_written(node: Node) -> Part:
    """Return the parts of a filter in the order they are written."""
    return _Placing().part(node)


class _Placing:
    """Numbers the assertions of a filter."""

    def __init__(self) -> None:
        self.placed = 0

    def part(self, node: Node) -> Part:
        match node:
            case And(members):
                return Set("and", tuple(map(self.part, members)))
            case Or(members):
                return Set("or", tuple(map(self.part, members)))
            case Not(member):
                return Set("not", (self.part(member),))
            case Assertion():
                self.placed += 1
                return LeafPart(node, self.placed - 1)


def rearranged(part: Part) -> Part:
    """Return a filter as the server goes through it."""
    if isinstance(part, LeafPart) or part.operator == "not":
        return part
    flat = list(_flat(part))
    first = [one for one in flat if _goes_first(part, one)]
    rest = [one for one in flat if not _goes_first(part, one)]
    members = [*reversed(first), *rest]
    for number, member in enumerate(members):
        if isinstance(member, Set) and member.operator != "not":
            members[number] = rearranged(member)
            break
    return replace(part, members=tuple(members))


def _flat(part: Set) -> Iterator[Part]:
    for member in part.members:
        if isinstance(member, Set) and member.operator == part.operator:
            yield from _flat(member)
        else:
            yield member


def _goes_first(part: Set, member: Part) -> bool:
    if isinstance(member, Set):
        return False
    if part.operator == "or":
        return member.assertion.kind in FIRST_IN_OR
    return member.assertion.kind is AssertionKind.EQUALITY and member.assertion.attribute not in OBJECT_CLASS
