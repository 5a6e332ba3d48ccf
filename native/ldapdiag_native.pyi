"""The compiled access log scanner of ldapdiag."""

from collections.abc import Callable
from typing import Any, final

GRAMMAR_VERSION: int
"""The version of its Segments; it must equal that of ldapdiag.evidence.log.dialects."""

DIALECTS: tuple[str, ...]
"""The names of the dialects it reads."""

@final
class Watch:
    """The progress of the reads of several threads, and the request to stop them."""

    def __init__(self) -> None: ...
    def stop(self) -> None:
        """Stop every `Scan.read` that shares this watch."""

    @property
    def read(self) -> int:
        """Bytes read so far."""

@final
class Read:
    """The outcome of a read."""

    @property
    def to(self) -> int | None:
        """The position of the first byte not scanned; None: the file has been replaced."""

    @property
    def shrunk(self) -> bool:
        """The file ended before the byte range did."""

    @property
    def too_long(self) -> list[int]:
        """The positions of records of more than 64 MiB; only their beginnings were scanned."""

@final
class Segment:
    """The counts of a chunk of a stream, or of all its chunks so far; it can be pickled for the same version."""

    def __init__(self, caps: dict[str, int]) -> None:
        """Begin a stream."""

    def merge(self, later: Segment) -> None:
        """Add the chunk that follows; `later` cannot be used again."""

    def reset_counts(self) -> None:
        """Forget all counts, and keep the state of the open connections."""

    def add_clock(self, later: Segment) -> None:
        """Keep the zones and the resolution of records that are not counted."""

    def finished(self) -> dict[str, Any]:
        """Return the plain form (ldapdiag/evidence/log/plain.py) as if the stream ended here; more can be added."""

    @property
    def lines(self) -> int:
        """The number of lines."""

    @property
    def first_time(self) -> int | None:
        """Nanoseconds since 1970: the time of the first record; None if there is none."""

    @property
    def last_time(self) -> int | None:
        """The time of the last record; None if there is none."""

@final
class Scan:
    """Counts one chunk of one stream, whose records are fed in order. It releases the interpreter lock."""

    def __init__(
        self,
        dialect: str,
        *,
        caps: dict[str, int],
        since: int | None = None,
        until: int | None = None,
        latest: int = 0,
        offset: int | Callable[[int, int, int, int, int], int] = 0,
        heavy: int | None = None,
    ) -> None:
        """Begin a scan. Times in nanoseconds since 1970.

        `latest`: stamps without a year are the last such time before it. `offset`: the zone of stamps without one, in
        seconds east of UTC, as a constant or as a function of (year, month, day, hour, minute). `heavy`: the bytes of
        undecided state from which on `is_heavy` is true.
        """

    def feed(self, data: bytes) -> None:
        """Scan whole records."""

    def read(self, location: str, inode: tuple[int, int] | None, start: int, end: int, watch: Watch) -> Read:
        """Scan the whole records between two positions of a file, and the one that its end cuts off.

        It stops early when the scan is heavy, the watch is stopped, or the file has shrunk. OSError if the file
        cannot be read.
        """

    @property
    def is_heavy(self) -> bool:
        """Return whether the undecided state is so large that the chunk should be taken now."""

    def take(self) -> list[tuple[str, Segment]]:
        """Return the parts of the chunk in their order, and reset the scan.

        A part has consecutive records in one place: `before`, `within` or `later` than the period, or `untimed`: lines
        before the first record with a time.
        """
