"""Logs in envelopes, written as container runtimes, the journal and syslog write them."""

from __future__ import annotations

import json
from collections.abc import Callable

TIME = "2026-11-20T09:00:00.123456789Z"
PART = 16 << 10
"""Bytes after which Docker and CRI split a line."""


def _lines(log: bytes) -> list[bytes]:
    return log.removesuffix(b"\n").split(b"\n")


def _parts(line: bytes) -> list[bytes]:
    return [line[at : at + PART] for at in range(0, max(len(line), 1), PART)]


def docker_json(log: bytes) -> bytes:
    """Return what Docker's json-file driver writes."""
    out = []
    for line in _lines(log):
        *first, last = _parts(line)
        for part in (*first, last + b"\n"):
            record = {"log": part.decode("utf-8", "replace"), "stream": "stdout", "time": TIME}
            out.append(json.dumps(record) + "\n")
    return "".join(out).encode()


def cri(log: bytes) -> bytes:
    """Return what containerd writes for a kubelet."""
    out = []
    for line in _lines(log):
        *first, last = _parts(line)
        out += [f"{TIME} stdout P ".encode() + part + b"\n" for part in first]
        out.append(f"{TIME} stdout F ".encode() + last + b"\n")
    return b"".join(out)


def compose(log: bytes) -> bytes:
    return b"".join(b"ldap-1  | " + line + b"\n" for line in _lines(log))


def docker_logs_t(log: bytes) -> bytes:
    return b"".join(TIME.encode() + b" " + line + b"\n" for line in _lines(log))


def kubectl_prefix(log: bytes) -> bytes:
    return b"".join(b"[pod/ds-0/ds] " + line + b"\n" for line in _lines(log))


def syslog(log: bytes) -> bytes:
    return b"".join(b"Nov 20 09:00:00 vm dirsrv[7]: " + line + b"\n" for line in _lines(log))


def syslog_iso(log: bytes) -> bytes:
    return b"".join(b"2026-11-20T09:00:00.123456+00:00 vm dirsrv[7]: " + line + b"\n" for line in _lines(log))


def syslog_rfc5424(log: bytes) -> bytes:
    return b"".join(b"<14>1 2026-11-20T09:00:00.1Z vm dirsrv 7 - - " + line + b"\n" for line in _lines(log))


def shipped_json(log: bytes) -> bytes:
    """Return what Fluent Bit writes into a file."""
    pod = {"pod_name": "ds-0", "container_name": "ds"}
    return b"".join(
        json.dumps({"date": 1.5, "log": line.decode("utf-8", "replace"), "kubernetes": pod}).encode() + b"\n"
        for line in _lines(log)
    )


def journal_json(log: bytes) -> bytes:
    """Return `journalctl -o json --all`; a message that is not printable text is a list of its bytes."""
    out = []
    for number, line in enumerate(_lines(log)):
        text = list(line) if number % 3 == 0 and line else line.decode("utf-8", "replace")
        record = {
            "__REALTIME_TIMESTAMP": str(1_795_165_200_000_000 + number),
            "_HOSTNAME": "vm",
            "SYSLOG_IDENTIFIER": "ds",
            "_PID": "7",
            "MESSAGE": text,
        }
        out.append(json.dumps(record) + "\n")
    return "".join(out).encode()


def journal_export(log: bytes) -> bytes:
    """Return `journalctl -o export`; a message that is not printable text is preceded by its length."""
    out = []
    for number, line in enumerate(_lines(log)):
        binary = number % 3 == 0 and line
        message = b"MESSAGE\n" + len(line).to_bytes(8, "little") + line if binary else b"MESSAGE=" + line
        fields = (
            b"__CURSOR=s=6c;i=%x" % number, b"__REALTIME_TIMESTAMP=%d" % (1_795_165_200_000_000 + number),
            b"_HOSTNAME=vm", message, b"SYSLOG_IDENTIFIER=ds", b"_PID=7",
        )  # fmt: skip
        out.append(b"\n".join(fields) + b"\n\n")
    return b"".join(out)


def journal_json_pretty(log: bytes) -> bytes:
    """Return `journalctl -o json-pretty --all`."""
    lines = [json.loads(line) for line in journal_json(log).splitlines()]
    return "".join(json.dumps(line, indent="\t") + "\n" for line in lines).encode()


def array_of_lines(log: bytes) -> bytes:
    """Return the objects of Docker in an array, one in each line."""
    return b"[\n" + docker_json(log).rstrip(b"\n").replace(b"\n", b",\n") + b"\n]\n"


def array_of_values(log: bytes) -> bytes:
    """Return the same in one line, as `jq --slurp --compact-output` does."""
    return b"[" + docker_json(log).rstrip(b"\n").replace(b"\n", b",") + b"]\n"


def array_indented(log: bytes) -> bytes:
    """Return the same as `jq --slurp` does."""
    return json.dumps(json.loads(array_of_values(log)), indent=2).encode() + b"\n"


def grep(log: bytes) -> bytes:
    """Return what `grep --with-filename --line-number` makes of it."""
    return b"".join(b"ds1/access.2026:%d:%b\n" % (number, line) for number, line in enumerate(_lines(log), 1))


ENVELOPES: dict[str, Callable[[bytes], bytes]] = {
    function.__name__: function
    for function in (
        docker_json, cri, compose, docker_logs_t, kubectl_prefix, syslog, syslog_iso, syslog_rfc5424, shipped_json,
        journal_json, journal_export, journal_json_pretty, array_of_lines, array_of_values, array_indented, grep,
    )
}  # fmt: skip
READ_FROM_THE_BEGINNING = ("journal_json_pretty", "array_of_lines", "array_of_values", "array_indented")
"""Their last record is not known before all of them are read, as that of a compressed log."""
