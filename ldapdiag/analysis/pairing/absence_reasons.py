"""Absence reasons: explanations for a connection that the server shows and the client does not, other than a ghost.

Each reason is a pure function of the context and the rows that are still unexplained. ABSENCE_REASONS is their order:
the first that explains a row excludes it (docs/how-it-decides.md, "What a ghost is").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.pairing.flow_tables import Middlebox
from ldapdiag.analysis.pairing.socket_index import ClientIndex
from ldapdiag.analysis.pairing.unjoined_direction import UnjoinedDirection
from ldapdiag.evidence.addresses import UNKNOWN_PORT
from ldapdiag.evidence.sockets import TcpState
from ldapdiag.lazy_dataclass import NamedTuple, dataclass
from ldapdiag.servers.hosts.kernel import IP_FORWARD
from ldapdiag.wording import counted

ONE_FAMILY = "only one of /proc/net/tcp and /proc/net/tcp6 was read"


@dataclass(frozen=True, slots=True, kw_only=True)
class AbsenceContext:
    """What the absence reasons depend on, beside the rows."""

    unjoined: UnjoinedDirection
    client: Host
    near: ClientIndex
    """The client's snapshot nearest to the server's."""
    indexes: Sequence[ClientIndex] = ()
    """All snapshots of the client, in order of time."""
    middleboxes: tuple[Middlebox, ...] = ()
    foreign_ports: frozenset[int] = frozenset()
    """Client ports of other hosts' connections to this endpoint that the server does not show as theirs."""
    tracked: bool = False
    """The client's own connection tracking was read, so what it translates for containers is known."""
    predating: frozenset[int] = frozenset()
    """Rows that received their last segment before the client's host booted, or its namespace was made."""
    has_live: bool = False
    """Some connection of the direction is live."""
    dead: frozenset[int] = frozenset()
    """Rows that a middlebox, unanswered probes, or a boot of the client prove dead."""

    @property
    def stands_alone(self) -> bool:
        """Return whether the client's table shows all connections from its address.

        A container behind this address needs a host that forwards packets, for IPv6 by another setting. Behind a
        namespace of a machine of which all were read there is none that was not.
        """
        description, kernel = self.client.description, self.client.kernel
        if description is not None and description.namespaces_read is None and description.namespaces_unread == 0:
            return True
        return kernel is not None and kernel.number(IP_FORWARD) == 0 and ":" not in self.unjoined.client


class ExplainedRows(NamedTuple):
    """The rows that one reason explains, and the reason as the report states it."""

    rows: frozenset[int]
    reason: str


AbsenceReason = Callable[[AbsenceContext, Sequence[int]], ExplainedRows]

