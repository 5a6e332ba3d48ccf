"""Words about the small files of a probe: how fast they are made and read, and what reading them writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.storage.probe import AccessTimeUpdates, FileOperation
from ldapdiag.wording import number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.storage.probe import AccessTimes, StorageProbe

DONE = {FileOperation.CREATE: "created", FileOperation.READ: "read", FileOperation.UNLINK: "unlinked"}


def file_words(probe: StorageProbe) -> Iterator[str]:
    """Yield a line about the files, and one about their access times, where they were measured."""
    if probe.files:
        rates = (f"{number(round(one.per_second))} {DONE[one.operation]}" for one in probe.files)
        yield f"Small files per second, without sync: {', '.join(rates)}"
    if probe.access_times:
        yield f"Access times: {_access_words(probe.access_times)}"


def _access_words(access: AccessTimes) -> str:
    """Return when a read changes the access time, and what that costs where it happens at each read."""
    match access.updates:
        case AccessTimeUpdates.FIRST_READ:
            return "only the first read after a change sets them (relatime); nothing to gain with noatime"
        case AccessTimeUpdates.NEVER:
            return "reads do not change them (noatime)"
        case AccessTimeUpdates.EACH_READ:
            return f"each read sets them (strictatime){_cost(access)}"


def _cost(access: AccessTimes) -> str:
    if not access.without_seconds or not access.again_seconds:
        return ""
    rates = (number(round(access.files / seconds)) for seconds in (access.again_seconds, access.without_seconds))
    return "; {} reads/s of files in memory, {} without".format(*rates)
