"""When a host booted, as one command prints it.

             system boot  2026-11-20 08:00                                   who -b
     09:24:51 up 3 days,  2:03,  1 user,  load average: 0.00, 0.01, 0.05     uptime
    2026-11-20 08:00:00                                                      uptime -s
    264348.22 1043.20                                                        /proc/uptime
    btime 1795160000                                                         grep btime /proc/stat
    +0100                                                                    date +%z, for the two without a zone

A file that contains nothing but a time or numbers is recognised only if its name contains 'boot', 'uptime' or 'who'.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.processes import BootTime
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document

IN_NAME = ("boot", "uptime", "who")
WHO = pattern(r"[ .\w]{0,20}system boot +(\d{4}-\d\d-\d\d \d\d:\d\d)(?: .*)?", re.ASCII)
UPTIME = pattern(
    r" ?\d\d?:\d\d(?::\d\d)?(?:[ap]m)? +up +(?:(?P<days>\d{1,6}) day(?:s|\(s\))?, +)?"
    r"(?:(?P<hours>\d\d?):(?P<minutes>\d\d)|(?P<only_hours>\d\d?) hrs?|(?P<only_minutes>\d\d?) mins?)?,? .*",
    re.ASCII,
)
SINCE = pattern(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", re.ASCII)
PROC_UPTIME = pattern(r"(\d{1,10}\.\d{1,2}) \d{1,12}\.\d{1,2}", re.ASCII)
BTIME = pattern(r"btime (\d{1,11})", re.ASCII)
ZONE = pattern(r"([+-])(\d\d):?([0-5]\d)", re.ASCII)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MINUTE = 60.0
PROMPT = pattern(r"[+$#] .*")


@dataclass(slots=True)
class _Times:
    """What the lines of one file contain."""

    local: datetime | None = None
    epoch: datetime | None = None
    up_seconds: float | None = None
    zone: timezone | None = None
    rounding_seconds: float = 1.0

    def take(self, line: str) -> bool:
        """Take a line's value; return whether it has one."""
        if found := WHO.fullmatch(line) or SINCE.fullmatch(line.strip()):
            self.local = _local(found[found.re.groups])
            self.rounding_seconds = MINUTE if found.re.groups else 1.0  # SINCE has none
            return self.local is not None
        if found := BTIME.fullmatch(line):
            self.epoch = EPOCH + timedelta(seconds=int(found[1]))
        elif found := PROC_UPTIME.fullmatch(line):
            self.up_seconds, self.rounding_seconds = float(found[1]), 1.0
        elif found := UPTIME.fullmatch(line):
            self.up_seconds, self.rounding_seconds = _up(found), MINUTE
        elif (found := ZONE.fullmatch(line.strip())) and int(found[2]) <= 14:
            offset = timedelta(hours=int(found[2]), minutes=int(found[3]))
            self.zone = timezone(offset if found[1] == "+" else -offset)
        else:
            return False
        return True


def recognises(head: Head) -> bool:
    """Recognise the text of uptime and who -b, and by the file's name bare times and numbers."""
    lines = [line for line in head.lines if line.strip() and not PROMPT.fullmatch(line)]
    if not 0 < len(lines) <= 8:
        return False
    if any(WHO.fullmatch(line) or UPTIME.fullmatch(line) or BTIME.fullmatch(line) for line in lines):
        return True
    named = any(part in head.name.lower() for part in IN_NAME)
    return named and any(SINCE.fullmatch(line.strip()) or PROC_UPTIME.fullmatch(line) for line in lines)


def read(document: Document) -> Iterator[BootTime]:
    """Read the time of the boot; of several lines the last of each kind counts."""
    times = _Times()
    for line in document.lines:
        if not times.take(line) and line.strip() and not PROMPT.fullmatch(line):
            document.misread(line)
    booted = times.epoch or times.local
    if times.epoch is None and times.local and times.zone:
        booted = times.local.replace(tzinfo=times.zone).astimezone(UTC)
    if booted or times.up_seconds is not None:
        zoned = booted is None or bool(times.epoch or times.zone)
        yield BootTime(
            origin=document.origin(),
            booted=booted,
            zoned=zoned,
            up_seconds=times.up_seconds,
            rounding_seconds=times.rounding_seconds,
        )


def _local(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text.strip()).replace(tzinfo=UTC)
    except ValueError:
        return None


def _up(found: re.Match[str]) -> float:
    """Return the time of `uptime` in seconds; it prints minutes."""
    hours = int(found["hours"] or found["only_hours"] or 0)
    minutes = int(found["minutes"] or found["only_minutes"] or 0)
    return float(((int(found["days"] or 0) * 24 + hours) * 60 + minutes) * 60)


FORMAT = Format(name="boot-time", title="the time of a host's boot", recognises=recognises, read=read)
