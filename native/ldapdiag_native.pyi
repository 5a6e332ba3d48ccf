"""The access log scanner of ldapdiag, compiled."""

from collections.abc import Callable
from typing import Any, final

GRAMMAR_VERSION: int
"""What it makes of a log is what ldapdiag.evidence.log makes of it at this version."""

DIALECTS: tuple[str, ...]
"""The names of the dialects it reads."""

@final
class Watch:
    """What the readings of several threads share: how far they have come, and whether they are to end."""

    def __init__(self) -> None: ...
    def stop(self) -> None:
        """End every `Scan.read` that has this soon."""

    @property
    def read(self) -> int:
        """Bytes that they have read so far."""

@final
class Read:
    """What became of a reading."""

    @property
    def to(self) -> int | None:
        """Where in the file it came to; None where another file is there."""

    @property
    def shrunk(self) -> bool:
        """The file ended before the stretch did."""

    @property
    def too_long(self) -> list[int]:
        """Where in the file records of more than 64 MiB began, of which only the beginning was read."""

@final
class Scan:
    """Adds up one piece of one stream, whose records are fed in their order. The interpreter lock is released."""

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
        """Begin; times in nanoseconds since 1970.

        `latest` and `offset` are of stamps without a year or a zone: the last such time before it; the seconds that the
        zone lies east of UTC, always or at (year, month, day, hour, minute). `heavy`: bytes from which on it is heavy.
        """

    def feed(self, data: bytes) -> None:
        """Take in whole records."""

    def read(self, location: str, inode: tuple[int, int] | None, start: int, end: int, watch: Watch) -> Read:
        """Take in the whole records between two places of a file, and the one that its end cuts off.

        It stops early when the scan has grown heavy or is over, the watch was stopped, or the file has shrunk. OSError
        where it cannot be read.
        """

    @property
    def is_heavy(self) -> bool:
        """Tell whether it holds so much that it should be taken now."""

    @property
    def is_over(self) -> bool:
        """Tell whether a record past `until` came."""

    def take(self) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
        """Return what was added up before `since` and from then on, and begin anew."""
