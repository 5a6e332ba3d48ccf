"""Access logs of a host's directory servers: listed by the collection script, then read in place or fetched.

    1 1 104857600 /var/log/dirsrv/slapd-ds1/access
    2 1 104857633 /var/log/dirsrv/slapd-ds1/access.20261120-090625
    3 2 5242880 /opt/opendj/logs/access

A line of the list: number of the file, number of its server, size in bytes, path; the newest file of each server
first. Fetched logs are held in memory, so only the newest part is fetched, and the remainder is reported as a gap.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import partial
from io import BytesIO
from operator import itemgetter
from time import monotonic
from typing import TYPE_CHECKING

from ldapdiag.evidence.bundle import Gap
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern
from ldapdiag.sources.budget import Budget
from ldapdiag.sources.captures.find import MOST_BYTES as MAX_DECOMPRESSED
from ldapdiag.sources.captures.script_output import TIMED_OUT, ScriptSection
from ldapdiag.sources.files.compressed import compression_of, name_within
from ldapdiag.sources.files.input import Input, in_file
from ldapdiag.sources.files.layers import decompressing
from ldapdiag.sources.files.open_files import FileRange
from ldapdiag.wording import bound

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping

    from ldapdiag.evidence.origin import Span
    from ldapdiag.sources.live.ssh.remote import ScriptSession

    ShowFile = Callable[[str], object]

LISTED = pattern(rb"(\d{1,6}) (\d{1,6}) (\d{1,15}) (/[A-Za-z0-9._/-]{1,4095})")
LIST = b"logs\n"
MAX_LISTED = 2000
"""Files per namespace; the script lists at most 100 for each server."""
MAX_BYTES = 256 << 20
"""Of all logs fetched from one host."""
NO_LOG = 9
"""Exit status of the script for a file without a line of an access log at its beginning or its end."""
ALTERNATIVE = "run ldapdiag on that host, or copy the files with scp"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteLog:
    """One file of a server's access log, as listed by the script."""

    number: int
    """Its number in the script's list."""
    server: tuple[str, int]
    """Folder of its section, and number of its server in that folder."""
    size_bytes: int
    path: str
    folder: str
    """Folder of that host or namespace."""

    @property
    def compressed(self) -> bool:
        """Return whether the file is compressed: then a part of it is useless."""
        return name_within(self.path) != self.path

    @property
    def name(self) -> str:
        """Return its name in the report; the number of a second server is added, to keep the names unique."""
        name = self.path.rpartition("/")[2]
        return name if self.server[1] == 1 else f"{self.server[1]}-{name}"


@dataclass(frozen=True, slots=True)
class LogPart:
    """The last bytes of a file, to be fetched."""

    file: RemoteLog
    size_bytes: int

    @property
    def order(self) -> bytes:
        """Return the order to the script."""
        whole = self.size_bytes == self.file.size_bytes
        return f"log {self.file.number} {0 if whole else self.size_bytes}\n".encode()


def local_logs(session: ScriptSession) -> Iterator[Input | Gap]:
    """Yield all logs of the local host, to be read in place."""
    found = yield from _found(session, monotonic() + session.timeout_seconds)
    for file in found:
        if file.size_bytes:
            local = FileRange(file.path)
            log = in_file(local, path=f"{file.folder}/{file.name}", folder=file.folder, label=file.path)
            yield replace(log, asked=file.path)


def fetch_logs(session: ScriptSession, show_file: ShowFile) -> Iterator[Input | Gap]:
    """Yield the newest part of a remote host's logs, as much as arrives in time; call `show_file` for each file."""
    deadline = monotonic() + session.timeout_seconds
    found = yield from _found(session, deadline)
    parts = parts_of(found, MAX_BYTES)
    fetched: dict[RemoteLog, int] = {}
    late = ""
    for part in parts:
        if late or monotonic() > deadline:
            break
        show_file(f"{part.file.path} of {session.target}")
        printed = yield from _printed(session, part, deadline)
        fetched[part.file] = 0
        if printed is not None:
            section, span = printed
            fetched[part.file] = min(len(section.content), part.size_bytes)  # it may have grown since
            late = section.cut or (_too_late(session) if _is_partial(section) else "")
            if section.content:
                yield _piece(session, part, section, span)
    yield from _left_out(session, found, parts, fetched, late or _too_late(session))


def parts_of(files: Iterable[RemoteLog], most: int) -> list[LogPart]:
    """Return the parts of these logs to fetch, at most `most` bytes, the newest files of all servers first.

    The servers share the bytes equally; a server with less leaves its remainder to the others. The first file that does
    not fit is cut to its end; older files are not fetched.
    """
    servers = sorted(_by_server(files).values(), key=_size)
    wanted: list[tuple[int, int, LogPart]] = []
    for number, logs in enumerate(servers):
        share = most // (len(servers) - number)
        for age, file in enumerate(logs):
            size = min(share, file.size_bytes)
            if size < file.size_bytes and (file.compressed or not size):
                break
            if size:
                wanted.append((age, file.number, LogPart(file, size)))
            share -= size
            most -= size
    return [part for _, _, part in sorted(wanted, key=itemgetter(0, 1))]


