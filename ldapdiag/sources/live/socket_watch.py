"""A watch of the tables of hosts: sockets, flows and proxy sessions, again and again over one session for each host."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

from ldapdiag.errors import LdapdiagError
from ldapdiag.evidence.flows import FlowTable
from ldapdiag.evidence.host_facts import HostDescription
from ldapdiag.evidence.sockets import SocketTable
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.sources.live.collected_target import CollectedTarget
from ldapdiag.sources.live.collectors import host_collector
from ldapdiag.sources.live.sampling import MAX_PARALLEL, add_answers, in_parallel, without_duplicates
from ldapdiag.sources.recognition.reading import with_facts
from ldapdiag.sources.recognition.row_limit import RunTables
from ldapdiag.sources.targets import LocalTarget, NamespaceTarget, SshTarget

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Future
    from threading import Event
    from typing import TypeGuard

    from ldapdiag.evidence.bundle import Gap
    from ldapdiag.evidence.origin import Fact
    from ldapdiag.sources.collection_options import CollectionOptions
    from ldapdiag.sources.live.collectors import SshCollector
    from ldapdiag.sources.live.local_host import LocalCollector
    from ldapdiag.sources.targets import Target

TABLES = (SocketTable, FlowTable, HostDescription)
"""The kinds of facts that each look has anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The tables of all hosts, with the latest sockets of the look before: what changes between two of a host."""

    facts: tuple[Fact, ...]
    gaps: tuple[Gap, ...]
    """Why hosts have none."""


class _Host(NamedTuple):
    collector: SshCollector | LocalCollector
    collected: CollectedTarget

    @property
    def shows_sockets(self) -> bool:
        """Return whether a table of it was read."""
        return any(isinstance(fact, SocketTable) for fact in self.collected.facts)


class SocketWatch:
    """Reads the tables of hosts in the order of a diagnosis: the servers' between two of the clients'."""

    def __init__(self, targets: Sequence[Target], options: CollectionOptions, stop: Event) -> None:
        """Of `targets` those that are hosts, at least one."""
        self._ports, self._stop = options.ldap_ports, stop
        hosts = [one for one in targets if is_host(one)]
        self.is_remote = any(isinstance(one, SshTarget) for one in hosts)
        """Any host is read over ssh."""
        self._collectors = [host_collector(one, options, stop) for one in hosts]
        self._servers: set[str] = set()
        self._before: tuple[SocketTable, ...] = ()
        self._pool = ThreadPoolExecutor(2 * MAX_PARALLEL)
        self._silent: dict[str, tuple[Future[None], _Host]] = {}
        """Hosts that showed nothing, by target, which are asked beside the looks until they answer."""
        self._gaps: dict[str, Gap] = {}
        """Why they showed nothing."""

    def look(self) -> Tables:
        """Read the tables of all hosts. Raises LdapdiagError if there are none."""
        hosts = [_Host(one, CollectedTarget(one)) for one in self._collectors if self._answers(one)]
        in_parallel(self._pool, [one for one in hosts if one.collector.target not in self._servers], _read, self._stop)
        self._servers.update(one.collector.target for one in hosts if one.collected.serves(self._ports))
        for is_server in (True, False):
            group = [one for one in hosts if (one.collector.target in self._servers) is is_server]
            in_parallel(self._pool, group, _read, self._stop)
        for one in hosts:
            if not one.shows_sockets:
                self._fell_silent(one)
        gaps = [gap for target, gap in self._gaps.items() if target in self._silent]
        facts = _facts([one.collected for one in hosts], gaps)
        sockets = [one for one in facts if isinstance(one, SocketTable)]
        if not sockets:
            raise LdapdiagError(f"{gaps[0].target}: {gaps[0].reason}" if gaps else "no host has shown its sockets")
        latest = {one.origin.folder: one for one in sockets}
        # Of a host that is silent now an old table shows nothing.
        before = [one for one in self._before if one.origin.folder in latest]
        self._before = tuple(latest.values())
        return Tables(facts=(*before, *facts), gaps=tuple(gaps))

    def close(self) -> None:
        """End all sessions, after `stop` was set."""
        self._pool.shutdown()
        for collector in self._collectors:
            collector.close()

    def _answers(self, collector: SshCollector | LocalCollector) -> bool:
        """Return whether a host was not silent when it was last asked; ask it again beside this look if it was."""
        target = collector.target
        if target not in self._silent:
            return True
        asked, host = self._silent[target]
        if asked.done():
            del self._silent[target]
            if host.shows_sockets:
                return True
            self._fell_silent(host)
        return False

    def _fell_silent(self, host: _Host) -> None:
        """Keep the reason, and ask again over another session: the others do not wait for the time that it has."""
        collector = host.collector
        collector.close()
        if host.collected.gaps:
            self._gaps[collector.target] = host.collected.gaps[0]
        again = _Host(collector, CollectedTarget(collector))
        if not self._stop.is_set():
            self._silent[collector.target] = self._pool.submit(_read, again), again


def is_host(target: Target) -> TypeGuard[SshTarget | LocalTarget | NamespaceTarget]:
    """Return whether a target is a host, whose tables can be read."""
    return isinstance(target, LocalTarget | NamespaceTarget) or (isinstance(target, SshTarget) and not target.path)


def _read(host: _Host) -> None:
    """Read the tables of a host, unless it has failed to show them in this look."""
    collected, known = host.collected, len(host.collected.pieces)
    if collected.gaps and not collected.pieces:
        return
    add_answers(collected, host.collector.tables())
    collected.pieces[known:] = map(with_facts, collected.pieces[known:])
    collected.facts[:] = [fact for piece in collected.pieces for fact in piece.facts]


def _facts(targets: Sequence[CollectedTarget], gaps: list[Gap]) -> list[Fact]:
    """Return the facts of each network namespace once, one description each; add a gap for what is too large."""
    pieces = [piece for target in targets for piece in target.pieces]
    tables, facts = RunTables(), []
    for piece in without_duplicates(pieces, targets):
        if too_many := tables.take(piece.label, piece.facts):
            gaps.append(too_many)
        else:
            facts += [fact for fact in piece.facts if isinstance(fact, TABLES)]
    described = {fact.origin.folder: fact for fact in facts if isinstance(fact, HostDescription)}
    return [*(fact for fact in facts if not isinstance(fact, HostDescription)), *described.values()]
