"""Client history: since when a client exists, and how its connections have ended since, by its TCP counters.

Client age: since when a client's host and its processes exist.

What is older than the client went with its predecessor: the host booted, or the application or its container was
started again (docs/how-it-decides.md, "A client that is gone").
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.ages import column_seconds
from ldapdiag.evidence.origin import Span
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.analysis.hosts.snapshots import Snapshot
    from ldapdiag.evidence.processes import BootTime, Process, ProcessTable

RESETS = "TcpEstabResets"
"""Connections that went from ESTABLISHED to CLOSED at once (RFC 4022, tcpEstabResets): by a reset received, or one of
the host's own (net/ipv4/tcp.c, tcp_set_state)."""
OPENED = "TcpActiveOpens"
"""Connections that were opened from this side (RFC 4022, tcpActiveOpens); of each network namespace its own."""
ABORTS = (
    "TcpExtTCPAbortOnTimeout",
    "TcpExtTCPAbortOnData",
    "TcpExtTCPAbortOnClose",
    "TcpExtTCPAbortOnLinger",
    "TcpExtTCPAbortOnMemory",
)
"""Connections that this end ended alone: retransmissions timed out, or it sent a reset (net/ipv4/tcp_timer.c,
tcp_write_err; tcp.c, __tcp_close). Where packets are dropped silently, each dead connection is counted here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndCounts:
    """How a host's connections have ended, by its TCP counters. None: they do not include it."""

    resets: int | None = None
    """Resets received: a lower bound."""
    resets_at_most: int | None = None
    aborted: int | None = None
    """Connections that it has ended alone: by a timeout, or by a reset of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSockets:
    """What a client's socket table shows beside the connections themselves."""

    owners: frozenset[int]
    """The processes that own its connections to the server."""
    all_owned: bool
    """The table shows the owner of each."""
    others: frozenset[int]
    """The processes that own any socket."""
    established: int
    """Established connections that it has opened, to any server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientHistory:
    """The past of a client's host. None: not in the evidence."""

    booted: Since | None = None
    """When it booted."""
    started: Since | None = None
    """When the first of the processes started that may own its connections to the server."""
    owned: bool = False
    """`started` is of the processes that own its present connections to the server."""
    made: Since | None = None
    """When it booted or its namespace was made, for certain: it has no connection from before, nor has a container."""
    opened: int | None = None
    """Connections that its TCP stack has opened since it exists: since the boot, or since its namespace was made."""
    established: int = 0
    """Connections that it has opened and that are established now."""
    ends: EndCounts = EndCounts()
    """Since its boot."""
    recent_ends: EndCounts | None = None
    """Between the first and the last reading of its counters; None where there is one."""


NO_HISTORY = ClientHistory()


def history_of(host: Host, sockets: ClientSockets | None = None) -> ClientHistory:
    """Return the history of a client's host; `sockets` are those of its snapshot nearest to the server's."""
    counters = host.counters.values if host.counters else {}
    owners, others = (sockets.owners, sockets.others) if sockets else ((), ())
    opened = counters.get(OPENED)
    started = started_since(host, owners, others)
    owned = started if sockets is not None and sockets.owners and sockets.all_owned else None
    has_new_stack = sockets is not None and opened == sockets.established
    return ClientHistory(
        booted=booted_since(host),
        started=started,
        owned=bool(owners),
        made=made_since(host, has_new_stack=has_new_stack, started=owned),
        opened=opened,
        established=sockets.established if sockets else 0,
        ends=end_counts(counters),
        recent_ends=end_counts(grown(host.first_counters.values, counters)) if host.first_counters else None,
    )


def end_counts(counters: Mapping[str, int]) -> EndCounts:
    """Return how connections have ended by a host's counters."""
    return EndCounts(
        resets=received_resets(counters),
        resets_at_most=counters.get(RESETS),
        aborted=aborted_connections(counters),
    )


