"""Discovery on a cluster: this machine lists the files, and workers sample them, in groups; the result is the same.

A file stays here if a worker cannot read it, does not see it as it was listed, or finds an archive in it: members of an
archive are read where it was opened.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.sources.cluster.executor import SAME, ClusterError, TaskError, difference, installation
from ldapdiag.sources.cluster.planning import base
from ldapdiag.sources.cluster.scan_tasks import ONE_MTIME_NS, AnotherInstallationError
from ldapdiag.sources.cluster.worker_check import check_installations
from ldapdiag.sources.files.archives import unwrapped
from ldapdiag.sources.files.input import Input, moment_of
from ldapdiag.sources.files.open_files import OpenFiles
from ldapdiag.sources.files.unreadable import unreadable
from ldapdiag.sources.files.walk import expanded, listed, with_head
from ldapdiag.sources.logs.log_files import LogFile, find_logs, log_file, logs_or_reason
from ldapdiag.sources.logs.log_inputs import inputs_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import tzinfo
    from threading import Event

    from ldapdiag.sources.cluster.executor import Executor, Task
    from ldapdiag.sources.files.input import Found
    from ldapdiag.sources.files.open_files import FileRange
    from ldapdiag.sources.logs.log_files import NotALog

    Samples = tuple[LogFile | NotALog | None, ...]
    """A log for each file, or the reason why it is none; None: the client samples it."""

MANY = 200
"""More files than these are sampled by workers; fewer are sampled here before a worker has the first of them."""
GROUP = 100
"""Files of one task."""
AHEAD = 8
"""Files that a worker samples at once: each waits for a file server or a store."""
WINDOW = 4
"""Tasks under way for each worker."""


@dataclass(frozen=True, slots=True)
class SampleTask:
    """Files that a worker samples, by absolute path or URL, without their heads."""

    label: str
    versions: dict[str, str]
    """Of the client."""
    files: tuple[Input, ...]
    zone: tzinfo | None


class _ArchiveError(Exception):
    """A file is an archive."""


def discovered(named: Sequence[str], executor: Executor, zone: tzinfo | None, stop: Event) -> list[LogFile | NotALog]:
    """Return what find_logs yields, in the same order. Raise ClusterError."""
    files = OpenFiles()
    found = [one for name in named for each in expanded(name) for one in listed(each, files)]
    remote = [one for one in found if isinstance(one, Input) and base(one) is not None]
    if len(remote) <= MANY:
        return list(find_logs(named, zone))
    check_installations(executor)
    sampled = dict(_sampled(remote, executor, zone, stop))
    every: list[LogFile | NotALog] = []
    for one in found:
        there = sampled.get(id(one))
        every += [there] if there is not None else _here(one, zone)
    return every


def _here(found: Found, zone: tzinfo | None) -> Iterator[LogFile | NotALog]:
    """Yield what is in a file; its identity is that of the file which is read, as another one may have been listed."""
    if isinstance(found, Input) and base(found) is not None:
        try:
            found = found.with_status()
        except OSError as error:
            found = unreadable(found.label, error)
    for one in inputs_in(with_head(found)):
        yield from logs_or_reason(one, zone)


def _sampled(
    files: Sequence[Input], executor: Executor, zone: tzinfo | None, stop: Event
) -> Iterator[tuple[int, LogFile | NotALog]]:
    """Yield the files that workers have sampled, each by the identity of its input; others are sampled here."""
    groups = (files[first : first + GROUP] for first in range(0, len(files), GROUP))
    waiting: dict[int, tuple[Task[Samples], Sequence[Input]]] = {}
    while not stop.is_set():
        for group in islice(groups, max(0, WINDOW * max(1, executor.workers) - len(waiting))):
            label = f"samples of {group[0].label} to {group[-1].label}"
            remote = SampleTask(label, installation(), tuple(map(_for_worker, group)), zone)
            task = executor.submit(samples, remote, label=label)
            waiting[id(task)] = task, group
        if not waiting:
            return
        for ended in executor.finished():
            task, group = waiting.pop(id(ended))
            yield from _results(task, group)
            task.release()
    for task, _ in waiting.values():
        task.cancel()


def _results(task: Task[Samples], group: Sequence[Input]) -> Iterator[tuple[int, LogFile | NotALog]]:
    try:
        results = task.result()
    except AnotherInstallationError as error:
        raise ClusterError(f"a worker that joined later: {error}; {SAME}") from None
    except TaskError:
        return  # sampled here, with the same result
    for own, there in zip(group, results, strict=True):
        if there is not None and _is_unchanged(own):
            yield id(own), _as_here(there, own) if isinstance(there, LogFile) else there


def _is_unchanged(own: Input) -> bool:
    """Return whether the file that was listed is still at its path; a rotation moves another one there."""
    found = base(own)
    if found is None or not found.is_local:
        return True  # an object is read in the version that was listed
    try:
        status = Path(found.location).stat()
    except OSError:
        return False
    return (status.st_dev, status.st_ino) == own.identity and status.st_size >= (own.size_bytes or 0)


def _for_worker(one: Input) -> Input:
    """Return an input by its absolute path."""
    found = base(one)
    if found is None or not found.is_local:
        return one
    there = replace(found, location=str(Path(found.location).absolute()))
    return replace(one, source=there.stream, file_range=there)


def _as_here(there: LogFile, own: Input) -> LogFile:
    """Return a log that a worker has sampled with the path and the open files of its input here."""
    listing, found = base(own), base(there.input)
    if listing is None or found is None:
        raise AssertionError(own.label)

    def here(one: FileRange) -> FileRange:
        return replace(one, location=listing.location, files=listing.files)

    carrier, ranged = there.input.carrier, there.input.file_range
    opened = replace(
        there.input,
        source=here(found).stream,
        file_range=here(ranged) if ranged else None,
        carrier=replace(carrier, file_range=here(carrier.file_range)) if carrier and carrier.file_range else carrier,
    )
    return replace(there, input=opened)


def samples(task: SampleTask) -> Samples:
    """Return what is in the files of a task."""
    if found := difference(task.versions, installation()):
        raise AnotherInstallationError(task.label, found)
    try:
        with ThreadPoolExecutor(AHEAD, thread_name_prefix="sample") as threads:
            return tuple(threads.map(lambda one: _sample(one, task.zone), task.files))
    finally:
        for file in task.files:
            if (opened := base(file)) is not None:
                opened.files.clear()


def _sample(one: Input, zone: tzinfo | None) -> LogFile | NotALog | None:
    found = base(one)
    try:
        if found is None or not _is_as_listed(one, found):
            return None
        (inner,) = unwrapped(one.with_head(), _refuse)
        log = log_file(inner, zone) if isinstance(inner, Input) else inner
        if isinstance(log, LogFile) and log.together:
            return None  # the lines of each server become a log where the file was listed
        return log if _is_as_listed(one, found) else None
    except (OSError, _ArchiveError):
        return None


def _is_as_listed(one: Input, found: FileRange) -> bool:
    """Return whether the file that is open here has the size and time that the client has seen."""
    if not found.is_local:
        return True
    status = found.file().status
    changed = moment_of(status.st_mtime)
    if changed is None or one.changed is None:
        is_same_time = changed == one.changed
    else:
        is_same_time = abs((changed - one.changed).total_seconds()) * 1e9 <= ONE_MTIME_NS
    return is_same_time and status.st_size == one.size_bytes


def _refuse(_: Input) -> NoReturn:
    raise _ArchiveError