UNEXPLAINED = ExplainedRows(frozenset(), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedAbsences:
    """Absent rows after all reasons were tested."""

    remaining: tuple[int, ...]
    by_reason: Mapping[AbsenceReason, ExplainedRows]

    @property
    def closing(self) -> int:
        """Return how many rows are closing, by the middlebox."""
        return len(self.rows(closing_at_middlebox))

    @property
    def unproven(self) -> Counter[str]:
        """Return how many rows each reason excludes, without closing ones."""
        excluded: Counter[str] = Counter()
        for test, (rows, reason) in self.by_reason.items():
            if test is not closing_at_middlebox:
                excluded[reason] += len(rows)
        return excluded

    def rows(self, reason: AbsenceReason) -> frozenset[int]:
        """Return the rows that one reason explains."""
        return self.by_reason.get(reason, UNEXPLAINED).rows


def explain_absences(context: AbsenceContext, rows: Iterable[int]) -> ExplainedAbsences:
    """Test every reason in order; a row that one explains is not tested by the next."""
    remaining = tuple(rows)
    by_reason: dict[AbsenceReason, ExplainedRows] = {}
    for test in ABSENCE_REASONS:
        explanation = test(context, remaining)
        if explanation.rows:
            by_reason[test] = explanation
            remaining = tuple(row for row in remaining if row not in explanation.rows)
    return ExplainedAbsences(remaining=remaining, by_reason=MappingProxyType(by_reason))


def closing_at_middlebox(context: AbsenceContext, rows: Sequence[int]) -> ExplainedRows:
    """Explain rows of which middleboxes have an entry, but none as established."""
    closing = (row for row in rows if _tracking(context, row) and not _is_carried(context, row))
    return ExplainedRows(frozenset(closing), "closing at a middlebox")


def carried_by_middlebox(context: AbsenceContext, rows: Sequence[int]) -> ExplainedRows:
    """Explain rows that a middlebox has as established: their client may be in a container or zone.

    A middlebox also has the connections of a client that crashed, which has closed none of them.
    """
    possible = () if context.stands_alone else (row for row in rows if row not in context.predating)
    carried = frozenset(row for row in possible if _is_carried(context, row))
    hosts = " and ".join(sorted({_tracking(context, row)[0].host for row in carried}))
    return ExplainedRows(
        carried,
        f"{hosts} still has them as established, so they may belong to a container or zone, which "
        f"{context.client.host}'s table does not show",
    )


def _tracking(context: AbsenceContext, row: int) -> list[Middlebox]:
    key = context.unjoined.key_of(row)
    return [middlebox for middlebox in context.middleboxes if key in middlebox.flows]


def _is_carried(context: AbsenceContext, row: int) -> bool:
    key = context.unjoined.key_of(row)
    return any(middlebox.carries(key) for middlebox in context.middleboxes)


def not_in_every_listing(context: AbsenceContext, rows: Sequence[int]) -> ExplainedRows:
    """Explain rows that one listing of the server's table shows and another does not."""
    inconsistent = context.unjoined.snapshot.inconsistent
    return ExplainedRows(
        frozenset(row for row in rows if inconsistent and context.unjoined.key_of(row) in inconsistent),
        "not in every listing of the server's table: opened or closed while it was taken",
    )


def open_at_other_host(context: AbsenceContext, rows: Sequence[int]) -> ExplainedRows:
    """Explain rows whose client port another host uses towards the server, from an address the server does not see."""
    ports = context.unjoined.table.remote_port
    return ExplainedRows(
        frozenset(row for row in rows if ports[row] in context.foreign_ports),
        f"another host has connections from the same ports, so {context.unjoined.client} may be its translated address",
    )


def in_unread_namespace(context: AbsenceContext, rows: Sequence[int]) -> ExplainedRows:
    """Explain rows that may belong to an unread network namespace of the client's machine, unless proven dead."""
    unread = None if context.tracked or context.stands_alone else unread_namespaces(context.client)
    return ExplainedRows(
        frozenset(row for row in rows if unread and row not in context.dead),
        f"{unread}: they may belong to a process there (read them as root, or with --sudo)",
    )


def unread_namespaces(client: Host) -> str | None:
    """Return which network namespaces of a client's machine were not read; None without a sign of any."""
    description = client.description
    if description is None or description.namespaces_unread == 0:
        return None
    if description.namespaces_unread:
        namespaces = counted(description.namespaces_unread, "other network namespace")
        return f"{namespaces} of {client.host} could not be read"
    if client.kernel is not None and client.kernel.number(IP_FORWARD):
        return f"{client.host} forwards packets, as a container host does, and its other network namespaces are unread"
    return None


def state_not_shown(context: AbsenceContext, rows: Sequence[int]) -> ExplainedRows:
    """Explain all rows when the client's table shows sockets of one unnamed state, which may not be ESTABLISHED."""
    states = context.near.states
    unnamed = bool(rows) and TcpState.UNKNOWN in states and TcpState.ESTABLISHED not in states
    reason = "the client's table shows one unnamed state (take it with ss -tan)"
    return ExplainedRows(frozenset(rows if unnamed else ()), reason)


def one_family_read(context: AbsenceContext, rows: Sequence[int]) -> ExplainedRows:
    """Explain all rows when one of /proc/net/tcp and tcp6 was not read, and may contain all of them."""
    may_be_in_other = not context.has_live and not context.near.snapshot.covers(context.unjoined.client)
    reason = f"{ONE_FAMILY}, and the client's sockets may be in the other"
    return ExplainedRows(frozenset(rows if may_be_in_other else ()), reason)


def unreadable_lines(context: AbsenceContext, rows: Sequence[int]) -> ExplainedRows:
    """Explain all rows when the client's table has at least as many lines that could not be read."""
    unreadable = context.near.snapshot.unreadable
    reason = f"{counted(unreadable, 'line')} of the client's table could not be read, and may contain them"
    return ExplainedRows(frozenset(rows if len(rows) <= unreadable else ()), reason)


def cut_table(context: AbsenceContext, rows: Sequence[int]) -> ExplainedRows:
    """Explain the rows that nothing proves dead when the client's table ends within a line."""
    unproven = (row for row in rows if row not in context.dead)
    reason = "the client's table ends within a line: its remainder could not be read, and may contain them"
    return ExplainedRows(frozenset(unproven if context.near.table.is_cut else ()), reason)


def truncated_ports(context: AbsenceContext, rows: Sequence[int]) -> ExplainedRows:
    """Explain all rows when the client's table truncates ports of connections to this server."""
    near, (address, _, client) = context.near, context.unjoined.direction
    unknown_port = (address, UNKNOWN_PORT, client)
    may_contain = near.table.ports_truncated and (
        near.unnumbered.get(context.unjoined.direction)
        or near.unnumbered.get(unknown_port)
        or unknown_port in near.sockets
    )
    reason = "the client's table truncates ports (take it without -A), and may contain them"
    return ExplainedRows(frozenset(rows if may_contain else ()), reason)


def inexact_address(context: AbsenceContext, rows: Sequence[int]) -> ExplainedRows:
    """Explain rows whose client port the client's table has with a name, or a truncated address, for either end."""
    ports = context.unjoined.table.remote_port
    listed = context.near.inexact.ports(context.unjoined.server_port)
    reason = "the client's table has the same ports with a name or a truncated address (take it with ss -tan)"
    return ExplainedRows(frozenset(row for row in rows if ports[row] in listed), reason)


ABSENCE_REASONS: tuple[AbsenceReason, ...] = (
    closing_at_middlebox,
    carried_by_middlebox,
    not_in_every_listing,
    open_at_other_host,
    inexact_address,
    in_unread_namespace,
    state_not_shown,
    one_family_read,
    unreadable_lines,
    cut_table,
    truncated_ports,
)
"""In order. What explains single rows comes before what explains all that remain."""
