"""Train the native scanner for a build with a profile: count ordinary and odd logs in each of its dialects.

`maturin build --pgo` runs it with the counting build (docs/native.md, "Build it"). It needs this checkout alone.
"""

# ruff: noqa: INP001, T201  a script, no package; it prints

from __future__ import annotations

import re
import sys
from itertools import islice
from pathlib import Path
from time import gmtime, strftime
from typing import TYPE_CHECKING

HOUSE = Path(__file__).resolve().parent.parent
VECTORS = HOUSE / "tests" / "vectors"
sys.path[:0] = [str(HOUSE), str(HOUSE / "bench"), str(HOUSE / "tests")]

from log_dialects import LINE, as_json, as_stderr, as_syslog  # noqa: E402

from hostile_logs import BEGIN, OPENED, ORDINARY  # noqa: E402  found by the path above
from ldapdiag.evidence.log.dialects import named  # noqa: E402
from ldapdiag.evidence.log.line_scan import Hints  # noqa: E402
from ldapdiag.sources.logs.native import NativeCounts, installed, scanned  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Match = re.Match[str]

LINES = 200_000
"""In the log of a dialect."""
ODD = LINES // 10
"""Lines of vectors beside an ordinary log."""
CHUNK = 20_000
"""Lines scanned at once."""
STEP = 300_017
"""Nanoseconds between two lines."""
NUMBER = re.compile(rb'(conn=|"(?:conn_id|connId|connectionID|connection-id)": ?)(\d+)')
MOD = 'conn=1 op=%d MOD dn="uid=u%d,ou=people,dc=x"'
MODIFIED = "conn=1 op=%d RESULT err=0 tag=103 nentries=0 wtime=0.000100000 optime=0.000200000 etime=0.000300000"


def ordinary() -> Iterator[str]:
    """Yield the lines of an endless ordinary log of 389-ds, with other times, notes and writes."""
    time = BEGIN * 10**9
    for number, line in enumerate(_events()):
        time += STEP
        took = 0.0003 if number % 10 else number % 7919 / 1000
        notes = ' notes=U details="Partially Unindexed Filter"' if "RESULT" in line and number % 25 == 0 else ""
        stamp = strftime("%d/%b/%Y:%H:%M:%S", gmtime(time // 10**9))
        yield f"[{stamp}.{time % 10**9:09d} +0000] {line.replace('=0.000300000', f'={took:.9f}')}{notes}"


def _events() -> Iterator[str]:
    yield OPENED % (1, "10.1.1.1")
    for number in range(sys.maxsize):
        yield from ORDINARY.lines(number)
        if number % 30 == 0:
            yield from (MOD % (number, number), MODIFIED % number)


def _as_container(found: Match) -> str:
    return f"ldap_1  | {as_stderr(found)}"


def _as_iso(found: Match) -> str:
    return f"{_iso(found)} ldap slapd[3989]: {_message(found)}"


def _as_rfc5424(found: Match) -> str:
    return f"<167>1 {_iso(found)} ldap slapd 3989 - - {_message(found)}"


def _iso(found: Match) -> str:
    return f"{found['second'][7:11]}-11-{found['second'][:2]}T{found['second'][12:]}.{found['fraction'][:6]}+00:00"


def _message(found: Match) -> str:
    return as_syslog(found).partition("]: ")[2]


WRITERS: dict[str, Callable[[Match], str]] = {
    "389-text": lambda found: found[0],
    "389-json": as_json,
    "openldap-stderr": as_stderr,
    "openldap-container": _as_container,
    "openldap-syslog": as_syslog,
    "openldap-syslog-iso": _as_iso,
    "openldap-syslog-rfc5424": _as_rfc5424,
}
"""By the name of a dialect; of the others only vectors are read."""


def odd(dialect: str) -> Iterator[bytes]:
    """Yield the lines of all vectors of a dialect, again and again, each time with other connections."""
    logs = [path.read_bytes() for path in sorted((VECTORS / dialect).glob("*.log"))]
    for turn in range(sys.maxsize):
        for log in logs:
            moved = NUMBER.sub(lambda found, turn=turn: b"%b%d" % (found[1], int(found[2]) + 10_000 * turn), log)
            yield from moved.splitlines(keepends=True)


def train(dialect: str, lines: Iterator[bytes]) -> None:
    """Count a log in chunks, as the command does."""
    counts = NativeCounts()
    while chunk := b"".join(islice(lines, CHUNK)):
        for part in scanned(named(dialect), Hints(), chunk):
            counts.merge(part)
    segment = counts.finished()
    print(f"{dialect}: {segment.lines} lines, {segment.misread} not understood")


if __name__ == "__main__":
    module = installed().module
    if module is None:
        sys.exit(f"{Path(__file__).name}: {installed().trouble or 'ldapdiag_native is not installed'}")
    events = [found for line in islice(ordinary(), LINES) if (found := LINE.fullmatch(line))]
    for name in module.DIALECTS:
        if name in WRITERS:
            train(name, (f"{WRITERS[name](found)}\n".encode() for found in events))
        train(name, islice(odd(name), ODD if name in WRITERS else LINES))
