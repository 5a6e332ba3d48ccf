"""The figures of other analysers of access logs beside ours and the number of lines that say so (docs/other-tools.md).

Each tool reads the logs that it supports, if it is on the PATH: logconv (389-ds-base), ldap-stats.pl (LDAP Tool Box),
summarize-access-log (UnboundID LDAP SDK). The third column is counted with one regular expression per figure.

    PYTHONPATH=tests python bench/other_tools.py
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from log_dialects import LINE

if TYPE_CHECKING:
    from collections.abc import Iterator

SHARED = Path(__file__).resolve().parents[2] / "shared"
CORPUS = SHARED / "corpus"
LINES = 20_000
UNINDEXED = frozenset({"A", "unindexed"})
"""The notes of 389-ds and of PingDirectory for a search without an index."""
HEADER = f"{'log':26} {'figure':14} {'ours':>7} {'theirs':>7} {'lines':>7}  right"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """An analyser: its command, what it calls each of our figures, and what a line of each looks like."""

    command: str
    options: tuple[str, ...] = ()
    names: dict[str, str]
    lines: dict[str, str]

    def figures(self, log: Path, options: tuple[str, ...]) -> dict[str, int]:
        """Return what it prints about a log."""
        ran = subprocess.run([self.command, *self.options, *options, str(log)], capture_output=True, check=False)
        text = ran.stdout.decode(errors="replace")
        found = {
            figure: re.search(rf"^[ -]*{name}\s*:\s+(\d+)", text, re.MULTILINE) for figure, name in self.names.items()
        }
        return {figure: int(match[1]) for figure, match in found.items() if match}


def _of_389(record: str) -> str:
    return rf"^\[[^]]+\] conn=\d+ (?:op=-?\d+ )?{record}"


LOGCONV = Tool(
    command="logconv",
    options=("-V",),
    names={
        "search": "Searches", "bind": "Binds", "unbind": "Unbinds", "modify": "Modifications", "add": "Adds",
        "delete": "Deletes", "modrdn": "Mod RDNs", "compare": "Compares", "abandon": "Abandoned Requests",
        "opened": "Total Connections", "closed": "FDs Returned", "results": "Total Results",
        "unindexed": "Unindexed Searches",
    },
    lines={
        "search": _of_389("SRCH "), "bind": _of_389("BIND "), "unbind": _of_389("UNBIND"), "modify": _of_389("MOD "),
        "add": _of_389("ADD "), "delete": _of_389("DEL "), "modrdn": _of_389("MODRDN "), "compare": _of_389("CMP "),
        "abandon": _of_389("ABANDON "), "opened": _of_389(r"fd=\d+ slot=\d+ .*connection from "),
        "closed": _of_389(r"fd=\d+ (?:closed|Disconnect)"), "results": _of_389("RESULT "),
        "unindexed": _of_389("RESULT .*notes=(?:[A-Z],)*A"),
    },
)  # fmt: skip
LDAP_STATS = Tool(
    command="ldap-stats.pl",
    names={
        "search": "Total searches", "bind": "Total binds", "unbind": "Total unbinds", "modify": "Total modifications",
        "add": "Total additions", "delete": "Total deletions", "modrdn": "Total modrdns", "compare": "Total compares",
        "opened": "Total connections", "failed": "Total authentication failures",
    },
    lines={
        "search": r" op=\d+ SEARCH RESULT ", "bind": r" op=\d+ BIND dn=.* method=", "unbind": r" op=\d+ UNBIND",
        "modify": r" op=\d+ MOD dn=", "add": r" op=\d+ ADD dn=", "delete": r" op=\d+ DEL dn=",
        "modrdn": r" op=\d+ MODRDN dn=", "compare": r" op=\d+ CMP dn=", "opened": r" fd=\d+ ACCEPT from ",
        "failed": r" op=\d+ RESULT tag=97 err=49 ",
    },
)  # fmt: skip
SUMMARIZE = Tool(
    command="summarize-access-log",
    names={
        "search": "Search operations examined", "bind": "Bind operations examined",
        "unbind": "Unbind operations examined", "modify": "Modify operations examined",
        "opened": "Total connections established", "closed": "Total disconnects",
        "unindexed": "Number of unindexed search attempts",
    },
    lines={
        "search": r"\] SEARCH RESULT ", "bind": r"\] BIND RESULT ", "unbind": r"\] UNBIND REQUEST ",
        "modify": r"\] MODIFY RESULT ", "opened": r"\] CONNECT ", "closed": r"\] DISCONNECT ",
        "unindexed": r"\] SEARCH RESULT .* unindexed=true",
    },
)  # fmt: skip


def cases(folder: Path) -> Iterator[tuple[Tool, str, Path, tuple[str, ...]]]:
    """Yield each tool with the name of a log, its path and options."""
    text = folder / "access"
    subprocess.run([sys.executable, SHARED / "lab/gen_access_log.py", str(LINES), text], check=True)
    yield LOGCONV, "generated", text, ()
    for name, path in (
        ("case 1", "1-389ds-unindexed/access"),
        ("ghosts", "5a-ghost-389ds/ldap/access"),
        ("churn", "6e-churn-skew/access.head4000"),
        ("restart", "7-traps/389-restart/access"),
        ("hostile", "7-traps/389-nasty/access"),
    ):
        yield LOGCONV, name, CORPUS / path, ()
    yield LDAP_STATS, "case 2, stderr", CORPUS / "2-openldap-unindexed/slapd.stderr.log", ("--log26",)
    yield LDAP_STATS, "case 2, syslog", CORPUS / "2-openldap-unindexed/syslog-traditional.log", ()
    yield LDAP_STATS, "case 2, ISO syslog", CORPUS / "2-openldap-unindexed/syslog-iso.log", ("-D",)
    for requests in (False, True):
        yield SUMMARIZE, f"generated{', log-requests' if requests else ''}", _of_ping(text, requests=requests), ()


def _of_ping(log: Path, *, requests: bool) -> Path:
    """Write the log as PingDirectory does: one line per operation, and one per request if they are logged, too."""
    asked: dict[tuple[str, str], tuple[str, str]] = {}
    other = log.with_name(f"ping-{requests}")
    with log.open(encoding="ascii") as lines, other.open("w", encoding="ascii") as out:
        for found in filter(None, map(LINE.fullmatch, map(str.rstrip, lines))):
            of, key = found.groupdict(), (found["conn"], found["op"])
            start = f"[{of['second']}.{of['fraction'][:3]} +0000] "
            connection = f'instanceName="ds1:389" startupID="ABC" conn={of["conn"]} '
            names = f"{connection}op={of['op']} "
            if of["client"]:
                out.write(f'{start}CONNECT {connection}from="{of["client"]}" to="{of["server"]}"\n')
            elif of["fd"]:
                out.write(f'{start}DISCONNECT {connection}reason="Client Unbind"\n')
            elif of["unbind"]:
                out.write(f"{start}UNBIND REQUEST {names}\n")
            elif of["err"] is None:
                asked[key] = _asked(of)
                if requests:
                    out.write(f"{start}{asked[key][0]} REQUEST {names}{asked[key][1]}\n")
            else:
                kind, fields = asked.pop(key)
                noted = " unindexed=true" if of["notes"] == "A" else ""
                took = f"resultCode={of['err']} etime={float(of['etime']) * 1000:.3f}"
                out.write(f"{start}{kind} RESULT {names}{fields} {took} entriesReturned={of['entries']}{noted}\n")
    return other


def _asked(of: dict[str, Any]) -> tuple[str, str]:
    if of["bind"]:
        return "BIND", f'version=3 dn="{of["bind"]}" authType="SIMPLE"'
    if of["target"]:
        return "MODIFY", f'dn="{of["target"]}"'
    return "SEARCH", f'base="{of["base"]}" scope={of["scope"]} filter="{of["filter"]}" attrs="ALL"'


def rows(tool: Tool, name: str, log: Path, options: tuple[str, ...]) -> Iterator[str]:
    """Yield a line for each figure."""
    report = ["ldapdiag", "log", "--format", "json", str(log)]
    read = json.loads(subprocess.run([sys.executable, "-m", *report], capture_output=True, check=True).stdout)
    searches = read["searches"]
    ours = {
        **read["operations"],
        **read["connections"],
        "results": sum(read["results"].values()),
        "unindexed": sum(count for notes, count in searches["noted"].items() if UNINDEXED & {*notes.split(",")}),
        "failed": sum(one["count"] for one in read["failed_binds"]),
    }
    theirs, text = tool.figures(log, options), log.read_text(encoding="latin-1")
    for figure, count in theirs.items():
        lines = len(re.findall(tool.lines[figure], text, re.MULTILINE))
        right = [who for who, value in (("ours", ours[figure]), ("theirs", count)) if value == lines]
        verdict = "both" if len(right) == 2 else " ".join(right) or "see docs/other-tools.md"
        yield f"{name:26} {figure:14} {ours[figure]:7} {count:7} {lines:7}  {verdict}"


def main() -> None:
    """Print every figure of the tools at hand."""
    if not SHARED.is_dir():
        sys.exit(f"not compared: there is no {SHARED.name}/ beside this checkout")
    with tempfile.TemporaryDirectory(prefix="ldapdiag-bench-") as folder:
        begun = None
        for tool, name, log, options in cases(Path(folder)):
            if tool is not begun:
                begun = tool
                at_hand = shutil.which(tool.command)
                print(f"\n{tool.command}\n{HEADER}" if at_hand else f"\n{tool.command}: not on the PATH, not compared")
            if at_hand:
                for row in rows(tool, name, log, options):
                    print(row, flush=True)


if __name__ == "__main__":
    main()
