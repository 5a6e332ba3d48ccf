"""Places of a log: lines from its middle and its end, out of their envelopes, without reading all before them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.log.envelope import decoded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.sources.files.input import Input
    from ldapdiag.sources.files.open_files import FileRange

TAIL_BYTES = 1 << 16

SAMPLES = 8
"""Number of samples of a log that are searched for the servers that write into it."""


def place_of(found: Input) -> FileRange | None:
    """Return where a file contains a log, or the lines that contain its lines; None if it is a stream."""
    return found.carrier.file_range if found.carrier else found.file_range


def lines_of(head: bytes) -> bytes:
    """Return the whole lines; all data if there is none."""
    return head[: head.rfind(b"\n") + 1] or head


def samples_of(found: Input, head: bytes) -> Iterator[bytes]:
    """Yield whole lines, in their envelopes, from the beginning of a log and from SAMPLES - 1 later offsets."""
    place = place_of(found)
    if found.carrier is None:
        yield lines_of(head)
    if place is None:
        return
    start, end = place.bounds()
    for number in range(SAMPLES):
        offset = start + (end - start) * number // SAMPLES
        if found.carrier is not None or offset >= start + len(head):
            data = place.read_at(offset, TAIL_BYTES)
            yield data[data.find(b"\n") + 1 if number else 0 : data.rfind(b"\n") + 1]


def end_of(found: Input, size: int) -> bytes:
    """Return whole lines from the last `size` bytes. OSError propagates to the caller."""
    place = place_of(found)
    if place is None:
        data, is_cut = found.head[-size:], len(found.head) > size
    else:
        start, end = place.bounds()
        data, is_cut = place.read_at(max(start, end - size), size), end - start > size
    if is_cut:
        data = data[data.find(b"\n") + 1 :]
    for envelope in found.carrier.envelopes if found.carrier else ():
        data = decoded(envelope, data)
    return data
