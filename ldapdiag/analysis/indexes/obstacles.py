"""Hindrance: what stands in the way of a search that no new index would help, one cause per search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.evidence.filter_tree import And, Assertion, Node, Not, Or, assertions
from ldapdiag.servers.candidates import Cause

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ldapdiag.servers.candidates import Leaf

GRAVEST = (
    Cause.UNKNOWN_ATTRIBUTE,
    Cause.NOT_BUILT,
    Cause.UNINDEXABLE,
    Cause.TOO_SHORT,
    Cause.LIMIT,
    Cause.LIMIT_PERHAPS,
    Cause.NONE,
)
"""Of several causes the first of these is told: what can be mended before what cannot."""

OVER_LIMIT = "more entries match than the server keeps a list of"


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """Why no index helps."""

    cause: Cause
    attribute: str
    """As written; empty where the assertion names none."""
    text: str
    """The part of the filter, as logged."""
    reason: str
    negated: bool = False
    inferred: bool = False
    """It follows from what the server did, and nothing says so."""


def find_obstacle(filter_: Node, leaf: Callable[[Assertion], Leaf]) -> Obstacle | None:
    """Return what stands in the way; None where nothing is known to."""
    found = list(_hindrances(filter_, leaf))
    return min(found, key=lambda one: GRAVEST.index(one.cause), default=None)


def _hindrances(node: Node, leaf: Callable[[Assertion], Leaf]) -> Iterator[Obstacle]:
    match node:
        case And(members) | Or(members):
            for member in members:
                yield from _hindrances(member, leaf)
        case Not(member):
            negated = next(assertions(member), None)
            if negated is not None:
                yield Obstacle(
                    cause=Cause.UNINDEXABLE,
                    attribute=negated.name,
                    text=f"(!{negated.text})" if member is negated else "(!…)",
                    reason="negation: an index tells who has a value, never who has not",
                    negated=True,
                )
        case Assertion():
            told = leaf(node)
            if told.cause not in GRAVEST:
                return
            why = OVER_LIMIT if told.cause is Cause.LIMIT_PERHAPS else told.why
            yield Obstacle(cause=told.cause, attribute=node.name, text=node.text, reason=why)
