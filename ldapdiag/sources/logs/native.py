"""The native scanner: `ldapdiag_native`, where it is installed and reads logs as we do. No other module imports it.

Without it, or with one of another version, the reference reads all logs, more slowly.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import timezone
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from ldapdiag.errors import LdapdiagError
from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.evidence.log.dialects import GRAMMAR_VERSION
from ldapdiag.evidence.log.plain import segment_of
from ldapdiag.evidence.log.tables import CAPS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from ldapdiag_native import Scan as Scan  # noqa: PLC0414  for those who may not import it from there
    from ldapdiag_native import Watch

    from ldapdiag.evidence.log.dialect import Dialect
    from ldapdiag.evidence.log.line_scan import Hints
    from ldapdiag.evidence.log.segment import Segment
    from ldapdiag.sources.logs.period import Period

FARTHEST = 9 * 10**18
"""Nanoseconds; stamps.py reads none that are farther from 1970."""

YEARLESS = "openldap-syslog"
"""The dialect whose stamps have no year and no zone: hints say them."""

VARIABLE = "LDAPDIAG_SCANNER"
"""Of the environment: which scanner to use where no option does."""

HEAVY_BYTES = 48 << 20
"""About what all scans keep at their edges before it is taken from them; Python's objects are many times as large."""

HOW = "`make demo` builds it where cargo is installed, or install the wheel ldapdiag-native of the same version"


class NoNativeError(LdapdiagError):
    """The native scanner was asked for, and cannot be used."""


@dataclass(frozen=True, slots=True)
class Installed:
    """What there is of the native scanner."""

    module: ModuleType | None
    """None where it cannot be used."""
    trouble: str = ""
    """Why it cannot be used although it is there."""


@cache
def installed() -> Installed:
    """Look for the native scanner, once."""
    try:
        import ldapdiag_native  # noqa: PLC0415  it may not be there
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
    """Return which scanner is to be used, by what was asked for; NoNativeError where that one cannot be had."""
    asked = scanner or os.environ.get(VARIABLE) or None
    if asked not in {None, *Scanner}:
        raise NoNativeError(f"{VARIABLE}={asked}: unknown scanner; set it to {' or '.join(Scanner)}")
    if asked == Scanner.PYTHON:
        return Scanner.PYTHON  # without a look at the other one, which may be damaged so that looking ends the process
    there = installed().module is not None
    if asked == Scanner.NATIVE and not there:
        raise NoNativeError(f"{installed().trouble or 'the native scanner is not installed'}; {HOW}")
    return Scanner.NATIVE if there else Scanner.PYTHON


def notice() -> str:
    """Return what to say where the native scanner is there and is not used; nothing where all is well."""
    trouble = "" if os.environ.get(VARIABLE) == Scanner.PYTHON else installed().trouble
    return f"{trouble}, so the slower Python scanner reads the logs; {HOW}" if trouble else ""


def reads(dialect: str) -> bool:
    """Tell whether the native scanner reads this dialect."""
    module = installed().module
    return module is not None and dialect in module.DIALECTS


def watch() -> Watch:
    """Return a watch over several readings."""
    import ldapdiag_native  # noqa: PLC0415  as above

    return ldapdiag_native.Watch()


def scan(dialect: Dialect, hints: Hints, period: Period | None, side_by_side: int = 1) -> Scan:
    """Begin to scan neighbouring records of one stream; so many scans share what may be kept."""
    import ldapdiag_native  # noqa: PLC0415  as above

    latest, offset = _hinted(hints) if dialect.name == YEARLESS else (0, 0)
    return ldapdiag_native.Scan(
        dialect.name,
        caps=asdict(CAPS),
        since=_border(period.since if period else None),
        until=_border(period.until if period else None),
        latest=latest,
        offset=offset,
        heavy=HEAVY_BYTES // max(side_by_side, 2),
    )


def taken(scan: Scan) -> tuple[Segment | None, Segment | None]:
    """Return what a scan has added up before its period and within, and let it begin anew."""
    before, within = scan.take()
    return _segment(before), _segment(within)


def _segment(plain: dict[str, Any] | None) -> Segment | None:
    return None if plain is None else segment_of(plain, CAPS)


class PanicError(Exception):
    """The native scanner has a bug."""


@contextmanager
def guarded() -> Iterator[None]:
    """Raise a panic of the native scanner as an error; pyo3 raises a BaseException, which is not caught by mistake."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ == "PanicException":
            raise PanicError(error) from error
        raise


def _border(time: int | None) -> int | None:
    """Return a time as an integer of 64 bits; no log holds one that is not."""
    return None if time is None else max(-FARTHEST, min(time, FARTHEST))


def _hinted(hints: Hints) -> tuple[int, int | Callable[[int, int, int, int, int], int]]:
    """Return what stamps lack: the time before which they are, and the offset of their zone from UTC in seconds."""
    from ldapdiag.evidence.log.syslog import east, latest  # noqa: PLC0415  import late: few logs are of that kind

    fixed = isinstance(hints.zone, timezone)
    return latest(hints), east(hints.zone, 1970, 1, 1, 0, 0) if fixed else partial(east, hints.zone)
