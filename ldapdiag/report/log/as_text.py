"""The report on access logs as text, on one screen: first the slow searches, with filter, client and account.

    searches    2,390 in 23.2 s · 562 unindexed · A = fully unindexed (notes=A) · bars: search time
                 20 % ━━━━━━━━  4.75 s   44   716 ms  A  (&(objectClass=inetOrgPerson)(displayName=?))
                     sub ou=people,dc=example,dc=com · uid=quickr (127.0.0.11)

Then operations, connections, close codes, and what could not be read.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, TextIO

from ldapdiag.evidence.family import Family, identify
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.report.color import Color
from ldapdiag.report.log.caveats import caveats
from ldapdiag.report.log.operations_text import in_the_clear, print_operations, waiting
from ldapdiag.report.log.quantities import AccountNames, day_and_time_of, instant, per_second, span
from ldapdiag.report.log.rows_text import SearchRows, print_closes, print_requesters
from ldapdiag.report.log.selected import named, no_match_sentence, print_conditions, print_lines
from ldapdiag.report.log.sort import By, Sort
from ldapdiag.report.log.tables import at_once, search_columns, unusual
from ldapdiag.report.log.times import print_silences, print_times
from ldapdiag.report.page import Page, page_for
from ldapdiag.wording import counted, duration, number, percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ldapdiag.report.table import Plain

NOTES = {"A": "fully unindexed", "U": "partially unindexed"}
"""What a letter beside an unindexed search stands for."""
FEW = 3
"""Rows of a secondary table, and items on a line that lists the most frequent."""


WRONG_PASSWORD = 49


def print_log(
    document: Plain,
    stream: TextIO,
    *,
    top: int = 10,
    by: By = By.SHAPE,
    sort: Sort = Sort.TIME,
    color: Color = Color.AUTO,
) -> None:
    """Write the report; the main table has at most `top` rows."""
    LogScreen(page_for(stream, color), document, top, by, sort).show()


@dataclass(slots=True)
class LogScreen:
    """One report, printed to a page."""

    page: Page
    document: Plain
    """In the order of `sort`."""
    top: int
    by: By
    sort: Sort = Sort.TIME
    names: AccountNames = field(init=False)
    """Short names of accounts."""

    def __post_init__(self) -> None:
        self.names = AccountNames(one["name"] for one in self.document["searches"]["by_account"])

    def show(self) -> None:
        """Print every part."""
        for sentence in self.document["unreliable"]:
            self.page.line([f"{sentence}."], "bold")
        self.heading()
        print_conditions(self.page, self.document)
        if nothing := self.document["no_match"]:
            self.page.labelled("no match", no_match_sentence(nothing), "bold", "bold")
            self.caveats()
            return
        if self.document["fleet"]:
            self.servers()
            return
        self.searches()
        self.page.blank()
        self.operations()
        print_operations(self.page, self.document, self.names)
        self.connections()
        self.requesters()
        self.closes()
        self.failed_binds()
        self.waits()
        self.noticed()
        print_lines(self.page, self.document)
        self.caveats()

    @property
    def is_selection(self) -> bool:
        """Return whether some operations are not counted."""
        return self.document["selection"] is not None

    @property
    def period(self) -> tuple[int, int] | None:
        """Return the times of the first and the last record, in nanoseconds since 1970."""
        first, last = self.document["first_time"], self.document["last_time"]
        return (instant(first), instant(last)) if first else None

    def servers(self) -> None:
        """Print the servers side by side."""
        from ldapdiag.report.log.fleet_text import print_fleet  # noqa: PLC0415  import late: mostly there is one server

        print_fleet(self.page, self.document)
        self.caveats()

    def caveats(self) -> None:
        """Print how far the numbers can be trusted."""
        for label, text in caveats(self.document):
            self.page.labelled(label, text, "bold")

    def heading(self) -> None:
        """Print the product, the files, the number of lines and the time range."""
        streams = self.document["streams"]
        files = sum(len(stream["files"]) for stream in streams)
        self.page.line(
            [
                " and ".join(self.products()),
                streams[0]["name"]
                if len(streams) == 1
                else f"{len(streams)} streams: {_few(one['name'] for one in streams)}",
                *([f"{files} files"] if files > len(streams) else []),
                counted(self.document["lines"], "line"),
            ],
            "bold",
        )
        self.page.line([self.span(), *self.restarts()])
        if logged := self.document.get("logged"):
            self.page.line([f"{logged[0].upper()}{logged[1:]}."], "bold")
        print_times(self.page, self.document)
        print_silences(self.page, self.document)
        self.page.blank()

    def products(self) -> list[str]:
        """Return the products, with the version where all logs have the same."""
        families = sorted({Family(stream["family"]) for stream in self.document["streams"]})
        if len(families) > 1 or len(self.document["versions"]) != 1:
            return [family.product for family in families]
        (version,) = self.document["versions"]
        identity = identify(version)
        return [str(identity) if identity and [identity.family] == families else f"{families[0].product} {version}"]

    def restarts(self) -> list[str]:
        """Return the number of restarts, if there were any."""
        restarts = sum(max(0, stream["server_processes"] - 1) for stream in self.document["streams"])
        return [counted(restarts, "restart")] if restarts else []

    def span(self) -> str:
        """Return the time range of the records."""
        if self.period is None:
            return " ".join(["no records", *self._asked()])
        first, last = (day_and_time_of(self.document[key]) for key in ("first_time", "last_time"))
        until = last[1] if first[0] == last[0] else " ".join(last)
        return f"{' '.join(first)} to {until} UTC, {span(self.period[1] - self.period[0])}"

    def _asked(self) -> list[str]:
        """Return the period that was asked for: a time of day without a date may be of another day than expected."""
        limits = {word: self.document[word] for word in ("since", "until")}
        times = [f"{word} {' '.join(day_and_time_of(time))}" for word, time in limits.items() if time is not None]
        return [*times, "UTC"] if times else []

    def searches(self) -> None:
        """Print the slow searches, after a table of clients or accounts if that was selected."""
        searches = self.document["searches"]
        self.page.packed("searches", list(self._searches(searches)), "bold", "bold")
        if self.by in {By.CLIENT, By.ACCOUNT}:
            rows = searches[f"by_{self.by}"]
            print_requesters(self.page, str(self.by), rows, self.top, searches["etime_seconds"])
        if searches["total"]:
            columns = search_columns(by_p99=self.sort is Sort.P99)
            SearchRows(self.page, self.document, self.names).show(self.top if self.by is By.SHAPE else FEW, columns)

    def _searches(self, searches: Plain) -> Iterator[str]:
        """Yield the totals of searches, and what the letters and bars of the rows mean."""
        total, unindexed = searches["total"], searches["unindexed"]
        yield f"{number(total)} in {duration(searches['etime_seconds'])}" if total else "none"
        legend = list[str]()
        if unindexed:
            letters = {
                letter for shape in searches["shapes"] for notes in shape["notes"] for letter in notes.split(",")
            }
            shown = [f"{letter} = {words} (notes={letter})" for letter, words in NOTES.items() if letter in letters]
            yield f"{number(unindexed)} unindexed{'' if shown else ', fully or partially'}"
            legend = [*shown, "bars: search time"] if shown and self.sort is Sort.TIME else shown
        yield from unusual(searches)
        yield from legend

    def operations(self) -> None:
        """Print the operations by kind, and their results."""
        document = self.document
        counts = sorted(((count, name) for name, count in document["operations"].items() if count), reverse=True)
        first, last = self.period or (0, 0)
        rate = per_second(sum(document["operations"].values()), last - first)
        internal = [f"{number(count)} internal"] if (count := document["internal_operations"]) else []
        parts = [*(f"{number(count)} {name}" for count, name in counts), *internal]
        self.page.packed("operations", [*(parts or ["none"]), *([rate] if rate else [])], "bold")
        results = sorted(((int(err), count) for err, count in document["results"].items()), key=_by_count)
        if results:
            items = [f"{number(count)} {named(err)}" for err, count in results]
            self.page.packed("results", _first(items, FEW), "bold")

    def connections(self) -> None:
        """Print the numbers of connections, which belong to no selection."""
        if self.is_selection:
            return
        counts = self.document["connections"]
        before = [f"{number(counts['open_before'])} open before the log begins"] if counts["open_before"] else []
        self.page.packed(
            "connections",
            [
                *before,
                f"{number(counts['opened'])} opened",
                f"{number(counts['closed'])} closed",
                f"at most {number(counts['peak'])} {at_once(self.document)}",
                f"{number(counts['open_at_end'])} open at the end",
            ],
            "bold",
        )

    def requesters(self) -> None:
        """Print the clients and accounts with the most search time, unless a table above has them."""
        searches = self.document["searches"]
        for kind in ("client", "account"):
            rows = searches[f"by_{kind}"]
            if kind != self.by and rows:
                items = [
                    f"{self.names(row['name'])} {_what(row, searches['etime_seconds'])}"
                    for row in rows
                    if row["count"] or not self.is_selection
                ]
                self.page.packed(f"{kind}s", _first(items, FEW), "bold")

    def closes(self) -> None:
        """Print the close codes of connections, with their meanings."""
        if (closes := self.document["connections"]["closes"]) and not self.is_selection:
            print_closes(self.page, closes)

    def failed_binds(self) -> None:
        """Print failed BINDs by account or client, and those that sent a password without TLS."""
        groups, clear = self.document["failed_bind_groups"], in_the_clear(self.document)
        items: list[str] = []
        if groups:
            count = sum(group["count"] for group in groups)
            first, *others = _first([self.failures(group) for group in groups], 1)
            items = [f"{number(count)} failed: {first}", *others]
        if items or clear:
            self.page.packed("binds", [*items, *clear], "bold")

    def failures(self, group: Plain) -> str:
        """Return the failed BINDs of one account, or of one client that tried many."""
        count = number(group["count"])
        if group["account"] is None:
            return f"{count} from {group['client']} as {number(group['accounts'])} accounts"
        clients = group["client"] or counted(group["clients"], "client")
        how = "" if group["err"] == WRONG_PASSWORD else f" ({named(group['err'])})"
        return f"{count} as {self.names(group['account'])} from {clients}{how}"

    def waits(self) -> None:
        """Print how long operations waited for a worker thread."""
        if waited := waiting(self.document):
            self.page.labelled("waits", waited, "bold")

    def noticed(self) -> None:
        """Print unindexed searches from the errors log, counted separately from those of the access log."""
        notices = self.document["noticed"]
        if notices:
            count = sum(notice["count"] for notice in notices)
            few = 1 if sum(self.document["operations"].values()) else self.top
            first, *others = _first([f"{number(notice['count'])} {notice['shape']}" for notice in notices], few)
            searches = f"{number(count)} unindexed search{'es' * (count != 1)}"
            self.page.packed("errors log", [f"{searches}: {first}", *others], "bold")


def _by_count(result: tuple[int, int]) -> tuple[int, int]:
    return -result[1], result[0]


def _what(one: Plain, total: float) -> str:
    """Return the share of search time of a client or account, or its number of connections."""
    if total and one["etime_seconds"] * 100 >= total:
        return percent(one["etime_seconds"] / total)
    return counted(one["connections"], "connection") if one["connections"] else "<1 %"


def _first(items: list[str], most: int) -> Iterator[str]:
    yield from items[:most]
    if len(items) > most:
        yield f"and {number(len(items) - most)} more"


def _few(names: Iterable[str]) -> str:
    return ", ".join(_first(list(names), FEW))
