"""Obstacle: why no new index helps a search; one cause per search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.evidence.filter_tree import And, Assertion, Node, Not, Or, assertions
from ldapdiag.servers.candidates import Cause

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ldapdiag.servers.candidates import Leaf

PRECEDENCE = (
    Cause.UNKNOWN_ATTRIBUTE,
    Cause.NOT_BUILT,
    Cause.UNINDEXABLE,
    Cause.TOO_SHORT,
    Cause.LIMIT,
    Cause.LIMIT_PERHAPS,
    Cause.NONE,
)
"""Of several causes the first of these is reported: those that can be corrected come first."""

OVER_LIMIT = "more entries match than the server keeps in an ID list"
NEGATION = "negation: an index lists the entries that have a value, not those that lack it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """Why no new index helps."""

    cause: Cause
    attribute: str
    """As written in the filter; empty if the assertion names none."""
    text: str
    """The part of the filter, as logged."""
    reason: str
    """A lower-case clause."""
    negated: bool = False
    inferred: bool = False
    """Concluded from the server's behaviour, or for want of a known index; no evidence states it."""
    partial: bool = False
    """Concluded from searches of a part of the database."""


def find_obstacle(filter_: Node, leaf: Callable[[Assertion], Leaf]) -> Obstacle | None:
    """Return the obstacle of highest precedence in a filter; None if none is known. `leaf` simulates an assertion."""
    found = list(_obstacles(filter_, leaf))
    return min(found, key=lambda obstacle: PRECEDENCE.index(obstacle.cause), default=None)


def _obstacles(node: Node, leaf: Callable[[Assertion], Leaf]) -> Iterator[Obstacle]:
    match node:
        case And(members) | Or(members):
            for member in members:
                yield from _obstacles(member, leaf)
        case Not(member):
            negated = next(assertions(member), None)
            if negated is not None:
                text = f"(!{negated.text})" if member is negated else "(!…)"
                yield Obstacle(
                    cause=Cause.UNINDEXABLE, attribute=negated.name, text=text, reason=NEGATION, negated=True
                )
        case Assertion():
            simulated = leaf(node)
            if simulated.cause not in PRECEDENCE:
                return
            reason = OVER_LIMIT if simulated.cause is Cause.LIMIT_PERHAPS else simulated.why
            yield Obstacle(
                cause=simulated.cause,
                attribute=node.name,
                text=node.text,
                reason=reason,
                inferred=simulated.unproven,
            )
