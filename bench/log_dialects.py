"""Rewrite the generated log in other dialects: 389-ds JSON, slapd on stderr, and slapd through syslog.

Each line becomes one line, so that the work is the same although the sizes differ; the measure is time per byte.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Writer = Callable[[re.Match[str]], str]

LINE = re.compile(
    r"\[(?P<second>[^.]+)\.(?P<fraction>\d{9}) \+0000\] conn=(?P<conn>\d+) (?:op=(?P<op>\d+) )?(?:"
    r"fd=(?P<fd>\d+) (?:slot=\d+ connection from (?P<client>\S+) to (?P<server>\S+)|Disconnect.*)"
    r'|BIND dn="(?P<bind>[^"]*)".*'
    r'|SRCH base="(?P<base>[^"]*)" scope=(?P<scope>\d) filter="(?P<filter>.*)" attrs="(?P<attrs>[^"]*)"'
    r'|MOD dn="(?P<target>[^"]*)"'
    r"|(?P<unbind>UNBIND)"
    r"|RESULT err=(?P<err>\d+) tag=(?P<tag>\d+) nentries=(?P<entries>\d+) wtime=(?P<wait>\S+) optime=(?P<took>\S+) "
    r"etime=(?P<etime>\S+)(?: notes=(?P<notes>\w))?.*)"
)
"""The lines that gen_access_log.py writes, and no others."""


def as_json(found: re.Match[str]) -> str:
    """Return a record as 389-ds 3 logs it in JSON."""
    of = found.groupdict()
    day = _second(of["second"])
    start = (
        f'{{"local_time":"{day:%Y-%m-%dT%H:%M:%S}.{of["fraction"]} +0000", "operation":"%s", '
        f'"key":"1790000000-{of["conn"]}", "conn_id":{of["conn"]}'
    )
    op = f', "op_id":{of["op"]}'
    if of["client"]:
        fields = f', "fd":{of["fd"]}, "slot":{of["fd"]}, "tls":false, "client_ip":"{of["client"]}", '
        return start % "CONNECTION" + fields + f'"server_ip":"{of["server"]}"}}'
    if of["fd"]:
        reason = ', "close_error":"Cleanly Closed Connection", "close_reason":"U1"}'
        return start % "DISCONNECT" + op + f', "fd":{of["fd"]}' + reason
    if of["bind"]:
        return start % "BIND" + op + f', "bind_dn":"{of["bind"]}", "version":3, "method":"128"}}'
    if of["base"]:
        attributes = ", ".join(f'"{name}"' for name in of["attrs"].split())
        fields = (
            f', "base_dn":"{of["base"]}", "scope":{of["scope"]}, "filter":"{of["filter"]}", "attrs":[{attributes}]}}'
        )
        return start % "SEARCH" + op + fields
    if of["target"]:
        return start % "MODIFY" + op + f', "target_dn":"{of["target"]}"}}'
    if of["unbind"]:
        return start % "UNBIND" + op + "}"
    notes = f', "notes":[{{"note":"{of["notes"]}", "description":"Unindexed Filter"}}]' if of["notes"] else ""
    fields = f', "msg":"", "tag":{of["tag"]}, "err":{of["err"]}, "nentries":{of["entries"]}, "wtime":"{of["wait"]}", '
    return start % "RESULT" + op + fields + f'"optime":"{of["took"]}", "etime":"{of["etime"]}"{notes}}}'


def as_stderr(found: re.Match[str]) -> str:
    """Return a record as slapd 2.5 logs it on stderr."""
    second = int(_second(found["second"]).timestamp())
    return f"{second:08x}.{int(found['fraction']):08x} 0x7f6ced7fe6c0 {_slapd(found)}"


def as_syslog(found: re.Match[str]) -> str:
    """Return a record as slapd logs it through syslog."""
    return f"{_second(found['second']):%b %e %H:%M:%S} ldap slapd[3989]: {_slapd(found)}"


DIALECTS: dict[str, tuple[Writer, float]] = {
    "JSON": (as_json, 3.0),
    "stderr": (as_stderr, 2.0),
    "syslog": (as_syslog, 2.0),
}
"""By name: the writer of a record, and the goal: time per byte, as a multiple of that of 389-ds' text format."""


def rewritten(name: str, log: Path) -> Path:
    """Write a log in another dialect, and return its path."""
    record, _ = DIALECTS[name]
    other = log.with_name(f"{log.name}-{name}")
    with log.open(encoding="ascii") as lines, other.open("w", encoding="ascii") as out:
        out.writelines(f"{record(found)}\n" for found in map(LINE.fullmatch, map(str.rstrip, lines)) if found)
    return other


def _slapd(found: re.Match[str]) -> str:
    of = found.groupdict()
    start = f"conn={of['conn']} " + (f"op={of['op']} " if of["op"] else "")
    if of["client"]:
        return f"{start}fd={of['fd']} ACCEPT from IP={of['client']}:40000 (IP={of['server']}:389)"
    if of["fd"]:
        return f"conn={of['conn']} fd={of['fd']} closed"
    if of["bind"]:
        return f'{start}BIND dn="{of["bind"]}" method=128'
    if of["base"]:
        return f'{start}SRCH base="{of["base"]}" scope={of["scope"]} deref=0 filter="{of["filter"]}"'
    if of["target"]:
        return f'{start}MOD dn="{of["target"]}"'
    if of["unbind"]:
        return f"{start}UNBIND"
    times = f"qtime={of['wait'][:8]} etime={of['etime'][:-3]}"
    if of["tag"] == "101":
        return f"{start}SEARCH RESULT tag=101 err={of['err']} {times} nentries={of['entries']} text="
    return f"{start}RESULT tag={of['tag']} err={of['err']} {times} text="


def _second(text: str) -> datetime:
    if text not in SECONDS:
        SECONDS.clear()
        SECONDS[text] = datetime.strptime(text, "%d/%b/%Y:%H:%M:%S").replace(tzinfo=UTC)
    return SECONDS[text]


SECONDS: dict[str, datetime] = {}
"""The second parsed last."""
