"""The report of a diagnosis as text: the main finding in one sentence, then its numbers, then what to run."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, TextIO

from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.idle.keepalive import GhostLifetime
from ldapdiag.analysis.load.descriptors import Descriptors
from ldapdiag.finding import Clear, Severity
from ldapdiag.report.charts.of_finding import GROWTH
from ldapdiag.report.color import Color
from ldapdiag.report.common_parts import ROWS, ReportScreen
from ldapdiag.report.head import print_head
from ldapdiag.report.indexes.plan_block import contained, planned, print_plan
from ldapdiag.report.page import packed, page_for
from ldapdiag.report.series import series
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ldapdiag.diagnosis import Diagnosis
    from ldapdiag.report.headline import FirstStep, Headline

IN_FULL = 3
"""Findings of one check with chart, sentences and commands, without -v; further ones have their title and remedies'."""
CLEAR_ROWS = 3
"""Lines that name the checks which are clear, without -v."""
SERVERS = 2
"""Servers described without -v."""
GRAVE = 50
"""Findings of one check at high or critical shown without -v."""


def print_report(
    diagnosis: Diagnosis,
    stream: TextIO,
    *,
    verbose: bool = False,
    color: Color = Color.AUTO,
    at_least: Severity = Severity.INFO,
) -> None:
    """Write the report, with the findings of a severity and above."""
    Screen(page_for(stream, color), diagnosis, verbose=verbose, at_least=at_least).show()


class Screen(ReportScreen):
    """The report of one diagnosis, printed part by part."""

    __slots__ = ()

    def body(self, first: Headline | None, step: FirstStep | None) -> None:
        """Print the head, and the other findings."""
        over_time = series(self.diagnosis.facts) if GROWTH in {check for check, _ in self.diagnosis.found} else ()
        if first is not None:
            print_head(self.page, self.diagnosis, first, step, over_time, verbose=self.verbose)
        self.findings(first, step, over_time)

    def servers(self) -> None:
        """Print a line on each server; without -v on the first few."""
        servers = self.diagnosis.facts.every(Instance)
        shown = servers if self.verbose else servers[:SERVERS]
        for server in shown:
            self.page.packed(server.name, self.summary(server), "bold", "bold", most=None if self.verbose else 2)
        if len(servers) > len(shown):
            self.page.indented(f"and {counted(len(servers) - len(shown), 'more server')} (-v lists them)")

    def summary(self, server: Instance) -> list[str]:
        """Return the first line on a server: product, connections, descriptors, idle timeout."""
        parts = [server.description]
        if server.established is not None:
            parts.append(counted(server.established, "connection"))
        descriptors = self.diagnosis.facts.of(Descriptors, server.name)
        if descriptors is not None and descriptors.used is not None and descriptors.limit is not None:
            text = f"{descriptors.used:,} of {descriptors.limit:,} descriptors"
            parts.append(f"{descriptors.limit:,} at most" if descriptors.counts_only_connections else text)
        lifetime = self.diagnosis.facts.of(GhostLifetime, server.name)
        if lifetime is not None and lifetime.idle_timeout_seconds is not None:
            seconds = lifetime.idle_timeout_seconds
            parts.append(f"idle timeout {f'{seconds:,} s' if seconds else 'off'}")
        return parts

    def findings(self, first: Headline | None, step: FirstStep | None, over_time: Sequence[Mapping[str, Any]]) -> None:
        """Print the other findings; of the lesser ones of a check only the first few, and of many grave ones."""
        counts: Counter[tuple[str, bool]] = Counter()
        plans = [] if self.verbose else planned(self.diagnosis)
        contents = enumerate(contained(self.diagnosis, plan) for plan, _ in plans)
        in_plan = {id(finding): place for place, findings in contents for finding in findings}
        printed = set[int]()
        for check, finding in self.diagnosis.found:
            if finding.severity < self.at_least:
                continue
            if (place := in_plan.get(id(finding))) is not None:
                if place not in printed:
                    printed.add(place)
                    print_plan(self.page, self.diagnosis, *plans[place], step)
                continue
            grave = finding.severity >= Severity.HIGH
            counts[check, grave] += 1
            within = counts[check, grave] <= (GRAVE if grave else ROWS)
            if (self.verbose or within) and (first is None or finding is not first.finding):
                brief = not self.verbose and counts[check, grave] > IN_FULL
                self.finding(check, finding, step, brief=brief, series=over_time)
        for (check, grave), number in counts.items():
            more = number - (GRAVE if grave else ROWS)
            if more > 0 and not self.verbose:
                severe = " at high or critical" if grave else ""
                self.page.indented(f"and {more:,} more of {check}{severe} (-v shows them)")
                self.page.blank()

    def clear(self) -> None:
        """Print the clear subjects: in full for checks that also have findings, else the checks by name."""
        found = {check for check, _ in self.diagnosis.found}
        verdicts = Counter(one.check for one in self.diagnosis.judged)
        reasons: dict[str, list[str]] = defaultdict(list)
        for one in self.diagnosis.judged:
            if isinstance(one.verdict, Clear):
                reasons[one.check].append(f"{one.verdict.subject}: {one.verdict.reason}  ({one.check})")
        lines = [line for check, all_of in reasons.items() if check in found or self.verbose for line in all_of]
        shown = lines if self.verbose else lines[:ROWS]
        self.page.listed("clear", shown, "green")
        if len(lines) > len(shown):
            self.page.indented(f"and {len(lines) - len(shown)} more (-v shows them)")
        whole = [
            f"{check} ({len(all_of)} of {verdicts[check]})" if len(all_of) < verdicts[check] else check
            for check, all_of in reasons.items()
            if check not in found and not self.verbose
        ]
        if whole:
            self.page.packed("" if shown else "clear", whole if self.verbose else self.few(whole), "green")

    def few(self, names: list[str]) -> list[str]:
        """Return the names of a few lines, and the number of the others."""
        for number in range(len(names), 0, -1):
            more = [f"{len(names) - number} more (-v names them)"] if number < len(names) else []
            if len(list(packed([*names[:number], *more], self.page.room))) <= CLEAR_ROWS:
                return [*names[:number], *more]
        return names
