r"""Unindexed searches in the errors log of 389-ds, which is often kept longer than the access log.

    [20/Nov/2026:08:45:20.754113294 +0000] - NOTICE - ldbm_back_search - Unindexed search: search base="dc=x" \
scope=2 filter="(displayName=*jos*)" conn=1 op=1
    [20/Nov/2026:08:45:21.754113294 +0000] - ERR - log_result - Internal unindexed search: source (cn=MemberOf,cn=x) \
search base="dc=x" filter="(member=a)" etime=0.105 nentries=1  notes=A

The first is written at the default level for each search whose candidates are all entries (notes=A), the second for
internal searches. A filter is not escaped: it ends before the last `" conn=` of its line. The server drops the end of a
line that is too long, with its newline: such a notice is ignored, and the next one begins in the middle of its line.
Source: ldap/servers/slapd/back-ldbm/ldbm_search.c, result.c.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.log.pattern import lines_like
from ldapdiag.evidence.log.stamps import NETSCAPE, nanoseconds
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.log.scan import Scan

NAME = "389-errors"
FAMILY = Family.DS389

SIGNATURE = pattern(
    rb"^\[\d\d/[^/\s]{3,12}/\d{4}:\d\d:\d\d:\d\d(?:\.\d{1,9})? ?(?:[+-]\d{4}|Z)\] - "
    rb"(?:EMERG|ALERT|CRIT|ERR|WARN|NOTICE|INFO|DEBUG) - ",
    re.MULTILINE,
)
BEGINNING = pattern(
    rb"""\[(\d\d/[^/\s]{3,12}/\d{4}:\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?\ ?([+-]\d{4}|Z)\]
    \ -\ (?:NOTICE|ERR)\ -\ (?:ldbm_back_search|log_result)\ -\ (?>(?P<internal>Internal\ )?)
    [Uu]nindexed\ search:[ ]""",
    re.VERBOSE,
)
SEARCH = pattern(
    rb"""(?:source\ \([^"]*\)\ )?search\ base="(?P<base>[^"]*+(?>(?:"(?!\ (?:scope=\d\ )?filter=")[^"]*+)*))"
    (?>(?:\ scope=(?P<scope>\d))?)\ filter="(?P<filter>.*)"
    \ (?:conn=(?P<conn>\d{1,18})\ op=(?P<op>-?\d{1,10})|etime=.*)""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One unindexed search from the errors log."""

    time: int
    """Nanoseconds since 1970-01-01 UTC."""
    base: bytes
    scope: int | None
    """None in the lines of log_result, for internal searches."""
    filter: bytes
    connection: int | None
    operation: int | None
    internal: bool
    """An internal search of the server."""


def recognised(head: bytes) -> int:
    """Return how many lines are of an errors log of 389-ds (1.3.6 and later)."""
    return lines_like(SIGNATURE, head)


def scan(data: bytes, log: Scan) -> None:
    """Read whole lines; lines other than notices are passed over."""
    lines = data.count(b"\n") + (not data.endswith(b"\n"))
    log.lines += lines
    found = 0
    for found, notice in enumerate(notices(data), 1):  # noqa: B007  the count survives the loop
        scope = -1 if notice.scope is None else notice.scope
        log.notice(notice.time, notice.base, scope, notice.filter, internal=notice.internal)
    log.passed_over(max(0, lines - found))


def notices(data: bytes) -> Iterator[Notice]:
    """Yield the unindexed searches in whole lines of an errors log."""
    for line in data.split(b"\n"):
        begun = list(BEGINNING.finditer(line))
        if not begun:
            continue
        found = SEARCH.fullmatch(line[begun[-1].end() :].rstrip())
        time = _time(*begun[-1].group(1, 2, 3))
        if found is not None and time is not None:
            yield _notice(time, found, internal=begun[-1]["internal"] is not None)


def _notice(time: int, found: re.Match[bytes], *, internal: bool) -> Notice:
    return Notice(
        time=time,
        base=found["base"],
        scope=_number(found["scope"]),
        filter=found["filter"],
        connection=_number(found["conn"]),
        operation=_number(found["op"]),
        internal=internal,
    )


def _time(stamp: bytes, fraction: bytes | None, zone: bytes) -> int | None:
    try:
        return NETSCAPE[b"%b %b" % (stamp, zone)] + nanoseconds(fraction or b"")
    except ValueError:
        return None


def _number(digits: bytes | None) -> int | None:
    return None if digits is None else int(digits)
