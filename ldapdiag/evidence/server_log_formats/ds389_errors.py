r"""The errors log of 389-ds, with the prefixes of all versions.

    \t389-Directory/2.3.1 B2025.016.1616
    [23/Apr/2015:23:12:31 -0400] - 389-Directory/1.2.11.15 B2014.300.2010 starting up
    [20/Nov/2026:08:45:18.529737884 +0000] - ERR - accept_thread - Not listening for new connections - too many fds open
    [22/Nov/2026:12:50:40.827339230 +0000] - INFO - bdb_db2index - userroot: Indexing attribute: uid  (index_builds.py)

Since 1.3.5 severity and function precede the message. Text from clients is in quotes further right, so a message counts
only at its beginning. Source: ldap/servers/slapd/daemon.c, log.c.

IndexBuilds: the builds of indexes in an errors log of 389-ds, followed line by line.

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
from dataclasses import field, replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import normalise_address, port_number
from ldapdiag.evidence.family import Family, ServerIdentity, identify
from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.log.stamps import NETSCAPE, when
from ldapdiag.evidence.server_log import EVERY_ATTRIBUTE, IndexBuild, ServerLog
from ldapdiag.evidence.server_log_formats import log_summary
from ldapdiag.evidence.server_log_formats.access import is_access
from ldapdiag.evidence.server_log_formats.log_summary import LogSummary
from ldapdiag.evidence.server_log_formats.logged_periods import LoggedPeriods
from ldapdiag.lazy_dataclass import NamedTuple, dataclass
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from ldapdiag.evidence.document import Document

BACKEND = r"([\w.-]{1,64})"
"""Without blanks and quotes, so that no text of a client is taken for a build."""
INDEXING = pattern(rf"{BACKEND}: Indexing attribute: ([\w.;-]{{1,128}})\s*$", re.ASCII)
FINISHED = pattern(rf"{BACKEND}: Finished indexing\.")
FAILED = pattern(r"Index failed \(error -?\d{1,9}\)")
IMPORTED = pattern(rf"import {BACKEND}: Import complete\.", re.ASCII)
BUILD_HINTS = ("Indexing attribute: ", "Finished indexing", "Index failed (", "Import complete.")
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


STAMP = pattern(
    r"(?:[^\s=\"]{1,255} {1,80}\| )?"
    r"\[(\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d)(?:\.\d{1,9})?( [+-]\d{4})\] (?=\S)(?!category=)",
    re.ASCII,
)
"""Time and zone, possibly after the name of a container; in OpenDJ's errors log `category=` follows."""
DASH = pattern(r"- ")
SEVERITY = pattern(r"[A-Z]{3,9} - ")
FUNCTION = pattern(r"[\w.:()/ ]{1,80} - ", re.ASCII)
"""The name of the function; without quotes and equals signs, so it is not text from a client."""
BANNER = pattern(r"\s+([\w() -]{1,40}-Directory/\S{1,80}.{0,80})$", re.ASCII)
"""The first line of each file."""

STARTING = pattern(
    r"([A-Z\d][\w()-]{0,40}(?: [A-Z][\w()-]{0,40})?/[\w.]{1,40} B[\w.]{1,40}(?: \([\w-]{1,20}\))?) starting up",
    re.ASCII,
)
LISTENING = pattern(
    r"(?:slapd started\. {1,2})?Listening on (All Interfaces|[\w.:\[\]%-]{2,64}) port (\d{1,5}) for LDAPS? requests"
)
LISTENING_AGAIN = pattern(r"Listening for new connections again")
EXHAUSTION = (
    (pattern(r"Not listening for new connections - too many fds open"), log_summary.NOT_LISTENING),
    (
        pattern(r"PR_Accept\(\) failed, Netscape Portable Runtime error -59(?:71|70)\b"),
        log_summary.ACCEPT_FAILED,
    ),
    (pattern(r"[Mm]ax open connections reached"), log_summary.TABLE_FULL),
)
STOPPING = pattern(r"slapd (?:shutting down|stopped)\b")
RECOVERING = pattern(r"Detected Disorderly Shutdown")
"""At the start after a crash (bdb_start in db-bdb/bdb_layer.c)."""
BERKELEY = pattern(r"bdb_\w{1,60} - ", re.ASCII)
"""A function of the server for Berkeley DB."""
ENDS = ("slapd sh", "slapd st", "Disorderly", " bdb_")
HINTS = ("istening ", "starting up", "PR_Accept", "open connections reached", *ENDS, *BUILD_HINTS)
"""Every message read here contains one of these."""


