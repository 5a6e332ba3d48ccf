"""Assembly: every host of the evidence, with its snapshots, its routes and the latest facts that describe it."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, TypeVar

from ldapdiag.analysis.hosts.host import Host, own_addresses
from ldapdiag.analysis.hosts.snapshots import snapshots_of
from ldapdiag.evidence.addresses import identifies_a_host
from ldapdiag.evidence.flows import TrackingCounters
from ldapdiag.evidence.host_facts import HostDescription, KernelSettings, RouteTable, TcpCounters
from ldapdiag.evidence.processes import BootTime, ProcessTable
from ldapdiag.evidence.ruleset import Ruleset
from ldapdiag.evidence.sockets import SocketTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ldapdiag.analysis.hosts.grouping import HostGroup

T = TypeVar("T")


def assemble_hosts(groups: Iterable[HostGroup], facts: Iterable[Any], ldap_ports: frozenset[int]) -> Iterator[Host]:
    """Yield every host that has a socket table or any other fact, by name; `facts` have the host as their origin."""
    of_host: dict[str, list[Any]] = defaultdict(list)
    for fact in sorted(facts, key=lambda fact: fact.origin.order):
        of_host[fact.origin.host].append(fact)
    by_name = {group.name: group for group in groups}
    for name in sorted(by_name.keys() | (of_host.keys() - {""})):
        yield _host(name, by_name.get(name), of_host[name], ldap_ports)


def _host(name: str, group: HostGroup | None, facts: list[Any], ldap_ports: frozenset[int]) -> Host:
    """Return a host from its facts, the latest last."""
    description, counters = _latest(facts, HostDescription), _all(facts, TcpCounters)
    routes = _all(facts, RouteTable)
    return Host(
        host=name,
        addresses=frozenset(group.addresses if group else ())
        | (own_addresses(description) if description else set())
        | {address for table in routes for address in table.addresses if identifies_a_host(address)},
        snapshots=snapshots_of(_all(facts, SocketTable)),
        ldap_ports=ldap_ports,
        description=description,
        counters=counters[-1] if counters else None,
        first_counters=_first_reading(counters),
        kernel=_latest(facts, KernelSettings),
        processes=_latest(facts, ProcessTable),
        boot=_latest(facts, BootTime),
        routes=tuple(dict.fromkeys(route for table in routes for route in table.routes)),
        rulesets=tuple(_all(facts, Ruleset)),
        tracking=_latest(facts, TrackingCounters),
        origins=tuple(sorted(fact.origin.path for fact in facts)),
        merge_reason=group.merge_reason if group else None,
    )


def _all(facts: Iterable[Any], kind: type[T]) -> list[T]:
    return [fact for fact in facts if isinstance(fact, kind)]


def _latest(facts: Iterable[Any], kind: type[T]) -> T | None:
    return next(reversed(_all(facts, kind)), None)


def _first_reading(counters: list[TcpCounters]) -> TcpCounters | None:
    """Return the first of several readings of counters, in order of time; None unless the last is known to be later."""
    if not all(reading.origin.taken for reading in counters) or len(counters) < 2:
        return None
    first, last = counters[0].origin.taken, counters[-1].origin.taken
    return counters[0] if first and last and first.end < last.start else None
