r"""The prefixes of slapd's messages, and their times.

slapd writes to stderr (-d, or a logfile), to syslog, or to a logfile in the format of syslog:

    6b000aac.1b749727 0x7f6ced7fe6c0 conn=1000 ...            2.5+: seconds, nanoseconds and thread, in hex
    6807a029 conn=1981 ...                                    2.4: seconds in hex
    openldap-0  | 6b000aac.1b749727 0x7f6ced7fe6c0 conn=...   the same in a container's log
    Nov 20 08:54:04 vm slapd[3989]: conn=1000 ...             syslog (RFC 3164), logfile-format syslog-*: no year
    <167>Sep 7 07:40:20 vm slapd[1722022]: conn=1000 ...      with its priority; some do not pad the day
    2026-11-20T08:54:04.460651+00:00 vm slapd[3989]: conn=    rsyslog's default format; logfile-format rfc3339-utc
    <167>1 2026-11-20T08:54:04.460651+00:00 vm slapd 3989 - -  conn=1000 ...      RFC 5424

A syslog contains the lines of other programs too, and reports of dropped lines. Sources: servers/slapd/logging.c
(slap_debug_print), RFC 3164 and 5424, rsyslog's runtime/ratelimit.c and plugins/imuxsock, systemd's journald.
"""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo
from typing import TYPE_CHECKING

from ldapdiag.evidence.log.stamps import (
    EPOCH,
    FIRST_YEAR,
    ISO,
    MONTHS,
    PAST_YEAR,
    SECOND,
    Seconds,
    instant,
    nanoseconds,
    when,
)
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Callable

    from ldapdiag.evidence.log.line_scan import Hints
    from ldapdiag.evidence.log.scan import Scan

    Clock = Callable[[bytes, bytes | None, bytes | None], int]

YEAR_UNKNOWN = 1972
"""The year of stamps without one where the end of the file is unknown: long ago, and a leap year."""
SLACK = timedelta(days=1)
"""The clock of the machine that copied the file may be behind the server's, or in another zone."""

TRADITIONAL_STAMP = pattern(rb"(\w{3})\ {1,2}(\d{1,2})\ (\d\d):(\d\d):(\d\d)")


@dataclass(frozen=True, slots=True)
class Prefix:
    """The prefix of a message: a verbose pattern with the groups second, fraction and zone, and its clock."""

    name: str
    pattern: bytes
    clock: Callable[[Scan], Clock]
    """Returns the function from (second, fraction, zone) to nanoseconds since 1970; ValueError for an invalid time."""


def _hexadecimal_clock(log: Scan) -> Clock:
    log.clock(b"+0000")
    seconds = HEXADECIMAL
    coarse = False

    def time(second: bytes, fraction: bytes | None, _: bytes | None) -> int:
        nonlocal coarse
        if fraction is None:
            if not coarse:
                log.resolution(SECOND)
                coarse = True
            return seconds[second]
        # Without clock_gettime the fraction is microseconds, in five digits.
        return seconds[second] + (int(fraction, 16) if len(fraction) == 8 else int(fraction, 16) * 1000)

    return time


def _iso_clock(log: Scan) -> Clock:
    zone_before: bytes | None = b""
    digits_before = -1

    def time(second: bytes, fraction: bytes | None, zone: bytes | None) -> int:
        nonlocal zone_before, digits_before
        digits = len(fraction or b"")
        if zone != zone_before or digits != digits_before:
            log.clock(zone)
            log.resolution(10 ** (9 - digits))
            zone_before, digits_before = zone, digits
        return ISO[second + (zone or b"")] + nanoseconds(fraction or b"")

    return time


def _traditional_clock(log: Scan) -> Clock:
    log.clock(None)
    log.resolution(SECOND)
    seconds = Seconds(lambda text: yearless(text, log.hints))

    def time(second: bytes, fraction: bytes | None, _: bytes | None) -> int:
        return seconds[second] + nanoseconds(fraction or b"")

    return time


