"""Proof: how certain it is that connections are dead (docs/how-it-decides.md, "What proves one")."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from ldapdiag.analysis.pairing.direction import Direction, Severed


@dataclass(frozen=True, slots=True)
class Proof:
    """The degree, as in docs/contract.md, and the sentence that gives the reason."""

    degree: Literal["certain", "likely", "possible"]
    because: str


def proof_of(direction: Direction) -> Proof:
    """Return how certain it is that a direction's ghosts are dead.

    Certain needs a proof of every one. Their absence in the client's table is none, since a table shows one network
    namespace.
    """
    ghosts, evidence = direction.ghosts, direction.evidence
    if ghosts.ports is None:
        return Proof(
            "possible",
            "Their number is known, but not which they are: some of the absent connections may just have closed.",
        )
    if because := _certain(direction):
        return Proof("certain", because)
    clients = " or ".join(direction.client_hosts)
    unanswered = evidence.probes_unanswered + evidence.retransmitting
    proven = f" Proven dead, because their probes are unanswered: {unanswered}." if unanswered else ""
    if direction.tables.headerless:
        return Proof("possible", f"A table without its header may be a selection of rows.{proven}")
    if evidence.all_namespaces_read and not (direction.tables.partial or direction.tables.unreadable):
        return Proof("certain", f"Every network namespace of {clients} was read, and none has them.{proven}")
    return Proof(
        "likely",
        f"Not certain: a table shows one network namespace, and a container or zone on {clients} would not be in it."
        f"{_table_limits(direction)}{proven} {_what_would_settle_it(direction)}",
    )


def _what_would_settle_it(direction: Direction) -> str:
    """Return what to collect; an empty table may be that of a host that does not track connections."""
    empty = " and ".join(sorted(direction.path.carriers.empty))
    if empty:
        return (
            f"The flow table of {empty}, on the path, is empty: it would settle it if connections are tracked there "
            "(conntrack -S shows invalid packets, or nft list ruleset a rule with ct)."
        )
    return "The flow table of the middlebox between them would settle it."


def _certain(direction: Direction) -> str | None:
    """Return what proves every ghost of a direction dead; None when nothing does."""
    count, evidence = direction.ghosts.count, direction.evidence
    if evidence.without_flow == count:
        middleboxes = " and ".join(evidence.lost_by or direction.path.middleboxes)
        if not direction.matched:
            return f"{middleboxes} is on the path and has no entry for any of these {count:,}."
        return f"{middleboxes} carries the live connections and has no entry for any of these {count:,}."
    booted = evidence.client.booted
    if evidence.before_boot >= count > 0 and not (booted and booted.assumed):
        clients = " or ".join(direction.client_hosts)
        return f"{clients} has booted since their last segment arrived, so no process on it can have them."
    if evidence.probes_unanswered + evidence.retransmitting >= count:
        return "Keepalive probes or retransmissions of every one are unanswered."
    return None


def _table_limits(direction: Direction) -> str:
    """Return, as sentences, what else the client's table may not show."""
    limits = " lsof lists the sockets that its user may see or asked for." if direction.tables.partial else ""
    if unreadable := direction.tables.unreadable:
        limits += (
            f" {counted(unreadable, 'line')} of the client's table could not be read, and may contain some of them."
        )
    return limits


def proof_of_severed(severed: Severed) -> Proof:
    """Return how certain it is that severed connections are dead, although both ends have them.

    A middlebox without an entry may still accept the next packet, and make an entry then.
    """
    box, count = severed.middlebox, severed.count
    if not severed.unanswered:
        return _proof_of_quiet(severed)
    unanswered = f"Packets of {severed.unanswered:,} of them are unanswered, and {box} has no entry for any."
    if not severed.carries_path:
        degree: Literal["likely", "possible"] = "likely" if severed.is_whole else "possible"
        return Proof(degree, f"{unanswered} Routes lead through {box}; its table has no connection of this path.")
    if severed.unanswered < count:
        return Proof("likely", f"{unanswered} The others have sent nothing since.")
    if not severed.is_timed:
        times = "Not certain: the times of the tables are unknown (captured-at.txt)."
        return Proof("likely", f"{unanswered} {times}")
    return Proof("certain", f"{box} has entries for other connections of this path. {unanswered}")


def _proof_of_quiet(severed: Severed) -> Proof:
    """Return the proof of severed connections of which no end has sent anything since: what drops the next packet."""
    box = severed.middlebox
    sent = "Neither end has sent anything on them since."
    if severed.drops_by_rule:
        drops = f"{sent} The rules of {box} drop a packet of a connection without an entry (nft list ruleset)."
        seen = severed.is_whole and severed.is_timed
        if seen and (severed.carries_path or severed.is_on_both_routes):
            return Proof("certain", f"{drops} Its flow table is whole, and has none for these {severed.count:,}.")
        return Proof("likely", f"{drops} Not certain: its flow table may be a selection.")
    return Proof(
        "likely",
        f"{sent} {box} makes no entry for a packet in the middle of a connection (nf_conntrack_tcp_loose = 0): it "
        "treats the next one as invalid, which a stateful rule set drops (nft list ruleset would show it).",
    )
