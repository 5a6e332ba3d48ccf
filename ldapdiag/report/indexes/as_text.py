"""The report of an index audit as text: the cost today, the indexes to add, and what no index can fix.

    24.0 h of log · 4,012,338 searches · 190 min of search time, 165 min (87 %) of it without an index

    PLAN        2 index changes remove 97 % of the unindexed search time (the smallest set found)
                saves              searches  add     attribute
                152 min ━━━━━━━━    18,220  eq,sub  displayName
                     (displayName=?*) · uid=quickr (10.10.1.168)

The commands follow, then harmless searches that look bad, and what was not judged.
"""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.finding import Severity
from ldapdiag.remedy import RemedyKind
from ldapdiag.report.common_parts import ReportScreen
from ldapdiag.report.findings import FIRST, brief_text, first_sentence, print_commands, print_step
from ldapdiag.report.head import print_head
from ldapdiag.report.headline import Headline, first_step
from ldapdiag.report.indexes.as_data import IN_THE_PLAN
from ldapdiag.report.indexes.plan_block import PLAN, audit_command, step_of_plan, unindexed_share
from ldapdiag.report.log.quantities import AccountNames, span
from ldapdiag.report.log.rows_text import NumberTable
from ldapdiag.report.not_judged import unjudged_part
from ldapdiag.report.page import packed
from ldapdiag.report.table import COUNT, SECONDS, Column, words
from ldapdiag.report.verdicts import severity_of
from ldapdiag.servers.index_remedies import expected_in_log, without_script
from ldapdiag.wording import counted, duration, durations, number, shown_time

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ldapdiag.report.headline import FirstStep

    Row = Mapping[str, Any]

THEN = "    then"
FEW = 4
"""Filters named in a line."""
MOST_ROWS = 100
"""Of the few lines of a plan; those of more are in the script alone."""
MONTH = 30 * 24 * 3600
NOT_KNOWN = (None, "not-exported")
"""Causes: the filter cannot be read, the schema in the evidence lacks its attribute."""


ADD = (
    Column("saves_seconds", "saves", SECONDS),
    Column("searches", "searches", COUNT),
    Column("types", "add", words(",".join)),
)
"""The indexes of a plan."""


