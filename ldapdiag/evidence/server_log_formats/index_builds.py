"""IndexBuilds: the builds of indexes in an errors log of 389-ds, followed line by line.

    [22/Nov/2026:12:50:40.827 +0000] - INFO - bdb_db2index - userroot: Indexing attribute: employeeNumber
    [22/Nov/2026:12:50:40.828 +0000] - INFO - bdb_db2index - userroot: Indexing attribute: shadowMax
    [22/Nov/2026:12:50:40.882 +0000] - INFO - bdb_db2index - userroot: Finished indexing.
    [22/Nov/2026:12:50:44.100 +0000] - ERR - task_index_thread - Index failed (error -1)
    [22/Nov/2026:12:50:57.116 +0000] - INFO - bdb_public_bdb_import_main - import userroot: Import complete.  …

A build that a shutdown or a crash ends leaves an index that lacks entries: the next line is one of a start, or of the
failure. Source: back-ldbm/db-bdb/bdb_ldif2db.c (the same messages for db-mdb), task.c; measured with 2.3.1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.index_build import EVERY_ATTRIBUTE, IndexBuild

if TYPE_CHECKING:
    from datetime import datetime

BACKEND = r"([\w.-]{1,64})"
"""Without blanks and quotes, so that no text of a client is taken for a build."""
INDEXING = re.compile(rf"{BACKEND}: Indexing attribute: ([\w.;-]{{1,128}})\s*$", re.ASCII)
FINISHED = re.compile(rf"{BACKEND}: Finished indexing\.")
FAILED = re.compile(r"Index failed \(error -?\d{1,9}\)")
IMPORTED = re.compile(rf"import {BACKEND}: Import complete\.", re.ASCII)
HINTS = ("Indexing attribute: ", "Finished indexing", "Index failed (", "Import complete.")
"""Every message read here contains one of these."""
MOST_BUILDS = 10_000
"""Of different indexes in one log."""


@dataclass(slots=True)
class IndexBuilds:
    """The last build of each index so far."""

    last: dict[tuple[str, str], IndexBuild] = field(default_factory=dict)
    """By backend and attribute."""
    running: set[tuple[str, str]] = field(default_factory=set)

    def message_at(self, line: str, at: int, time: datetime) -> bool:
        """Read the message at a position; return whether it is about a build."""
        if indexing := INDEXING.match(line, at):
            self._began((indexing[1].lower(), indexing[2].lower()), time)
        elif finished := FINISHED.match(line, at):
            self._ended(finished[1].lower(), time)
        elif imported := IMPORTED.match(line, at):
            self._imported(imported[1].lower(), time)
        elif FAILED.match(line, at):
            self._failed()
        else:
            return False
        return True

    def restart(self) -> None:
        """End the running builds as failed at a start of the server, which then uses what they have built."""
        self._failed()
        for key, build in self.last.items():
            if build.failed:
                self.last[key] = replace(build, restarted=True)

    def _failed(self) -> None:
        for key in self.running:
            self.last[key] = replace(self.last[key], failed=True)
        self.running.clear()

    def _began(self, key: tuple[str, str], time: datetime) -> None:
        if key in self.last or len(self.last) < MOST_BUILDS:
            self.last[key] = IndexBuild(backend=key[0], attribute=key[1], started=time)
            self.running.add(key)

    def _ended(self, backend: str, time: datetime) -> None:
        for key in [one for one in self.running if one[0] == backend]:
            self.last[key] = replace(self.last[key], finished=time)
            self.running.discard(key)

    def _imported(self, backend: str, time: datetime) -> None:
        """Record an import; the earlier builds of this database are void."""
        for key in [one for one in self.last if one[0] == backend]:
            del self.last[key]
            self.running.discard(key)
        self.last[backend, EVERY_ATTRIBUTE] = IndexBuild(
            backend=backend, attribute=EVERY_ATTRIBUTE, started=time, finished=time
        )
