"""The pages of a live view that are texts: help, one client or account, the diagnosis."""

from __future__ import annotations

from functools import lru_cache
from io import StringIO
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from rich.text import Text

from ldapdiag.analysis.log.searches import searches_of
from ldapdiag.analysis.log.spellings import folded_dn
from ldapdiag.finding import Severity
from ldapdiag.live_view.judged import WRONG, plans_of
from ldapdiag.live_view.searches import SECOND
from ldapdiag.live_view.server import NOT_LISTED
from ldapdiag.live_view.table import UNKNOWN, short
from ldapdiag.live_view.view import KEYS, Shown
from ldapdiag.report.as_text import Screen
from ldapdiag.report.neutral import neutral
from ldapdiag.report.page import Page
from ldapdiag.wording import counted, duration, number, rounded, shown_time

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from ldapdiag.analysis.log.searches import SearchGroup
    from ldapdiag.analysis.pairing.socket_ends import SocketEnds
    from ldapdiag.evidence.monitor import MonitoredConnection
    from ldapdiag.live_view.judged import BothEnds
    from ldapdiag.live_view.searches import Asked, LastMinute, SearchKey
    from ldapdiag.live_view.server import ServerModel
    from ldapdiag.live_view.socket_look import SocketLook
    from ldapdiag.live_view.view import View

