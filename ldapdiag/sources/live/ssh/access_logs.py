"""The access logs of a host's directory servers: listed by the script there, then read in place or brought here.

    1 1 104857600 /var/log/dirsrv/slapd-ds1/access
    2 1 104857633 /var/log/dirsrv/slapd-ds1/access.20261120-090625
    3 2 5242880 /opt/opendj/logs/access

A line of the list: the number by which the script prints the file, that of its server, its bytes and its path; of each
server the newest file comes first. What is brought is held in memory, so it is the newest part, and the rest a gap.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from operator import itemgetter
from time import monotonic
from typing import TYPE_CHECKING

from ldapdiag.evidence.bundle import Gap
from ldapdiag.sources.budget import Budget
from ldapdiag.sources.captures.find import MOST_BYTES as MOST_DECOMPRESSED
from ldapdiag.sources.captures.script_output import TIMED_OUT, Section
from ldapdiag.sources.files.compressed import compression_of, name_within
from ldapdiag.sources.files.input import Input, in_file
from ldapdiag.sources.files.layers import decompressing
from ldapdiag.sources.files.open_files import FileRange

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping

    from ldapdiag.evidence.origin import Span
    from ldapdiag.sources.live.ssh.remote import Dialog

    Tell = Callable[[str], object]

LISTED = re.compile(rb"(\d{1,6}) (\d{1,6}) (\d{1,15}) (/[A-Za-z0-9._/-]{1,4095})")
LIST = b"logs\n"
MOST_LISTED = 2000
"""Files of a namespace; the script lists no more than eight servers' hundred."""
MOST_BYTES = 256 << 20
"""Of all logs of a host that are brought here."""
NO_LOG = 9
"""What the script says of a file that has no line of an access log at its beginning or its end."""
ELSEWHERE = "run ldapdiag on that host, or copy the files here (scp)"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFound:
    """One file of a server's access log."""

    number: int
    """By which the script prints it."""
    server: tuple[str, int]
    """Its section's folder, and which of the servers there writes it."""
    size_bytes: int
    path: str
    folder: str
    """Of the pieces of that host, or of that namespace."""

    @property
    def compressed(self) -> bool:
        """Tell whether its end alone is of no use."""
        return name_within(self.path) != self.path

    @property
    def name(self) -> str:
        """Return what the report calls it: the names of another server's logs are apart from the first one's."""
        name = self.path.rpartition("/")[2]
        return name if self.server[1] == 1 else f"{self.server[1]}-{name}"


@dataclass(frozen=True, slots=True)
class Part:
    """As much of a file as is wanted: its last bytes."""

    file: LogFound
    size_bytes: int

    @property
    def order(self) -> bytes:
        """Return what the script is told."""
        whole = self.size_bytes == self.file.size_bytes
        return f"log {self.file.number} {0 if whole else self.size_bytes}\n".encode()


def in_place(dialog: Dialog) -> Iterator[Input | Gap]:
    """Yield the logs of the host we are on: they are read where they lie, all of them."""
    found = yield from _found(dialog, monotonic() + dialog.seconds)
    for file in found:
        if file.size_bytes:
            there = FileRange(file.path)
            yield in_file(there, path=f"{file.folder}/{file.name}", folder=file.folder, label=file.path)


def brought(dialog: Dialog, tell: Tell) -> Iterator[Input | Gap]:
    """Yield the newest part of another host's logs, as much as comes in time; `tell` hears of each file."""
    deadline = monotonic() + dialog.seconds
    found = yield from _found(dialog, deadline)
    parts = parts_of(found, MOST_BYTES)
    came: dict[LogFound, int] = {}
    late = ""
    for part in parts:
        if late or monotonic() > deadline:
            break
        tell(f"{part.file.path} of {dialog.target}")
        printed = yield from _printed(dialog, part, deadline)
        came[part.file] = 0
        if printed is not None:
            section, span = printed
            came[part.file] = len(section.content)
            late = section.cut or (f"the rest did not come in {dialog.seconds:g} s" if _is_partial(section) else "")
            if section.content:
                yield _piece(dialog, part, section, span)
    yield from _left_out(dialog, found, parts, came, late or f"the rest did not come in {dialog.seconds:g} s")


def parts_of(files: Iterable[LogFound], most: int) -> list[Part]:
    """Return what is to be brought of these logs, at most so many bytes: of all servers the newest files first.

    Each server gets as much as the others, or all it has. Of the last file that fits no more its end is wanted, and
    nothing of what is older.
    """
    servers = sorted(_by_server(files).values(), key=_size)
    wanted: list[tuple[int, int, Part]] = []
    for number, logs in enumerate(servers):
        left = most // (len(servers) - number)
        for age, file in enumerate(logs):
            size = min(left, file.size_bytes)
            if size < file.size_bytes and (file.compressed or not size):
                break
            if size:
                wanted.append((age, file.number, Part(file, size)))
            left -= size
            most -= size
    return [part for _, _, part in sorted(wanted, key=itemgetter(0, 1))]


