"""The report of an index audit as text: the cost today, the indexes to add, and what no index can fix.

    24.0 h of log · 4,012,338 searches · 190 min of search time, 165 min (87 %) of it without an index

    PLAN        2 index changes remove 97 % of the unindexed search time (the smallest set found)
                saves              searches  add     attribute
                152 min ━━━━━━━━    18,220  eq,sub  displayName
                     (displayName=?*) · uid=quickr (10.10.1.168)

The commands follow, then harmless searches that look bad, and what was not judged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from ldapdiag.analysis.indexes.coverage import IndexCoverage
from ldapdiag.analysis.indexes.plan import IndexPlan, PlannedIndexes
from ldapdiag.analysis.indexes.predictions import time_with
from ldapdiag.analysis.indexes.search_coverage import SearchCoverage
from ldapdiag.analysis.indexes.unused_indexes import UnusedIndexes
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.finding import Severity
from ldapdiag.remedy import RemedyKind
from ldapdiag.report.color import Color
from ldapdiag.report.common_parts import ReportScreen
from ldapdiag.report.findings import FIRST, brief_text, first_sentence, print_commands, print_step
from ldapdiag.report.head import print_head
from ldapdiag.report.headline import Headline, first_step, headline
from ldapdiag.report.indexes.plan_block import IN_THE_PLAN, PLAN, saving, script_command, step_of_plan
from ldapdiag.report.indexes.remedies import of_plans
from ldapdiag.report.log.quantities import AccountNames, span
from ldapdiag.report.log.rows_text import NumberTable
from ldapdiag.report.page import packed, page_for
from ldapdiag.report.table import COUNT, SECONDS, Column, words
from ldapdiag.servers.index_remedies import expected_in_log
from ldapdiag.wording import counted, duration, number, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ldapdiag.diagnosis import Diagnosis
    from ldapdiag.evidence.indexes import Backend
    from ldapdiag.finding import Finding
    from ldapdiag.remedy import Remedy
    from ldapdiag.report.headline import FirstStep

THEN = "    then"
FEW = 4
"""Filters named in a line."""
MOST_ROWS = 100
"""Of the few lines of a plan; those of more are in the script alone."""
MONTH = 30 * 24 * 3600


ADD = (
    Column("saves", "saves", SECONDS),
    Column("searches", "searches", COUNT),
    Column("types", "add", words(",".join)),
)
"""The indexes of a plan."""


def print_indexes(
    diagnosis: Diagnosis,
    stream: TextIO,
    *,
    verbose: bool = False,
    color: Color = Color.AUTO,
    at_least: Severity = Severity.INFO,
) -> None:
    """Write the report, with the plan and, beside it, the findings of a severity and above."""
    IndexScreen(page_for(stream, color), diagnosis, verbose=verbose, at_least=at_least).show()


class IndexScreen(ReportScreen):
    """The report of one audit, printed part by part."""

    __slots__ = ()
    within = IN_THE_PLAN

    def lead(self) -> tuple[Headline | None, FirstStep | None]:
        """Return what the report states first, and what to do first: where nothing is worse, the first plan."""
        planned = self.planned()
        first = self.first(planned)
        return first, first_step(self.diagnosis, first) or (step_of_plan(*planned[0]) if planned else None)

    def planned(self) -> list[tuple[IndexPlan, IndexCoverage]]:
        """Return the plan of each server, that which saves most first."""
        plans = sorted(self.diagnosis.facts.every(IndexPlan), key=lambda plan: -plan.saved)
        coverages = [self.diagnosis.facts.of(IndexCoverage, plan.server) for plan in plans]
        return [(plan, one) for plan, one in zip(plans, coverages, strict=True) if one is not None]

    def body(self, first: Headline | None, step: FirstStep | None) -> None:
        """Print the head, unless that is a plan, the plans, and the findings outside them."""
        if first is not None and first.label != PLAN:
            print_head(self.page, self.diagnosis, first, step, verbose=self.verbose)
        for place, (plan, coverage) in enumerate(self.planned()):
            self.server(plan, coverage, is_first=place == 0 and first is not None and first.label == PLAN)
        self.findings(first, step)

    def first(self, planned: Sequence[tuple[IndexPlan, IndexCoverage]]) -> Headline | None:
        """Return the first sentence: the plan with the largest saving, or what is worse than that or all there is."""
        first = headline(self.diagnosis, self.at_least)
        if not planned or not planned[0][0].indexes:
            return first
        in_plan = [one.severity for check, one in self.diagnosis.found if check in IN_THE_PLAN]
        worst = first.finding if first is not None and first.check not in IN_THE_PLAN else None
        is_worse = worst is not None and worst.severity > max(in_plan, default=Severity.INFO)
        return first if is_worse else Headline(PLAN, saving(*planned[0]))

    def server(self, plan: IndexPlan, coverage: IndexCoverage, *, is_first: bool) -> None:
        """Print the search time of one server, and its plan."""
        scanned = sum(row.etime for row in coverage.scans)
        total = coverage.etime
        searches = sum(row.count for row in coverage.searches)
        many = counted(searches, "search", "searches")
        share = f" ({percent(scanned / total)})" if total and scanned else ""
        whole = f"{duration(total / SECOND)} of search time"
        unindexed = (
            f"{duration(scanned / SECOND)}{share} of it without an index" if scanned else "none of it without an index"
        )
        self.page.line(
            [plan.server, f"{span(int(coverage.seconds * SECOND))} of log", many,
             f"{whole}, {unindexed}"],
            "bold",
        )  # fmt: skip
        self.page.blank()
        self.plan(plan, coverage, is_first=is_first)
        self.other_searches(plan, coverage)
        self.page.blank()

    def plan(self, plan: IndexPlan, coverage: IndexCoverage, *, is_first: bool) -> None:
        """Print the indexes to add, the saving, and the commands."""
        self.page.labelled(PLAN, saving(plan, coverage), "bold red" if plan.indexes else "bold green", "bold")
        step = step_of_plan(plan, coverage)
        if step is None:
            return
        print_step(self.page, step, verbose=self.verbose, label=FIRST if is_first else THEN)
        self.table(plan.indexes, coverage)
        if coverage.indexes is None:
            self.page.indented(
                "The index configuration is not in the evidence, so the cause is open: no index, not built yet, or "
                "more entries than the server's limit."
            )
            self.page.blank()
            return
        for remedy in of_plans(self.diagnosis):
            if remedy.target == plan.server and remedy.kind is not RemedyKind.LDIF:
                self.page.blank()
                self.commands(remedy, coverage)

    def commands(self, remedy: Remedy, coverage: IndexCoverage) -> None:
        """Print what a remedy of the plan changes, its risk, and its commands, if they are few or with -v."""
        if not self.verbose:
            self.page.indented(first_sentence(remedy.changes))
            text = brief_text(self.page, remedy, most_brief=MOST_ROWS)
            self.page.indented(f"risk: {first_sentence(remedy.risk) if remedy.brief else remedy.risk}")
            if text:
                print_commands(self.page, text)
            what = "the same as a script" if text else "the commands as a script"
            self.page.indented(f"{what}, which checks each step and the answers of the index:")
            print_commands(self.page, script_command(self.diagnosis))
            return
        self.page.indented(remedy.changes)
        self.page.indented(f"risk: {remedy.risk}")
        print_commands(self.page, remedy.text)
        if remedy.verify:
            self.page.indented("show the new setting, and the progress of the build:")
            print_commands(self.page, remedy.verify)
        found = (one for one in self.found("missing-index") if one.server == coverage.server)
        verify = next((one.verify for finding in found for one in finding.remedies), "")
        if verify:
            self.page.indented(f"verify: {expected_in_log(coverage.family)}")
            print_commands(self.page, verify)

    def found(self, check: str) -> list[Finding]:
        """Return the findings of a check."""
        return [finding for name, finding in self.diagnosis.found if name == check]

    def judged(self, server: str, row: PlannedIndexes) -> list[str]:
        """Return severity and confidence of the finding on a row."""
        backend = row.backend.name if row.backend else None
        found = (
            one
            for one in self.found("missing-index")
            if (one.server, one.observed["backend"], one.observed["attribute"]) == (server, backend, row.attribute)
        )
        return [f"{one.severity}, {one.confidence}" for one in found][:1]

    def table(self, rows: Sequence[PlannedIndexes], coverage: IndexCoverage) -> None:
        """Print the indexes to add, with their filters, accounts and clients."""
        names = AccountNames({asker.account for row in rows for asker in row.requesters})
        shown = [{"saves": row.saved / SECOND, "searches": row.search_count, "types": row.types} for row in rows]
        table = NumberTable(self.page, ADD, shown, bar_of="saves")
        table.header("attribute")
        for place, row in enumerate(rows):
            table.row(place, f"{row.attribute}{_place(row.backend, coverage)}")
            shapes = list(dict.fromkeys(one.group.shape for one in row.resolved))
            who = [f"{names(asker.account)} ({asker.client})" for asker in row.requesters]
            parts = [
                *_some(shapes, 2, verbose=self.verbose),
                *_some(list(dict.fromkeys(who)), 2, verbose=self.verbose),
                *self.judged(coverage.server, row),
                f"then each {time_with(row.mean_after, row.mean_before, coverage.fastest)}",
                *(f"makes {shape} slower" for shape in dict.fromkeys(one.group.shape for one in row.slowed)),
            ]
            for line in packed(parts, self.page.room - table.deeper):
                self.page.indented(line, "dim", deeper=table.deeper)

    def other_searches(self, plan: IndexPlan, coverage: IndexCoverage) -> None:
        """Print the searches that only a build or no index helps, or not worth one, harmless ones, unused indexes."""
        self.searches("not built", "an index is configured for these: build it", plan.unbuilt, _why)
        self.searches("no index", "would help", plan.unhelped, _why)
        self.searches("not worth", "an index: they take little time", plan.below_threshold, _needs)
        if coverage.outside_suffixes:
            many = counted(coverage.outside_suffixes, "search", "searches")
            text = f"{many} outside every suffix of the index configuration, not judged"
            self.page.labelled("elsewhere", text, "bold")
        if noted := coverage.harmless:
            count, etime = sum(row.count for row in noted), sum(row.etime for row in noted)
            shapes = _some(list(dict.fromkeys(row.group.shape for row in noted)), FEW, verbose=self.verbose)
            many = counted(count, "search", "searches")
            why = "the other parts of the filter, or the base, leave few entries"
            self.page.packed("harmless", [f"{many} noted as unindexed, {_each(etime, count)}: {why}", *shapes], "bold")
        usage = self.diagnosis.facts.of(UnusedIndexes, plan.server)
        if usage is not None and usage.unused:
            unused = [f"{one.attribute} {','.join(one.types)}{_place(one.backend, coverage)}" for one in usage.unused]
            seconds = min(one.seconds for one in usage.unused)
            spanned = span(int(seconds * SECOND))
            keep = [] if seconds >= MONTH else ["keep them until a month of logs confirms this"]
            listed = _some(unused, 3 * FEW, verbose=self.verbose)
            self.page.packed("not used", [f"in {spanned} of log: {listed[0]}", *listed[1:], *keep], "bold")

    def searches(
        self, label: str, text: str, rows: Sequence[SearchCoverage], explain: Callable[[SearchCoverage], str]
    ) -> None:
        """Print searches by filter, each with the time it took."""
        if not rows:
            return
        self.page.labelled(label, f"{text} ({duration(sum(row.etime for row in rows) / SECOND)} in total)", "bold")
        shown = rows if self.verbose else rows[: 2 * FEW]
        width = max(len(duration(row.etime / SECOND)) for row in shown)
        for row in shown:
            times = f"{duration(row.etime / SECOND):>{width}}  {number(row.count)} x"
            self.page.indented(f"{times} {row.group.shape}: {explain(row)}")
        if len(rows) > len(shown):
            more = rows[len(shown) :]
            took = duration(sum(row.etime for row in more) / SECOND)
            self.page.indented(f"and {number(len(more))} more, {took} (-v shows them)")

    def findings(self, first: Headline | None, step: FirstStep | None) -> None:
        """Print the findings outside the plan: indexes that are not built, harmful, or differ; unknown attributes."""
        for check, finding in self.others(first):
            if check not in IN_THE_PLAN or finding.acceptance or (self.verbose and finding.severity > Severity.INFO):
                self.finding(check, finding, step)


def _place(backend: Backend | None, coverage: IndexCoverage) -> str:
    """Return the database that a line is about, of a server with several."""
    several = coverage.indexes is not None and len(coverage.indexes.configuration.backends) > 1
    return f" of {backend.name}" if backend is not None and several else ""


def _each(etime: int, count: int) -> str:
    return f"{duration(etime / count / SECOND if count else 0)} each"


def _why(row: SearchCoverage) -> str:
    """Return the obstacle, and the part of the filter it is in."""
    if row.filter is None:
        return "its filter was cut off in the log"
    if row.obstacle is None:
        return ""
    part = row.obstacle.text if row.obstacle.text != row.group.shape else ""
    return f"{part} {row.obstacle.reason}".strip()


def _needs(row: SearchCoverage) -> str:
    """Return indexes that would help, with their databases where a search examines several."""
    several = len(row.backends) > 1
    wanted: Iterable[str] = (
        f"{change.attribute} {change.type} {change.rule}".strip() + (f" of {name}" if several else "")
        for name, change in sorted(row.sufficient_sets[0])
    )
    return f"needs {', '.join(wanted)}"


def _some(texts: list[str], most: int, *, verbose: bool) -> list[str]:
    """Return the first few, and how many more there are."""
    if verbose or len(texts) <= most:
        return texts
    return [*texts[:most], f"{number(len(texts) - most)} more"]
