"""The report on access logs as text, on one screen: first the slow searches, with filter, client and account.

    searches    2,390 in 23.2 s · 562 unindexed · A = fully unindexed (notes=A) · bars: search time
                 20 % ━━━━━━━━  4.75 s   44   716 ms  A  (&(objectClass=inetOrgPerson)(displayName=?))
                     sub ou=people,dc=example,dc=com · uid=quickr (127.0.0.11)

Then operations, connections, close codes, and what could not be read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from ldapdiag.analysis.log.failed_binds import Failures, grouped_failures
from ldapdiag.analysis.log.workload import Workload
from ldapdiag.evidence.family import identify
from ldapdiag.report.color import Color
from ldapdiag.report.log.caveats import caveats
from ldapdiag.report.log.operations_text import in_the_clear, print_operations
from ldapdiag.report.log.quantities import AccountNames, day_and_time, duration, per_second, span
from ldapdiag.report.log.selected import named, no_match, no_match_sentence, print_conditions, print_lines
from ldapdiag.report.log.sort import By, Sort, in_order, totals_in_order
from ldapdiag.report.log.tables import print_closes, print_requesters, print_searches
from ldapdiag.report.log.times import print_times
from ldapdiag.report.page import Page, page_for
from ldapdiag.wording import counted, number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ldapdiag.analysis.fleet.comparison import Comparison
    from ldapdiag.report.log.reading import ReadLog

NOTES = {"A": "fully unindexed", "U": "partially unindexed"}
"""What a letter beside an unindexed search stands for."""
FEW = 3
"""Rows of a secondary table, and items on a line that lists the most frequent."""


WRONG_PASSWORD = 49


def print_log(
    read: ReadLog,
    stream: TextIO,
    *,
    top: int = 10,
    by: By = By.SHAPE,
    sort: Sort = Sort.TIME,
    color: Color = Color.AUTO,
) -> None:
    """Write the report; the main table has at most `top` rows."""
    LogScreen(page_for(stream, color), read, top, by, sort).show()


@dataclass(slots=True)
class LogScreen:
    """One report, printed to a page."""

    page: Page
    read: ReadLog
    top: int
    by: By
    sort: Sort = Sort.TIME
    names: AccountNames = field(init=False)
    """Short names of accounts."""

    def __post_init__(self) -> None:
        self.names = AccountNames(one.name for one in self.work.account_totals)

    @property
    def work(self) -> Workload:
        """Return the workload of the report."""
        return self.read.workload

    def show(self) -> None:
        """Print every part."""
        self.heading()
        print_conditions(self.page, self.read)
        if nothing := no_match(self.read):
            self.page.labelled("no match", no_match_sentence(nothing), "bold", "bold")
            self.caveats()
            return
        if self.read.fleet is not None:
            self.servers(self.read.fleet)
            return
        self.searches()
        self.page.blank()
        self.operations()
        print_operations(self.page, self.work, self.names)
        self.connections()
        self.requesters()
        self.closes()
        self.failed_binds()
        self.waits()
        self.noticed()
        print_lines(self.page, self.read.shown)
        self.caveats()

    def servers(self, fleet: Comparison) -> None:
        """Print the servers side by side."""
        from ldapdiag.report.log.fleet_text import print_fleet  # noqa: PLC0415  import late: mostly there is one server

        print_fleet(self.page, fleet)
        self.caveats()

    def caveats(self) -> None:
        """Print how far the numbers can be trusted."""
        for label, text in caveats(self.read):
            self.page.labelled(label, text, "bold")

    def heading(self) -> None:
        """Print the product, the files, the number of lines and the time range."""
        streams, segment = self.read.streams, self.work.segment
        files = sum(len(one.files) for one in streams)
        self.page.line(
            [
                " and ".join(self.products()),
                streams[0].name
                if len(streams) == 1
                else f"{len(streams)} streams: {_few(one.name for one in streams)}",
                *([f"{files} files"] if files > len(streams) else []),
                counted(segment.lines, "line"),
            ],
            "bold",
        )
        self.page.line([self.span(), *self.restarts()])
        print_times(self.page, self.work)
        self.page.blank()

    def products(self) -> list[str]:
        """Return the products, with the version where all logs have the same."""
        families = sorted({one.family for one in self.read.streams})
        if len(families) > 1 or len(self.work.versions) != 1:
            return [family.product for family in families]
        (version,) = self.work.versions
        identity = identify(version)
        return [str(identity) if identity and [identity.family] == families else f"{families[0].product} {version}"]

    def restarts(self) -> list[str]:
        """Return the number of restarts, if there were any."""
        restarts = sum(max(0, one.server_processes - 1) for one in self.read.streams)
        return [counted(restarts, "restart")] if restarts else []

    def span(self) -> str:
        """Return the time range of the records."""
        if self.work.period is None:
            return " ".join(["no records", *self._asked()])
        first, last = self.work.period
        (day, start), (last_day, end) = day_and_time(first), day_and_time(last)
        until = end if day == last_day else f"{last_day} {end}"
        return f"{day} {start} to {until} UTC, {span(last - first)}"

    def _asked(self) -> list[str]:
        """Return the period that was asked for: a time of day without a date may be of another day than expected."""
        limits = (("since", self.read.since), ("until", self.read.until))
        times = [f"{word} {' '.join(day_and_time(time))}" for word, time in limits if time is not None]
        return [*times, "UTC"] if times else []

    def searches(self) -> None:
        """Print the slow searches, after a table of clients or accounts if that was selected."""
        work = self.work
        total = work.operations["search"]
        items = [f"{number(total)} in {duration(work.search_etime)}" if total else "none"]
        legend = list[str]()
        if work.unindexed:
            letters = {letter for one in work.searches for notes in one.notes for letter in notes.split(",")}
            shown = [f"{letter} = {words} (notes={letter})" for letter, words in NOTES.items() if letter in letters]
            items.append(f"{number(work.unindexed)} unindexed{'' if shown else ', fully or partially'}")
            legend = [*shown, "bars: search time"] if shown and self.sort is Sort.TIME else shown
        if missing := sum(one.no_result for one in work.searches):
            items.append(f"{number(missing)} without result")
        if work.logical_searches < total:
            items.append(f"{number(total - work.logical_searches)} later pages of paged searches")
        self.page.packed("searches", [*items, *legend], "bold", "bold")
        if self.by is By.CLIENT:
            print_requesters(
                self.page, "client", totals_in_order(work.client_totals, self.sort), self.top, work.search_etime
            )
        elif self.by is By.ACCOUNT:
            print_requesters(
                self.page, "account", totals_in_order(work.account_totals, self.sort), self.top, work.search_etime
            )
        if total:
            top = self.top if self.by is By.SHAPE else FEW
            too_many = work.segment.attribution.full
            searches = in_order(work.searches, self.sort)
            totals = work.filter_totals
            print_searches(self.page, searches, totals, top, self.names, self.sort, too_many=too_many)

    def operations(self) -> None:
        """Print the operations by kind, and their results."""
        work, segment = self.work, self.work.segment
        counts = sorted(((count, name) for name, count in work.operations.items() if count), reverse=True)
        first, last = work.period or (0, 0)
        rate = per_second(sum(segment.operations), last - first)
        internal = [f"{number(segment.internal)} internal"] if segment.internal else []
        parts = [*(f"{number(count)} {name}" for count, name in counts), *internal]
        self.page.packed("operations", [*(parts or ["none"]), *([rate] if rate else [])], "bold")
        results = sorted(segment.results.items(), key=lambda item: (-item[1], item[0]))
        if results:
            items = [f"{number(count)} {named(err)}" for err, count in results]
            self.page.packed("results", _first(items, FEW), "bold")

    def connections(self) -> None:
        """Print the numbers of connections, which belong to no selection."""
        if self.read.is_selection:
            return
        segment = self.work.segment
        before = [f"{number(segment.open_before)} open before the log begins"] if segment.open_before else []
        peak = f"at most {number(segment.peak)} at once"
        self.page.packed(
            "connections",
            [
                *before,
                f"{number(segment.opened)} opened",
                f"{number(sum(segment.closed.values()))} closed",
                peak if len(self.read.streams) == 1 else f"{peak} on one server",
                f"{number(segment.open_at_end)} open at the end",
            ],
            "bold",
        )

    def requesters(self) -> None:
        """Print the clients and accounts with the most search time, unless a table above has them."""
        work = self.work
        for label, requesters in (("clients", work.client_totals), ("accounts", work.account_totals)):
            if label != f"{self.by}s" and requesters:
                items = [
                    f"{self.names(one.name)} {_what(one.etime, one.connections, work.search_etime)}"
                    for one in requesters
                    if one.count or not self.read.is_selection
                ]
                self.page.packed(label, _first(items, FEW), "bold")

    def closes(self) -> None:
        """Print the close codes of connections, with their meanings."""
        if self.work.closes and not self.read.is_selection:
            print_closes(self.page, self.work.closes)

    def failed_binds(self) -> None:
        """Print failed BINDs by account or client, and those that sent a password without TLS."""
        failed, clear = self.work.failed_binds, in_the_clear(self.work)
        items: list[str] = []
        if failed:
            count = sum(one.count for one in failed)
            groups = grouped_failures(failed, self.work.accepted_binds)
            first, *others = _first([self.failures(one) for one in groups], 1)
            items = [f"{number(count)} failed: {first}", *others]
        if items or clear:
            self.page.packed("binds", [*items, *clear], "bold")

    def failures(self, group: Failures) -> str:
        """Return the failed BINDs of one account, or of one client that tried many."""
        if group.of_client:
            return f"{number(group.count)} from {group.name} as {number(len(group.accounts))} accounts"
        clients = counted(len(group.clients), "client") if len(group.clients) > 1 else next(iter(group.clients))
        err = group.errors.most_common(1)[0][0]
        return f"{number(group.count)} as {self.names(group.name)} from {clients}{_how(err)}"

    def waits(self) -> None:
        """Print how long operations waited for a worker thread, from 1 % of their time on."""
        segment = self.work.segment
        longest, time = segment.longest_wait
        if segment.took and segment.waited * 100 >= segment.took:
            share = segment.waited * 100 // segment.took
            _, at = day_and_time(-time)
            items = (
                f"{share} % of the time was spent waiting for a worker thread; longest wait {duration(longest)} at {at}"
            )
            self.page.labelled("waits", items, "bold")

    def noticed(self) -> None:
        """Print unindexed searches from the errors log, counted separately from those of the access log."""
        notices = self.work.unindexed_notices
        if notices:
            count = sum(one.count for one in notices)
            few = 1 if sum(self.work.segment.operations) else self.top
            first, *others = _first([f"{number(one.count)} {one.shape}" for one in notices], few)
            searches = f"{number(count)} unindexed search{'es' * (count != 1)}"
            self.page.packed("errors log", [f"{searches}: {first}", *others], "bold")


def _how(err: int) -> str:
    """Return the result code of a failed BIND; nothing for the usual one, a wrong password."""
    return "" if err == WRONG_PASSWORD else f" ({named(err)})"


def _what(etime: int, connections: int | None, total: int) -> str:
    """Return the share of search time of a client or account, or its number of connections."""
    if total and etime * 100 >= total:
        return f"{min(etime * 100 // total, 100)} %"
    return counted(connections, "connection") if connections else "<1 %"


def _first(items: list[str], most: int) -> Iterator[str]:
    yield from items[:most]
    if len(items) > most:
        yield f"and {number(len(items) - most)} more"


def _few(names: Iterable[str]) -> str:
    return ", ".join(_first(list(names), FEW))
