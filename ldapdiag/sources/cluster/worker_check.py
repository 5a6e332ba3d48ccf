"""Worker check: every worker is asked for its versions, its scanner and what it sees of the logs, before any task.

A mixture is refused: its answer would depend on which worker has read what. Each task checks its own file again.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections import defaultdict
from typing import TYPE_CHECKING

from ldapdiag.errors import LdapdiagError
from ldapdiag.evidence.bundle import Gap
from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.sources.cluster.executor import SAME, ClusterError, difference, installation
from ldapdiag.sources.logs import native
from ldapdiag.sources.objects.addresses import object_address
from ldapdiag.sources.objects.listing import objects_of
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ldapdiag.sources.cluster.executor import Executor
    from ldapdiag.sources.objects.addresses import ObjectAddress

MOST_ASKED = 100
"""Locations that each worker looks at, one of each folder; each of them is a round trip to a file server or a store."""
HEAD_BYTES = 4096
MOST_NAMED = 5
"""Workers that a message names."""
ONE_MTIME_NS = 2_000_000_000
"""Coarsest resolution of a file's time (FAT), which one side may see and the other not."""
SHARE = "mount the folder there under the same path (NFS), or name objects (s3://BUCKET/PREFIX/)"
CREDENTIALS = "give the workers credentials that may read it"
BUILD = f"{native.HOW}; --scanner python reads everywhere, more slowly"


class WorkersDifferError(ClusterError):
    """Workers differ from this process, or do not see the logs; nothing was read."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What a process sees at a path or URL."""

    bytes: int = -1
    mtime_ns: int = 0
    digest: str = ""
    """Of its first bytes; of an object its version."""
    head_bytes: int = 0
    """Size of what the digest is about."""
    problem: str = ""
    """Why it cannot be read."""

    def contradiction(self, here: Sight) -> str:
        """Return why this cannot be the file that is seen here; empty if it can. A log may have grown meanwhile."""
        if self.problem:
            return self.problem
        same = self.bytes == here.bytes and abs(self.mtime_ns - here.mtime_ns) <= ONE_MTIME_NS
        grown = self.bytes > here.bytes and self.mtime_ns >= here.mtime_ns
        return "" if self.digest == here.digest and (same or grown) else "another file is there"


@dataclass(frozen=True, slots=True)
class WorkerAnswer:
    """What a worker answers."""

    trouble: str
    """Why it cannot use the native scanner; empty if it can."""
    sights: tuple[Sight, ...]


def check_installations(executor: Executor) -> None:
    """Ask each worker for its versions. Raise WorkersDifferError, or ExecutorLostError."""
    here = installation()
    workers_by_problem: dict[str, list[str]] = defaultdict(list)
    for worker, there in executor.ask_each(installation).items():
        if found := difference(here, there):
            workers_by_problem[f"{found}; {SAME}"].append(worker)
    _refuse(workers_by_problem)


def check_workers(executor: Executor, scanner: Scanner, locations: Iterable[str]) -> None:
    """Ask each worker; `locations` are paths and URLs. Raise WorkersDifferError, or ExecutorLostError."""
    check_installations(executor)
    workers_by_problem: dict[str, list[str]] = defaultdict(list)
    own = {location: sight(location) for location in one_of_each_folder(locations)}
    own = {location: one for location, one in own.items() if not one.problem}  # else it becomes a gap
    asked = tuple((location, one.head_bytes) for location, one in own.items())
    for worker, answer in executor.ask_each(worker_answer, asked).items():
        for problem in _problems(answer, scanner, own):
            workers_by_problem[problem].append(worker)
    _refuse(workers_by_problem)


def _problems(answer: WorkerAnswer | Exception, scanner: Scanner, own: Mapping[str, Sight]) -> Iterator[str]:
    if isinstance(answer, Exception):
        yield f"no answer ({type(answer).__name__}); see its log"
        return
    if answer.trouble and scanner is Scanner.NATIVE:
        yield f"{answer.trouble}; {BUILD}"
    for (location, here), there in zip(own.items(), answer.sights, strict=True):
        if problem := there.contradiction(here):
            yield f"{location}: {problem}; {CREDENTIALS if object_address(location) else SHARE}"


def _refuse(workers_by_problem: Mapping[str, Sequence[str]]) -> None:
    """Raise WorkersDifferError if there is a problem."""
    if not workers_by_problem:
        return
    problem, workers = max(workers_by_problem.items(), key=lambda one: len(one[1]))
    more = len(workers_by_problem) - 1
    names = ", ".join(sorted(workers)[:MOST_NAMED]) + (", …" if len(workers) > MOST_NAMED else "")
    others = f" ({counted(more, 'other problem')})" if more else ""
    raise WorkersDifferError(f"{counted(len(workers), 'worker')} ({names}): {problem}{others}")


def one_of_each_folder(locations: Iterable[str]) -> tuple[str, ...]:
    """Return the first location of each folder or bucket prefix, at most MOST_ASKED of them, spread evenly."""
    first: dict[str, str] = {}
    for location in locations:
        first.setdefault(location.rpartition("/")[0], location)
    several = list(first.values())
    return tuple(several[:: -(-len(several) // MOST_ASKED) or 1])


def worker_answer(asked: Sequence[tuple[str, int]]) -> WorkerAnswer:
    """Return the answer of the process in which this is called."""
    return WorkerAnswer(
        trouble="" if (found := native.installed()).module else found.trouble or "no native scanner",
        sights=tuple(sight(location, size) for location, size in asked),
    )


def sight(location: str, head_bytes: int = HEAD_BYTES) -> Sight:
    """Return what this process sees at a path or URL."""
    try:
        address = object_address(location)
        return _sight_of_file(location, head_bytes) if address is None else _sight_of_object(address)
    except (OSError, LdapdiagError) as error:
        return Sight(problem=getattr(error, "strerror", None) or str(error))


def _sight_of_file(path: str, head_bytes: int) -> Sight:
    """Return what is at a path. It is opened first: NFS then asks the server whether its status is still valid."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            return Sight(problem="it is no regular file")
        head = file.read(min(head_bytes, HEAD_BYTES, status.st_size))
    return Sight(status.st_size, status.st_mtime_ns, hashlib.sha256(head).hexdigest(), len(head))


def _sight_of_object(address: ObjectAddress) -> Sight:
    for found in objects_of(address):
        if isinstance(found, Gap):
            return Sight(problem=found.reason)
        status = found.status
        return Sight(status.st_size, int(status.st_mtime * 1e9), found.listed.etag)
    return Sight(problem="there is no such object")
