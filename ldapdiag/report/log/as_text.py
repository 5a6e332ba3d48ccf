"""What access logs say, for a person, on one screen: first which searches are slow, on which attribute, from whom.

    searches    2 390 in 23.2 s · 562 without an index, wholly or in part
                 20 % ━━━━━━━━  4.75 s   44   716 ms  A  (&(objectClass=inetOrgPerson)(displayName=?))
                     sub ou=people,dc=example,dc=com · uid=quickr (127.0.0.11)

Then what was asked, how many connections there were, why they ended, and what could not be read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from ldapdiag.analysis.log.workload import Workload
from ldapdiag.evidence.family import identify
from ldapdiag.report.log.by import By
from ldapdiag.report.log.caveats import caveats
from ldapdiag.report.log.names import Names
from ldapdiag.report.log.quantities import day_and_time, duration, number, per_second, span
from ldapdiag.report.log.result_codes import named
from ldapdiag.report.log.tables import print_askers, print_closes, print_searches
from ldapdiag.report.page import Page, page_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ldapdiag.report.log.reading import ReadLog

FEW = 3
"""Rows of a table that does not lead, and parts of a line that lists the most frequent."""


WRONG_PASSWORD = 49


def print_log(read: ReadLog, stream: TextIO, *, top: int = 10, by: By = By.SHAPE) -> None:
    """Write the report; the leading table has at most `top` rows."""
    LogScreen(page_for(stream), read, top, by).show()


@dataclass(slots=True)
class LogScreen:
    """One report on its way to a page."""

    page: Page
    read: ReadLog
    top: int
    by: By
    names: Names = field(init=False)
    """How accounts are told in few words."""

    def __post_init__(self) -> None:
        self.names = Names(one.name for one in self.work.account_totals)

    @property
    def work(self) -> Workload:
        """Return what is told."""
        return self.read.workload

    def show(self) -> None:
        """Print every part."""
        self.heading()
        self.searches()
        self.page.blank()
        self.operations()
        self.connections()
        self.askers()
        self.closes()
        self.failed_binds()
        self.waits()
        self.noticed()
        for label, text in caveats(self.read):
            self.page.labelled(label, text, "bold")

    def heading(self) -> None:
        """Print whose log it is, how much of it, and of when."""
        streams, segment = self.read.streams, self.work.segment
        files = sum(len(one.files) for one in streams)
        self.page.line(
            [
                " and ".join(self.products()),
                streams[0].name
                if len(streams) == 1
                else f"{len(streams)} streams: {_few(one.name for one in streams)}",
                *([f"{files} files"] if files > len(streams) else []),
                f"{number(segment.lines)} line{'s' * (segment.lines != 1)}",
            ],
            "bold",
        )
        self.page.line(
            [
                self.span(),
                *([f"{segment.server_processes} server lives"] if segment.server_processes > len(streams) else []),
            ]
        )
        self.page.blank()

    def products(self) -> list[str]:
        """Return whose logs these are, with the version where all say the same."""
        families = sorted({one.family for one in self.read.streams})
        if len(families) > 1 or len(self.work.versions) != 1:
            return [family.product for family in families]
        (version,) = self.work.versions
        identity = identify(version)
        return [str(identity) if identity and [identity.family] == families else f"{families[0].product} {version}"]

    def span(self) -> str:
        """Return from when to when."""
        first, last = self.work.segment.first_time, self.work.segment.last_time
        if first is None or last is None:
            return "no record of this time" if self.read.since or self.read.until else "no record"
        (day, start), (last_day, end) = day_and_time(first), day_and_time(last)
        until = end if day == last_day else f"{last_day} {end}"
        return f"{day} {start} to {until} UTC, {span(last - first)}"

    def searches(self) -> None:
        """Print which searches are slow, on which attribute, from whom; and by whom first, if that was asked for."""
        work = self.work
        total = work.operations["search"]
        told = [f"{number(total)} in {duration(work.search_etime)}" if total else "none"]
        if work.unindexed:
            told.append(f"{number(work.unindexed)} without an index, wholly or in part")
        if work.logical_searches < total:
            told.append(f"{number(total - work.logical_searches)} are later pages")
        self.page.packed("searches", told, "bold", "bold")
        if self.by is By.CLIENT:
            print_askers(self.page, "client", work.client_totals, self.top, work.search_etime)
        elif self.by is By.ACCOUNT:
            print_askers(self.page, "account", work.account_totals, self.top, work.search_etime)
        if total:
            print_searches(self.page, work.searches, self.top if self.by is By.SHAPE else FEW, self.names)

    def operations(self) -> None:
        """Print what was asked, how often, and how it ended."""
        work, segment = self.work, self.work.segment
        counts = sorted(((count, name) for name, count in work.operations.items() if count), reverse=True)
        span = (segment.last_time or 0) - (segment.first_time or 0)
        rate = per_second(sum(segment.operations), span)
        internal = [f"{number(segment.internal)} internal"] if segment.internal else []
        parts = [*(f"{number(count)} {name}" for count, name in counts), *internal]
        self.page.packed("operations", [*(parts or ["none"]), *([rate] if rate else [])], "bold")
        results = sorted(segment.results.items(), key=lambda item: (-item[1], item[0]))
        if results:
            told = [f"{number(count)} {named(err)}" for err, count in results]
            self.page.packed("results", _first(told, FEW), "bold")

    def connections(self) -> None:
        """Print how many there were."""
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

    def askers(self) -> None:
        """Print who has most of the time, where a table above does not say so."""
        work = self.work
        for label, askers in (("clients", work.client_totals), ("accounts", work.account_totals)):
            if label != f"{self.by}s" and askers:
                told = [
                    f"{self.names(one.name)} {_what(one.etime, one.connections, work.search_etime)}" for one in askers
                ]
                self.page.packed(label, _first(told, FEW), "bold")

    def closes(self) -> None:
        """Print why connections ended, and what that means."""
        if self.work.closes:
            print_closes(self.page, self.work.closes)

    def failed_binds(self) -> None:
        """Print whose BINDs failed."""
        failed = self.work.failed_binds
        if failed:
            count = sum(one.count for one in failed)
            told = [f"{number(one.count)} of {self.names(one.dn)} from {one.client}{_how(one.err)}" for one in failed]
            first, *others = _first(told, 1)
            self.page.packed("binds", [f"{number(count)} failed: {first}", *others], "bold")

    def waits(self) -> None:
        """Print how long operations waited for a worker, where that is worth a line."""
        segment = self.work.segment
        longest, time = segment.longest_wait
        if segment.took and segment.waited * 100 >= segment.took:
            share = segment.waited * 100 // segment.took
            _, at = day_and_time(-time)
            told = f"{share} % of all time went by before a worker was free; at most {duration(longest)}, at {at}"
            self.page.labelled("waits", told, "bold")

    def noticed(self) -> None:
        """Print what the errors log tells of unindexed searches: a second witness, counted apart."""
        told = self.work.unindexed_notices
        if told:
            count = number(sum(one.count for one in told))
            few = 1 if sum(self.work.segment.operations) else self.top
            first, *others = _first([f"{number(one.count)} {one.shape}" for one in told], few)
            self.page.packed("errors log", [f"tells of {count} unindexed searches: {first}", *others], "bold")


def _how(err: int) -> str:
    """Return how a BIND failed, unless it was as most fail: the password is wrong."""
    return "" if err == WRONG_PASSWORD else f" ({named(err)})"


def _what(etime: int, connections: int, total: int) -> str:
    """Return what a client or an account has of the whole."""
    if total and etime * 100 >= total:
        return f"{min(etime * 100 // total, 100)} %"
    return f"{number(connections)} connection{'s' * (connections != 1)}" if connections else "<1 %"


def _first(told: list[str], most: int) -> Iterator[str]:
    yield from told[:most]
    if len(told) > most:
        yield f"and {number(len(told) - most)} more"


def _few(names: Iterable[str]) -> str:
    return ", ".join(_first(list(names), FEW))