class IndexScreen(ReportScreen):
    """The report of one audit, printed part by part."""

    __slots__ = ()
    within = IN_THE_PLAN

    def lead(self) -> tuple[Headline | None, FirstStep | None]:
        """Return what the report states first, and what to do first: where nothing is worse, the first plan."""
        first, plans = self.first(), self.plans()
        return first, first_step(self.document, first) or (self.step(plans[0]) if plans else None)

    def plans(self) -> list[Row]:
        """Return the plan of each server, that which saves most first."""
        return sorted(self.document["indexes"], key=lambda plan: -plan["saves_seconds"])

    def step(self, plan: Row) -> FirstStep | None:
        """Return what to do first with a plan; None if there is nothing to add."""
        return step_of_plan(plan, self.family_of(plan["server"]))

    def first(self) -> Headline | None:
        """Return the first sentence: the plan with the largest saving, or what is worse than that or all there is."""
        first, plans = ReportScreen.first(self), self.plans()
        if not plans or not plans[0]["plan"]:
            return first
        in_plan = [severity_of(finding) for finding in self.document["findings"] if finding["check"] in IN_THE_PLAN]
        worst = first.finding if first is not None else None
        outside = worst is not None and worst["check"] not in IN_THE_PLAN
        if worst is not None and outside and severity_of(worst) > max(in_plan, default=Severity.INFO):
            return first
        return Headline(PLAN, plans[0]["summary"])

    def body(self, first: Headline | None, step: FirstStep | None) -> None:
        """Print the head, unless that is a plan, the plans, and the findings outside them."""
        if first is not None and first.label != PLAN:
            print_head(self.page, self.document, first, step, verbose=self.verbose)
        for place, plan in enumerate(self.plans()):
            self.server(plan, is_first=place == 0 and first is not None and first.label == PLAN)
        self.findings(first, step)

    def server(self, plan: Row, *, is_first: bool) -> None:
        """Print the search time of one server, and its plan."""
        self.page.line(
            [
                plan["server"],
                f"{span(round(plan['log_seconds'] * SECOND))} of log",
                counted(plan["searches"], "search", "searches"),
                f"{duration(plan['etime_seconds'])} of search time, {unindexed_share(plan)} of it without an index",
                *filter(None, [unjudged_part(plan)]),
            ],
            "bold",
        )
        self.page.blank()
        self.plan(plan, is_first=is_first)
        self.other_searches(plan)
        self.not_planned(plan)
        self.page.blank()

    def plan(self, plan: Row, *, is_first: bool) -> None:
        """Print the indexes to add, the saving, and the commands."""
        self.page.labelled(PLAN, plan["summary"], _color(plan), "bold")
        step = self.step(plan)
        if step is None:
            return
        print_step(self.page, step, verbose=self.verbose, label=FIRST if is_first else THEN)
        self.table(plan)
        if not plan["configured"]:
            self.page.indented(
                "The index configuration is not in the evidence, so the cause is open: no index, not built yet, or "
                "more entries than the server's limit."
            )
            self.page.blank()
            return
        if not plan["remedies"]:
            self.page.blank()
        for remedy in plan["remedies"]:
            if remedy["kind"] != RemedyKind.LDIF:
                self.page.blank()
                self.commands(remedy, plan["server"])

    def commands(self, remedy: Row, server: str) -> None:
        """Print what a remedy of the plan changes, its risk, and its commands, if they are few or with -v."""
        if not self.verbose:
            self.page.indented(first_sentence(remedy["changes"]))
            text = brief_text(self.page, remedy, most_brief=MOST_ROWS)
            risk = first_sentence(remedy["risk"]) if remedy["brief"] else remedy["risk"]
            self.page.indented(f"risk: {risk}")
            if text:
                print_commands(self.page, text)
            if why := without_script(self.family_of(server)):
                self.page.indented(why)
                print_commands(self.page, f"{audit_command(self.document)} --ldif > plan.ldf")
                return
            what = "the same as a script" if text else "the commands as a script"
            self.page.indented(f"{what}, which checks each step and the answers of the index:")
            print_commands(self.page, f"{audit_command(self.document)} --script > plan.sh")
            return
        self.page.indented(remedy["changes"])
        self.page.indented(f"risk: {remedy['risk']}")
        print_commands(self.page, remedy["text"])
        if remedy["verify"]:
            self.page.indented("show the new setting, and the progress of the build:")
            print_commands(self.page, remedy["verify"])
        found = (index for index in self.missing_indexes(server) if index["remedies"])
        verify = next((remedy["verify"] for one in found for remedy in one["remedies"]), "")
        if verify:
            self.page.indented(f"verify: {expected_in_log(self.family_of(server))}")
            print_commands(self.page, verify)

    def missing_indexes(self, server: str) -> list[Row]:
        """Return the findings on missing indexes of a server."""
        return [
            finding
            for finding in self.document["findings"]
            if (finding["check"], finding["server"]) == ("missing-index", server)
        ]

    def judged(self, server: str, row: Row) -> list[str]:
        """Return severity and confidence of the finding on a row."""
        found = (
            index
            for index in self.missing_indexes(server)
            if (index["observed"]["backend"], index["observed"]["attribute"]) == (row["backend"], row["attribute"])
        )
        return [f"{one['severity']}, {one['confidence']}" for one in found][:1]

    def table(self, plan: Row) -> None:
        """Print the indexes to add, with their filters, accounts and clients."""
        rows = plan["plan"]
        names = AccountNames({requester["account"] for row in rows for requester in row["requesters"]})
        table = NumberTable(self.page, ADD, rows, bar_of="saves_seconds")
        table.header("attribute")
        for place, row in enumerate(rows):
            table.row(place, f"{row['attribute']}{_place(row, plan)}")
            who = [f"{names(requester['account'])} ({requester['client']})" for requester in row["requesters"]]
            parts = [
                *_some(row["shapes"], 2, verbose=self.verbose),
                *_some(list(dict.fromkeys(who)), 2, verbose=self.verbose),
                *self.judged(plan["server"], row),
                f"then each {row['then_each']}",
                *(f"makes {shape} slower" for shape in row["slows"]),
            ]
            for line in packed(parts, self.page.room - table.deeper):
                self.page.indented(line, "dim", deeper=table.deeper)

    def other_searches(self, plan: Row) -> None:
        """Print the searches that only a build or no index helps, or not worth one, harmless ones, unused indexes."""
        self.searches("not built", "an index is configured for these: build it", plan["not_built"], _why)
        self.indexed_later(plan)
        self.searches("pages", "not judged: each result may be a page of a larger one", plan["perhaps_pages"], _why)
        known = [row for row in plan["no_index_helps"] if row["cause"] not in NOT_KNOWN]
        unknown = [row for row in plan["no_index_helps"] if row["cause"] in NOT_KNOWN]
        self.searches("not judged", "whether an index would help", unknown, _why)
        self.searches("no index", "would help", known, _why)
        self.searches("not worth", "an index: they take little time", plan["not_worth_an_index"], _needs)
        if plan["outside_suffixes"]:
            many = counted(plan["outside_suffixes"], "search", "searches")
            text = f"{many} outside every suffix of the index configuration, not judged"
            self.page.labelled("elsewhere", text, "bold")
        if noted := plan["harmless"]:
            count, etime = sum(row["searches"] for row in noted), _etime(noted)
            shapes = _some(list(dict.fromkeys(row["shape"] for row in noted)), FEW, verbose=self.verbose)
            many, each = counted(count, "search", "searches"), duration(etime / count if count else 0)
            why = "the other parts of the filter, or the base, leave few entries"
            self.page.packed("harmless", [f"{many} noted as unindexed, {each} each: {why}", *shapes], "bold")
        if not_used := plan["not_used"]:
            unused = [f"{one['attribute']} {','.join(one['types'])}{_place(one, plan)}" for one in not_used]
            seconds = min(one["log_seconds"] for one in not_used)
            spanned = span(int(seconds * SECOND))
            keep = [] if seconds >= MONTH else ["keep them until a month of logs confirms this"]
            listed = _some(unused, 3 * FEW, verbose=self.verbose)
            self.page.packed("not used", [f"in {spanned} of log: {listed[0]}", *listed[1:], *keep], "bold")

    def indexed_later(self, plan: Row) -> None:
        """Print in one line the searches from before an index that answers them, or perhaps; with -v each."""
        if rows := plan["indexed_later"]:
            many = counted(sum(row["searches"] for row in rows), "search", "searches")
            why = "an index that answers them was, or may have been, added or built later"
            text = f"{many} ({duration(_etime(rows))}) not judged: {why}"
            since = plan["indexed_since"]
            needs = f"a log from {shown_time(since)} on" if since else "a later log"
            self.page.labelled("later", f"{text}; needs {needs}", "bold")
            for row in rows if self.verbose else ():
                self.page.indented(f"{number(row['searches'])} x {row['shape']}: {_why(row)}")

    def not_planned(self, plan: Row) -> None:
        """Print in one line the searches beyond the costliest kinds."""
        if (rest := plan.get("not_judged")) is None:
            return
        kinds = [f"{number(rest['kinds'])} more kinds"] if rest["kinds"] else []
        kinds += ["others counted together"] if rest["others"] else []
        many, took = counted(rest["searches"], "search", "searches"), duration(rest["etime_seconds"])
        bounds = rest["unindexed_etime_seconds"]
        unindexed = durations(bounds["least"], bounds["most"])
        judged = f"beyond the costliest {number(rest['judged_kinds'])} kinds"
        which = " and ".join(kinds)
        text = f"{many} {judged} ({took}, {unindexed} of it without an index) are not in the plan: {which}"
        self.page.labelled("not planned", text, "bold")

    def searches(self, label: str, text: str, rows: Sequence[Row], explain: Callable[[Row], str]) -> None:
        """Print searches by filter, each with the time it took."""
        if not rows:
            return
        self.page.labelled(label, f"{text} ({duration(_etime(rows))} in total)", "bold")
        shown = rows if self.verbose else rows[: 2 * FEW]
        width = max(len(duration(row["etime_seconds"])) for row in shown)
        for row in shown:
            times = f"{duration(row['etime_seconds']):>{width}}  {number(row['searches'])} x"
            self.page.indented(f"{times} {row['shape']}: {explain(row)}")
        if more := rows[len(shown) :]:
            self.page.indented(f"and {number(len(more))} more, {duration(_etime(more))} (-v shows them)")

    def findings(self, first: Headline | None, step: FirstStep | None) -> None:
        """Print the findings outside the plan: indexes that are not built, harmful, or differ; unknown attributes."""
        for finding in self.others(first):
            shown = finding["acceptance"] or (self.verbose and severity_of(finding) > Severity.INFO)
            if finding["check"] not in IN_THE_PLAN or shown:
                self.finding(finding, step)


