"""The pages of a live view that are texts: help, one client or account, the diagnosis."""

from __future__ import annotations

from functools import lru_cache
from io import StringIO
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from rich.text import Text

from ldapdiag.finding import Severity
from ldapdiag.live_view.judged import WRONG
from ldapdiag.live_view.server import NOT_LISTED
from ldapdiag.live_view.view import KEYS, Shown
from ldapdiag.report.as_text import Screen
from ldapdiag.report.neutral import neutral
from ldapdiag.report.page import Page
from ldapdiag.wording import counted, duration, shown_time

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from ldapdiag.evidence.monitor import MonitoredConnection
    from ldapdiag.live_view.judged import BothEnds
    from ldapdiag.live_view.server import ServerModel
    from ldapdiag.live_view.view import View

MOST_SOCKETS = 500
"""Connections of one client on its page, those that have been quiet or open for the longest first."""
NOTES = (
    "ops/s: operations without those of this view; busy: worker threads; (all): since this view began.",
    "^ marks what has more connections than at the look before.",
    "/MIN is the change over the last minute, /MIN ALL since this view began; - is unknown, 0 is zero.",
    "HELD, GHOSTS, SEVERED: as the last diagnosis read the sockets of both ends; - is not judged.",
    "SEVERED is judged where the diagnosis reads the flow table of the firewall.",
    "This view's connection is left out of the server's numbers; those of a diagnosis are in them while it runs.",
    "What an old source said is dim, and its age is in the fifth line.",
)


def help_text(width: int) -> list[Text]:
    """Return all keys, and what the columns mean."""
    wide = min(38, max(len(keys) for keys, _ in KEYS) + 2)
    lines = [f"{keys:{wide}}{does}" for keys, does in KEYS]
    return _wrapped([*lines, "", *NOTES], width)


def diagnosis_text(report: Mapping[str, Any] | None, error: str, otherwise: str, width: int) -> list[Text]:
    """Return the report of the last diagnosis, as `ldapdiag diagnose` prints it."""
    if report is None:
        return _wrapped([neutral(error) or otherwise], width)
    failed = [f"A later diagnosis failed: {neutral(error)}", ""] if error else []
    return _wrapped([f"taken at {shown_time(report['taken_at'])}", *failed, *_printed(_Same(report), width)], width)


class _Same:
    """A report as a key: it is the same one, or another."""

    def __init__(self, report: Mapping[str, Any]) -> None:
        self.report = report

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.report is self.report

    def __hash__(self) -> int:
        return id(self.report)


@lru_cache(maxsize=1)
def _printed(same: _Same, width: int) -> tuple[str, ...]:
    """Return the lines of a report; once, as the screen is drawn each second."""
    stream = StringIO()
    Screen(Page(stream, width), same.report, verbose=False, at_least=Severity.INFO).show()
    return tuple(stream.getvalue().splitlines())


def text_of_one(server: ServerModel, view: View, width: int) -> list[Text]:
    """Return what is known of a client or an account: both ends, findings, accounts or clients, its connections."""
    is_client = view.lists is Shown.CLIENTS
    every = server.clients() if is_client else server.accounts()
    row = next((one for one in every if one.name == view.chosen), None)
    lines = [f"{'client' if is_client else 'account'} {neutral(view.chosen)}"]
    if row is None:
        return _wrapped([*lines, "It has had no connection for a minute."], width)
    if is_client:
        lines += [_both_ends(row.ends), *_findings(server, view.chosen)]
    lines += ["", "accounts" if is_client else "clients", *(f"  {neutral(one)}" for one in row.others)]
    found = [one for one in server.listed or () if _name(one, is_client=is_client) == view.chosen]
    lines += ["", *_connections(found, server.now(), is_client=is_client)]
    return _wrapped(lines, width)


def _name(one: MonitoredConnection, *, is_client: bool) -> str:
    return (one.client or NOT_LISTED) if is_client else (one.account or "anonymous")


def _both_ends(ends: BothEnds | None) -> str:
    if ends is None:
        return "Both ends: not judged, because the last diagnosis read no sockets of this client at the server."
    if ends.client_count is None:
        there = "the client's sockets were not read (name its host: ssh://HOST)"
    else:
        there = f"{ends.client_count:,} there, {ends.held:,} held by both"
    wrong = [f"{getattr(ends, one):,} {one}" for one in WRONG if getattr(ends, one)]
    return f"Last diagnosis: {', '.join([*wrong, f'{ends.server_count:,} at the server'])}; {there}"


def _findings(server: ServerModel, client: str) -> list[str]:
    found = server.judged.findings if server.judged else {}
    return [f"finding: {neutral(title)}" for one, title in found.items() if client in one.split("|")]


def _connections(found: list[MonitoredConnection], now: datetime, *, is_client: bool) -> list[str]:
    """Return a line for each connection: quiet for the longest first, or else open for the longest."""
    if not found:
        return ["No connection of it is in the last list."]
    is_known = any(one.active for one in found)
    found.sort(key=lambda one: (one.active if is_known else one.opened) or now)
    lines = [f"{counted(len(found), 'connection')}, {'quiet' if is_known else 'open'} for the longest first"]
    for one in found[:MOST_SOCKETS]:
        port = f"port {one.client_port}" if one.client_port else ""
        opened = f"open {duration((now - one.opened).total_seconds())}" if one.opened else ""
        quiet = f"quiet {duration((now - one.active).total_seconds())}" if one.active else ""
        done = f"{counted(one.operations_completed, 'operation')}" if one.operations_completed is not None else ""
        who = neutral((one.account or "anonymous") if is_client else (one.client or NOT_LISTED))
        lines.append("  " + "  ".join(filter(None, (port, quiet, opened, done, who))))
    return lines if len(found) <= MOST_SOCKETS else [*lines, f"  and {len(found) - MOST_SOCKETS:,} more"]


def _wrapped(lines: list[str], width: int) -> list[Text]:
    """Return the lines, the long ones in several, which are indented as theirs is."""
    return [Text(one) for line in lines for one in (_parts(line, width) if len(line) > width else [line])]


def _parts(line: str, width: int) -> list[str]:
    indent = line[: len(line) - len(line.lstrip())][: width // 2]
    return wrap(line, max(1, width), subsequent_indent=indent, break_on_hyphens=False)
