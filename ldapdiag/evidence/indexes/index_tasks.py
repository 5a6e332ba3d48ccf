"""IndexTask: a build of indexes that a live server runs, or has just ended.

    dn: cn=t1,cn=index,cn=tasks,cn=config                              389-ds, for `ttl` seconds after its end
    nsInstance: userroot
    nsIndexAttribute: employeeNumber
    nsTaskExitCode: 0                                                  missing while it runs
    createTimestamp: 20261122125040Z

    dn: cn=Runqueue,cn=Threads,cn=Monitor                              slapd, while it runs
    monitoredInfo: {0}mdb_online_index(dc=example,dc=com)

Measured with 389-ds 2.3.1 and slapd 2.5.13.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from ldapdiag.evidence.ldif import comparable
from ldapdiag.evidence.monitor import generalized_time
from ldapdiag.evidence.origin import Origin
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.ldif import Entry

TASKS = "cn=index,cn=tasks,cn=config"
RUN_QUEUE = "cn=runqueue,cn=threads,"
INDEXER = pattern(r"\{\d{1,6}\}mdb_online_index\((.{1,1000})\)")
ATTRIBUTES = ("nsInstance", "nsIndexAttribute", "nsTaskExitCode", "createTimestamp")
FILTER = "(nsInstance=*)"
MOST_TASKS = 1000
MOST_ATTRIBUTES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexTask:
    """One build. Empty or None: not published."""

    kind: ClassVar[str] = "index-task"
    how: ClassVar[str] = (
        "389-ds: ldapsearch … -b cn=index,cn=tasks,cn=config; "
        "OpenLDAP: ldapsearch … -b cn=Runqueue,cn=Threads,cn=Monitor"
    )

    origin: Origin
    backend: str = ""
    """In lower case (389-ds)."""
    suffix: str = ""
    """Comparable (slapd)."""
    attributes: frozenset[str] = frozenset()
    """In lower case (389-ds)."""
    exit_code: int | None = None
    """None: it runs."""
    created: datetime | None = None


class IndexTasks:
    """Makes an IndexTask of each entry of a task, and of each build in the run queue of slapd."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.tasks: dict[str, tuple[str, str, frozenset[str], int | None, datetime | None]] = {}
        """By DN or suffix."""

    def take(self, entry: Entry) -> None:
        """Read an entry; entries of other kinds are ignored."""
        if len(self.tasks) >= MOST_TASKS:
            return
        if entry.key.endswith(f",{TASKS}") and "nsInstance" in entry:
            names = frozenset(one.lower() for one in entry.values("nsIndexAttribute")[:MOST_ATTRIBUTES])
            created = generalized_time.parse(entry.first("createTimestamp"))
            code = entry.number("nsTaskExitCode")
            self.tasks[entry.key] = (entry.first("nsInstance").lower(), "", names, code, created)
        elif entry.key.startswith(RUN_QUEUE):
            for value in entry.values("monitoredInfo")[:MOST_TASKS]:
                if found := INDEXER.fullmatch(value):
                    self.tasks[found[1]] = ("", comparable(found[1]), frozenset(), None, None)

    def facts(self) -> Iterator[IndexTask]:
        """Return one fact per build."""
        for backend, suffix, attributes, code, created in self.tasks.values():
            yield IndexTask(
                origin=self.document.origin(),
                backend=backend,
                suffix=suffix,
                attributes=attributes,
                exit_code=code,
                created=created,
            )