def grown(first: Mapping[str, int], last: Mapping[str, int]) -> Mapping[str, int]:
    """Return by how much counters have grown; without those that have been reset meanwhile."""
    return {name: last[name] - value for name, value in first.items() if last.get(name, -1) >= value}


def received_resets(counters: Mapping[str, int]) -> int | None:
    """Return a lower bound of the resets that a host has received; None when its counters do not include resets.

    Not every abort is counted as a reset: those after the FIN was sent are not.
    """
    if RESETS not in counters:
        return None
    return max(0, counters[RESETS] - sum(counters.get(name, 0) for name in ABORTS))


def aborted_connections(counters: Mapping[str, int]) -> int | None:
    """Return how many connections a host has ended alone; None when its counters do not include them."""
    known = [counters[name] for name in ABORTS if name in counters]
    return sum(known) if known else None


def rows_before(snapshot: Snapshot, rows: Iterable[int], since: Since | None) -> frozenset[int]:
    """Return those of a server's rows that received their last segment before something began."""
    if since is None or snapshot.taken is None:
        return frozenset()
    seconds = (snapshot.taken.end - since.span.start).total_seconds()
    ages = ((row, column_seconds(snapshot.sockets.last_received, row)) for row in rows)
    return frozenset(row for row, age in ages if age is not None and age > seconds)


def rows_after(snapshot: Snapshot, rows: Iterable[int], since: Since | None) -> frozenset[int]:
    """Return those of a server's rows that certainly received their last segment after something began."""
    if since is None or snapshot.taken is None:
        return frozenset()
    seconds = (snapshot.taken.start - since.latest.end).total_seconds()
    ages = ((row, column_seconds(snapshot.sockets.last_received, row)) for row in rows)
    return frozenset(row for row, age in ages if age is not None and age < seconds)


def count_not_opened(history: ClientHistory, ghosts: int) -> int:
    """Return how many of so many ghosts, at least, a client's TCP stack cannot have opened since it exists.

    It counts fewer connections than the ghosts and those that are established now. A count below the latter is no total
    since the beginning (nstat without -a).
    """
    if history.opened is None or history.opened < history.established:
        return 0
    return min(ghosts, max(0, ghosts + history.established - history.opened))


SECOND = timedelta(seconds=1)
"""Times of boot and start are whole seconds, or derived from such."""

LATEST_ZONE = timedelta(hours=12)
"""A local time that is read as UTC is at most so much too early (UTC-12); a time too late cannot be excluded."""

INIT = 1
"""The process from which all others of a host or container descend: a list that contains it is complete."""
KERNEL_THREADS = 2, "kthreadd"
"""The kernel starts it at boot; only a list of a whole host contains it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Since:
    """The interval in which something began, by the clock of the snapshots."""

    span: Span
    assumed: bool = False
    """It was printed without a time zone, and UTC is assumed."""

    @property
    def latest(self) -> Span:
        """Return the interval in which it began, whatever the time zone may be."""
        return Span(start=self.span.start, end=self.span.end + (LATEST_ZONE if self.assumed else timedelta(0)))


def booted_since(host: Host) -> Since | None:
    """Return when a host booted: by its description, by a file of its own, or by the kernel's first thread."""
    description = host.description
    if description is not None and description.booted is not None and description.clock is not None:
        taken = description.origin.taken or Span(start=description.clock, end=description.clock)
        return _ago(taken, (description.clock - description.booted).total_seconds())
    if host.boot is not None and (since := _of_file(host.boot)):
        return since
    thread = host.processes.process(KERNEL_THREADS[0]) if host.processes else None
    if host.processes is None or thread is None or thread.program != KERNEL_THREADS[1]:
        return None
    return _started(host.processes, thread)


