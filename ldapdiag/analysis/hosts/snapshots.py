"""Snapshots: one host's sockets at one time. Several listings of them (netstat, ss, /proc, lsof) become one table."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

from ldapdiag.evidence.addresses import UNKNOWN_PORT, is_exact
from ldapdiag.evidence.sockets import BLANK, Column, Key, SocketTable, TcpState
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ldapdiag.evidence.origin import Span

OPTIONAL_COLUMNS: tuple[Column, ...] = get_args(Column)

STATE_PRECEDENCE = {"inet_diag": 0, "ss": 0, "netstat": 1, "proc": 2, "lsof": 3}
"""Which listing decides a row's state when listings differ: the kernel's own first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One host's sockets at one time."""

    taken: Span | None
    sockets: SocketTable
    """All rows of all listings, each once, with all their columns."""
    inconsistent: frozenset[Key]
    """Rows that one complete listing shows and another does not: opened or closed while the snapshot was taken."""
    tools: tuple[str, ...]
    origins: tuple[str, ...]
    headerless: bool
    """No listing has a header, so the rows may be a selection."""
    number: int = 0
    """The number of the snapshot that the folders name, in order of time; 0: they name none."""
    unreadable: int = 0
    """Lines that were not understood in the listing that was read best: as many sockets may be missing."""

    def covers(self, address: str) -> bool:
        """Return whether all sockets of an address are shown: dual-stack programs keep IPv4 ones in /proc/net/tcp6."""
        return 6 in self.sockets.families and (":" in address or 4 in self.sockets.families)


def snapshots_of(tables: Sequence[SocketTable]) -> tuple[Snapshot, ...]:
    """Return the snapshots of one host, in order of time; those of unknown time come last, by number, then folder.

    A file with several tables of one kind (a loop around ss) is as many snapshots, in their order.
    """
    at: dict[tuple[bool, float, int, str, int], list[SocketTable]] = defaultdict(list)
    tables_in: Counter[tuple[str, str, frozenset[int]]] = Counter()
    for table in tables:
        taken, folder = table.origin.taken, table.origin.folder
        file = folder, table.origin.path, table.families
        number = tables_in[file]
        tables_in[file] += 1
        moment = taken.start.timestamp() if taken else 0.0
        at[taken is None, moment, table.origin.snapshot, folder, number].append(table)
    return tuple(merge_tables(at[moment][0].origin.taken, at[moment]) for moment in sorted(at))


def merge_tables(taken: Span | None, tables: Sequence[SocketTable]) -> Snapshot:
    """Merge several listings of one host's sockets into one snapshot."""
    listings = sorted(_join_families(_with_whole_ports(tables)), key=_precedence)
    listings, comparable = _without_duplicates(listings)
    origins = tuple(sorted(table.origin.path for table in tables))
    return Snapshot(
        taken=taken,
        sockets=listings[0] if len(listings) == 1 else merge_listings(listings),
        inconsistent=inconsistent_rows(comparable),
        tools=tuple(sorted({table.tool for table in tables})),
        origins=origins,
        number=max((table.origin.snapshot for table in tables), default=0),
        headerless=not any(table.has_header for table in tables),
        unreadable=_unreadable(tables),
    )


def _with_whole_ports(tables: Sequence[SocketTable]) -> Sequence[SocketTable]:
    """Leave out listings with truncated ports where another has them whole: their rows would count twice."""
    exact = [table for table in tables if not table.ports_truncated]
    return exact if any(is_complete(table) for table in exact) else tables


def _unreadable(tables: Sequence[SocketTable]) -> int:
    whole = [table.origin.not_understood for table in tables if len(table.families) != 1]
    halves = [table.origin.not_understood for table in tables if len(table.families) == 1]
    return min([*whole, *([sum(halves)] if halves else [])], default=0)


def _precedence(table: SocketTable) -> tuple[int, int, str]:
    """Return the sort key of a listing: the most reliable tool first, then the most columns."""
    columns = sum(getattr(table, column) is not None for column in OPTIONAL_COLUMNS)
    return STATE_PRECEDENCE.get(table.tool, 9), -columns, table.origin.path


def _join_families(tables: Sequence[SocketTable]) -> list[SocketTable]:
    """Join /proc/net/tcp and tcp6, which are halves of one table; other listings stay as they are."""
    halves = [table for table in tables if len(table.families) == 1]
    whole = [table for table in tables if len(table.families) != 1]
    return [*whole, merge_listings(halves)] if len(halves) > 1 else [*whole, *halves]


def _without_duplicates(listings: list[SocketTable]) -> tuple[list[SocketTable], list[SocketTable]]:
    """Remove inexact rows that an exact listing shows, too; return also the listings that may be compared."""
    inexact = [inexact_rows(listing) for listing in listings]
    exact = [listing for listing, rows in zip(listings, inexact, strict=True) if not rows]
    if len(exact) == len(listings):
        return listings, listings
    if any(map(is_complete, exact)):
        return [without_rows(listing, rows) for listing, rows in zip(listings, inexact, strict=True)], exact
    ports = {key[1::2] for listing in exact for key in listing.keys()}  # noqa: SIM118  not a mapping
    kept = [
        without_rows(
            listing,
            frozenset(row for row in rows if (listing.local_port[row], listing.remote_port[row]) in ports),
        )
        for listing, rows in zip(listings, inexact, strict=True)
    ]
    return kept, kept


