"""The access logs among the evidence: collect them all, then read them together.

A rotated set is one log, and so are two logs of the same run (text and JSON, stderr and syslog). Which files belong
together is known only when all have been recognised.

Access logs among the inputs: recognise them by their heads, so that they are scanned while other inputs are read.

A file that is only an access log needs no other grammar, and importing all grammars takes as long as scanning 100 MB.
slapd's log is read for its messages as well.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import field
from typing import TYPE_CHECKING

from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.bundle import Gap
from ldapdiag.evidence.document import SAMPLE_LENGTH, encoding_of
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.log.combine import combine
from ldapdiag.evidence.log.dialects import NOTICES, named, recognise
from ldapdiag.evidence.log.segment import Segment
from ldapdiag.evidence.origin import Origin
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.traits import traits_of
from ldapdiag.sources.files.first_bytes import closed_archive
from ldapdiag.sources.files.input import HEAD_BYTES
from ldapdiag.sources.logs.log_files import LogFile, logs_or_reason
from ldapdiag.sources.logs.streams import streams_of
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from threading import Event

    from ldapdiag.evidence.access_log import CountedLog, LogStream
    from ldapdiag.evidence.cluster_work import ClusterWork
    from ldapdiag.evidence.log.dialect import Dialect
    from ldapdiag.sources.cluster.executor import Executor
    from ldapdiag.sources.files.input import Input
    from ldapdiag.sources.logs.access_log import ScannedStream
    from ldapdiag.sources.logs.asked_period import AskedPeriod
    from ldapdiag.sources.logs.log_files import NotALog
    from ldapdiag.sources.logs.period import Period
    from ldapdiag.sources.logs.streams import Stream


@dataclass(slots=True)
class DiscoveredLogs:
    """The access logs found so far."""

    asked: AskedPeriod | None = None
    """The period that the operator asked for; None: all records."""
    period: Period | None = None
    """The same, in the times of the logs; None before the first logs are read."""
    files: list[LogFile | NotALog] = field(default_factory=list)
    meanwhile: Callable[[], object] | None = None
    """Called once in this thread while other threads scan."""
    executor: Executor | None = None
    """Reads the logs; None: they are read here."""
    cluster: ClusterWork | None = None
    """What the executor has done."""

    def add(self, one: Input, dialect: Dialect | None = None) -> None:
        """Keep an input for later, with the facts of its head and samples; its dialect may be known already."""
        self.files.extend(logs_or_reason(one, dialect=dialect))

    def read(self, progress: Callable[[str], object], stop: Event) -> Iterator[AccessLog | NotALog]:
        """Read the added logs; yield a fact for each server that headers or paths name, and the reasons why not."""
        from ldapdiag.sources.logs.asked_period import period_of  # noqa: PLC0415  import late

        files, self.files = self.files, []
        yield from (file for file in files if not isinstance(file, LogFile))
        streams = streams_of(file for file in files if isinstance(file, LogFile))
        read: list[ScannedStream] = []
        self.period = self.period or period_of(self.asked, streams, stop)
        for reading in (self._on_cluster if self.executor else self._here)(streams, progress, stop):
            stream = reading.stream
            yield from (*reading.gaps, *reading.truncated)
            if stop.is_set() and not reading.is_whole:
                yield _interrupted(stream)
            read.append(reading)
        yield from access_logs([reading.counted() for reading in read])

    def _here(
        self, streams: Sequence[Stream], progress: Callable[[str], object], stop: Event
    ) -> Iterator[ScannedStream]:
        from ldapdiag.sources.logs.access_log import read_stream  # noqa: PLC0415  import late
        from ldapdiag.sources.logs.scanners import Scanners  # noqa: PLC0415

        scanners = Scanners(meanwhile=self.meanwhile)
        for stream in streams:
            progress(stream.name)
            yield read_stream(stream, scanners.of(stream), period=self.period, stop=stop)

    def _on_cluster(
        self, streams: Sequence[Stream], progress: Callable[[str], object], stop: Event
    ) -> Iterator[ScannedStream]:
        from ldapdiag.sources.cluster.cluster_reading import read_streams  # noqa: PLC0415  import late

        if self.executor is None or not streams:
            return
        shown = _Shown(progress, f"{counted(len(streams), 'access log')} on the cluster")
        readings, self.cluster = read_streams(streams, self.executor, shown, self.period, stop, None)
        yield from readings


class _Shown:
    """Shows in a line what a cluster has read."""

    def __init__(self, progress: Callable[[str], object], what: str) -> None:
        self._progress = progress
        self._what = what
        self._total = 0
        self._read = 0

    def begin(self, total_bytes: int | None) -> None:
        """Show how much there is to read."""
        self._total = total_bytes or 0
        self._progress(self._what)

    def advance(self, size: int) -> None:
        """Count more bytes as read; `work` shows them."""
        self._read += size

    def work(self, work: ClusterWork) -> None:
        """Show what was read, by how many tasks and workers."""
        done = f"{self._read / 1e6:,.0f} of {self._total / 1e6:,.0f} MB"
        retried = f" · {work.retried} retried" if work.retried else ""
        tasks = f"{counted(work.tasks, 'task')} · {counted(work.workers, 'worker')}{retried}"
        self._progress(f"{self._what} · {done} · {tasks}")


def _interrupted(stream: Stream) -> Gap:
    how = "run it again without an interruption"
    return Gap(target=stream.name, reason="reading was interrupted; the records read until then are counted", how=how)


def access_logs(logs: Iterable[CountedLog]) -> Iterator[AccessLog]:
    """Yield a fact for each server that headers or paths name: a header, else the folder on its host.

    Several hosts in one folder, as exported events name them, have a folder each.
    """
    by_server: dict[tuple[str, Family, str], list[CountedLog]] = defaultdict(list)
    for log in logs:
        stream = log.stream
        server = stream.instance or stream.asked.rpartition("/")[0]
        shared = "" if stream.server == server else stream.server
        by_server[stream.folder, stream.family, f"{shared} {server}"].append(log)
    of_folder = Counter((folder, family) for folder, family, _ in by_server)
    for (folder, family, _), own in by_server.items():
        host = own[0].stream.instance if named(own[0].stream.dialect).is_export else ""
        yield _fact(own, f"{folder}/{host}" if host and of_folder[folder, family] > 1 else folder)


def _fact(logs: Sequence[CountedLog], folder: str) -> AccessLog:
    """Return the fact for the logs of one server."""
    total = combine(Segment(), *(log.segment for log in logs))
    first = logs[0].stream
    origin = Origin(
        path=first.name,
        folder=folder,
        asked=first.asked,
        lines=total.lines,
        understood=total.lines - total.misread,
        not_understood=total.misread,
        samples=tuple(line.decode(errors="backslashreplace")[:SAMPLE_LENGTH] for line in total.samples[:3]),
        notes=tuple(_notes(total, [log.stream for log in logs])),
    )
    return AccessLog(origin=origin, family=first.family, segment=total, streams=tuple(log.stream for log in logs))


def _notes(total: Segment, streams: Iterable[LogStream]) -> Iterator[str]:
    for stream in streams:
        for copy in stream.copies:
            yield f"{copy.target} {copy.reason}."
        yield from (f"{note}." for note in (*stream.unreliable, *stream.notes))
    if total.lost:
        yield f"The log reports {counted(total.lost, 'lost line')}."
    if total.caps_hit:
        caps = ", ".join(total.caps_hit)
        yield f"There are more {caps} than are counted separately: the remaining ones are counted as 'other'."


UTF8_MARK = "\ufeff"


def log_dialect(one: Input) -> Dialect | None:
    """Return the dialect of an input that is an access log; None for any other."""
    try:
        return None if closed_archive(one.head) else _dialect(one.head[:HEAD_BYTES])
    except Exception:  # noqa: BLE001  the reader reports the bug
        return None


def _dialect(head: bytes) -> Dialect | None:
    is_part = len(head) == HEAD_BYTES
    encoding = encoding_of(head)
    if encoding != "utf-8" or head.startswith(UTF8_MARK.encode()):
        head = head.decode(encoding, errors="backslashreplace").removeprefix(UTF8_MARK).encode()
    dialect = recognise(head[: head.rfind(b"\n") + 1] if is_part else head)
    return None if dialect is None or dialect.name == NOTICES else dialect


def is_more_than_a_log(dialect: Dialect) -> bool:
    """Return whether logs of this dialect also contain messages that are other evidence."""
    return traits_of(dialect.family).logs_messages
