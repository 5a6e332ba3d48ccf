"""Objects as inputs: what an address in an object store names, each with its head."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from ldapdiag.sources.files.input import Input, moment_of
from ldapdiag.sources.files.open_files import FileRange, OneObject
from ldapdiag.sources.files.unreadable import legible, unreadable
from ldapdiag.sources.objects.listing import objects_of
from ldapdiag.sources.objects.object_file import ObjectFile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.sources.files.input import Found
    from ldapdiag.sources.objects.addresses import ObjectAddress

AHEAD = 16
"""Heads that are read at once: each costs the time of a request."""


def inputs_of(address: ObjectAddress) -> Iterator[Found]:
    """Yield the objects that an address names as inputs with their heads, in the order of their keys."""
    waiting: deque[Future[Found] | Found] = deque()
    with ThreadPoolExecutor(AHEAD, thread_name_prefix="head") as threads:
        try:
            for one in objects_of(address):
                waiting.append(threads.submit(_with_head, one, address) if isinstance(one, ObjectFile) else one)
                if len(waiting) > AHEAD:
                    yield _result(waiting.popleft())
        except OSError as error:
            waiting.append(unreadable(address.url_of(address.key), error))
        while waiting:
            yield _result(waiting.popleft())


def listed_of(address: ObjectAddress) -> Iterator[Found]:
    """Yield the objects as inputs without their heads, in the order of their keys."""
    try:
        for one in objects_of(address):
            yield _input(one, is_named=one.listed.key == address.key) if isinstance(one, ObjectFile) else one
    except OSError as error:
        yield unreadable(address.url_of(address.key), error)


def _result(one: Future[Found] | Found) -> Found:
    return one.result() if isinstance(one, Future) else one


def _with_head(one: ObjectFile, address: ObjectAddress) -> Found:
    try:
        return _input(one, is_named=one.listed.key == address.key).with_head()
    except OSError as error:
        return unreadable(one.url, error)


def _input(one: ObjectFile, *, is_named: bool) -> Input:
    status, (folder, _, name) = one.status, one.url.rpartition("/")
    found = FileRange(one.url, length=status.st_size, files=OneObject(one))
    return Input(
        path=legible(f"{folder.rpartition('/')[2]}/{name}"),
        folder=legible(folder),
        label=legible(one.url),
        source=found.stream,
        file_range=found,
        size_bytes=status.st_size,
        changed=moment_of(status.st_mtime),
        identity=(status.st_dev, status.st_ino),
        named=is_named,
    )