def inexact_rows(table: SocketTable) -> frozenset[int]:
    """Return the rows with a truncated address or port, or a name instead of one."""
    addresses = {address for address in {*table.local_address, *table.remote_address} if not is_exact(address)}
    if not addresses and UNKNOWN_PORT not in table.local_port and UNKNOWN_PORT not in table.remote_port:
        return frozenset()
    return frozenset(
        row
        for row, (local, port, remote, remote_port) in enumerate(table.keys())
        if local in addresses or remote in addresses or UNKNOWN_PORT in {port, remote_port}
    )


def without_rows(table: SocketTable, rows: frozenset[int]) -> SocketTable:
    """Return a table without some of its rows."""
    if not rows:
        return table
    names = ("local_address", "local_port", "remote_address", "remote_port", "state", *OPTIONAL_COLUMNS)
    kept = [row for row in range(len(table)) if row not in rows]
    columns: dict[str, Any] = {
        name: [column[row] for row in kept] for name in names if (column := getattr(table, name)) is not None
    }
    return replace(table, **columns)


def inconsistent_rows(listings: Sequence[SocketTable]) -> frozenset[Key]:
    """Return the established rows on which complete listings disagree."""
    complete = [table for table in listings if is_complete(table)]
    if len(complete) < 2:
        return frozenset()
    established = [
        {key for key, state in zip(table.keys(), table.state, strict=True) if state is TcpState.ESTABLISHED}
        for table in complete
    ]
    first, *others = established
    return frozenset(first.union(*others) - first.intersection(*others))


def is_complete(table: SocketTable) -> bool:
    """Return whether a listing shows every established socket: not of one program, family or state, or listeners."""
    only_listeners = all(state is TcpState.LISTEN for state in table.state)
    has_states = TcpState.UNKNOWN not in table.state
    unfiltered = table.shows_all_programs and len(table.families) > 1 and table.has_header and not table.is_cut
    return unfiltered and has_states and not only_listeners


def merge_listings(listings: Sequence[SocketTable]) -> SocketTable:
    """Return all rows, each once; the first listing that has a row or a column decides."""
    keys, states, merged = _merge_rows(listings)
    columns = {
        column: filled
        for column in OPTIONAL_COLUMNS
        if (filled := _merge_column(column, merged, len(keys))) is not None
    }
    shows_time_wait = [table.shows_time_wait for table in listings]
    return SocketTable(
        origin=listings[0].origin,
        tool="+".join(sorted({table.tool for table in listings})),
        local_address=[key[0] for key in keys],
        local_port=[key[1] for key in keys],
        remote_address=[key[2] for key in keys],
        remote_port=[key[3] for key in keys],
        state=states,
        shows_time_wait=True if True in shows_time_wait else None if None in shows_time_wait else False,
        shows_all_programs=any(table.shows_all_programs for table in listings),
        ports_truncated=any(table.ports_truncated for table in listings),
        families=frozenset[int]().union(*(table.families for table in listings)),
        has_header=any(table.has_header for table in listings),
        is_cut=(any if all(len(table.families) == 1 for table in listings) else all)(
            listing.is_cut for listing in listings
        ),
        **columns,
    )


def _merge_rows(
    listings: Sequence[SocketTable],
) -> tuple[list[Key], list[TcpState], list[tuple[SocketTable, list[int]]]]:
    """Return the keys and states of all sockets, and for each listing the merged row of each of its rows."""
    row_of: dict[tuple[Key, int], int] = {}
    states: list[TcpState] = []
    merged: list[tuple[SocketTable, list[int]]] = []
    for table in listings:
        rows = []
        listeners: Counter[Key] = Counter()
        for key, state in zip(table.keys(), table.state, strict=True):
            # 0.0.0.0:389 and [::]:389 are one key and two sockets, each with its own accept queue.
            listeners[key] += state is TcpState.LISTEN
            row = row_of.setdefault((key, listeners[key]), len(row_of))
            if row == len(states):
                states.append(state)
            elif states[row] is TcpState.UNKNOWN:
                states[row] = state
            rows.append(row)
        merged.append((table, rows))
    return [key for key, _ in row_of], states, merged


def _merge_column(name: str, merged: Iterable[tuple[SocketTable, list[int]]], length: int) -> list[Any] | None:
    """Return one column of the merged table; None where no listing has it. `merged` maps each listing's rows."""
    columns = [(getattr(table, name), rows) for table, rows in merged if getattr(table, name) is not None]
    if not columns:
        return None
    filled: list[Any] = [BLANK.get(name)] * length
    for values, rows in reversed(columns):
        for row, value in zip(rows, values, strict=True):
            if value not in {None, ""}:
                filled[row] = value
    return filled
