"""The order in which 389-ds evaluates a filter: it rearranges the filter before the index lookup.

    (&(employeeNumber=1)(objectClass=person)(uid=u1))    (&(uid=u1)(employeeNumber=1)(objectClass=person))
    (|(uid=u1)(cn=*a*)(|(sn=x)(mail=*b*)))               (|(mail=*b*)(cn=*a*)(uid=u1)(sn=x))

In an AND the equality assertions except objectClass move to the front in reverse order; in an OR the kinds that usually
have no index do. Nested sets of the same operator are merged. Of the members of a set, only the first set is rearranged
in turn; nothing in a NOT is. Source: slapi_filter_optimise() in ldap/servers/slapd/filter.c, since ticket 49372.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from ldapdiag.evidence.filter_tree import And, Assertion, AssertionKind, Node, Not, Or
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

OBJECT_CLASS = frozenset({"objectclass", "2.5.4.0"})
FIRST_IN_OR = frozenset({AssertionKind.SUBSTRING, AssertionKind.GREATER, AssertionKind.LESS, AssertionKind.APPROXIMATE})


@dataclass(frozen=True, slots=True)
class AssertionPart:
    """An assertion and its position in the filter, from 0."""

    assertion: Assertion
    position: int


@dataclass(frozen=True, slots=True)
class FilterSet:
    """A set of parts; a `not` has one member."""

    operator: Literal["and", "or", "not"]
    members: tuple[FilterPart, ...]


FilterPart = AssertionPart | FilterSet


def as_written(node: Node) -> FilterPart:
    """Return the parts of a filter in the order they are written."""
    return _Numbering().part(node)


class _Numbering:
    """Number the assertions of a filter."""

    def __init__(self) -> None:
        self.count = 0

    def part(self, node: Node) -> FilterPart:
        match node:
            case And(members):
                return FilterSet("and", tuple(map(self.part, members)))
            case Or(members):
                return FilterSet("or", tuple(map(self.part, members)))
            case Not(member):
                return FilterSet("not", (self.part(member),))
            case Assertion():
                self.count += 1
                return AssertionPart(node, self.count - 1)


@lru_cache(maxsize=64)
def in_order(filter_: Node, *, rearranges: bool) -> FilterPart:
    """Return a filter in the order of evaluation; each is asked for with several sets of indexes in a row."""
    part = as_written(filter_)
    return rearranged(part) if rearranges else part


def rearranged(part: FilterPart) -> FilterPart:
    """Return a filter in the order of evaluation."""
    if isinstance(part, AssertionPart) or part.operator == "not":
        return part
    flat = list(_flat(part))
    first = [one for one in flat if _moves_to_front(part, one)]
    rest = [one for one in flat if not _moves_to_front(part, one)]
    members = [*reversed(first), *rest]
    for number, member in enumerate(members):
        if isinstance(member, FilterSet) and member.operator != "not":
            members[number] = rearranged(member)
            break
    return replace(part, members=tuple(members))


def _flat(part: FilterSet) -> Iterator[FilterPart]:
    for member in part.members:
        if isinstance(member, FilterSet) and member.operator == part.operator:
            yield from _flat(member)
        else:
            yield member


def _moves_to_front(part: FilterSet, member: FilterPart) -> bool:
    if isinstance(member, FilterSet):
        return False
    if part.operator == "or":
        return member.assertion.kind in FIRST_IN_OR
    return member.assertion.kind is AssertionKind.EQUALITY and member.assertion.attribute not in OBJECT_CLASS
