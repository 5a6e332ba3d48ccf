"""The tables of `ldapdiag log`: their columns in files, on pages, and on the screen."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from ldapdiag.report.log.caveats import left_out
from ldapdiag.report.log.quantities import senders
from ldapdiag.report.table import (
    BASE,
    COUNT,
    COUNTS,
    CSV,
    HTML,
    MARKDOWN,
    NAMES,
    PAGES,
    SECONDS,
    SHARE,
    Column,
    Table,
    Unit,
    listed,
    only_csv,
    rows_at,
    words,
)
from ldapdiag.report.tables.of_diagnosis import GAPS
from ldapdiag.wording import duration, number, rounded, shown_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ldapdiag.report.table import Plain

FILES = 20
"""Of a log, named on a page."""
SENDERS = Column("requesters", "Sent by", words(senders), PAGES)
TIMES = (
    Column("etime_seconds", "Time", SECONDS),
    *only_csv("wait_seconds"),
    Column("share", "Share", SHARE),
    Column("p50_seconds", "Half took", SECONDS, (CSV, HTML)),
    Column("p95_seconds", "95 % took", SECONDS),
    Column("p99_seconds", "99 % took", SECONDS, (CSV, HTML)),
)
LONGEST = Column("worst.etime_seconds", "Longest", SECONDS, (CSV, MARKDOWN))
WORST = "worst.time worst.connection worst.operation"
INTERVALS = (
    "operations operation_seconds searches search_seconds slow failed_binds opened closed open busy_workers queued"
)


def _intervals(document: Plain) -> Iterator[dict[str, Any]]:
    """Yield the intervals of the time axis as rows."""
    axis = document["timeline"]
    if axis is None:
        return
    begin, step = datetime.fromisoformat(axis["from"]), timedelta(seconds=axis["step_seconds"])
    arrays = {name: axis[name] for name in INTERVALS.split() if name in axis}
    for place in range(len(axis["operations"])):
        at = (begin + place * step).isoformat().replace("+00:00", "Z")
        yield {"from": at, **{name: values[place] for name, values in arrays.items()}}


def _servers(document: Plain) -> Iterator[Plain]:
    """Yield the servers side by side, those that differ first, then by connections."""
    rows = servers_with_marks(document["fleet"]) if document["fleet"] else []
    yield from sorted(rows, key=lambda one: (not one["differs"], -one["connections"], one["name"]))


def servers_with_marks(fleet: Plain) -> list[Plain]:
    """Return the servers, each with `differs`: in a few words why it is notable."""
    lacking = {search["server"] for search in fleet["differing_searches"] if search["lacks_index"]}
    slower = {search["server"] for search in fleet["differing_searches"]} - lacking
    return [server | {"differs": _marks(server, fleet["even_share"], lacking, slower)} for server in fleet["servers"]]


def _marks(one: Plain, even: float | None, lacking: Iterable[str], slower: Iterable[str]) -> list[str]:
    from ldapdiag.analysis.fleet.balance import UNEVEN  # noqa: PLC0415  import late: mostly there is one server

    shares = (one["connection_share"] or 0.0, one["operation_share"] or 0.0)
    marks = {
        "lacks an index": one["name"] in lacking,
        "slower": one["name"] in slower,
        "uneven": bool(even) and not one["idle"] and max(shares) >= UNEVEN * (even or 0.0),
        "idle": one["idle"],
        "silent": bool(one["silences"]),
        "clock": bool(one["clock"]),
        "not compared": bool(one["not_compared"]),
    }
    return [name for name, holds in marks.items() if holds]


def _clients(document: Plain) -> list[Mapping[str, Any]]:
    return sorted(document["connections"]["clients"], key=lambda one: (-one["opened"], one["client"]))


def unusual(searches: Plain) -> Iterator[str]:
    """Yield how many searches have no result, and how many are no searches of their own."""
    if missing := sum(shape["unanswered"] + shape["abandoned"] for shape in searches["shapes"]):
        yield f"{number(missing)} without result"
    if (pages := searches["total"] - searches["logical"]) > 0:
        yield f"{number(pages)} later pages of paged searches"


def at_once(document: Plain) -> str:
    """Return of what the highest number of connections is."""
    return "at once" if len(document["streams"]) == 1 else "at once on one server"


def _longest_idle_time(used_again: Plain) -> str:
    return duration(used_again["longest_seconds"]) if used_again["count"] else ""


def _used_indexes(used: Iterable[Plain] | None) -> str:
    found = dict.fromkeys(" ".join(one["indexes"]) for one in used or ())
    return ", ".join(filter(None, found))


SEARCHES = Table(
    (
        Column("shape", "Filter"),
        *only_csv("base scope"),
        BASE,
        Column("count", "Searches", COUNT),
        *only_csv("answered abandoned unanswered"),
        *TIMES,
        *only_csv("first_seen last_seen since until growth.growing entries"),
        Column("visited", "Visited", COUNT),
        *only_csv("pages pages_from_disk"),
        Column("used_indexes", "Used indexes", words(_used_indexes), PAGES),
        Column("notes", "Notes", COUNTS, (CSV, MARKDOWN)),
        Column("unindexed", "Unindexed", COUNT, (CSV, HTML)),
        *only_csv("errors clients accounts"),
        LONGEST,
        *only_csv(f"{WORST} worst.filter"),
        SENDERS,
    ),
    rows_at("searches.shapes"),
    title="Filter shapes (values replaced by ?), the most search time first",
    most=50,
    what="filter shapes are",
)
REQUESTERS = Table(
    tuple(only_csv("shape base scope client account count etime_seconds noted refused")),
    rows_at("requesters"),
    within="searches.shapes",
)
TARGETS = Table(
    (
        Column("operation", "Operation"),
        *only_csv("target name"),
        Column("", "Target", words(lambda row: row["name"] or row["target"]), PAGES),
        Column("count", "Requests", COUNT),
        *only_csv("answered abandoned unanswered"),
        *TIMES,
        *only_csv("entries"),
        Column("errors", "Errors", COUNTS),
        LONGEST,
        *only_csv(f"{WORST} worst.dn"),
        SENDERS,
    ),
    rows_at("targets"),
    title="Operations and what they are about, the most time first",
)
FAILURES = Table(
    (
        Column("operation", "Operation"),
        Column("target", "Target"),
        Column("client", "Client"),
        Column("account", "Account"),
        Column("err", "Code", COUNT),
        Column("count", "Results", COUNT),
        *only_csv("etime_seconds"),
    ),
    rows_at("failures"),
    title="Results with an error code, the most frequent first",
)
FAILED_BINDS = Table(
    (
        Column("dn", "Account"),
        Column("client", "Client"),
        Column("err", "Code", COUNT),
        Column("count", "BINDs", COUNT),
    ),
    rows_at("failed_binds"),
    title="Failed BINDs",
)
CLOSES = Table(
    (
        Column("code", "Close code"),
        Column("meaning", "Meaning"),
        Column("kind", "Kind"),
        Column("count", "Connections", COUNT),
        *only_csv("by_client"),
    ),
    rows_at("connections.closes"),
    title="Why connections ended",
)
CLIENTS = Table(
    (
        Column("client", "Client"),
        Column("opened", "Connections opened", COUNT),
        Column("operations", "Operations", COUNT),
        *only_csv("closed_without_operation used_again.count"),
        Column("used_again.longest_seconds", on=(CSV,)),
        Column("used_again", "Longest idle time, used again", Unit(_longest_idle_time), PAGES),
        *only_csv("used_again.longest_ended"),
    ),
    _clients,
    title="Clients that opened the most connections",
    what="clients are",
)
IDLE_TIMES = Table(
    tuple(
        only_csv(
            "client account used_again.count used_again.p50_seconds used_again.p99_seconds used_again.longest_seconds "
            "used_again.longest_ended open_at_end.count open_at_end.longest_seconds"
        )
    ),
    rows_at("connections.idle_times"),
)
TIMELINE = Table(tuple(only_csv(f"from {INTERVALS}")), _intervals)
SILENCES = Table(
    (
        Column("from", "From", words(shown_time)),
        Column("to", "To", words(shown_time)),
        Column("seconds", "Length", SECONDS),
        Column("usual_per_second", "Usual answers per second", Unit(rounded)),
    ),
    rows_at("silences"),
    title="Times without an answer, unlikely at the rate of the hour around them",
)
SERVERS = Table(
    (
        Column("name", "Server"),
        Column("connections", "Connections", COUNT),
        Column("connection_share", "Share", SHARE),
        Column("operations", "Operations", COUNT),
        *only_csv("operation_share"),
        Column("search_seconds", "Search time", SECONDS),
        *only_csv("time_share"),
        Column("unindexed_share", "Unindexed", SHARE),
        Column("error_share", "Errors", SHARE),
        Column("peak", "At once", COUNT),
        Column("differs", "Differs", NAMES),
        *only_csv("idle silences usual_per_second clock.ahead_seconds not_compared"),
    ),
    _servers,
    title="Servers, those that differ first",
    most=50,
    what="servers are",
)
DIFFERING_SEARCHES = Table(
    (
        Column("server", "Server"),
        Column("shape", "Filter"),
        *only_csv("base scope"),
        BASE,
        *only_csv("answered unindexed lacks_index"),
        Column("lacks_index", "What", words(lambda lacks: "unindexed here" if lacks else "slower here"), PAGES),
        Column("median_seconds", "Median here", SECONDS),
        *only_csv("others"),
        Column("others_median_seconds", "Median elsewhere", SECONDS),
        Column("others", "Compared with", Unit(lambda others: number(len(others))), PAGES),
    ),
    rows_at("fleet.differing_searches"),
    title="Searches that one server answers in another way",
    most=50,
)


def _notes(notes: Mapping[str, int]) -> str:
    """Return the letters or words of a search's notes, each once, the most frequent first."""
    return " ".join(dict.fromkeys(word for each in notes for word in each.split(",")))