def _color(plan: Row) -> str:
    return "bold red" if plan["plan"] else "bold" if plan["unjudged"]["searches"] else "bold green"


def _etime(rows: Sequence[Row]) -> float:
    return fsum(row["etime_seconds"] for row in rows)


def _place(row: Row, plan: Row) -> str:
    """Return the database that a line is about, of a server with several."""
    return f" of {row['backend']}" if row["backend"] is not None and len(plan["backends"]) > 1 else ""


def _why(row: Row) -> str:
    """Return the obstacle, and the part of the filter it is in."""
    part = row["part"] if row["part"] != row["shape"] else ""
    return f"{part or ''} {row['reason'] or ''}".strip()


def _needs(row: Row) -> str:
    """Return indexes that would help, with their databases where a search examines several."""
    several = len(row["backends"]) > 1
    wanted = (
        f"{one['attribute']} {one['type']} {one['rule'] or ''}".strip() + (f" of {one['backend']}" if several else "")
        for one in row["wants"][0]
    )
    return f"needs {', '.join(wanted)}"


def _some(texts: list[str], most: int, *, verbose: bool) -> list[str]:
    """Return the first few, and how many more there are."""
    if verbose or len(texts) <= most:
        return texts
    return [*texts[:most], f"{number(len(texts) - most)} more"]