def yearless(text: bytes, hints: Hints) -> int:
    """Return the nanoseconds since 1970 of b"Nov 20 08:54:04": the last such time before the log's end.

    Each stamp is read independently of those before it, so that a log gives the same times wherever it is cut. What
    the order of the lines shows is in the hints (repeated_hours.py).
    """
    found = TRADITIONAL_STAMP.fullmatch(text)
    month = MONTHS.get(found[1].lower()) if found else None
    if found is None or month is None:
        raise ValueError(text)
    day, hour, minute, second = (int(number) for number in found.groups()[1:])
    past = latest(hints)
    # In the zone of the hints it may be next year already; nine years contain at least one leap year.
    next_year = when(past).year + 1
    for year in range(next_year, next_year - 10, -1):
        if not FIRST_YEAR <= year < PAST_YEAR or ((month, day) == (2, 29) and not _is_leap(year)):
            continue
        offset = east(hints.zone, year, month, day, hour, minute, hints.fold)
        time = instant((year, month, day), (hour, minute, min(second, 59)), offset)
        if time < past:
            return time
    raise ValueError(text)


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def latest(hints: Hints) -> int:
    """Return the upper bound of all stamps, in nanoseconds since 1970.

    A file time before any slapd is ignored: archives and images often have 1970.
    """
    unknown = datetime(YEAR_UNKNOWN, 12, 31, tzinfo=hints.zone)
    end = max(hints.year_end or unknown, unknown)
    return min((end + SLACK - EPOCH) // timedelta(microseconds=1) * 1000, instant((PAST_YEAR - 1, 12, 31), (0, 0, 0)))


def east(zone: tzinfo, year: int, month: int, day: int, hour: int, minute: int, fold: int = 0) -> int:
    """Return the seconds east of UTC of a zone in one of its minutes; ValueError for an invalid minute.

    No zone changes its offset within a minute.
    """
    return int(
        (datetime(year, month, day, hour, minute, tzinfo=zone, fold=fold).utcoffset() or timedelta()).total_seconds()
    )


HEXADECIMAL = Seconds(lambda text: int(text, 16) * SECOND)

HEX_STAMP = rb"""
(?P<second>[0-9a-f]{8})
(?>(?:\.(?P<fraction>[0-9a-f]{8}|[0-9a-f]{5})\ (?>(?:0x)?)[0-9A-Fa-f]{1,16}+)?) (?P<zone>)\ [\ ]*+
"""
"""Seconds and nanoseconds (or microseconds) since 1970, and the thread."""

WRAPPER = rb"""
(?>(?:\x1b\[[\d;]{0,9}m)?)
(?: \d{1,9}+[:-]                                    # grep -n
  | [^\s|]{1,200}+ [\ ]{1,60}+                      # a pod, a container, or a time
    (?>(?: \|(?>(?:\x1b\[[\d;]{0,9}m)?)\ [\ ]*+           # docker compose
      | std(?:out|err)\ [FP]\ )?)                   # the log of a kubelet
)
"""

TAG = rb"""
\ \S{1,255}+\ (?>(?:(?>(?:\w{1,20}+:\w{1,20}+\ )?)              # the host; AIX adds the facility
  [^\s:\[]{1,128}+ (?>(?:\[[^\]\s]{0,32}+\])?) :[\ ]*+       # the program
  (?>(?:\[ID\ \d{1,9}+\ [\w.]{1,40}+\]\ )?))?)               # Solaris adds a message id
"""
"""Host and program. The program may have any name; the message identifies slapd."""

STDERR = Prefix("openldap-stderr", HEX_STAMP, _hexadecimal_clock)
CONTAINER = Prefix("openldap-container", WRAPPER + HEX_STAMP, _hexadecimal_clock)
TRADITIONAL = Prefix(
    "openldap-syslog",
    rb"""(?>(?:<\d{1,3}+>)?)
    (?P<second>(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\ {1,2}\d{1,2}\ \d\d:\d\d:\d\d)
    (?>(?:\.(?P<fraction>\d{1,9}))?) (?P<zone>)"""
    + TAG,
    _traditional_clock,
)
ISO_STAMP = rb"(?P<second>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d) (?>(?:[.,](?P<fraction>\d{1,9}))?) (?P<zone>Z|[+-]\d\d:?\d\d)"
ISO_SYSLOG = Prefix("openldap-syslog-iso", rb"(?>(?:<\d{1,3}+>)?)" + ISO_STAMP + TAG, _iso_clock)
RFC5424 = Prefix(
    "openldap-syslog-rfc5424",
    rb"<\d{1,3}+>1\ "
    + ISO_STAMP
    + rb"""\ \S{1,255}+\ \S{1,48}+\ \S{1,128}+\ \S{1,32}+\      # host, program, process, message id
    (?:-|(?>(?:\[(?>(?:[^\]\\\n]|\\.)*)\])+)) [\ ]*+ (?>(?:\xef\xbb\xbf)?) [\ ]*+""",
    _iso_clock,
)

PREFIXES = (STDERR, RFC5424, ISO_SYSLOG, TRADITIONAL, CONTAINER)

LOST = rb"""
(?: imuxsock\ lost\ (?P<lost_by_pid>\d{1,12}+)\ messages\ from\ pid\ [^\n]*+
  | im\w{1,30}+[^\n]{0,300}?:\ (?P<lost_by_rate>\d{1,12}+)\ messages\ lost\ due\ to\ rate-limiting[^\n]*+
  | Suppressed\ (?P<suppressed>\d{1,12}+)\ messages\ from\ [^\n]{0,200}?(?:slapd|ldap)[^\n]*+
) (?:\n|\Z)(?P<lost>)
"""
"""A syslog daemon reports dropped messages: rsyslog's imuxsock and imjournal, and journald for a unit.

rsyslog may mean another program, as it reports at most a pid. journald names the unit.
"""