SLOWEST = {
    False: Column("worst.etime_seconds", "worst", SECONDS),
    True: Column("p99_seconds", "p99", SECONDS),
}
"""The column of the slowest search, or of the quantile that is sorted by."""


def search_columns(*, by_p99: bool) -> list[Column]:
    """Return the columns of searches on the screen, before their filter."""
    first = [Column("share", "share", SHARE), Column("etime_seconds", "time", SECONDS), Column("count", "count", COUNT)]
    return [*first, SLOWEST[by_p99], Column("notes", "", words(_notes))]


OF_REQUESTERS = (
    Column("share", "share", SHARE),
    Column("etime_seconds", "time", SECONDS),
    Column("count", "searches", COUNT),
    Column("connections", "connections", COUNT),
)
"""The columns of clients or accounts on the screen, before their name."""

TABLES = {
    "searches": SEARCHES,
    "requesters": REQUESTERS,
    "targets": TARGETS,
    "failures": FAILURES,
    "clients": CLIENTS,
    "idle-times": IDLE_TIMES,
    "closes": CLOSES,
    "failed-binds": FAILED_BINDS,
    "timeline": TIMELINE,
    "silences": SILENCES,
    "servers": SERVERS,
    "differing-searches": DIFFERING_SEARCHES,
}
NOTICED = Table(
    (
        Column("shape", "Filter"),
        BASE,
        Column("internal", "Of the server itself", words(lambda internal: "yes" if internal else "no")),
        Column("count", "Searches", COUNT),
    ),
    rows_at("noticed"),
    title="Unindexed searches in the errors log, counted apart",
)
SECURITY = (
    Table(
        (Column("client", "Client"), Column("reason", "Reason"), Column("count", "Connections", COUNT)),
        rows_at("refused"),
        title="Refused connections",
    ),
    Table(
        (Column("version", "TLS"), Column("cipher", "Cipher"), Column("count", "Connections", COUNT)),
        rows_at("tls.connections"),
        title="Connections with TLS",
    ),
    Table(
        (Column("client", "Client"), Column("dn", "Account"), Column("count", "BINDs", COUNT)),
        rows_at("tls.binds_in_clear"),
        title="Passwords that were sent without TLS",
    ),
)
SECTIONS = (
    ("servers", "Servers side by side", (SERVERS, DIFFERING_SEARCHES)),
    ("searches", "Searches", (SEARCHES, NOTICED)),
    ("operations", "Other operations", (TARGETS,)),
    ("problems", "Failures and connections", (SILENCES, FAILURES, FAILED_BINDS, CLOSES, CLIENTS, *SECURITY)),
)
"""Of a page: anchor, heading and tables."""

READ = (
    Table(
        (
            Column("name", "Log"),
            Column("dialect", "Dialect"),
            Column("files", "Files", words(lambda files: listed(files, FILES))),
            Column("server_processes", "Server processes", COUNT),
            Column("peak", "Connections at once", COUNT),
        ),
        rows_at("streams"),
        title="Access logs",
        most=100,
    ),
    Table(
        (Column("target", "File"), Column("reason", "Reason")),
        lambda document: [dict(zip(("target", "reason"), one, strict=True)) for one in left_out(document)],
        title="Left out: not counted",
        most=100,
        what="files are",
    ),
    GAPS,
    Table(
        (Column("target", "File"), Column("reason", "Reason")),
        rows_at("files_not_logs"),
        title="Files that are no access log",
        most=100,
    ),
    Table(
        (Column("line", "Line"),),
        lambda document: [{"line": sample} for sample in document["lines_not_understood_samples"]],
        title="Lines that were not understood, samples",
    ),
)
"""What was read, and what was not, at the end of a page."""
