"""Separation: the directory servers of one host, and the files of evidence about each.

What two files share (a process, a listener, the name of an instance, a number in their names, a folder of their own)
makes them one server's, unless they contradict each other: other processes, other products, other complete sets of
ports. A file that fits several servers belongs to none of them. Where no evidence separates two servers, they are one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from ldapdiag.analysis.hosts.candidate import Candidate, meet, of_file, of_process, ports_of
from ldapdiag.analysis.hosts.listening import Listening
from ldapdiag.evidence.addresses import LDAP_PORTS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from ldapdiag.analysis.hosts.candidate import FileKey

MOST_SERVERS = 200
"""On one host; further files that fit none of them are not used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Separation:
    """The servers of one host, and the facts that fit several of them."""

    servers: tuple[Candidate, ...]
    ambiguous: tuple[Any, ...] = ()


def separate(processes: Iterable[Listening], facts: Iterable[Any], shared_folders: Collection[str]) -> Separation:
    """Separate the evidence of one host into that of its directory servers.

    `facts` are those about server processes; in `shared_folders` is evidence of the whole host.
    """
    files: dict[FileKey, list[Any]] = defaultdict(list)
    for fact in facts:
        files[fact.origin.path, fact.origin.asked].append(fact)
    reports = [of_file(key, own) for key, own in sorted(files.items())]
    candidates = [*(part for one in processes for part in _by_address(of_process(one), reports)), *reports]
    _read_words(candidates)
    for shared in (_identity, _number, lambda one: _folder(one, shared_folders)):
        candidates = _united(candidates, shared)
    servers = _with_unowned([one for one in candidates if one.is_process])
    return _placed(servers, [one for one in candidates if not one.is_process])


def _by_address(process: Candidate, files: Iterable[Candidate]) -> list[Candidate]:
    """Return a port without an owner by its addresses, where servers report that they listen at different ones."""
    ports = ports_of(process.served)
    complete = {frozenset(file.endpoints) for file in files if file.exact and ports & ports_of(file.endpoints)}
    if process.pids or all(meet(one, other) for one, other in combinations(complete, 2)):
        return [process]
    return [of_process(Listening(endpoints=frozenset({endpoint}))) for endpoint in sorted(process.served)]


def _read_words(candidates: Sequence[Candidate]) -> None:
    """Read the words of file names as processes, listeners or instances, where there are such."""
    pids = {pid for one in candidates for pid in one.pids}
    served = {endpoint for one in candidates for endpoint in one.served}
    instances = {name.lower(): name for one in candidates for name in one.named}
    for one in candidates:
        for word in one.words:
            number = int(word) if word.isdigit() else -1
            if number in pids and not one.pids:
                one.pids.add(number)
            elif not one.endpoints and (named := {endpoint for endpoint in served if endpoint[1] == number}):
                one.endpoints |= named
            elif word in instances and not one.instances and not one.is_process:
                one.instances.add(instances[word])
        if one.process is not None and not one.pids and not one.endpoints:
            one.pids.add(one.process)


def _identity(one: Candidate) -> list[object]:
    """Return what identifies a server: its processes, instance, configuration and listeners."""
    return [
        *one.pids,
        *one.named,
        *one.paths,
        *one.endpoints,
        *(f"port {port}" for port in ports_of(one.endpoints)),
    ]


def _number(one: Candidate) -> list[object]:
    """Return the numbers of files, by folder: the collection script numbers those of a host's second server and on."""
    numbers = [word for word in one.words if word.isdigit()]
    return [
        (fact.origin.folder, number)
        for fact in one.facts
        for number in (numbers or (["1"] if fact.origin.asked and "://" not in fact.origin.asked else []))
    ]


def _folder(one: Candidate, shared_folders: Collection[str]) -> list[object]:
    """Return the folders of its files that have no evidence of the whole host."""
    return [fact.origin.folder for fact in one.facts if fact.origin.folder not in shared_folders]


