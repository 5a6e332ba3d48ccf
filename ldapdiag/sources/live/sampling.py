"""Live evidence: every target asked side by side, and looked at in the order that proves most.

A connection that only one end shows may just have come or gone. So every host is looked at, and after a while the
others, the servers, and the others again: the server's latest look stands closely between two of each client, and the
two looks at the server tell how long connections may rest and how fast they grow.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from ldapdiag.analysis.hosts.host import own_addresses
from ldapdiag.analysis.hosts.listeners import served_ports
from ldapdiag.evidence.addresses import is_loopback
from ldapdiag.evidence.bundle import Gap
from ldapdiag.evidence.host_facts import HostDescription
from ldapdiag.evidence.monitor import Monitor
from ldapdiag.evidence.sockets import SocketTable
from ldapdiag.sources.recognition.reading import with_facts
from ldapdiag.sources.targets import Local

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from concurrent.futures import Future

    from ldapdiag.evidence.origin import Fact
    from ldapdiag.sources.captures.manifest import ClockOffset
    from ldapdiag.sources.collection_options import Terms
    from ldapdiag.sources.files.input import Input
    from ldapdiag.sources.live.ssh.access_logs import Tell
    from ldapdiag.sources.progress import Progress

HERE = Local().told
MOST_AT_ONCE = 64
NAMES_SHOWN = 3
"""Logs of a target that progress names."""
TICK = 0.05
"""Seconds between two looks at whether the operator wants to stop."""


class Party(Protocol):
    """A target while it is asked. Its methods block, keep their time limit, and return early when all is to stop."""

    target: str
    """As the operator named it."""

    def first(self) -> Iterator[Input | Gap]:
        """Yield all that it has to say, a look at its sockets among it."""

    def look(self) -> Iterator[Input | Gap]:
        """Yield another look at its sockets; nothing, where it has none."""

    def logs(self, tell: Tell) -> Iterator[Input | Gap]:
        """Yield the access logs of directory servers there, as the last that is asked for; `tell` hears of each."""

    def close(self) -> None:
        """Leave nothing behind."""

    @property
    def peer(self) -> str | None:
        """Return the address that answered over LDAP; None for a host."""

    @property
    def clock_offset(self) -> ClockOffset | None:
        """Return how far its clock is ahead of ours; None where it told no time."""


@dataclass(slots=True)
class Said:
    """What one target has said so far."""

    party: Party
    pieces: list[Input] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    """Of its first answers: they decide who is looked at when."""

    def serves(self, ports: Collection[int]) -> bool:
        """Tell whether it is a directory server's host, by its listeners."""
        return any(served_ports(fact, ports) for fact in self.facts if isinstance(fact, SocketTable))

    def folder_of(self, address: str) -> str | None:
        """Return the folder of the host here that has this address; a loopback one is this host's, as we dialled it."""
        if is_loopback(address):
            return self.folder if self.party.target == HERE else None
        told = (fact for fact in self.facts if isinstance(fact, HostDescription))
        return next((fact.origin.folder for fact in told if address in own_addresses(fact)), None)

    @property
    def folder(self) -> str:
        """Return the folder of the host that was named; others may have been come upon on the way."""
        return next((piece.folder for piece in self.pieces), "")

    @property
    def told(self) -> str:
        """Return what it said, in a few words."""
        tables = [fact for fact in self.facts if isinstance(fact, SocketTable)]
        monitors = [fact for fact in self.facts if isinstance(fact, Monitor)]
        told = [f"{len(table)} sockets ({table.tool})" for table in tables[:1]]
        told += [f"and those of {len(tables) - 1} more network namespaces"] if len(tables) > 1 else []
        told += [f"cn=monitor, {one.current_connections} connections" for one in monitors]
        return ", ".join(told) or f"{len(self.pieces)} answers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """Everything the targets said."""

    pieces: tuple[Input, ...]
    gaps: tuple[Gap, ...]
    clock_offsets: dict[str, ClockOffset]
    """By target."""


def look_live(parties: Sequence[Party], terms: Terms, *, stop: threading.Event, progress: Progress) -> Gathered:
    """Ask every party, look again in turn, and close them whatever happens."""
    everyone = [Said(party) for party in parties]
    try:
        with ThreadPoolExecutor(max_workers=min(MOST_AT_ONCE, len(everyone) or 1)) as pool:
            started = time.monotonic()
            _together(pool, everyone, lambda said: _first(said, progress), stop)
            servers = [said for said in everyone if said.serves(terms.ldap_ports)]
            others = [said for said in everyone if said not in servers and said.facts]
            if servers:
                _pause(terms.apart - (time.monotonic() - started), stop, progress)
                for those in (others, servers, others):
                    _together(pool, those, _again, stop)
            if terms.logs:
                _together(pool, everyone, lambda said: _logs(said, progress), stop)
    finally:
        for said in everyone:
            said.party.close()
    gaps = list(dict.fromkeys(gap for said in everyone for gap in said.gaps))  # a later look fails as the first did
    if stop.is_set():
        gaps.append(Gap(target="this run", reason="was interrupted", how="run it again for the rest"))
    offsets = {said.party.target: offset for said in everyone if (offset := said.party.clock_offset) is not None}
    pieces = _once_each(_placed(everyone), everyone)
    return Gathered(pieces=tuple(pieces), gaps=tuple(gaps), clock_offsets=offsets)


def _together(
    pool: ThreadPoolExecutor, some: Iterable[Said], ask: Callable[[Said], None], stop: threading.Event
) -> None:
    """Ask several at once, and wait for all; each keeps its own time limit."""
    if stop.is_set():
        return
    asked: list[Future[None]] = [pool.submit(ask, said) for said in some]
    while not all(one.done() for one in asked):
        time.sleep(TICK)  # and not in wait(), which a signal would not end
    for one in asked:
        one.result()


def _first(said: Said, progress: Progress) -> None:
    started = time.monotonic()
    _take(said, said.party.first())
    said.pieces[:] = map(with_facts, said.pieces)
    said.facts.extend(fact for piece in said.pieces for fact in piece.facts)
    gap = next(iter(said.gaps), None)
    if said.pieces:
        progress.answered(said.party.target, said.told, time.monotonic() - started, gap)
    elif gap is not None:
        progress.failed(replace(gap, target=said.party.target))


def _again(said: Said) -> None:
    _take(said, said.party.look())


def _logs(said: Said, progress: Progress) -> None:
    """Take the access logs, last of all: nothing waits for them, and they wait for nothing else."""
    started, pieces, gaps = time.monotonic(), len(said.pieces), len(said.gaps)
    _take(said, said.party.logs(progress))
    files = [piece.path.rpartition("/")[2] for piece in said.pieces[pieces:]]
    gap = next(iter(said.gaps[gaps:]), None)
    if files:
        more = f" and {len(files) - NAMES_SHOWN} more" if len(files) > NAMES_SHOWN else ""
        told = f"access logs: {', '.join(files[:NAMES_SHOWN])}{more}"
        progress.answered(said.party.target, told, time.monotonic() - started, gap)
    elif gap is not None:
        progress.failed(gap)


def _take(said: Said, answers: Iterable[Input | Gap]) -> None:
    try:
        for answer in answers:
            if isinstance(answer, Gap):
                said.gaps.append(answer)
            else:
                said.pieces.append(answer)
    except Exception as error:  # noqa: BLE001  a bug in one source must not cost the others
        reason = f"asking it crashed ({type(error).__name__}: {error}); this is a bug in ldapdiag"
        said.gaps.append(Gap(target=said.party.target, reason=reason, how="please report it"))


def _pause(seconds: float, stop: threading.Event, progress: Progress) -> None:
    if seconds > 0:
        progress.waiting(seconds)
        stop.wait(seconds)


def _placed(everyone: Sequence[Said]) -> Iterator[Input]:
    """Yield every piece; what a directory said over LDAP goes to the host that has the address that answered."""
    for said in everyone:
        address = said.party.peer
        found = (other.folder_of(address) for other in everyone) if address else ()
        folder = next((one for one in found if one is not None), None)
        for piece in said.pieces:
            if folder is None:
                yield piece
            else:
                yield replace(piece, folder=folder, path=f"{folder}/{piece.path.rpartition('/')[2]}")


def _once_each(pieces: Iterable[Input], everyone: Sequence[Said]) -> Iterator[Input]:
    """Yield the pieces of every network namespace once: ssh to a host and to its container read the same ones.

    What the operator named himself counts; of what was come upon on the way, the first, and none that claims an address
    of a host that was named: it is of another network.
    """
    named = {said.folder for said in everyone}
    told = [fact for said in everyone for fact in said.facts if isinstance(fact, HostDescription)]
    known = {address for fact in told if fact.origin.folder in named for address in own_addresses(fact)}
    chosen: dict[tuple[str, str], str] = {}
    for fact in sorted(told, key=lambda fact: fact.origin.folder not in named):
        folder = fact.origin.folder
        stranger = folder not in named and not known.isdisjoint(own_addresses(fact))
        chosen.setdefault(
            (fact.machine, fact.namespace) if fact.namespace else (folder, ""), "" if stranger else folder
        )
    left_out = {fact.origin.folder for fact in told} - set(chosen.values())
    return (piece for piece in pieces if piece.folder not in left_out)
