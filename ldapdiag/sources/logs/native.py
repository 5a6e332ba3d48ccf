"""The native scanner: the interface to `ldapdiag_native`, which no other module imports.

If it is not installed, or has another version, the reference scanner reads all logs, more slowly.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import asdict
from datetime import timezone
from functools import cache, partial
from typing import TYPE_CHECKING

from ldapdiag.errors import LdapdiagError
from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.evidence.log.dialects import GRAMMAR_VERSION
from ldapdiag.evidence.log.plain import segment_of
from ldapdiag.evidence.log.tables import CAPS
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.sources.logs.period import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from ldapdiag_native import Scan as Scan  # noqa: PLC0414  other modules import the type from here
    from ldapdiag_native import Segment as NativeSegment
    from ldapdiag_native import Watch as Watch  # noqa: PLC0414  as above

    from ldapdiag.evidence.log.dialect import Dialect
    from ldapdiag.evidence.log.line_scan import Hints
    from ldapdiag.evidence.log.segment import Segment
    from ldapdiag.sources.logs.period import Period

    Parts = tuple[tuple[Place, NativeSegment], ...]
    """Counts by their place in the period."""

FARTHEST = 9 * 10**18
"""Nanoseconds; stamps.py reads no time that is further from 1970."""

YEARLESS = "openldap-syslog"
"""The dialect whose timestamps have no year and no zone: Hints provide both."""

VARIABLE = "LDAPDIAG_SCANNER"
"""The environment variable that selects the scanner if no option does."""

HEAVY_BYTES = 16 << 20
"""Approximate size of a Segment from which on it is taken.

It does not depend on the number of threads, so that any number of them cuts a log at the same records.
"""

HOW = "`make demo` builds it where cargo is installed, or install the wheel ldapdiag-native of the same version"


class NoNativeError(LdapdiagError):
    """The native scanner was requested and cannot be used."""


@dataclass(frozen=True, slots=True)
class Installed:
    """The state of the native scanner on this host."""

    module: ModuleType | None
    """None if it cannot be used."""
    trouble: str = ""
    """Why it cannot be used although it is installed."""


@cache
def installed() -> Installed:
    """Import the native scanner, once."""
    try:
        import ldapdiag_native  # noqa: PLC0415  it may not be installed
    except ModuleNotFoundError:
        return Installed(None)
    except ImportError as error:
        return Installed(None, f"the native scanner cannot be loaded ({error})")
    version = getattr(ldapdiag_native, "GRAMMAR_VERSION", None)
    if version != GRAMMAR_VERSION:
        trouble = f"the native scanner has another version (grammar {version}, here {GRAMMAR_VERSION})"
        return Installed(None, trouble)
    return Installed(ldapdiag_native)


def chosen(scanner: Scanner | None = None) -> Scanner:
    """Return the scanner to use; raise NoNativeError if the requested one is unknown or unusable."""
    asked = scanner or os.environ.get(VARIABLE) or None
    if asked not in {None, *Scanner}:
        raise NoNativeError(f"{VARIABLE}={asked}: unknown scanner; set it to {' or '.join(Scanner)}")
    if asked == Scanner.PYTHON:
        return Scanner.PYTHON  # no import of the other one: a damaged one may crash the process
    usable = installed().module is not None
    if asked == Scanner.NATIVE and not usable:
        raise NoNativeError(f"{installed().trouble or 'the native scanner is not installed'}; {HOW}")
    return Scanner.NATIVE if usable else Scanner.PYTHON


def notice() -> str:
    """Return the message for an installed native scanner that cannot be used; empty if there is no problem."""
    trouble = "" if os.environ.get(VARIABLE) == Scanner.PYTHON else installed().trouble
    return f"{trouble}, so the slower Python scanner reads the logs; {HOW}" if trouble else ""


def reads(dialect: str) -> bool:
    """Return whether the native scanner supports a dialect."""
    module = installed().module
    return module is not None and dialect in module.DIALECTS


def watch() -> Watch:
    """Return a Watch, which counts the bytes read by several scans and can stop them."""
    import ldapdiag_native  # noqa: PLC0415  as above

    return ldapdiag_native.Watch()


def scan(dialect: Dialect, hints: Hints, period: Period | None) -> Scan:
    """Return a scan of consecutive records of one stream."""
    import ldapdiag_native  # noqa: PLC0415  as above

    latest, offset = _stamp_defaults(hints) if dialect.name == YEARLESS else (0, 0)
    return ldapdiag_native.Scan(
        dialect.name,
        caps=asdict(CAPS),
        since=_clamped(period.since if period else None),
        until=_clamped(period.until if period else None),
        latest=latest,
        offset=offset,
        heavy=HEAVY_BYTES,
    )


def take_parts(scan: Scan) -> Parts:
    """Return the counts of a scan by their place in its period, in order, and reset the scan."""
    return tuple((Place(place), counts) for place, counts in scan.take())


def scanned(dialect: Dialect, hints: Hints, data: bytes) -> Iterator[NativeSegment]:
    """Yield the counts of whole records."""
    one = scan(dialect, hints, None)
    with guarded():
        one.feed(data)
    yield from (counts for _, counts in take_parts(one))


class NativeCounts:
    """The counts of a stream, which stay in the native scanner until they are finished."""

    def __init__(self) -> None:
        import ldapdiag_native  # noqa: PLC0415  as above

        self._segment = ldapdiag_native.Segment(asdict(CAPS))

    @property
    def last_time(self) -> int | None:
        """The time of the last record."""
        return self._segment.last_time

    def merge(self, part: NativeSegment) -> None:
        """Add the chunk that follows."""
        with guarded():
            self._segment.merge(part)

    def merge_state(self, part: NativeSegment) -> None:
        """Add a chunk as one before the period."""
        with guarded():
            part.reset_counts()
            self._segment.merge(part)

    def add_clock(self, part: NativeSegment) -> None:
        """Keep the zones and the resolution of a chunk that is not counted."""
        self._segment.add_clock(part)

    def reset_counts(self) -> None:
        """Forget all counts, and keep the state of the open connections."""
        with guarded():
            self._segment.reset_counts()

    def finished(self, *, goes_on: bool = False) -> Segment:  # noqa: ARG002  more chunks can always be added
        """Return the Segment of a stream that ends here."""
        with guarded():
            return segment_of(self._segment.finished(), CAPS)


class PanicError(Exception):
    """The native scanner has a bug."""


@contextmanager
def guarded() -> Iterator[None]:
    """Raise a panic of the native scanner as PanicError: pyo3 raises a BaseException, which few handlers catch."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ == "PanicException":
            raise PanicError(error) from error
        raise


def _clamped(time: int | None) -> int | None:
    """Limit a time to FARTHEST, so that it fits into 64 bits; no log contains a later one."""
    return None if time is None else max(-FARTHEST, min(time, FARTHEST))


def _stamp_defaults(hints: Hints) -> tuple[int, int | Callable[[int, int, int, int, int], int]]:
    """Return what the timestamps lack: the latest possible time, and the offset of the zone from UTC in seconds.

    The offset of a zone with daylight saving time is a function of the local time.
    """
    from ldapdiag.evidence.log.syslog import east, latest  # noqa: PLC0415  import late: few logs are syslogs

    fixed = isinstance(hints.zone, timezone)
    return latest(hints), east(hints.zone, 1970, 1, 1, 0, 0) if fixed else partial(east, hints.zone, fold=hints.fold)
