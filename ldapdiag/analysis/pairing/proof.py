"""Proof: how sure one may be that a direction's ghosts are dead, and why (DESIGN, pairing, rule 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from ldapdiag.analysis.pairing.direction import Direction


@dataclass(frozen=True, slots=True)
class Proof:
    """The degree, by the contract's word for it, and the sentence that says why."""

    degree: Literal["certain", "likely", "possible"]
    because: str


def proof_of(direction: Direction) -> Proof:
    """Return how sure it is that a direction's ghosts are dead.

    Certain needs a positive proof of every one; that the client's table lacks them is none, since a table shows one
    network namespace.
    """
    if direction.ghost_ports is None:
        return Proof("possible", "How many is known, but not which: some of the missing ones may just have closed.")
    if direction.box_lacks == direction.ghosts:
        boxes = " and ".join(direction.boxes)
        return Proof(
            "certain", f"{boxes} carries the living ones and has no entry for any of these {direction.ghosts}."
        )
    where = " or ".join(direction.client_hosts)
    if direction.outlived >= direction.ghosts > 0:
        return Proof("certain", f"{where} has booted since they were last heard of: nothing on it can still have them.")
    unanswered = direction.probing + direction.leftovers
    if unanswered >= direction.ghosts:
        return Proof("certain", "Nobody answers the keepalive probes or the last packets of any of them.")
    proven = f" {unanswered} of them are proven: nobody answers their probes." if unanswered else ""
    if direction.selected:
        return Proof("possible", f"A table without its header may be a selection of rows.{proven}")
    if direction.namespaces_read and not (direction.partial or direction.unreadable):
        return Proof("certain", f"Every network namespace of {where} was read, and none has them.{proven}")
    return Proof(
        "likely",
        f"Not certain: a table shows one network namespace, and a container or zone on {where} would not be in it."
        f"{_blind(direction)}{proven} The table of the box between them would settle it.",
    )


def _blind(direction: Direction) -> str:
    """Return what else the client's table may not show."""
    told = " lsof shows the sockets that its user may see, or was asked for." if direction.partial else ""
    if direction.unreadable:
        told += f" {direction.unreadable} lines of the client's table could not be read, and may hold some of them."
    return told
