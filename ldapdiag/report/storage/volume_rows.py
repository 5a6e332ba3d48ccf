"""The rows about one volume, each with its label: options in force, disks, what is beneath, space, extents, sync."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.evidence.storage.probe import SyncCall, WriteKind
from ldapdiag.report.log.quantities import duration
from ldapdiag.report.storage.words import MARK, option_words, size, stack_words
from ldapdiag.wording import counted, number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ldapdiag.analysis.storage.volume import Volume
    from ldapdiag.evidence.storage import FileExtents, Space
    from ldapdiag.evidence.storage.probe import StorageProbe

Row = tuple[str, list[str]]
"""A label, and the parts behind it."""

FEW = 1
"""Files named with their extents, without -v."""
WRITE_CACHES = {
    "volatile assumed": "write cache assumed volatile",
    "none": "the kernel flushes no write cache",
    None: "write cache unknown",
}


def volume_rows(volume: Volume, probe: StorageProbe | None, *, verbose: bool) -> Iterator[Row]:
    """Yield the rows about a volume; of one with access logs alone only the first, without -v."""
    roles = ", ".join(dict.fromkeys(map(str, volume.roles)))
    yield "volume", [volume.mount_point, f"{volume.fs_type} on {volume.source}", roles]
    if not volume.lasting_paths and not verbose:
        return
    if words := _options(volume):
        yield "options", words
    yield "disks", list(_disks(volume))
    for one in volume.beneath:
        yield "beneath", [one.mount_point, f"{one.fs_type} on {one.source}", *_options(one)]
    if volume.space is not None:
        yield "space", [_space(volume.space)]
    if volume.extents:
        yield "extents", _extents(volume.extents, verbose=verbose)
    if probe is not None:
        yield "sync", list(sync_parts(probe, verbose=verbose))


def _options(volume: Volume) -> list[str]:
    """Return the options in force; those that mount does not show are marked, and the mark is explained."""
    hidden = set(volume.options.hidden)
    words = [f"{word} {MARK}" if word in hidden else word for word in option_words(volume.options)]
    if not words:
        return []
    shown = [" ".join(words)]
    return [*shown, f"{MARK} mount does not show it: it is a default in the superblock"] if hidden else shown


def _disks(volume: Volume) -> Iterator[str]:
    if stack := stack_words(volume.stack, volume.devices):
        yield stack
    elif not volume.in_memory:
        yield "unknown"
    if volume.in_memory:
        yield f"in memory ({volume.in_memory}): nothing survives a restart"
    else:
        yield WRITE_CACHES.get(volume.write_cache, f"write cache {volume.write_cache}")


def _space(space: Space) -> str:
    if space.free_bytes is None or not space.total_bytes:
        return "unknown"
    return (
        f"{size(space.free_bytes)} of {size(space.total_bytes)} free ({100 * space.free_bytes // space.total_bytes} %)"
    )


def _extents(files: Sequence[FileExtents], *, verbose: bool) -> list[str]:
    """Return the files in the most pieces, and how many others there are; of none that is known, why."""
    known = sorted((one for one in files if one.extents is not None), key=lambda one: (-(one.extents or 0), one.path))
    if not known:
        reason = next((one.unsupported for one in files if one.unsupported), "")
        return [f"unknown{f': {reason}' if reason else ''}"]
    shown = known if verbose else known[:FEW]
    parts = [f"{one.path.rpartition('/')[2]} {_pieces(one)}" for one in shown]
    if left := len(known) - len(shown):
        parts.append(f"{counted(left, 'file')} with {number(known[FEW].extents or 0)} or fewer")
    return parts


def _pieces(one: FileExtents) -> str:
    length = one.allocated_bytes or one.bytes
    return f"{number(one.extents or 0)}{f' in {size(length)}' if length else ''}"


def sync_parts(probe: StorageProbe, *, verbose: bool) -> Iterator[str]:
    """Yield the times of a probe that a server is compared with: medians, with -v also the 99th percentiles."""
    for write, call, name in (
        (WriteKind.OVERWRITE, SyncCall.FDATASYNC, "overwrite"),
        (WriteKind.APPEND, SyncCall.FSYNC, "append"),
    ):
        if measured := probe.latency(write, call):
            sync = measured.sync
            most = f" (99 % within {_time(sync.p99_seconds)})" if verbose else ""
            yield f"{name} {_time(sync.p50_seconds)}{most}"
    if best := max(probe.commits, key=lambda one: one.per_second, default=None):
        least = "at least " if best.is_lower_bound else ""
        rate = f"{least}{number(round(best.per_second))} commits/s"
        yield f"{rate} of {counted(best.committers, 'committer')}"
    if probe.is_faster_than_disks:
        yield "faster than any disk: memory, a cache, or no barrier"
    if probe.stopped_because:
        yield f"stopped: {probe.stopped_because}"


def _time(seconds: float) -> str:
    return duration(round(seconds * SECOND))
