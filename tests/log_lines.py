"""Small access logs of 389-ds, written as the server would."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from ldapdiag.sources.logs.asked_period import AskedPeriod, AskedTime

BEGIN = datetime(2026, 11, 20, 8, tzinfo=UTC)
HEADER = "\t389-Directory/2.3.1 B2025.016.1616\n\tlocalhost:{port} (/etc/dirsrv/slapd-corp)\n\n"


def header(port: int = 389) -> bytes:
    """Return what each file of a server begins with."""
    return HEADER.format(port=port).encode()


def at(seconds: float) -> int:
    """Return a time so many seconds after the first one, as nanoseconds since 1970."""
    return int(BEGIN.timestamp()) * 10**9 + round(seconds * 1e9)


def period(since: int | None = None, until: int | None = None) -> AskedPeriod:
    """Return a period between two times in nanoseconds since 1970."""

    def asked(time: int | None) -> AskedTime | None:
        return None if time is None else AskedTime(text=str(time), by_end=lambda _: (time, time), needs_end=False)

    return AskedPeriod(since=asked(since), until=asked(until))


def stamp(seconds: float) -> str:
    moment = BEGIN + timedelta(seconds=int(seconds))
    return f"[{moment:%d/%b/%Y:%H:%M:%S}.{round(seconds % 1 * 1e9):09} +0000]"


def connection(number: int, seconds: float, searches: int = 2, client: str = "10.0.0.1") -> bytes:
    """Return the lines of a connection: opened, bound, so many searches a tenth of a second apart, closed."""
    lines = [
        f"{stamp(seconds)} conn={number} fd=64 slot=64 connection from {client} to 10.0.0.9",
        f'{stamp(seconds)} conn={number} op=0 BIND dn="uid=a" method=128 version=3',
        f'{stamp(seconds)} conn={number} op=0 RESULT err=0 tag=97 nentries=0 etime=0.000100000 dn="uid=a"',
    ]
    for op in range(1, searches + 1):
        now = stamp(seconds + op / 10)
        lines += [
            f'{now} conn={number} op={op} SRCH base="dc=x" scope=2 filter="(uid=u{op})" attrs=ALL',
            f"{now} conn={number} op={op} RESULT err=0 tag=101 nentries=1 etime=0.000200000",
        ]
    end = stamp(seconds + (searches + 1) / 10)
    lines += [
        f"{end} conn={number} op={searches + 1} UNBIND",
        f"{end} conn={number} op={searches + 1} fd=64 Disconnect - Cleanly Closed Connection - U1",
    ]
    return "".join(f"{line}\n" for line in lines).encode()


def run(first: int, last: int, *, every: float = 1, shift: float = 0, client: str = "10.0.0.1") -> bytes:
    """Return the log of connections first to last, one every so many seconds."""
    lines = b"".join(connection(n, shift + (n - 1) * every, client=client) for n in range(first, last + 1))
    width = len(stamp(0))
    return b"".join(sorted(lines.splitlines(keepends=True), key=lambda line: line[:width]))


LINES_OF_CONNECTION = connection(1, 0).count(b"\n")