MOST_REQUESTERS = 100
"""Clients with their accounts of one search, and searches of one client: the costliest."""
MOST_SOCKETS = 500
"""Connections of one client on its page, those that have been quiet or open for the longest first."""
NOTES = (
    "ops/s: operations without those of this view; busy: worker threads; (all): since this view began.",
    "^ marks what has more connections than at the look before.",
    "/MIN is the change over the last minute, /MIN ALL since this view began; - is unknown, 0 is zero.",
    "HELD, GHOSTS, SEVERED: as the tables of both ends show them, read between the diagnoses, too; - is not judged.",
    "Accept queue, descriptors and the line below them: of the last diagnosis, too; OLD where none has followed it.",
    "SEVERED is judged where the diagnosis reads the flow table of the firewall.",
    "This view's connection is left out of the server's numbers; those of a diagnosis are in them while it runs.",
    "Searches are those that ended in the last minute of the log, by its records; S/S: search time in each second.",
    "UNINDEXED: noted so by the server, wholly or in part; - where its product notes nothing.",
    "log in part: more was written at once than is read over ssh, or the file was moved elsewhere: lower bounds.",
    "What an old source said is dim, and its age is in the sixth line.",
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
    """Return what is known of the client, the account or the search that is chosen."""
    if not isinstance(view.chosen, str):
        return _wrapped(_search(server, view.chosen), width)
    return _wrapped(_client_or_account(server, view.chosen, is_client=view.lists is Shown.CLIENTS), width)


def _client_or_account(server: ServerModel, chosen: str, *, is_client: bool) -> list[str]:
    """Return both ends, findings, accounts or clients, the searches, the connections."""
    every = server.clients() if is_client else server.accounts()
    row = next((one for one in every if one.name == chosen), None)
    lines = [f"{'client' if is_client else 'account'} {neutral(chosen)}"]
    if row is None:
        return [*lines, "It has had no connection for a minute."]
    ghosts = server.judged.ghosts.get(chosen, ()) if server.judged and is_client and not server.looked else ()
    looked = server.looked if is_client else None
    if is_client:
        source = "Latest tables" if looked else "Last diagnosis"
        lines += [_both_ends(row.ends, source, server.judged.not_matched if server.judged else "none has ended yet")]
        lines += [*(_reasons(server, looked, chosen) if looked else []), *_findings(server, chosen), *_samples(ghosts)]
    lines += ["", "accounts" if is_client else "clients", *(f"  {neutral(one)}" for one in row.others)]
    lines += ["", *_searches_of(server, chosen, is_client=is_client)]
    found = [one for one in server.listed or () if _name(one, is_client=is_client) == chosen]
    dead = {port for one in ghosts for port in one["ghost_client_ports"] or ()}
    if looked:
        ends = looked.sockets(server.names, chosen)
        why = server.judged.not_matched if server.judged else ""
        lines += ["", *_sockets(ends, {one.client_port: one for one in found}, server.now(), why)]
        if any(one.client_port for one in found):
            return lines
    return [*lines, "", *_connections(found, dead, server.now(), is_client=is_client)]


def _searches_of(server: ServerModel, chosen: str, *, is_client: bool) -> list[str]:
    """Return the searches of a client or an account, the costliest first."""
    minute = server.logged.minute
    if minute is None:
        return [f"searches: log {neutral(server.log.state.error) or 'not read yet'}"]
    name = _folded(chosen)
    title = f"searches in {duration(minute.seconds)} of the log{', which is OLD' * server.is_log_old}"
    sent = [one for one in minute.asked if name == _folded(one.client if is_client else one.account)]
    other = [one.account if is_client else one.client for one in sent]
    rows = [_asked(one, minute, f"{one.shape}  {by}") for one, by in zip(sent, other, strict=True)][:MOST_REQUESTERS]
    return [title, *(rows or ["  none, or its connections were opened before what was read of the log"])]


def _folded(name: str) -> bytes:
    """Return the same for all spellings: the list of connections and the log may have different ones."""
    return folded_dn(name.encode(errors="backslashreplace"))


def _asked(one: Asked, minute: LastMinute, what: str) -> str:
    """Return how often someone sent a search, and their time."""
    noted = f", {one.noted:,} noted" if one.noted else ""
    load = f"{rounded(one.seconds / minute.seconds)} s/s, " if minute.seconds else ""
    times = f"{load}{duration(one.seconds / one.searches)} each"
    return f"  {counted(one.searches, 'search')}{noted}  {times}  {neutral(what)}"


def _search(server: ServerModel, key: SearchKey) -> list[str]:
    """Return who sends the searches of a shape, how often, what they take and return, and their plan."""
    minute = server.logged.minute
    lines = [f"filter {neutral(key.shape)}", f"base {neutral(key.base) or 'the root'} ({key.scope})", ""]
    row = next((one for one in server.searches() if one.key == key), None)
    if minute is None or row is None:
        return [*lines, "No such search has ended in the last minute of the log."]
    every = searches_of(minute.now.segment, key.shape)
    known = next((one for one in every if (one.shape, one.base, one.scope) == key), None)
    unindexed = UNKNOWN if row.unindexed is None else number(row.unindexed)
    lines += [
        f"in {duration(minute.seconds)} of the log{', which is OLD' * server.is_log_old}:",
        f"  {counted(row.count, 'search')} ({rounded(row.per_second)}/s), {unindexed} unindexed",
        f"  {rounded(row.load)} s/s, {duration(row.mean_seconds)} and {rounded(row.entries)} entries each",
        *(_since_begin(known, minute) if known else []),
        "",
        *(f"plan: {neutral(one)}" for one in plans_of(server.judged, key.shape)),
        "",
        "sent by, whatever the base",
    ]
    sent = [one for one in minute.asked if one.shape == key.shape]
    lines += [_asked(one, minute, f"{one.client}  {one.account}") for one in sent[:MOST_REQUESTERS]]
    lines += ["  unknown"] * (not sent)
    return lines if len(sent) <= MOST_REQUESTERS else [*lines, f"  and {len(sent) - MOST_REQUESTERS:,} more"]


def _since_begin(known: SearchGroup, minute: LastMinute) -> list[str]:
    """Return the times of a search since the counts began, and its slowest one as it was logged."""
    if known.slowest is None or minute.now.began is None:
        return []
    half, most = duration(known.etimes.p50 / SECOND), duration(known.etimes.p95 / SECOND)
    began = f"since {minute.now.began:%H:%M:%S} UTC: {counted(known.count, 'search')}"
    return [
        f"{began}, half within {half}, 95 % within {most}",
        f"slowest, {duration(known.slowest.etime / SECOND)}: {neutral(known.slowest.subject)}",
    ]


def no_searches(server: ServerModel, width: int) -> list[Text]:
    """Return why the list of searches is empty."""
    error = neutral(server.log.state.error)
    if server.logged.minute is None:
        return _wrapped([f"The log is {error}." if error else "The log is being read."], width)
    return _wrapped(["No search ended in this time, or it was too short to tell, or none has this filter."], width)


def _name(one: MonitoredConnection, *, is_client: bool) -> str:
    return (one.client or NOT_LISTED) if is_client else (one.account or "anonymous")


def _both_ends(ends: BothEnds | None, source: str, not_matched: str) -> str:
    if ends is None:
        return f"Both ends: not judged. {source}: {not_matched or 'no established connection of this client'}."
    if ends.client_count is None:
        there = "the client's sockets were not read (name its host: ssh://HOST)"
    else:
        there = f"{ends.client_count:,} there, {ends.held:,} held by both"
    wrong = [f"{getattr(ends, one):,} {one}" for one in WRONG if getattr(ends, one)]
    return f"{source}: {', '.join([*wrong, f'{ends.server_count:,} at the server'])}; {there}"


def _reasons(server: ServerModel, look: SocketLook, client: str) -> list[str]:
    """Return why connections of a client are not judged, or not counted as wrong."""
    lines = []
    for one in look.directions(server.names, client):
        lines += [one.missing.reason] if one.missing else []
        parts = (one.ghosts, one.stranded, one.severed)
        lines += [f"{number(count)} {reason}" for part in parts for reason, count in part.unproven.items()]
    return [f"not judged: {neutral(one)}" for one in dict.fromkeys(lines)]


def _sockets(
    ends: Sequence[SocketEnds], listed: Mapping[int | None, MonitoredConnection], now: datetime, why_none: str
) -> list[str]:
    """Return a line for each connection with its sockets at both ends; `listed` by client port, where published."""
    if not ends:
        return [f"No socket of it is in the latest tables{': ' * bool(why_none)}{neutral(why_none)}."]
    lines = [
        f"{counted(len(ends), 'connection')} in the latest tables, idle for the longest first",
        f"  {'PORT':5}  {'IDLE':>7}  {'AT SERVER':11}  {'AT CLIENT':11}",
    ]
    has_several = len({one.account for one in listed.values()}) > 1
    for one in ends[:MOST_SOCKETS]:
        idle = UNKNOWN if one.idle_seconds is None else duration(one.idle_seconds)
        known, more = listed.get(one.client_port), [one.verdict, one.owner]
        if known:
            more.append(_ago("open", known.opened, now))
            more.append("" if known.operations_completed is None else f"{known.operations_completed:,} ops")
            more.append((short(known.account) or "anonymous") if has_several else "")
        line = f"  {one.client_port:5}  {idle:>7}  {one.at_server:11}  {one.at_client:11}"
        lines.append("  ".join((line, *(neutral(text) for text in more if text))))
    return lines if len(ends) <= MOST_SOCKETS else [*lines, f"  and {len(ends) - MOST_SOCKETS:,} more"]


def _findings(server: ServerModel, client: str) -> list[str]:
    found = server.judged.findings if server.judged else {}
    return [f"finding: {neutral(title)}" for one, title in found.items() if client in one.split("|")]


def _samples(ghosts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a few ghosts as the tables of both ends and of the middleboxes show them."""
    lines = []
    for one in (sample for observed in ghosts for sample in observed["ghost_samples"] or ()):
        idle = one["server"]["idle_seconds"]
        ages = f", idle {duration(idle)}" if idle is not None else ""
        ends = [f"{end['host'] or 'the client'} {end['state'] or 'has none'}" for end in (one["client"], *one["boxes"])]
        lines.append(f"  port {one['client_port']}: {one['server']['state']} at the server{ages}; {'; '.join(ends)}")
    return [neutral(line) for line in lines]


def _connections(found: list[MonitoredConnection], dead: set[int], now: datetime, *, is_client: bool) -> list[str]:
    """Return a line for each connection: quiet for the longest first, or else open for the longest.

    `dead` are the client ports of ghosts.
    """
    if not found:
        return ["No connection of it is in the last list."]
    is_known = any(one.active for one in found)
    found.sort(key=lambda one: (one.active if is_known else one.opened) or now)
    lines = [f"{counted(len(found), 'connection')}, {'quiet' if is_known else 'open'} for the longest first"]
    for one in found[:MOST_SOCKETS]:
        port = f"port {one.client_port}" if one.client_port else ""
        opened, quiet = _ago("open", one.opened, now), _ago("quiet", one.active, now)
        done = f"{counted(one.operations_completed, 'operation')}" if one.operations_completed is not None else ""
        who = neutral((one.account or "anonymous") if is_client else (one.client or NOT_LISTED))
        ghost = "ghost" if one.client_port in dead else ""
        lines.append("  " + "  ".join(filter(None, (port, ghost, quiet, opened, done, who))))
    return lines if len(found) <= MOST_SOCKETS else [*lines, f"  and {len(found) - MOST_SOCKETS:,} more"]


def _ago(what: str, at: datetime | None, now: datetime) -> str:
    """Return how long ago that was; nothing where the server's clock is ahead."""
    return "" if at is None or at > now else f"{what} {duration((now - at).total_seconds())}"


def _wrapped(lines: list[str], width: int) -> list[Text]:
    """Return the lines, the long ones in several, which are indented as theirs is."""
    return [Text(one) for line in lines for one in (_parts(line, width) if len(line) > width else [line])]


def _parts(line: str, width: int) -> list[str]:
    indent = line[: len(line) - len(line.lstrip())][: width // 2]
    return wrap(line, max(1, width), subsequent_indent=indent, break_on_hyphens=False)
