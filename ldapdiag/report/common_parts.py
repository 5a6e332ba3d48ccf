"""What the screens of `diagnose`, `indexes` and `storage` share: the order of their parts, and most of these.

What to collect, for the products that are there: the parts of a hint about other products are left out.

A hint is parts joined by "; ". A part about some products begins with their names: `389-ds: its dse.ldif`.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.evidence.family import Family
from ldapdiag.finding import Crashed, Severity
from ldapdiag.report.findings import TITLE, print_finding
from ldapdiag.report.head import print_former, print_outcomes, print_reprise, remarks_on
from ldapdiag.report.headline import NOT_READ, first_step, headline
from ldapdiag.report.not_judged import groups_of, lacks_of
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from ldapdiag.diagnosis import Diagnosis
    from ldapdiag.finding import Finding
    from ldapdiag.report.headline import FirstStep, Headline
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
class ReportScreen:
    """The report of one diagnosis, printed part by part; each command has its own body."""

    page: Page
    diagnosis: Diagnosis
    verbose: bool
    at_least: Severity = Severity.INFO
    within: ClassVar[Collection[str]] = frozenset()
    """Checks whose findings the body contains in another form, whatever their severity."""

    def show(self) -> None:
        """Print every part."""
        first, step = self.lead()
        self.shortfall()
        self.servers()
        print_outcomes(self.page, self.diagnosis)
        self.page.blank()
        self.body(first, step)
        self.hidden(self.at_least, but=self.within)
        self.former()
        self.crashed()
        self.clear()
        self.not_judged()
        self.decisions()
        self.gaps()
        if self.verbose:
            self.evidence()
        self.footer()
        print_reprise(self.page, self.diagnosis, first, step)

    def lead(self) -> tuple[Headline | None, FirstStep | None]:
        """Return what the report states first, and what to do first."""
        first = headline(self.diagnosis, self.at_least)
        return first, first_step(self.diagnosis, first)

    def servers(self) -> None:
        """Print what stands above the number of verdicts: by default nothing."""

    def body(self, first: Headline | None, step: FirstStep | None) -> None:
        """Print the head, and what the command is about."""
        raise NotImplementedError

    def clear(self) -> None:
        """Print what is clear, where the body has not."""

    def others(self, first: Headline | None) -> Iterator[tuple[str, Finding]]:
        """Yield the findings besides that of the headline, each with its check."""
        for check, finding in self.diagnosis.found:
            if finding.severity >= self.at_least and (first is None or finding is not first.finding):
                yield check, finding

    def finding(
        self,
        check: str,
        finding: Finding,
        step: FirstStep | None,
        *,
        brief: bool = False,
        series: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """Print a finding of a check; `series`: its numbers over time, `brief`: without explanation and commands."""
        print_finding(
            self.page,
            finding,
            check,
            verbose=self.verbose,
            step=step,
            brief=brief,
            series=series,
            remarks=remarks_on(self.diagnosis, check, finding),
        )

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