def recognises(head: Head) -> bool:
    """Recognise an errors log by time-stamped messages that are not of an access log."""
    return any(_is_prose(line) for line in head.lines) and not is_access(head)


def read(document: Document) -> Iterator[ServerLog]:
    """Read the messages about descriptor exhaustion, starts, listeners and builds of indexes."""
    summary, builds, periods = LogSummary(), IndexBuilds(), LoggedPeriods()
    second = ""
    for line in document.lines:
        stamp = STAMP.match(line)
        if not stamp:
            if banner := BANNER.match(line):
                summary.banner = summary.banner or banner[1]
                periods.file()
                second = ""
            elif line.strip() and not line.startswith(("\t", " ")):
                document.misread(line)
            continue
        if stamp[1] != second and (time := _time(stamp)) is not None:
            second = stamp[1]
            periods.line(time)
        if any(hint in line for hint in HINTS):
            _read_message(Messages(summary, builds, periods), line, stamp)
    periods.close()
    identity = identify(summary.banner) if summary.banner else ServerIdentity(family=Family.DS389)
    if identity is None or identity.family is not Family.DS389:
        document.note(f"This is the log of {summary.banner[:80]!r}, a product that is not supported.")
        return
    yield ServerLog(
        origin=document.origin(),
        identity=identity,
        exhaustion_messages=tuple(summary.exhaustion_messages.values()),
        listeners=tuple(summary.listeners),
        starts=summary.starts,
        start_times=tuple(summary.start_times),
        periods=tuple(periods.periods),
        index_builds=tuple(builds.last.values()),
        recovered=summary.recovered,
    )


def _time(stamp: re.Match[str]) -> datetime | None:
    """Return the time of a line, to the second; None for an impossible date."""
    try:
        return when(NETSCAPE[f"{stamp[1]}{stamp[2]}".encode()])
    except ValueError:
        return None


def _is_prose(line: str) -> bool:
    stamp = STAMP.match(line)
    return stamp is not None and any(part.match(line, stamp.end()) for part in (DASH, FUNCTION))


class Messages(NamedTuple):
    """What is collected of the messages of one log."""

    summary: LogSummary
    builds: IndexBuilds
    periods: LoggedPeriods

    def start(self, time: datetime | None) -> None:
        """Follow a start of the server."""
        self.builds.restart()
        if time is not None:
            self.summary.start_times.append(time)
            self.periods.start(time)

    def end_at(self, line: str, at: int) -> bool:
        """Read the message at this position; return whether it is about the end of the server."""
        if STOPPING.match(line, at):
            self.periods.stop()
        elif RECOVERING.match(line, at):
            self.periods.recover()
        elif BERKELEY.match(line, at):
            self.periods.logs_recovery = True
            return False
        else:
            return False
        return True


def _read_message(messages: Messages, line: str, stamp: re.Match[str]) -> None:
    """Read the message of a line, at any position where it may begin."""
    time = _time(stamp)
    for at in _beginnings(line, stamp.end()):
        if STARTING.match(line, at):
            messages.start(time)
        if _message_at(messages.summary, line, at) or messages.end_at(line, at):
            return
        if time and messages.builds.message_at(line, at, time):
            return


def _message_at(summary: LogSummary, line: str, at: int) -> bool:
    """Add the message at this position to the summary; return whether it is one of those read here."""
    for message, meaning in EXHAUSTION:
        if message.match(line, at):
            summary.add_exhaustion(meaning, line)
            return True
    if LISTENING_AGAIN.match(line, at):
        summary.recovered = True
    elif starting := STARTING.match(line, at):
        summary.add_start()
        summary.banner = starting[1]
    elif listening := LISTENING.match(line, at):
        address = "*" if listening[1] == "All Interfaces" else normalise_address(listening[1])
        summary.add_listener(address, port_number(listening[2]))
    else:
        return False
    return True


def _beginnings(line: str, at: int) -> Iterator[int]:
    """Yield the positions where the message may begin: here, after a dash, the severity or the function."""
    yield at
    for part in (DASH, SEVERITY, FUNCTION):
        if found := part.match(line, at):
            at = found.end()
            yield at


FORMAT = Format(name="389-errors", title="an errors log of 389-ds", recognises=recognises, read=read)