def _found(session: ScriptSession, deadline: float) -> Generator[Gap, None, list[RemoteLog]]:
    """Return the files that the script lists, and yield a gap for each empty log."""
    found: list[RemoteLog] = []
    for result in session.sections(LIST, deadline):
        if isinstance(result, Gap):
            yield result
        else:
            found += listed(result[0], session.folder_of(result[0]))
    for logs in _by_server(found).values():
        if not _size(logs):
            yield Gap(target=session.label_of(logs[0].server[0]), reason=f"its access log {logs[0].path} is empty")
    return found


def listed(section: ScriptSection, folder: str) -> Iterator[RemoteLog]:
    """Yield the files of a list, of each server the newest first."""
    for line in section.content.split(b"\n", MAX_LISTED)[:MAX_LISTED]:
        if fields := LISTED.fullmatch(line):
            number, server, size = map(int, fields.groups()[:3])
            path = fields[4].decode()
            yield RemoteLog(number=number, server=(section.folder, server), size_bytes=size, path=path, folder=folder)


def _printed(
    session: ScriptSession, part: LogPart, deadline: float
) -> Generator[Gap, None, tuple[ScriptSection, Span] | None]:
    """Return the script's output for a file, complete or up to the deadline; None for unusable output."""
    printed = None
    for result in session.sections(part.order, deadline):
        if not isinstance(result, Gap):
            if result[0].status == 0 or _is_partial(result[0]):
                printed = result
            else:
                yield _unreadable(session, part.file, result[0])
        elif monotonic() < deadline:
            yield result
        elif late := session.broken_off():
            session.close()
            printed = replace(late[0], cut=_too_late(session)), late[1]
    return printed


def _is_partial(section: ScriptSection) -> bool:
    """Return whether only the beginning arrived, which is usable for a log."""
    return bool(section.cut) or section.status in TIMED_OUT


def _unreadable(session: ScriptSession, file: RemoteLog, section: ScriptSection) -> Gap:
    """Return a gap with the reason why a file was not fetched."""
    reason, how = "cannot read the file", "use --sudo, or a user with access to it"
    if section.status == NO_LOG:
        reason = "no line of an access log at its beginning or its end, or a compression that the host cannot read"
        how = "check its content; if it is an access log, copy it with scp and name the copy"
    return Gap(target=f"{session.target}{file.path}", reason=reason, how=how)


def _piece(session: ScriptSession, part: LogPart, section: ScriptSection, span: Span) -> Input:
    file, content = part.file, section.content
    if part.size_bytes < file.size_bytes:
        content = content[content.find(b"\n") + 1 :]
    compression = compression_of(content)
    return Input(
        path=f"{file.folder}/{name_within(file.name) if compression else file.name}",
        folder=file.folder,
        label=f"{session.target}{file.path}",
        source=partial(BytesIO, content),
        layers=(decompressing(compression),) if compression else (),
        budget=Budget(MAX_DECOMPRESSED),
        taken=span,
        asked=section.asked,
    )


def _left_out(
    session: ScriptSession,
    found: Iterable[RemoteLog],
    parts: Iterable[LogPart],
    fetched: Mapping[RemoteLog, int],
    late: str,
) -> Iterator[Gap]:
    """Yield a gap for each server whose log was not fetched completely; `fetched` is in bytes per file."""
    wanted = {part.file: part.size_bytes for part in parts}
    for logs in _by_server(found).values():
        size, arrived = _size(logs), sum(fetched.get(file, 0) for file in logs)
        in_time = arrived == sum(wanted.get(file, 0) for file in logs)
        reason = f"the limit is {MAX_BYTES >> 20} MiB per host" if in_time else late
        if arrived == size or (not arrived and any(file in fetched for file in logs)):
            continue  # complete, or the gap of its file gives the reason
        files = logs[0].path if len(logs) == 1 else f"{logs[0].path} and {_older_files(len(logs) - 1)}"
        part = _mib(arrived) if arrived else "nothing"
        yield Gap(
            target=session.label_of(logs[0].server[0]),
            reason=f"{part} of the {_mib(size)} of its access log {files} was read: {reason}",
            how=f"{'' if in_time else 'raise --timeout, or '}{ALTERNATIVE}",
        )


def _too_late(session: ScriptSession) -> str:
    return f"the remainder did not arrive in {bound(session.timeout_seconds)}"


def _older_files(count: int) -> str:
    return "1 older file" if count == 1 else f"{count} older files"


def _by_server(files: Iterable[RemoteLog]) -> dict[tuple[str, int], list[RemoteLog]]:
    servers: dict[tuple[str, int], list[RemoteLog]] = defaultdict(list)
    for file in files:
        servers[file.server].append(file)
    return servers


def _size(files: Iterable[RemoteLog]) -> int:
    return sum(file.size_bytes for file in files)


def _mib(size: int) -> str:
    return f"{size / (1 << 20):.1f} MiB"
