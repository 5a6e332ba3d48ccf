"""The report of a diagnosis as text: the main finding in one sentence, then its numbers, then what to run."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.idle.keepalive import GhostLifetime
from ldapdiag.analysis.load.descriptors import Descriptors
from ldapdiag.finding import Clear, Severity
from ldapdiag.report.color import Color
from ldapdiag.report.common_parts import ROWS, CommonParts
from ldapdiag.report.findings import print_finding
from ldapdiag.report.page import Page, page_for
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from ldapdiag.diagnosis import Diagnosis

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


@dataclass(slots=True)
class Screen:
    """The report of one diagnosis, printed part by part."""

    page: Page
    diagnosis: Diagnosis
    verbose: bool
    at_least: Severity = Severity.INFO

    def show(self) -> None:
        """Print every part: a shortfall, servers, findings, clear subjects, subjects not judged, gaps, the footer."""
        common = CommonParts(self.page, self.diagnosis, verbose=self.verbose)
        common.shortfall()
        for server in (servers := self.diagnosis.facts.every(Instance)):
            self.page.packed(server.name, self.summary(server), "bold", "bold")
        if servers:
            self.page.blank()
        self.findings()
        common.hidden(self.at_least)
        common.crashed()
        self.clear()
        common.not_judged()
        common.gaps()
        if self.verbose:
            common.evidence()
        common.footer()

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

    def findings(self) -> None:
        """Print every finding; of the lesser ones of a check only the first few, and of many grave ones the first."""
        counts: Counter[tuple[str, bool]] = Counter()
        for check, finding in self.diagnosis.found:
            if finding.severity < self.at_least:
                continue
            grave = finding.severity >= Severity.HIGH
            counts[check, grave] += 1
            if self.verbose or counts[check, grave] <= (GRAVE if grave else ROWS):
                print_finding(self.page, finding, check, verbose=self.verbose)
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
            self.page.packed("" if shown else "clear", whole, "green")
