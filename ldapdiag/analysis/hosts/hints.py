"""Hints: what a file of evidence reveals about the server process that it is about.

cat /proc/4711/limits on ldap                               the process, in the command of a manifest
proc-limits-4711.txt, proc-limits-1389.txt                  the process or the port, in the file's name
LDAP searches for cn-monitor at ldap://ldap:1389            the port, in the target
/etc/dirsrv/slapd-ds2/dse.ldif, ldap/slapd-ds2/errors       the instance of 389-ds, in a path
monitorConnectionLocalAddress: IP=10.77.1.2:1389            the listeners that a server reports
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.addresses import ANY, is_exact, normalise_address
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.host_facts import DescriptorCount, ProcessLimits
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.evidence.indexes.entry_count import EntryCount
from ldapdiag.evidence.indexes.explanations import IndexExplanations
from ldapdiag.evidence.indexes.index_status import IndexStatus
from ldapdiag.evidence.ldap_session import question_of
from ldapdiag.evidence.monitor import Monitor
from ldapdiag.evidence.schema import Schema
from ldapdiag.evidence.server_log import ServerLog
from ldapdiag.evidence.storage import DirectorySize, FileExtents, FileSystemSpace, MountTable
from ldapdiag.evidence.storage.settings import StorageSettings
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern
from ldapdiag.servers.traits import traits_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from ldapdiag.evidence.origin import Origin

Endpoint = tuple[str, int]
"""Address, or `*` for any, and port."""

Life = tuple["datetime", "datetime | None"]
"""When a server started and when it reported that, by its own clock."""

REPORTS = (Monitor, Configuration, ServerLog, AccessLog, IndexConfiguration, StorageSettings)
"""What a server reports about itself: it identifies the product."""
SERVER_FACTS = (*REPORTS, IndexStatus, EntryCount, IndexExplanations, Schema, ProcessLimits, DescriptorCount)
"""Facts about one server process. All others are about its host, but for those of PROCESS_FACTS that name a process."""
PROCESS_FACTS = (ProcessLimits, DescriptorCount, MountTable, FileSystemSpace, DirectorySize, FileExtents)
"""Facts about one process: its limits, and its files as it sees them, which a table of the host may show otherwise."""

PROCESS = pattern(r"(?:/proc/|\bprocess )(\d{1,9})\b", re.ASCII)
TARGET = pattern(r"\bldap(s?)://(\[[^\]\s]{1,80}\]|[^\s:/\[\]]{1,255})(?::(\d{1,5}))?(?=[\s/]|$)", re.ASCII)
INSTANCE = pattern(
    r"(?:^|[/\s]|%2[Ff])slapd-([A-Za-z0-9_-]{1,64})(?=/|%2[Ff]|\.socket|\.ldif|\s|$)", re.ASCII | re.MULTILINE
)
"""The folder, the file or the socket of an instance of 389-ds; an instance's name has no dot."""
HEADER = pattern(r"\S{1,255}:(\d{1,5}) \((/[^\s)]{1,1000})\)", re.ASCII)
"""ldap.example:389 (/etc/dirsrv/slapd-ds1), at the beginning of an access log."""
PATH = pattern(r"/\S{1,1000}")
PROCESS_NUMBER = pattern(
    r"(?:limits|fds?|count|pid|proc|mountinfo|mounts|space|df|sizes|extents|filefrag)[-_.]?(\d{3,7})(?![0-9A-Za-z]|-\d\d-\d\d)",
    re.ASCII,
)
"""In the name of a file about a process; lower numbers count files, longer ones are dates."""
WORD = pattern(r"[^\W_]{1,64}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerHints:
    """What the facts of one file reveal about their server. Empty: nothing."""

    pids: frozenset[int] = frozenset()
    endpoints: frozenset[Endpoint] = frozenset()
    exact: bool = False
    """The endpoints are all that the server has."""
    targets: frozenset[Endpoint] = frozenset()
    """The target without TLS that answered: an operator names a server by one of them."""
    lives: tuple[Life, ...] = ()
    instances: frozenset[str] = frozenset()
    families: frozenset[Family] = frozenset()
    paths: frozenset[str] = frozenset()
    """Paths in the command that the file answers, that of a configuration perhaps."""
    process: int | None = None
    """The process that the name of a file about a process has, unless it is a port."""
    words: tuple[str, ...] = ()
    """The words of the file's name, in lower case: a process, a port, an instance or a count perhaps."""


def hints_of(facts: Sequence[Any]) -> ServerHints:
    """Return what the facts of one file reveal about the server process that they are about."""
    origin = facts[0].origin
    families = frozenset(family for fact in facts if (family := _family(fact)))
    headers = [header for fact in facts if isinstance(fact, AccessLog) for header in _headers(fact)]
    place = origin.path if families else origin.path.rpartition("/")[0] + "/"
    asked = question_of(origin.asked)
    named = "\n".join([*(path for _, path in headers), asked, f"{origin.folder}/", place])
    reported = frozenset(endpoint for fact in facts for endpoint in _listeners(fact))
    reported |= {(ANY, port) for port, _ in headers}
    targets = [(secure, _endpoint(host, port, secure)) for secure, host, port in TARGET.findall(asked)]
    return ServerHints(
        pids=processes_named(origin),
        endpoints=reported or frozenset(endpoint for _, endpoint in targets),
        exact=any(map(_lists_all, facts)),
        targets=frozenset(endpoint for secure, endpoint in targets if not secure),
        lives=tuple(
            (fact.started_at, fact.taken_at) for fact in facts if isinstance(fact, Monitor) and fact.started_at
        ),
        instances=frozenset(
            INSTANCE.findall(named) if all(traits_of(family).names_instances for family in families) else ()
        ),
        families=families,
        paths=frozenset(PATH.findall(asked)),
        process=_process_in_name(facts),
        words=tuple(WORD.findall(origin.path.rpartition("/")[2].rpartition(".")[0].lower())),
    )


def is_about_server(fact: Any) -> bool:  # noqa: ANN401  facts of all kinds
    """Return whether a fact is about one server process; a mount table without a process is its host's."""
    if isinstance(fact, SERVER_FACTS):
        return True
    return isinstance(fact, PROCESS_FACTS) and (
        bool(processes_named(fact.origin)) or _process_in_name([fact]) is not None
    )


def _process_in_name(facts: Sequence[Any]) -> int | None:
    """Return the number of the process in the name of a file that contains nothing but what is about one process."""
    name = facts[0].origin.path.rpartition("/")[2].lower()
    about_a_process = all(isinstance(fact, PROCESS_FACTS) for fact in facts)
    found = PROCESS_NUMBER.search(name) if about_a_process else None
    return int(found[1]) if found else None


def processes_named(origin: Origin) -> frozenset[int]:
    """Return the processes in the command that a file answers, or in its path."""
    return frozenset(map(int, PROCESS.findall(f"{question_of(origin.asked)} /{origin.path}")))


def _endpoint(host: str, port: str, secure: str) -> Endpoint:
    address = normalise_address(host)
    return address if is_exact(address) else ANY, int(port or (636 if secure else 389))


def _family(fact: Any) -> Family | None:  # noqa: ANN401  facts of all kinds
    identity = getattr(fact, "identity", None)
    return identity.family.kin if identity else None


def _headers(log: AccessLog) -> list[tuple[int, str]]:
    """Return the port and the folder of the server, as the headers of 389-ds' log have them."""
    texts = (instance.decode(errors="replace") for instance, _ in log.segment.instances)
    return [(int(found[1]), f"{found[2]}/") for text in texts if (found := HEADER.fullmatch(text))]


def _listeners(fact: Any) -> Iterable[Endpoint]:  # noqa: ANN401  facts of all kinds
    if isinstance(fact, Configuration):
        return [(ANY, port) for port in fact.ports]
    return fact.listeners if isinstance(fact, Monitor | ServerLog | AccessLog) else ()


def _lists_all(fact: Any) -> bool:  # noqa: ANN401  facts of all kinds
    return bool(_listeners(fact)) and (isinstance(fact, Monitor) or (isinstance(fact, Configuration) and fact.complete))
