"""The report of a diagnosis as text: the main finding in one sentence, then its numbers, then what to run."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.idle.keepalive import GhostLifetime
from ldapdiag.analysis.load.descriptors import Descriptors
from ldapdiag.finding import Clear, Crashed, Severity
from ldapdiag.report.findings import print_finding
from ldapdiag.report.not_judged import FEW, groups_of
from ldapdiag.report.page import Page, page_for
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from ldapdiag.diagnosis import Diagnosis

REASONS = 50
"""Reasons why something was not judged shown without -v."""
NAMES = 50
"""Subjects named for one reason with -v."""

GRAVE = 50
"""Findings of one check at high or critical shown without -v."""

ROWS = 5
"""Lines of one kind shown without -v: gaps, clear subjects of a check with findings, lesser findings of one check."""


def print_report(diagnosis: Diagnosis, stream: TextIO, *, verbose: bool = False) -> None:
    """Write the report."""
    Screen(page_for(stream), diagnosis, verbose=verbose).show()


@dataclass(slots=True)
class Screen:
    """The report of one diagnosis, printed part by part."""

    page: Page
    diagnosis: Diagnosis
    verbose: bool

    def show(self) -> None:
        """Print every part: a shortfall, servers, findings, clear subjects, subjects not judged, gaps, the footer."""
        self.shortfall()
        for server in (servers := self.diagnosis.facts.every(Instance)):
            self.page.packed(server.name, self.summary(server), "bold", "bold")
        if servers:
            self.page.blank()
        self.findings()
        self.crashed()
        self.clear()
        self.not_judged()
        self.gaps()
        if self.verbose:
            self.evidence()
        self.footer()

    def shortfall(self) -> None:
        """Print that the main evidence is missing, or that most of it was passed over."""
        if missing := self.diagnosis.shortfall:
            self.page.labelled("NOT READ", missing.reason, "bold red", "bold")
            self.page.indented(f"how: {missing.how}", "dim")
            self.page.blank()

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

    def crashed(self) -> None:
        """Print the checks that have a bug."""
        for one in self.diagnosis.judged:
            if isinstance(one.verdict, Crashed):
                where = f" at {one.verdict.where}" if one.verdict.where else ""
                text = f"{one.check}: {one.verdict.reason}{where}; nothing is claimed"
                self.page.labelled("CRASHED", text, "bold red", "bold")

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

    def not_judged(self) -> None:
        """Print what was not judged, each reason once, and the evidence that would change that."""
        groups = list(groups_of(self.diagnosis.judged, names=NAMES if self.verbose else FEW))
        shown = groups if self.verbose else groups[:REASONS]
        for number, group in enumerate(shown):
            self.page.labelled("" if number else "not judged", group.text, "bold")
            if group.how:
                self.page.indented(f"how: {group.how}", "dim")
        if len(groups) > len(shown):
            self.page.indented(f"and {len(groups) - len(shown):,} more reasons (-v shows them)")

    def gaps(self) -> None:
        """Print the evidence that was not collected or not readable, and what to do."""
        gaps = self.diagnosis.bundle.gaps
        shown = gaps if self.verbose else gaps[:ROWS]
        for number, gap in enumerate(shown):
            self.page.labelled("" if number else "gaps", f"{gap.target.removesuffix(':')}: {gap.reason}", "bold")
            if gap.how:
                self.page.indented(f"how: {gap.how}", "dim")
        if len(gaps) > len(shown):
            self.page.indented(f"and {len(gaps) - len(shown)} more (-v lists them)")

    def evidence(self) -> None:
        """Print the inputs that were read, with their quality, and the files that were passed over."""
        for number, fact in enumerate(self.diagnosis.bundle.facts):
            origin = fact.origin
            of = f" of {origin.host}" if origin.host else ""
            damage = f", {origin.not_understood:,} not understood: {origin.samples[0]!r}" if origin.samples else ""
            text = f"{origin.path}: {fact.kind}{of}, {counted(origin.lines, 'line')}{damage}"
            self.page.labelled("" if number else "read", text, "bold")
            for note in origin.notes:
                self.page.indented(note, deeper=3)
        passed_over = [f"{one.target}: {one.reason}" for one in self.diagnosis.bundle.passed_over]
        self.page.listed("passed over", passed_over, "bold")

    def footer(self) -> None:
        """Print the totals, and where to read on."""
        bundle, findings = self.diagnosis.bundle, self.diagnosis.findings
        files = {fact.origin.path: fact.origin.not_understood for fact in bundle.facts}
        counts = Counter(finding.severity for finding in findings)
        noted = (Severity.CRITICAL, Severity.INFO)
        hidden = bundle.passed_over and not self.verbose
        parts = [
            counted(len(findings), "finding"),
            *(f"{counts[severity]:,} {severity}" for severity in noted if counts[severity]),
            f"evidence: {counted(len(self.diagnosis.hosts), 'host')}",
            counted(len(files), "file"),
            f"{counted(sum(files.values()), 'line')} not understood",
            *([f"{counted(len(bundle.passed_over), 'file')} passed over (-v lists them)"] if hidden else []),
        ]
        self.page.blank()
        self.page.line(parts, "dim")
        if len(findings) > counts[Severity.INFO]:
            more = [] if self.verbose else ["-v shows every command"]
            self.page.line([f"ldapdiag checks {self.diagnosis.found[0][0]} explains", *more], "dim")
