"""The scanners of access logs: the Python reference, and the native one where it is installed."""

from __future__ import annotations

import os
from dataclasses import asdict
from datetime import timezone
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from ldapdiag.evidence.log.dialects import named
from ldapdiag.evidence.log.plain import segment_of
from ldapdiag.evidence.log.scan import Hints
from ldapdiag.evidence.log.stream_scan import StreamScan
from ldapdiag.evidence.log.syslog import east, latest
from ldapdiag.evidence.log.tables import CAPS, Caps
from ldapdiag.sources.logs.native import installed

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import tzinfo

    from ldapdiag.evidence.log.dialect import Dialect
    from ldapdiag.evidence.log.segment import Segment

NATIVE = (
    "389-text", "389-json", "dsee-text", "openldap-stderr", "openldap-container", "openldap-syslog",
    "openldap-syslog-iso", "openldap-syslog-rfc5424", "opendj-text", "opendj-json", "ping-text", "ping-json",
)  # fmt: skip
"""The dialects that the native scanner must read."""
NATIVE_DIALECTS = [named(name) for name in NATIVE]

SCANNERS = ("python", "native")
NO_HINTS = Hints()


def need_native() -> Any:
    """Return the native scanner; skip the test without it, or fail it where everything is required."""
    if (module := installed().module) is not None:
        return module
    reason = installed().trouble or "the native scanner is not installed (`make test` builds it where cargo is)"
    if os.environ.get("LDAPDIAG_REQUIRE_LAB"):
        pytest.fail(f"{reason}, and LDAPDIAG_REQUIRE_LAB is set", pytrace=False)
    pytest.skip(reason)


def native_scan(dialect: Dialect, hints: Hints = NO_HINTS, caps: Caps = CAPS, **period: int | None) -> Any:
    """Return a Scan of the native scanner, to be fed."""
    offset = _offset(hints.zone)
    return need_native().Scan(dialect.name, caps=asdict(caps), latest=latest(hints), offset=offset, **period)


def _offset(zone: tzinfo) -> Any:
    return east(zone, 1970, 1, 1, 0, 0) if isinstance(zone, timezone) else partial(east, zone)


def fed(dialect: Dialect, chunks: Iterable[bytes], hints: Hints = NO_HINTS, caps: Caps = CAPS) -> Segment:
    """Return the finished Segment that one native scan makes of whole records, fed in order."""
    scan = native_scan(dialect, hints, caps)
    for chunk in chunks:
        scan.feed(chunk)
    return only_part(scan, caps)


def only_part(scan: Any, caps: Caps = CAPS) -> Segment:
    """Return what a scan without a period has counted, as a finished Segment."""
    ((place, part),) = scan.take()
    assert place == "within"
    return added_up([part], caps)


def added_up(parts: Iterable[Any], caps: Caps = CAPS) -> Segment:
    """Return the finished Segment of consecutive parts of native scans."""
    total = need_native().Segment(asdict(caps))
    for part in parts:
        total.merge(part)
    return segment_of(total.finished(), caps)


def merged(
    scanner: str, dialect: Dialect, chunks: Iterable[bytes], hints: Hints = NO_HINTS, caps: Caps = CAPS
) -> Segment:
    """Return the finished Segment of consecutive chunks, by one of the SCANNERS: the native one scans each apart."""
    if scanner == "native":
        return added_up((part for one in chunks if one for part in _native_parts(dialect, one, hints, caps)), caps)
    scan = StreamScan(caps=caps)
    for chunk in chunks:
        scan.feed(dialect, chunk, hints)
    return scan.finish()


def _native_parts(dialect: Dialect, chunk: bytes, hints: Hints, caps: Caps) -> Iterable[Any]:
    scan = native_scan(dialect, hints, caps)
    scan.feed(chunk)
    return (part for _, part in scan.take())


def scanned(scanner: str, dialect: Dialect, data: bytes, hints: Hints = NO_HINTS, caps: Caps = CAPS) -> Segment:
    """Return the finished Segment of whole records, by one of the SCANNERS."""
    return merged(scanner, dialect, [data] if data else [], hints, caps)
