"""The parts that the reports of `diagnose` and `indexes` share: what was not read or not judged, and the totals.

What to collect, for the products that are there: the parts of a hint about other products are left out.

A hint is parts joined by "; ". A part about some products begins with their names: `389-ds: its dse.ldif`.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.evidence.family import Family
from ldapdiag.finding import Crashed, Severity
from ldapdiag.report.findings import TITLE
from ldapdiag.report.head import print_former
from ldapdiag.report.headline import NOT_READ
from ldapdiag.report.not_judged import groups_of, lacks_of
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from collections.abc import Collection

    from ldapdiag.diagnosis import Diagnosis
    from ldapdiag.report.not_judged import Lack
    from ldapdiag.report.page import Page

MOST_ROWS = 10
"""Lines on what was not judged without -v."""
MOST_OF_ONE = 2
"""Lines of one reason without -v, together with how to collect what it lacks."""
NAMES = 50
"""Subjects named for one reason with -v."""

ROWS = 5
"""Lines of one kind shown without -v: gaps, clear subjects of a check with findings, lesser findings of one check."""


@dataclass(slots=True)
class CommonParts:
    """The parts of the report of one diagnosis that say what it is based on."""

    page: Page
    diagnosis: Diagnosis
    verbose: bool

    def shortfall(self) -> None:
        """Print that the main evidence is missing, or that most of it was passed over."""
        if missing := self.diagnosis.shortfall:
            most = None if self.verbose else TITLE
            self.page.labelled(NOT_READ, missing.reason, "bold red", "bold", most=most)
            self.page.indented(f"how: {missing.how}", "dim", most=most)
            self.page.blank()

    def former(self) -> None:
        """Print the findings of the baseline that are gone or not seen."""
        print_former(self.page, self.diagnosis.changes, verbose=self.verbose)

    def hidden(self, at_least: Severity, *, but: Collection[str] = ()) -> None:
        """Print how many findings --severity hides, so that no report looks clear; not those of checks shown anyway."""
        counts = Counter(
            finding.severity
            for check, finding in self.diagnosis.found
            if finding.severity < at_least and check not in but
        )
        if counts:
            each = [f"{counts[severity]:,} {severity}" for severity in sorted(counts, reverse=True)]
            text = f"{counted(counts.total(), 'finding')} below {at_least}: {', '.join(each)}"
            self.page.labelled("hidden", f"{text} (--severity info shows them)", "bold")
            self.page.blank()

    def crashed(self) -> None:
        """Print the checks that have a bug."""
        for one in self.diagnosis.judged:
            if isinstance(one.verdict, Crashed):
                where = f" at {one.verdict.where}" if one.verdict.where else ""
                text = f"{one.check}: {one.verdict.reason}{where}; nothing is claimed"
                self.page.labelled("CRASHED", text, "bold red", "bold")

    def decisions(self) -> None:
        """Print the checks that the site has disabled, with its reasons, and what it should look at."""
        for number, note in enumerate(self.diagnosis.notes[: None if self.verbose else ROWS]):
            self.page.labelled("" if number else "site", note, "bold")
        rows = list(self.diagnosis.disabled.items())
        shown = rows if self.verbose else rows[:ROWS]
        for number, (check, reason) in enumerate(shown):
            self.page.labelled("" if number else "disabled", f"{check}: {reason}", "bold")
        if len(rows) > len(shown):
            self.page.indented(f"and {len(rows) - len(shown)} more (-v lists them)")

    def not_judged(self) -> None:
        """Print what was not judged by the evidence that would change it; with -v by reason, with the checks."""
        if self.verbose:
            self.reasons()
            return
        lacks = lacks_of(self.diagnosis.judged)
        if not lacks:
            return
        checks = {check for lack in lacks for check in lack.checks}
        self.page.labelled("not judged", f"{counted(len(checks), 'check')} (-v names them)", "bold")
        digits, left = len(str(len(lacks[0].checks))), MOST_ROWS - 1
        for number, lack in enumerate(lacks):
            parts = self.lack(lack)
            most = MOST_OF_ONE // len(parts)
            rows = len(self.page.numbered_lines(parts, digits=digits, most=most))
            if rows > left - (number < len(lacks) - 1):
                self.page.indented(f"and {counted(len(lacks) - number, 'more reason')} (-v shows them)")
                return
            self.page.numbered(len(lack.checks), parts, digits=digits, most=most)
            left -= rows

    def lack(self, lack: Lack) -> list[str]:
        """Return the parts of the line about lacking evidence: the reason, and how to collect it."""
        alike = f", and {lack.alike:,} more like it" if lack.alike else ""
        how = hint_for(lack.how, self.families) if lack.how else ""
        return [f"{lack.reason}{alike}", *([how] if how else [])]

    @property
    def families(self) -> frozenset[Family]:
        """Return the products of the servers, as far as they are known."""
        return frozenset(one.family for one in self.diagnosis.facts.every(Instance) if one.family)

    def reasons(self) -> None:
        """Print what was not judged, each reason once, and the evidence that would change that."""
        for number, group in enumerate(groups_of(self.diagnosis.judged, names=NAMES)):
            self.page.labelled("" if number else "not judged", group.text, "bold")
            how = group.how and (hint_for(group.how, self.families) or group.how)
            if how:
                self.page.indented(f"how: {how}", "dim")

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
        for number, fact in enumerate(self.diagnosis.bundle.inputs):
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
        hidden = bundle.passed_over and not self.verbose
        parts = [
            f"evidence: {counted(len(self.diagnosis.hosts), 'host')}",
            counted(len(files), "file"),
            f"{counted(sum(files.values()), 'line')} not understood",
            *([f"{counted(len(bundle.passed_over), 'file')} passed over (-v lists them)"] if hidden else []),
        ]
        self.page.blank()
        self.page.line(parts, "dim")
        if findings and findings[0].severity > Severity.INFO:
            more = [] if self.verbose else ["-v shows every command"]
            self.page.line([f"ldapdiag checks {self.diagnosis.found[0][0]} explains", *more], "dim")


HINTED_NAMES = {family.short: family for family in Family}
"""The products, as hints name them."""

HINTED_NAME = "|".join(map(re.escape, HINTED_NAMES))
PART = re.compile(
    rf"(?P<names>(?:{HINTED_NAME})(?:(?:, | and )(?:{HINTED_NAME}))*)(?:: |, (?=[^;]*: ))(?P<text>.+)", re.DOTALL
)
SEPARATOR = "; "


def hint_for(how: str, families: Collection[Family]) -> str:
    """Return a hint without the parts about products other than these; with none known, the general parts alone."""
    kept = [_part(part, families) for part in how.split(SEPARATOR)]
    return SEPARATOR.join(filter(None, kept))


def _part(part: str, families: Collection[Family]) -> str:
    """Return a part as it is printed: whole if general, without names if about the only product, else empty."""
    found = PART.fullmatch(part)
    if found is None:
        return part
    about = {HINTED_NAMES[name] for name in re.split(r", | and ", found["names"])}
    if about.isdisjoint(families):
        return ""
    return found["text"] if len(families) == 1 else part