def _found(dialog: Dialog, deadline: float) -> Generator[Gap, None, list[LogFound]]:
    """Return the files that the script lists."""
    found: list[LogFound] = []
    for told in dialog.sections(LIST, deadline):
        if isinstance(told, Gap):
            yield told
        else:
            found += _listed(told[0], dialog.folder_of(told[0]))
    for logs in _by_server(found).values():
        if not _size(logs):
            yield Gap(target=dialog.place(logs[0].server[0]), reason=f"its access log {logs[0].path} is still empty")
    return found


def _listed(section: Section, folder: str) -> Iterator[LogFound]:
    for line in section.content.split(b"\n", MOST_LISTED)[:MOST_LISTED]:
        if told := LISTED.fullmatch(line):
            number, server, size = map(int, told.groups()[:3])
            path = told[4].decode()
            yield LogFound(number=number, server=(section.folder, server), size_bytes=size, path=path, folder=folder)


def _printed(dialog: Dialog, part: Part, deadline: float) -> Generator[Gap, None, tuple[Section, Span] | None]:
    """Return what the script printed of a file, or had printed when the time was over; None where it is of no use."""
    printed = None
    for told in dialog.sections(part.order, deadline):
        if not isinstance(told, Gap):
            if told[0].status == 0 or _is_partial(told[0]):
                printed = told
            else:
                yield _unread(dialog, part.file, told[0])
        elif monotonic() < deadline:
            yield told
        elif late := dialog.broken_off():
            dialog.close()
            printed = replace(late[0], cut=f"the rest did not come in {dialog.seconds:g} s"), late[1]
    return printed


def _is_partial(section: Section) -> bool:
    """Tell whether its beginning is all that came: of a log that is of use, too."""
    return bool(section.cut) or section.status in TIMED_OUT


def _unread(dialog: Dialog, file: LogFound, section: Section) -> Gap:
    """Return why a file was not brought."""
    reason, how = "cannot be read", "ask with --sudo, or as a user who may read it"
    if section.status == NO_LOG:
        reason = "has no line of an access log at its beginning or its end, or is compressed in a way unknown there"
        how = "see what it holds; if it is one, copy it here (scp) and name it"
    return Gap(target=f"{dialog.target}{file.path}", reason=reason, how=how)


def _piece(dialog: Dialog, part: Part, section: Section, span: Span) -> Input:
    file, content = part.file, section.content
    if part.size_bytes < file.size_bytes:
        content = content[content.find(b"\n") + 1 :]
    compression = compression_of(content)
    return Input(
        path=f"{file.folder}/{name_within(file.name) if compression else file.name}",
        folder=file.folder,
        label=f"{dialog.target}{file.path}",
        source=partial(BytesIO, content),
        layers=(decompressing(compression),) if compression else (),
        budget=Budget(MOST_DECOMPRESSED),
        taken=span,
        asked=section.asked,
    )


def _left_out(
    dialog: Dialog, found: Iterable[LogFound], parts: Iterable[Part], came: Mapping[LogFound, int], late: str
) -> Iterator[Gap]:
    """Yield what of each server's log is not read; `came` is how much came of each file that was asked for."""
    wanted = {part.file: part.size_bytes for part in parts}
    for logs in _by_server(found).values():
        size, here = _size(logs), sum(came.get(file, 0) for file in logs)
        in_time = here == sum(wanted.get(file, 0) for file in logs)
        reason = f"no more than {MOST_BYTES >> 20} MiB are brought" if in_time else late
        if here == size or (not here and any(file in came for file in logs)):
            continue  # it is whole, or why nothing came is told
        files = logs[0].path if len(logs) == 1 else f"{logs[0].path} and {len(logs) - 1} older files"
        yield Gap(
            target=dialog.place(logs[0].server[0]),
            reason=f"of its access log {files} ({_mib(size)}) {_mib(here) if here else 'nothing'} is read: {reason}",
            how=f"{'' if in_time else 'give it more time (--timeout), or '}{ELSEWHERE}",
        )


def _by_server(files: Iterable[LogFound]) -> dict[tuple[str, int], list[LogFound]]:
    servers: dict[tuple[str, int], list[LogFound]] = defaultdict(list)
    for file in files:
        servers[file.server].append(file)
    return servers


def _size(files: Iterable[LogFound]) -> int:
    return sum(file.size_bytes for file in files)


def _mib(size: int) -> str:
    return f"{size / (1 << 20):.1f} MiB"
