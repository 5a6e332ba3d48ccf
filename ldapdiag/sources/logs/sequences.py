"""Sequences: whether the restarts in a log are those of one server, by the numbers of its connections.

    conn=5001 conn=5002 conn=71 conn=5003 conn=72 conn=73     two servers write into one log: 71 and 72 are no restarts

A server numbers its connections upwards, and begins again when it is restarted. So the openings of one server that was
restarted N times contain N + 1 that never ascend: one of each process. Those of two servers at once contain two,
however often the reader takes a lower number for a restart; and where one of the two opens none, one.

Missed writers: servers whose tags no sample of a log showed.
"""

from __future__ import annotations

from bisect import bisect_right
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from ldapdiag.evidence.log.line_scan import Hints
from ldapdiag.evidence.log.server_process import LATE, ProcessConnections
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.evidence.log.syslog import ISO_SYSLOG, TRADITIONAL
from ldapdiag.sources.logs.samples import Sampler
from ldapdiag.sources.logs.separating import separated
from ldapdiag.wording import duration, number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ldapdiag.evidence.log.envelope import Writer
    from ldapdiag.evidence.log.scan import Scan
    from ldapdiag.evidence.log.segment import Segment
    from ldapdiag.sources.files.input import Input
    from ldapdiag.sources.logs.log_files import LogFile

LEAST_RESTARTS = 3
"""Fewer may be those of a server whose first connections are missing in the log."""

WINDOW = 1 << 19
"""Bytes of consecutive records that are compared."""

APART = 16 << 20
"""Bytes of a log that can only be read from its beginning, from one window to the next."""

WINDOWS = 8
"""Windows of a log."""


COUNTED = {TRADITIONAL.name, ISO_SYSLOG.name}
"""The dialects in which a message follows the tag of its writer."""
MESSAGE = b": conn="
COUNTED_BYTES = 4 << 20

Used = tuple[int, int, int]
"""A connection: its number, the time, and the operation; OPENED: it was opened then."""

OPENED = -1


class Connections(Sampler):
    """Takes only the connections out of a part of a log."""

    def __init__(self, hints: Hints) -> None:
        super().__init__(hints, 0)
        self.found: list[Used] = []

    def opened(self, conn: int, time: int, *_: object, **__: object) -> None:
        """Record an opening."""
        self.found.append((conn, time, OPENED))

    def request(self, conn: int, op: int, time: int, *_: object) -> None:
        """Record the use of a connection."""
        if not self.found or self.found[-1][0] != conn:
            self.found.append((conn, time, op))

    bind = search = abandon = unbind = request


def mixed(files: Sequence[LogFile], segment: Segment) -> str:
    """Return the sentence on a log that two servers write at once, without its full stop; empty for any other."""
    restarts = segment.server_processes - 1
    if restarts < LEAST_RESTARTS or segment.first_time is None or segment.last_time is None:
        return ""
    windows = list(_windows(files))
    whole = [used for window in windows for used in window]
    servers = [found for part in (*windows, whole) if (found := writing_at_once(part)) > 1]
    if not servers:
        return ""
    names = "2 servers" if min(servers) == 2 else "several servers"
    time = duration((segment.last_time - segment.first_time) / SECOND)
    return (
        f"The log seems to be written by {names} at once: {number(restarts)} restarts in {time}, after which the "
        "connection numbers of an earlier server process go on; counts by connection are not reliable: read the log of "
        "each server"
    )


def writing_at_once(used: Sequence[Used]) -> int:
    """Return how many servers at least had these connections at once; 1: one, however often it was restarted."""
    process, restarts = ProcessConnections(), 0
    there: dict[int, tuple[int, int]] = {}
    """Operation and time at which a connection was first used that had not been opened."""
    for conn, time, op in used:
        if op != OPENED:
            process.last = max(process.last, conn)
            if conn not in process.numbers:
                there.setdefault(conn, (op, time))
            continue
        first = there.get(conn)
        is_used = first is not None and not (first[0] == 0 and time - first[1] <= LATE)
        if is_used or (first is None and process.ends_before(conn, time)):
            restarts += 1
            process, there = ProcessConnections(), {}
        process.opened(conn, time)
    processes = _longest_descent([conn for conn, _, op in used if op == OPENED])
    return max(2, processes) if restarts >= max(LEAST_RESTARTS, 2 * processes - 1) else 1


def _longest_descent(numbers: Sequence[int]) -> int:
    """Return the length of the longest selection of these numbers that never ascends."""
    last: list[int] = []
    for one in numbers:
        at = bisect_right(last, -one)
        last[at : at + 1] = [-one]
    return len(last)


def _windows(files: Sequence[LogFile]) -> Iterator[list[Used]]:
    """Yield the connections in parts of a log, in their order."""
    few = files[:: -(-len(files) // WINDOWS)]
    for file in few:
        with suppress(OSError):  # reported when the file was read
            for at, data in _parts(file, WINDOWS // len(few)):
                connections = Connections(Hints())
                for piece, connections.hints in file.pieces(data, at):
                    file.dialect.scan(piece, cast("Scan", connections))
                yield connections.found


def _parts(file: LogFile, most: int) -> Iterator[tuple[int, bytes]]:
    """Yield whole lines of a file with their offsets. OSError propagates to the caller."""
    found = file.input.file_range
    if found is not None:
        begin, end = found.bounds()
        for at in range(begin, end, max(WINDOW, -(-(end - begin) // most))):
            data = found.read_at(at, min(WINDOW, end - at))
            cut = data.find(b"\n") + 1 if at > begin else 0
            yield at + cut - begin, data[cut : data.rfind(b"\n") + 1]
        return
    with file.input.open() as opened:
        at = 0
        for _ in range(most):
            data = opened.read(WINDOW)
            cut = data.find(b"\n") + 1 if at else 0
            yield at + cut, data[cut : data.rfind(b"\n") + 1]
            skipped = opened.read(APART)
            at += len(data) + len(skipped)
            if not skipped:
                return


def missed(file: LogFile) -> tuple[Writer, ...]:
    """Return the servers that write into a log at the same time, which its samples did not show; mostly none.

    It reads the whole log. OSError propagates to the caller.
    """
    found, seen = file.input, file.concurrent.seen
    if not seen or file.server or file.together or (file.dialect.name in COUNTED and _is_all_of(seen, found)):
        return ()
    servers = [server for server, _ in separated(found, file.dialect, file.hints, file.concurrent.level)]
    return tuple(sorted(writer for server in servers for writer in server.writers)) if len(servers) > 1 else ()


def _is_all_of(seen: Iterable[Writer], found: Input) -> bool:
    """Return whether all messages about connections have the tags of these writers; counting is as fast as reading."""
    tags = [b" %b %b%b" % (*writer, MESSAGE) for writer in seen]
    rest = b""
    with found.open() as opened:
        while data := opened.read(COUNTED_BYTES):
            data = rest + data
            end = data.rfind(b"\n") + 1
            rest = data[end:]
            if data.count(MESSAGE, 0, end) != sum(data.count(tag, 0, end) for tag in tags):
                return False
    return True