def _united(candidates: Sequence[Candidate], shared: Callable[[Candidate], Collection[object]]) -> list[Candidate]:
    """Unite the candidates that share something and do not contradict each other.

    What several processes have identifies none of them; nor does what contradicting files have.
    """
    held = Counter(what for one in candidates if one.is_process for what in set(shared(one)))
    united: dict[int, Candidate] = {}
    having: dict[object, dict[int, Candidate]] = defaultdict(dict)
    for one in candidates:
        own = {what for what in shared(one) if held[what] < 2}
        near = {number: other for what in own for number, other in having[what].items() if number in united}
        partners = [other for other in near.values() if not other.contradicts(one)]
        if _contradict(partners):
            partners = []
        for other in partners[1:]:
            partners[0].add(other)
            del united[id(other)]
        target = partners[0] if partners else one
        if partners:
            target.add(one)
        united[id(target)] = target
        for what in shared(target):
            having[what][id(target)] = target
    return list(united.values())


def _with_unowned(servers: list[Candidate]) -> list[Candidate]:
    """Return the listening servers: ports without an owner are one server's unless evidence separates them.

    Of those that it does not place, the owner is another, unknown server.
    """
    unowned = [one for one in servers if not one.pids]
    owned = [one for one in servers if one.pids]
    unknown = [one for one in unowned if not one.files]
    reported = [one for one in unowned if one.files]
    complete = {port for one in reported if one.exact for port in ports_of(one.endpoints)}
    rest = ports_of(endpoint for one in unknown for endpoint in one.served)
    separated = _contradict(reported)
    if not separated and (not complete or rest <= LDAP_PORTS):
        return [*owned, *_as_one(unowned)]
    return [*owned, *(reported if separated else _as_one(reported)), *_as_one(unknown)]


def _as_one(candidates: Sequence[Candidate]) -> list[Candidate]:
    for other in candidates[1:]:
        candidates[0].add(other)
    return list(candidates[:1])


def _placed(servers: list[Candidate], files: list[Candidate]) -> Separation:
    """Add each file to the only server that it fits; one that reports about a server which fits none is a server."""
    files = sorted(files, key=lambda one: (-one.known, min(one.files)))
    if len(servers) == 1 and not _contradict([one for one in (*servers, *files) if one.reports]):
        servers[0].families.clear()  # a program may have another name; the only server is not in doubt
    open_to = [
        one
        for one in servers
        if one.known or not _contradict([file for file in files if file.reports and _fits_only(file, one, servers)])
    ]
    unknown = {id(file) for one in open_to if not one.pids for file in _of_several_processes(one, files, open_to)}
    ambiguous: list[Any] = []
    for file in files:
        fitting = [one for one in open_to if not one.contradicts(file)]
        if len(fitting) == 1 and id(file) not in unknown:
            fitting[0].add(file)
        elif not fitting and file.reports and len(servers) < MOST_SERVERS:
            servers.append(file)
            open_to.append(file)
        elif fitting or servers:
            ambiguous.extend(file.facts)
    return Separation(servers=tuple(servers), ambiguous=tuple(ambiguous))


def _of_several_processes(
    server: Candidate, files: Iterable[Candidate], servers: Sequence[Candidate]
) -> list[Candidate]:
    """Return the files about processes that fit no other server, if they are of several: any may be the server's."""
    own = [file for file in files if file.pids and not file.reports and _fits_only(file, server, servers)]
    return own if _contradict(own) else []


def _contradict(candidates: Iterable[Candidate]) -> bool:
    """Return whether any two contradict each other."""
    different = {one.signature: one for one in candidates}
    return any(one.contradicts(other) for one, other in combinations(different.values(), 2))


def _fits_only(file: Candidate, server: Candidate, servers: Iterable[Candidate]) -> bool:
    return [one for one in servers if not one.contradicts(file)] == [server]
