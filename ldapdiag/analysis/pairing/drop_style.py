"""Drop style: how the two ends of a direction's ghosts were separated (docs/how-it-decides.md)."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum

from ldapdiag.analysis.pairing.client_history import NO_HISTORY, ClientHistory, EndCounts
from ldapdiag.lazy_dataclass import NamedTuple, dataclass

MOST_FACTOR, FEW = 2, 10
"""Up to twice the ghosts and 10 resets count them; more have other reasons, too."""


class Style(StrEnum):
    """How the ends were separated, as far as the evidence shows."""

    SILENT_DROP = "silent-drop"
    """A middlebox drops the packets of a connection whose state it has dropped, and notifies neither end."""
    RESET_TO_CLIENT = "reset-to-client"
    """The client received a reset, and the server did not."""
    CLIENT_GONE = "client-gone"
    """The client's host, namespace or process is younger than the connection."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class GhostEvidence:
    """The evidence about a direction's ghosts: how many of them each sign proves, and the history of their client."""

    without_flow: int = 0
    """Ghosts that the table of a middlebox on the path does not contain."""
    lost_by: tuple[str, ...] = ()
    """The middleboxes without entries for them."""
    probes_unanswered: int = 0
    """Ghosts whose keepalive probes are unanswered."""
    retransmitting: int = 0
    """Ghosts whose client has closed and still retransmits its FIN: packets are dropped on the path."""
    before_boot: int = 0
    """Ghosts that received their last segment before their client's host booted."""
    before_start: int = 0
    """Ghosts that received their last segment before any process started that may own the client's connections."""
    not_opened: int = 0
    """Ghosts, at least, that the client's TCP stack cannot have opened since it exists."""
    dropped_since: int = 0
    """Ghosts that the client still had when its counters were first read."""
    still_carried: int = 0
    """Ghosts that the table of a middlebox on the path still contains as established."""
    client: ClientHistory = NO_HISTORY
    """The history of the client's host; NO_HISTORY where there are several hosts."""
    all_namespaces_read: bool = False
    """Every network namespace of the client's host was read."""

    def is_carried_throughout(self, ghosts: int) -> bool:
        """Return whether a middlebox still has all of so many ghosts, and no other lacks all of them."""
        return 0 < ghosts <= self.still_carried and self.without_flow < ghosts


NO_EVIDENCE = GhostEvidence()


def style_of(ghosts: int, evidence: GhostEvidence) -> Style:
    """Return the only style that agrees with the evidence about so many ghosts.

    Retransmissions of the client mean that packets are dropped. So do unanswered probes, unless the client received
    resets: a middlebox may drop the packets of one end and reset the other. A middlebox that still has the connections
    has dropped none, and that another one did is not known.
    """
    if ghosts and _is_client_gone(ghosts, evidence):
        return Style.CLIENT_GONE
    if evidence.is_carried_throughout(ghosts):
        return Style.UNKNOWN
    if evidence.retransmitting:
        return Style.SILENT_DROP
    compared = compared_ends(ghosts, evidence)
    count, ends = compared.ghosts, compared.ends
    enough_aborts = ends.aborted is not None and ends.aborted >= count
    if _agrees(ends.resets, count) and not enough_aborts:
        return Style.RESET_TO_CLIENT
    few_resets = ends.resets_at_most is not None and ends.resets_at_most < count
    if evidence.probes_unanswered or (count and enough_aborts and few_resets):
        return Style.SILENT_DROP
    return Style.UNKNOWN


class ComparedEnds(NamedTuple):
    """How the client's connections ended, and how many ghosts arose in the same time."""

    ghosts: int
    ends: EndCounts
    is_recent: bool


def compared_ends(ghosts: int, evidence: GhostEvidence) -> ComparedEnds:
    """Return the counters to compare with the ghosts: between two readings if ghosts arose then, else since the boot.

    Resets that are counted between two readings without new ghosts have another reason, and their total decides
    nothing.
    """
    total, recent = evidence.client.ends, evidence.client.recent_ends
    if recent is not None and evidence.dropped_since:
        return ComparedEnds(evidence.dropped_since, recent, is_recent=True)
    if recent is not None and recent.resets:
        total = replace(total, resets=None)
    return ComparedEnds(ghosts, total, is_recent=False)


def _agrees(resets: int | None, ghosts: int) -> bool:
    """Return whether resets account for so many ghosts, and hardly for anything else."""
    return resets is not None and 0 < ghosts <= resets <= MOST_FACTOR * ghosts + FEW


def _is_client_gone(ghosts: int, evidence: GhostEvidence) -> bool:
    """Return whether what had the connections is gone: no middlebox is needed to explain the ghosts.

    A boot, and a TCP stack that has opened fewer connections, decide alone. A process that ends closes its connections,
    so that of ghosts older than the processes either the client was lost as a whole, or its FINs were. If the table of
    a middlebox lacks them, it may have dropped its state before, and the start of the processes decides nothing.
    """
    if evidence.before_boot >= ghosts or evidence.not_opened >= ghosts:
        return True
    return evidence.before_start >= ghosts and (evidence.not_opened > 0 or evidence.without_flow < ghosts)
