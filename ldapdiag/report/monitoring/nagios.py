"""A diagnosis as the output of a Nagios plug-in: a line with performance data, the findings below it, and a status.

    LDAP CRITICAL - 268 of the 270 connections from app1 no longer exist on app1 (+2)|ghosts=268;;;0 connections=310;;;0

The form and the statuses are those of the Monitoring Plugins development guidelines, which Icinga and Checkmk read as
well. A vertical bar begins performance data: text of the evidence has none.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from ldapdiag.finding import Severity
from ldapdiag.report.headline import CRASHED, NOT_READ, Headline, first_step, headline
from ldapdiag.report.monitoring.gauges import GAUGES
from ldapdiag.report.neutral import neutral
from ldapdiag.report.verdicts import is_accepted, of_outcome, severity_of
from ldapdiag.wording import number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

OK, WARNING, CRITICAL, UNKNOWN = range(4)
"""The exit codes of a plug-in."""
NAMES = ("OK", "WARNING", "CRITICAL", "UNKNOWN")
MOST_BYTES = 8192
"""Of the whole output: what Nagios reads."""
LONGEST_LINE = 300
SUMS = {"ghosts": "ghost_connections", "connections": "connections"}
"""Performance data that adds up the rows of a gauge."""


def status(report: Mapping[str, Any]) -> int:
    """Return the exit code: critical for findings of high severity, unknown where the evidence allows no other one."""
    worst = max((severity_of(one) for one in report["findings"] if not is_accepted(one)), default=Severity.INFO)
    if worst >= Severity.HIGH:
        return CRITICAL
    if _why_unknown(report):
        return UNKNOWN
    return WARNING if worst is Severity.MEDIUM else OK


def _why_unknown(report: Mapping[str, Any]) -> str:
    """Return why nothing may be called OK: most is unread, a check crashed, or no server runs where it was sought."""
    if report["shortfall"]:
        return str(report["shortfall"]["reason"])
    if crashed := sorted({one["check"] for one in of_outcome(report, "crashed")}):
        return f"crashed: {', '.join(crashed)}"
    if not report["servers"]:
        return "no directory server is in the evidence"
    named = {word.removesuffix(":") for word in shlex.split(report["tool"]["arguments"])}
    unread = next((one for one in report["gaps"] if one["target"].removesuffix(":") in named), None)
    return f"{unread['target']} was not read: {unread['reason']}" if unread else ""


def render(report: Mapping[str, Any]) -> str:
    """Return the output, at most MOST_BYTES."""
    code = status(report)
    first = headline(report)
    if code == UNKNOWN and first.label not in {CRASHED, NOT_READ}:
        first = Headline("", f"{first.text}; not judged in full: {_why_unknown(report)}")
    others = sum(not is_accepted(one) and one["severity"] != "info" for one in report["findings"]) - 1
    more = f" (+{others})" if others > 0 else ""
    line = f"LDAP {NAMES[code]} - {_plain(first.text)}{more}|{' '.join(_performance(report))}"
    return _cut([line, *map(_plain, _details(report, first))])


def unknown(reason: str) -> str:
    """Return the output where there is no diagnosis."""
    return f"LDAP {NAMES[UNKNOWN]} - {_plain(reason)}\n"


def _plain(text: str) -> str:
    """Return text that is one line, without a vertical bar."""
    return neutral(text.replace("\n", " ").replace("|", "/"), longest=LONGEST_LINE)


def _details(report: Mapping[str, Any], first: Headline) -> Iterator[str]:
    """Yield what to do first, and a line for each finding."""
    if step := first_step(report, first):
        yield f"first: {step.text}"
    for one in report["findings"]:
        accepted = ", accepted" if is_accepted(one) else ""
        yield f"{one['severity']}{accepted}: {one['title']} (ldapdiag checks {one['check']})"


def _performance(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield performance data: label=value[unit];warning;critical;minimum;maximum. What is not known is absent."""
    rows = {gauge.name: gauge.rows(report) for gauge in GAUGES}
    for name, gauge in SUMS.items():
        if rows[gauge]:
            yield f"{name}={sum(rows[gauge].values()):.0f};;;0"
    limits = {server: limit for server, limit in rows["file_descriptors_limit"].items() if limit}
    used = {server: count for server, count in rows["file_descriptors_open"].items() if server in limits}
    if used:  # of several servers, those of the one that is nearest to its limit
        worst = max(used, key=lambda server: (used[server] / limits[server], server))
        yield f"descriptors={used[worst]:.0f};;;0;{limits[worst]:.0f}"
    if headroom := rows["descriptor_headroom_seconds"]:
        yield f"headroom={min(headroom.values()):.0f}s;;;0"
    yield f"not_judged={rows['verdicts']['not-judged',]:.0f};;;0"


def _cut(lines: list[str]) -> str:
    """Return as many lines as Nagios reads, and how many there are beyond."""
    kept, size = list[str](), 0
    for place, line in enumerate(lines):
        size += len(line.encode()) + 1
        if size > MOST_BYTES - LONGEST_LINE and place:
            return "".join(f"{each}\n" for each in [*kept, f"and {number(len(lines) - place)} lines more"])
        kept.append(line)
    return "".join(f"{each}\n" for each in kept)
