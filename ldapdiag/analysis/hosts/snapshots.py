"""A look: one host's sockets at one time. Several tellings of it (netstat, ss, /proc, lsof) are one table."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

from ldapdiag.evidence.addresses import UNKNOWN_PORT, is_exact
from ldapdiag.evidence.sockets import BLANK, Column, Key, SocketTable, TcpState

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ldapdiag.evidence.origin import Span

OPTIONAL: tuple[Column, ...] = get_args(Column)

RANK = {"inet_diag": 0, "ss": 0, "netstat": 1, "proc": 2, "lsof": 3}
"""Which telling's word is taken for a row's state when tellings differ: the kernel's own first, then the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One host's sockets at one time."""

    taken: Span | None
    sockets: SocketTable
    """All rows any telling shows, each once, with every column some telling has."""
    wavering: frozenset[Key]
    """Rows that one whole telling shows and another does not: opened or closed while the look was taken."""
    tellings: tuple[str, ...]
    origins: tuple[str, ...]
    selected: bool
    """No telling had a header: the rows may be somebody's selection."""
    unreadable: int = 0
    """Lines that were not understood in the best read telling: as many sockets may be missing here."""

    def covers(self, address: str) -> bool:
        """Tell whether this shows all sockets with an address: dual-stack programs keep IPv4 ones in /proc/net/tcp6."""
        return 6 in self.sockets.families and (":" in address or 4 in self.sockets.families)


def snapshots_of(tables: Sequence[SocketTable]) -> tuple[Snapshot, ...]:
    """Return the looks at one host, in order of time; those of unknown time come last, by folder.

    A file that holds several tables of one kind (a loop around ss) is as many looks, in their order.
    """
    at: dict[tuple[bool, float, str, int], list[SocketTable]] = defaultdict(list)
    turns: Counter[tuple[str, frozenset[int]]] = Counter()
    for table in tables:
        taken, folder = table.origin.taken, table.origin.folder
        turn = turns[table.origin.path, table.families]
        turns[table.origin.path, table.families] += 1
        at[taken is None, taken.start.timestamp() if taken else 0.0, folder, turn].append(table)
    return tuple(look(at[moment][0].origin.taken, at[moment]) for moment in sorted(at))


def look(taken: Span | None, tables: Sequence[SocketTable]) -> Snapshot:
    """Make one table of several tellings of it."""
    tellings = sorted(
        _summed(_uncut(tables)), key=lambda table: (RANK.get(table.tool, 9), -richness(table), table.origin.path)
    )
    tellings, exact = _without_doubles(tellings)
    origins = tuple(sorted(table.origin.path for table in tables))
    return Snapshot(
        taken=taken,
        sockets=tellings[0] if len(tellings) == 1 else united(tellings),
        wavering=wavering(exact),
        tellings=tuple(sorted({table.tool for table in tables})),
        origins=origins,
        selected=not any(table.has_header for table in tables),
        unreadable=_unreadable(tables),
    )


def _uncut(tables: Sequence[SocketTable]) -> Sequence[SocketTable]:
    """Leave out tellings that cut ports where another shows them whole: their rows would count twice."""
    exact = [table for table in tables if not table.ports_truncated]
    return exact if any(is_whole(table) for table in exact) else tables


def _unreadable(tables: Sequence[SocketTable]) -> int:
    whole = [table.origin.not_understood for table in tables if len(table.families) != 1]
    halves = [table.origin.not_understood for table in tables if len(table.families) == 1]
    return min([*whole, *([sum(halves)] if halves else [])], default=0)


def richness(table: SocketTable) -> int:
    """Return how many optional columns a telling has."""
    return sum(getattr(table, column) is not None for column in OPTIONAL)


def _summed(tables: Sequence[SocketTable]) -> list[SocketTable]:
    """Add /proc/net/tcp and tcp6, which are halves of one table; the rest stays."""
    halves = [table for table in tables if len(table.families) == 1]
    whole = [table for table in tables if len(table.families) != 1]
    return [*whole, united(halves)] if len(halves) > 1 else [*whole, *halves]


def _without_doubles(tellings: list[SocketTable]) -> tuple[list[SocketTable], list[SocketTable]]:
    """Take out rows that an exact telling shows, too, and would count twice; return also what may be compared."""
    rough = [inexact(telling) for telling in tellings]
    exact = [telling for telling, rows in zip(tellings, rough, strict=True) if not rows]
    if len(exact) == len(tellings):
        return tellings, tellings
    if any(map(is_whole, exact)):
        return [without(telling, rows) for telling, rows in zip(tellings, rough, strict=True)], exact
    ports = {key[1::2] for telling in exact for key in telling.keys()}  # noqa: SIM118  not a mapping
    kept = [
        without(
            telling,
            frozenset(row for row in rows if (telling.local_port[row], telling.remote_port[row]) in ports),
        )
        for telling, rows in zip(tellings, rough, strict=True)
    ]
    return kept, kept