def started_since(host: Host, owners: Collection[int], others: Collection[int] = ()) -> Since | None:
    """Return when the first of the processes started that may own a client's connections; None if unknown.

    With `owners`, the processes that own its present connections: those and, of the `others` that own any socket, all
    of the same programs. Without, every process of the network namespace, or of the whole list if it is complete.
    """
    table = host.processes
    if table is None:
        return None
    known = {process.pid: process for process in table.processes}
    if owners and not known.keys() >= set(owners):
        return None
    programs = {known[pid].program for pid in owners}
    alike = {pid for pid in others if pid in known and known[pid].program in programs}
    return _first(table, [known[pid] for pid in alike.union(owners)] if owners else _everyone(host, table))


def made_since(host: Host, *, has_new_stack: bool, started: Since | None = None) -> Since | None:
    """Return since when a client can have a connection: it booted or was made then, for certain; None if unknown.

    `has_new_stack`: its TCP stack has opened no connection but the present ones. If all its processes are younger than
    a connection as well, the namespace is, and so is every container behind it.
    `started`: when the processes did that own all its connections to the server. Where its machine has one network
    namespace, no container has others.
    """
    found = [booted_since(host), started_since(host, ()) if has_new_stack else None]
    if is_one_namespace(host):
        found.append(started)
    certain = [since for since in found if since is not None and not since.assumed]
    return max(certain, key=lambda since: since.span.start, default=None)


def is_one_namespace(host: Host) -> bool:
    """Return whether a list of all processes of a machine, captured by hand, shows them all in one network namespace.

    A list with the kernel's threads contains those of every container; a process that has ended (Z) has no namespace.
    """
    table = host.processes if host.description is None else None
    thread = table.process(KERNEL_THREADS[0]) if table else None
    if table is None or thread is None or thread.program != KERNEL_THREADS[1]:
        return False
    namespaces = {process.namespace for process in table.processes if process.state != "Z"}
    return len(namespaces) == 1 and "" not in namespaces


def _everyone(host: Host, table: ProcessTable) -> list[Process]:
    """Return all processes of a client's namespace; none where the list may be a selection."""
    namespace = host.description.namespace if host.description else ""
    if namespace and any(process.namespace == namespace for process in table.processes):
        return [process for process in table.processes if process.namespace in {namespace, ""}]
    return list(table.processes) if table.process(INIT) and not namespace else []


def _first(table: ProcessTable, processes: Iterable[Process]) -> Since | None:
    """Return the earliest start; None if one of them is unknown."""
    starts = [_started(table, process) for process in processes]
    known = [since for since in starts if since is not None]
    return min(known, key=lambda since: since.span.start) if known and len(known) == len(starts) else None


def _started(table: ProcessTable, process: Process) -> Since | None:
    taken = table.origin.taken
    if taken is not None and process.age_seconds is not None:
        return _ago(taken, process.age_seconds, timedelta(seconds=table.rounding_seconds))
    if process.started is None:
        return None
    rounding = timedelta(seconds=table.rounding_seconds)
    span = Span(start=process.started - rounding, end=process.started + rounding)
    return _plausible(Since(span=span, assumed=not table.zoned), taken)


def _of_file(boot: BootTime) -> Since | None:
    rounding = timedelta(seconds=boot.rounding_seconds)
    if boot.up_seconds is not None and boot.origin.taken is not None:
        return _ago(boot.origin.taken, boot.up_seconds, rounding)
    if boot.booted is None:
        return None
    span = Span(start=boot.booted - SECOND, end=boot.booted + rounding)
    return _plausible(Since(span=span, assumed=not boot.zoned), boot.origin.taken)


def _plausible(since: Since, taken: Span | None) -> Since | None:
    """Return it, unless it lies in the future: then its time zone is not UTC, or the clocks differ."""
    return None if taken is not None and since.span.start > taken.end else since


def _ago(taken: Span, seconds: float, rounding: timedelta = SECOND) -> Since:
    """Return what began so many seconds before a moment of a capture; the seconds are rounded."""
    age = timedelta(seconds=seconds)
    return Since(span=Span(start=taken.start - age - rounding, end=taken.end - age + min(rounding, SECOND)))
