"""Logs of several servers in one file: written separately, then interleaved by time as a daemon would."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from time import gmtime, strftime

from hypothesis import strategies as st

BEGIN = 1_795_165_200
"""Seconds since 1970: 20 November 2026, 09:00 UTC."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """One message of a server."""

    micros: int
    """Since BEGIN."""
    host: str
    pid: int
    text: str


Form = Callable[[Line], bytes]


def _stamp(line: Line, form: str) -> str:
    return strftime(form, gmtime(BEGIN + line.micros // 1_000_000))


def rfc3164(line: Line) -> bytes:
    return f"{_stamp(line, '%b %d %H:%M:%S')} {line.host} slapd[{line.pid}]: {line.text}\n".encode()


def iso(line: Line) -> bytes:
    stamp = f"{_stamp(line, '%Y-%m-%dT%H:%M:%S')}.{line.micros % 1_000_000:06}+00:00"
    return f"{stamp} {line.host} slapd[{line.pid}]: {line.text}\n".encode()


def rfc5424(line: Line) -> bytes:
    stamp = f"{_stamp(line, '%Y-%m-%dT%H:%M:%S')}.{line.micros % 1_000_000:06}+00:00"
    return f"<167>1 {stamp} {line.host} slapd {line.pid} - - {line.text}\n".encode()


def journal_json(line: Line) -> bytes:
    record = {
        "__REALTIME_TIMESTAMP": str(BEGIN * 1_000_000 + line.micros), "_HOSTNAME": line.host,
        "SYSLOG_IDENTIFIER": "slapd", "_PID": str(line.pid), "MESSAGE": line.text,
    }  # fmt: skip
    return json.dumps(record).encode() + b"\n"


def journal_export(line: Line) -> bytes:
    fields = (
        f"__CURSOR=s=6c;i={line.micros:x}", f"__REALTIME_TIMESTAMP={BEGIN * 1_000_000 + line.micros}",
        f"_HOSTNAME={line.host}", f"MESSAGE={line.text}", "SYSLOG_IDENTIFIER=slapd", f"_PID={line.pid}",
    )  # fmt: skip
    return "\n".join(fields).encode() + b"\n\n"


def _stderr(line: Line) -> str:
    seconds, micros = divmod(line.micros, 1_000_000)
    return f"{BEGIN + seconds:08x}.{micros * 1000:08x} 0x7f6ced7fe6c0 {line.text}"


def compose(line: Line) -> bytes:
    return f"{line.host}  | {_stderr(line)}\n".encode()


def kubectl(line: Line) -> bytes:
    return f"[pod/{line.host}/slapd] {_stderr(line)}\n".encode()


def shipped(line: Line) -> bytes:
    pod = {"pod_name": line.host, "container_name": "slapd"}
    return json.dumps({"date": 1.5, "log": _stderr(line), "kubernetes": pod}).encode() + b"\n"


def docker_with_syslog(line: Line) -> bytes:
    record = {"log": iso(line).decode(), "stream": "stdout", "time": "2026-11-20T09:00:00.1Z"}
    return json.dumps(record).encode() + b"\n"


BY_PROCESS: dict[str, Form] = {
    form.__name__: form for form in (rfc3164, iso, rfc5424, journal_json, journal_export, docker_with_syslog)
}
"""Forms that have the process of each line."""
FORMS: dict[str, Form] = BY_PROCESS | {form.__name__: form for form in (compose, kubectl, shipped)}


@dataclass(frozen=True, kw_only=True)
class Slapd:
    """A server: where it runs, and what its clients do."""

    host: str
    pid: int
    client: str
    first: int = 1000
    """Number of its first connection."""
    connections: int = 12
    searches: int = 2
    begin: int = 0
    every: int = 700_000
    """Microseconds: of the first connection, and from one to the next."""

    def lines(self) -> list[Line]:
        """Return its log, in the order of time."""
        out: list[Line] = []
        for number in range(self.connections):
            out += self._connection(self.first + number, self.begin + number * self.every)
        return sorted(out, key=lambda line: line.micros)

    def _connection(self, conn: int, begin: int) -> list[Line]:
        dn = f"uid={self.client},dc=x"
        texts = [
            f"conn={conn} fd=16 ACCEPT from IP={self.client}:40000 (IP=0.0.0.0:389)",
            f'conn={conn} op=0 BIND dn="{dn}" method=128',
            f'conn={conn} op=0 BIND dn="{dn}" mech=SIMPLE bind_ssf=0 ssf=0',
            f"conn={conn} op=0 RESULT tag=97 err=0 qtime=0.000010 etime=0.000100 text=",
        ]
        for op in range(1, self.searches + 1):
            texts += [
                f'conn={conn} op={op} SRCH base="dc=x" scope=2 deref=0 filter="(cn={self.client}{op}*)"',
                f"conn={conn} op={op} SRCH attr=cn",
                f"conn={conn} op={op} SEARCH RESULT tag=101 err=0 qtime=0.000010 etime=0.00{op}000 nentries={op} text=",
            ]
        texts += [f"conn={conn} op={self.searches + 1} UNBIND", f"conn={conn} fd=16 closed"]
        return [
            Line(micros=begin + number * 90_000, host=self.host, pid=self.pid, text=text)
            for number, text in enumerate(texts)
        ]


def slapds(host: str, pid: int, client: str) -> st.SearchStrategy[Slapd]:
    """Draw a server and its load; servers that are drawn overlap in time."""
    return st.builds(
        Slapd,
        host=st.just(host),
        pid=st.just(pid),
        client=st.just(client),
        first=st.sampled_from([1000, 1003, 77_000]),
        connections=st.integers(10, 20),
        searches=st.integers(0, 3),
        begin=st.integers(0, 1_000_000),
        every=st.sampled_from([300_000, 700_000]),
    )


def interleaved(*servers: list[Line]) -> list[Line]:
    """Return the lines of all in the order of time; of one microsecond in the order of the servers."""
    return sorted((line for lines in servers for line in lines), key=lambda line: line.micros)