def inexact(table: SocketTable) -> frozenset[int]:
    """Return the rows that only resemble a socket: an end is cut, or has a name instead of an address or a port."""
    addresses = {address for address in {*table.local_address, *table.remote_address} if not is_exact(address)}
    if not addresses and UNKNOWN_PORT not in table.local_port and UNKNOWN_PORT not in table.remote_port:
        return frozenset()
    return frozenset(
        row
        for row, (local, port, remote, remote_port) in enumerate(table.keys())
        if local in addresses or remote in addresses or UNKNOWN_PORT in {port, remote_port}
    )


def without(table: SocketTable, rows: frozenset[int]) -> SocketTable:
    """Return a table without some of its rows."""
    if not rows:
        return table
    names = ("local_address", "local_port", "remote_address", "remote_port", "state", *OPTIONAL)
    kept = [row for row in range(len(table)) if row not in rows]
    columns: dict[str, Any] = {
        name: [column[row] for row in kept] for name in names if (column := getattr(table, name)) is not None
    }
    return replace(table, **columns)


def wavering(tellings: Sequence[SocketTable]) -> frozenset[Key]:
    """Return the established rows on which whole tellings disagree."""
    whole = [table for table in tellings if is_whole(table)]
    if len(whole) < 2:
        return frozenset()
    established = [
        {key for key, state in zip(table.keys(), table.state, strict=True) if state is TcpState.ESTABLISHED}
        for table in whole
    ]
    first, *others = established
    return frozenset(first.union(*others) - first.intersection(*others))


def is_whole(table: SocketTable) -> bool:
    """Tell whether a telling shows every established socket: not one program's, family's or state's, or listeners."""
    only_listeners = all(state is TcpState.LISTEN for state in table.state)
    has_states = TcpState.UNKNOWN not in table.state
    whole = table.shows_all_programs and len(table.families) > 1 and table.has_header
    return whole and has_states and not only_listeners


def united(tellings: Sequence[SocketTable]) -> SocketTable:
    """Return all rows, each once; the first telling that has a row or a column decides."""
    row_of: dict[tuple[Key, int], int] = {}
    first = tellings[0]
    columns: dict[str, list[Any]] = {"state": []}
    seconds: list[tuple[SocketTable, list[int]]] = []
    for table in tellings:
        places = []
        listeners: Counter[Key] = Counter()
        for key, state in zip(table.keys(), table.state, strict=True):
            # 0.0.0.0:389 and [::]:389 are one key and two sockets, each with its own accept queue.
            listeners[key] += state is TcpState.LISTEN
            place = row_of.setdefault((key, listeners[key]), len(row_of))
            if place == len(columns["state"]):
                columns["state"].append(state)
            elif columns["state"][place] is TcpState.UNKNOWN:
                columns["state"][place] = state
            places.append(place)
        seconds.append((table, places))
    for column in OPTIONAL:
        if (filled := _column(column, seconds, len(row_of))) is not None:
            columns[column] = filled
    keys = [key for key, _ in row_of]
    shown = [table.shows_time_wait for table in tellings]
    return SocketTable(
        origin=first.origin,
        tool="+".join(sorted({table.tool for table in tellings})),
        local_address=[key[0] for key in keys],
        local_port=[key[1] for key in keys],
        remote_address=[key[2] for key in keys],
        remote_port=[key[3] for key in keys],
        shows_time_wait=True if True in shown else None if None in shown else False,
        shows_all_programs=any(table.shows_all_programs for table in tellings),
        ports_truncated=any(table.ports_truncated for table in tellings),
        families=frozenset[int]().union(*(table.families for table in tellings)),
        has_header=any(table.has_header for table in tellings),
        **columns,
    )


def _column(name: str, tellings: Iterable[tuple[SocketTable, list[int]]], length: int) -> list[Any] | None:
    having = [(getattr(table, name), places) for table, places in tellings if getattr(table, name) is not None]
    if not having:
        return None
    filled: list[Any] = [BLANK.get(name)] * length
    for values, places in reversed(having):
        for place, value in zip(places, values, strict=True):
            if value not in {None, ""}:
                filled[place] = value
    return filled
