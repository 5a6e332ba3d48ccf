"""A load of searches, the sender's own record of it, and what the server wrote of the same searches.

    before = send(server, kinds_of("389-ds"), seed=1, times=5)
    before["eq-display"]            Record of each search of this kind, in the order in which they were sent

The same seed asks for the same persons in the same order: two loads can be compared search by search.
"""

from __future__ import annotations

import socket
import time
import zlib
from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from lab.controlled_search import ask
from lab.directory_servers import PASSWORD, account
from lab.host import wait_for
from lab.phone_book import Answered, Logged, results_of
from lab.raw_ldap import Connection
from lab.search_kinds import ADMINISTRATOR, MANY, SearchKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lab.directory_servers import Server

FEW = 2
"""So often a kind is asked that returns thousands of entries."""
MEASURED, THRICE = 9, 3
"""From so many searches of a kind on, each person is asked for three times: a median of them is without the noise."""


@dataclass(frozen=True, slots=True)
class Sent:
    """The sender's record of one search, however many pages it had."""

    kind: str
    number: int
    """The person that it was for."""
    began: float
    """Seconds of time.monotonic()."""
    took: float
    """Seconds until the last result was there."""
    err: int
    entries: int
    answer: int
    """A checksum of the names of the entries, in any order."""
    requests: int


@dataclass(frozen=True, slots=True)
class Record:
    """A search as the sender saw it, and as the server wrote it."""

    sent: Sent
    etime: float
    """Seconds that the server took, of all pages."""
    notes: frozenset[str]
    """Letters of 389-ds."""


Records = dict[str, list[Record]]


def send(server: Server, kinds: Mapping[str, SearchKind], *, seed: int, times: int, who: str | None = None) -> Records:
    """Search so many times of each kind, in any order, and return the records when the server has written them all.

    `who`: an account that asks instead of the kinds' own.
    """
    draw = Random(seed)  # noqa: S311  nothing secret
    asked = [(name, number) for name, kind in kinds.items() for number in _numbers(draw, kind, _times(name, times))]
    draw.shuffle(asked)
    logged = Logged(server)
    orders: dict[str, list[Sent]] = server.host.inside(lambda: _sent(server, kinds, asked, who))
    expected = {name: sum(one.requests for one in several) for name, several in orders.items()}

    def written() -> dict[tuple[str, int], Answered]:  # servers write a result after they have sent it
        results = results_of(logged.since().splitlines())
        told = Counter(name for name, _ in results)
        return results if all(told[name] >= count for name, count in expected.items()) else {}

    results = wait_for(written, f"the log does not tell of {expected} searches", seconds=60)
    records: Records = {name: [] for name in kinds}
    for name, several in orders.items():
        rows = iter([results[key] for key in sorted(results) if key[0] == name])
        for one in several:
            pages = [next(rows) for _ in range(one.requests)]
            notes = frozenset(letter for page in pages for letter in page.notes.split(",") if letter)
            records[one.kind].append(Record(one, sum(page.etime for page in pages), notes))
    return records


def _times(name: str, times: int) -> int:
    return min(times, FEW) if name in MANY else times


def _numbers(draw: Random, kind: SearchKind, times: int) -> list[int]:
    each = THRICE if times >= MEASURED else 1
    drawn = [draw.randrange(kind.branch.people - 100) for _ in range(times // each)]
    return [number - number % kind.every for number in drawn for _ in range(each)]


def _sent(
    server: Server, kinds: Mapping[str, SearchKind], asked: list[tuple[str, int]], who: str | None
) -> dict[str, list[Sent]]:
    """Search over one connection for each account, and return the records by the account's name in the log."""
    connections: dict[str, Connection] = {}
    records: dict[str, list[Sent]] = {}
    for name, number in asked:
        kind = kinds[name]
        dn = server.administrator if (who or kind.who) == ADMINISTRATOR else account(who or kind.who)
        if dn not in connections:
            connections[dn] = Connection(socket.create_connection(("127.0.0.1", 389)))
            assert connections[dn].bind(dn, PASSWORD) == 0, dn
        records.setdefault(dn.partition(",")[0].partition("=")[2], []).append(
            _search(connections[dn], name, kind, number)
        )
    for connection in connections.values():
        connection.unbind()
    return records


def _search(connection: Connection, name: str, kind: SearchKind, number: int) -> Sent:
    began, names, requests, cookie = time.monotonic(), [], 0, b""
    while not requests or cookie:
        page = ask(connection, kind.base(number), kind.scope, kind.text(number), kind.control, cookie)
        names, requests, cookie = [*names, *page.names], requests + 1, page.cookie
    took = time.monotonic() - began
    checksum = zlib.crc32("\n".join(sorted(names)).encode())
    return Sent(name, number, began, took, page.err, len(names), checksum, requests)
