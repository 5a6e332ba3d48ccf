"""The manifest of a capture: what was collected, when, from where, by which clock, and the gaps.

    {"schema": "ldapdiag.capture/1", "tool": {"version": "0.1.0"}, "taken_at": "2026-11-20T13:00:05.123456Z",
     "pieces": [{"path": "app1/sockets-1.txt", "folder": "app1", "asked": "ss -tanoiep", "bytes": 2097,
                 "taken": ["2026-11-20T13:00:01.000000Z", "2026-11-20T13:00:01.250000Z"]}],
     "clock_offsets": {"ssh://app1": {"seconds": 0.4, "uncertainty_seconds": 1.0}},
     "gaps": [{"target": "ssh://app2", "reason": "connection refused", "how": "…"}]}

`taken` is in the time of the collecting host, or null; `tool`, `taken_at` and `clock_offsets` (by target) inform the
operator and are not read. A manifest is read tolerantly, like all evidence: invalid entries and unknown keys are
ignored, and the files of the capture are read even if the manifest is unusable.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from ldapdiag import __version__
from ldapdiag.evidence.bundle import Gap
from ldapdiag.evidence.ldap_session import as_from_others
from ldapdiag.evidence.origin import Span
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ldapdiag.documents.capture import Document

NAME = "manifest.json"
SCHEMA: Final = "ldapdiag.capture/1"
MOST_BYTES = 16 << 20
"""A longer file is not a manifest of a capture."""

NAMES_SHOWN = 3
"""Missing files that their gap names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestEntry:
    """One file of a capture, as its manifest describes it."""

    path: str
    """Within the capture: host/file."""
    folder: str
    """The host's name."""
    asked: str = ""
    taken: Span | None = None
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockOffset:
    """How far a host's clock is ahead of the collector's, in seconds, with the uncertainty."""

    seconds: float
    uncertainty_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The content of a manifest."""

    entries: tuple[ManifestEntry, ...] = ()
    gaps: tuple[Gap, ...] = ()


def as_json(manifest: Manifest, taken_at: datetime, clock_offsets: Mapping[str, ClockOffset]) -> bytes:
    """Return the bytes of manifest.json; `clock_offsets` are by target."""
    content: Document = {
        "schema": SCHEMA,
        "tool": {"version": __version__},
        "taken_at": _iso(taken_at),
        "pieces": [
            {
                "path": entry.path,
                "folder": entry.folder,
                "asked": entry.asked,
                "taken": [_iso(entry.taken.start), _iso(entry.taken.end)] if entry.taken else None,
                "bytes": entry.size_bytes,
            }
            for entry in manifest.entries
        ],
        "clock_offsets": {
            target: {"seconds": offset.seconds, "uncertainty_seconds": offset.uncertainty_seconds}
            for target, offset in sorted(clock_offsets.items())
        },
        "gaps": [{"target": gap.target, "reason": gap.reason, "how": gap.how} for gap in manifest.gaps],
    }
    return json.dumps(content, indent=1, ensure_ascii=True).encode() + b"\n"


def read(data: bytes, label: str) -> Manifest | Gap | None:
    """Return the content of a manifest.json; a gap if it is damaged, None if it is not the manifest of a capture.

    `label` is its name in messages. `data` may be limited to MOST_BYTES + 1 bytes.
    """
    if len(data) > MOST_BYTES:
        return None
    try:
        parsed = json.loads(data)
    except (ValueError, RecursionError):
        return _damaged(label) if SCHEMA.partition("/")[0].encode() in data else None
    if not isinstance(parsed, dict) or not _text(parsed.get("schema")).startswith("ldapdiag.capture/"):
        return None
    if parsed["schema"] != SCHEMA:
        newer = Gap(
            target=label,
            reason=f"is a manifest of another version: {parsed['schema'][:40]} instead of {SCHEMA}",
            how="read this capture with the version of ldapdiag that wrote it, or a newer one",
        )
        return _manifest(parsed, (newer,))
    return _manifest(parsed, ())


def missing(entries: Iterable[ManifestEntry], label: str) -> Iterator[Gap]:
    """Yield one gap for the files that a manifest lists and its capture does not contain."""
    paths = sorted(entry.path for entry in entries)
    if not paths:
        return
    more = ", …" if len(paths) > NAMES_SHOWN else ""
    files = f"{counted(len(paths), 'file')} that {'is' if len(paths) == 1 else 'are'}"
    yield Gap(
        target=label,
        reason=f"its manifest lists {files} not in it ({', '.join(paths[:NAMES_SHOWN])}{more})",
        how="ask for a complete copy, or use this one as it is",
    )


def _damaged(label: str) -> Gap:
    return Gap(
        target=label,
        reason="is damaged: the times of this capture, and what was not collected, are unknown",
        how="ask for another copy; the files are read without it",
    )


def _manifest(parsed: dict[str, Any], gaps: tuple[Gap, ...]) -> Manifest:
    return Manifest(entries=tuple(_entries(parsed.get("pieces"))), gaps=(*gaps, *_gaps(parsed.get("gaps"))))


def _entries(entries: object) -> Iterator[ManifestEntry]:
    for entry in _objects(entries):
        path = _text(entry.get("path"))
        if path:
            size = entry.get("bytes")
            yield ManifestEntry(
                path=path,
                folder=_text(entry.get("folder")),
                asked=as_from_others(_text(entry.get("asked"))),
                taken=_span(entry.get("taken")),
                size_bytes=size if type(size) is int and size >= 0 else None,
            )


def _gaps(gaps: object) -> Iterator[Gap]:
    for gap in _objects(gaps):
        target, reason = _text(gap.get("target")), _text(gap.get("reason"))
        if target and reason:
            yield Gap(target=target, reason=reason, how=_text(gap.get("how")) or None)


def _objects(value: object) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        yield from (one for one in value if isinstance(one, dict))


def _text(value: object) -> str:
    r"""Return a text, or an empty one; a lone surrogate, which no file can contain, becomes \udcNN."""
    return value.encode(errors="backslashreplace").decode() if isinstance(value, str) else ""


def _span(value: object) -> Span | None:
    if not isinstance(value, list) or len(value) != 2:
        return None
    start, end = (_moment(one) for one in value)
    return Span(start=start, end=end) if start and end and start <= end else None


def _moment(value: object) -> datetime | None:
    """Return an aware time; None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
        return moment.astimezone(UTC) if moment.tzinfo else None
    except (ValueError, OverflowError):
        return None


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
