"""What the screens of `diagnose`, `indexes` and `storage` share: the order of their parts, and most of these.

What to collect, for the products that are there: the parts of a hint about other products are left out.

A hint is parts joined by "; ". A part about some products begins with their names: `389-ds: its dse.ldif`.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any, ClassVar, TextIO

from ldapdiag.evidence.family import Family
from ldapdiag.finding import Severity
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern
from ldapdiag.report.color import Color
from ldapdiag.report.findings import TITLE, print_finding
from ldapdiag.report.head import print_former, print_grown, print_outcomes, print_reprise
from ldapdiag.report.headline import NOT_READ, first_step, headline
from ldapdiag.report.not_judged import groups_of, lacks_of
from ldapdiag.report.page import page_for
from ldapdiag.report.verdicts import lines_not_understood, of_outcome, severity_of
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

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
    """A report object on a screen, printed part by part; each command has its own body."""

    page: Page
    document: Mapping[str, Any]
    verbose: bool
    at_least: Severity = Severity.INFO
    within: ClassVar[Collection[str]] = frozenset()
    """Checks whose findings the body contains in another form, whatever their severity."""

    @classmethod
    def write(
        cls,
        document: Mapping[str, Any],
        stream: TextIO,
        *,
        verbose: bool = False,
        color: Color = Color.AUTO,
        at_least: Severity = Severity.INFO,
    ) -> None:
        """Write the report, with the findings of a severity and above."""
        cls(page_for(stream, color), document, verbose=verbose, at_least=at_least).show()

    def show(self) -> None:
        """Print every part."""
        first, step = self.lead()
        self.shortfall()
        self.servers()
        print_outcomes(self.page, self.document)
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
        print_reprise(self.page, self.document, first, step)
        print_grown(self.page, self.document, verbose=self.verbose)

    def lead(self) -> tuple[Headline | None, FirstStep | None]:
        """Return what the report states first, and what to do first."""
        first = self.first()
        return first, first_step(self.document, first)

    def first(self) -> Headline | None:
        """Return the first sentence; None if the worst finding is below the severity that is printed."""
        first = headline(self.document)
        hidden = first.finding is not None and severity_of(first.finding) < self.at_least
        return None if hidden else first

    def servers(self) -> None:
        """Print what stands above the number of verdicts: by default nothing."""

    def body(self, first: Headline | None, step: FirstStep | None) -> None:
        """Print the head, and what the command is about."""
        raise NotImplementedError

    def clear(self) -> None:
        """Print what is clear, where the body has not."""

    def others(self, first: Headline | None) -> Iterator[Mapping[str, Any]]:
        """Yield the findings besides that of the headline."""
        for finding in self.document["findings"]:
            if severity_of(finding) >= self.at_least and (first is None or finding is not first.finding):
                yield finding

    def finding(self, finding: Mapping[str, Any], step: FirstStep | None, *, brief: bool = False) -> None:
        """Print a finding; `brief`: without explanation and commands."""
        series = self.document["series"]
        print_finding(self.page, finding, verbose=self.verbose, step=step, brief=brief, series=series)

    def shortfall(self) -> None:
        """Print that the main evidence is missing, or that most of it was passed over."""
        if missing := self.document["shortfall"]:
            most = None if self.verbose else TITLE
            self.page.labelled(NOT_READ, missing["reason"], "bold red", "bold", most=most)
            self.page.indented(f"how: {missing['how']}", "dim", most=most)
            self.page.blank()

    def former(self) -> None:
        """Print the findings of the baseline that are gone or not seen."""
        print_former(self.page, self.document["baseline"], verbose=self.verbose)

    def hidden(self, at_least: Severity, *, but: Collection[str] = ()) -> None:
        """Print how many findings --severity hides, so that no report looks clear; not those of checks shown anyway."""
        severities = ((finding["check"], severity_of(finding)) for finding in self.document["findings"])
        counts = Counter(severity for check, severity in severities if severity < at_least and check not in but)
        if counts:
            each = [f"{counts[severity]:,} {severity}" for severity in sorted(counts, reverse=True)]
            text = f"{counted(counts.total(), 'finding')} below {at_least}: {', '.join(each)}"
            self.page.labelled("hidden", f"{text} (--severity info shows them)", "bold")
            self.page.blank()

    def crashed(self) -> None:
        """Print the checks that have a bug."""
        for one in of_outcome(self.document, "crashed"):
            self.page.labelled("CRASHED", f"{one['check']}: {one['reason']}; nothing is claimed", "bold red", "bold")

    def decisions(self) -> None:
        """Print the checks that the site has disabled, with its reasons, and what it should look at."""
        notes = (self.document["tool"]["config"] or {}).get("notes", ())
        for number, note in enumerate(notes[: None if self.verbose else ROWS]):
            self.page.labelled("" if number else "site", note, "bold")
        rows = self.document["disabled"]
        shown = rows if self.verbose else rows[:ROWS]
        for number, row in enumerate(shown):
            self.page.labelled("" if number else "disabled", f"{row['check']}: {row['reason']}", "bold")
        if len(rows) > len(shown):
            self.page.indented(f"and {len(rows) - len(shown)} more (-v lists them)")

    def not_judged(self) -> None:
        """Print what was not judged by the evidence that would change it; with -v by reason, with the checks."""
        if self.verbose:
            self.reasons()
            return
        lacks = lacks_of(self.document["verdicts"])
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
        return frozenset(Family(server["family"]) for server in self.document["servers"] if server["family"])

    def server_row(self, name: str) -> Mapping[str, Any] | None:
        """Return what the report says of a server itself; None: nothing."""
        return next((server for server in self.document["servers"] if server["name"] == name), None)

    def family_of(self, name: str) -> Family | None:
        """Return the product of a server, if it is known."""
        server = self.server_row(name)
        return Family(server["family"]) if server and server["family"] else None

    def reasons(self) -> None:
        """Print what was not judged, each reason once, and the evidence that would change that."""
        for number, group in enumerate(groups_of(self.document["verdicts"], names=NAMES)):
            self.page.labelled("" if number else "not judged", group.text, "bold")
            how = group.how and (hint_for(group.how, self.families) or group.how)
            if how:
                self.page.indented(f"how: {how}", "dim")

    def gaps(self) -> None:
        """Print the evidence that was not collected or not readable, and what to do."""
        gaps = self.document["gaps"]
        shown = gaps if self.verbose else gaps[:ROWS]
        for number, gap in enumerate(shown):
            text = f"{gap['target'].removesuffix(':')}: {gap['reason']}"
            self.page.labelled("" if number else "gaps", text, "bold")
            if gap["how"]:
                self.page.indented(f"how: {gap['how']}", "dim")
        if len(gaps) > len(shown):
            self.page.indented(f"and {len(gaps) - len(shown)} more (-v lists them)")

    def evidence(self) -> None:
        """Print the inputs that were read, with their quality, and the files that were passed over."""
        for number, one in enumerate(self.document["evidence"]):
            of = f" of {one['host']}" if one["host"] else ""
            many, sample = one["lines_not_understood"], one["sample_not_understood"]
            damage = f", {many:,} not understood: {sample!r}" if sample is not None else ""
            text = f"{one['origin']}: {one['fact']}{of}, {counted(one['lines'], 'line')}{damage}"
            self.page.labelled("" if number else "read", text, "bold")
            for note in one["notes"]:
                self.page.indented(note, deeper=3)
        passed_over = [f"{one['target']}: {one['reason']}" for one in self.document["passed_over"]]
        self.page.listed("passed over", passed_over, "bold")

    def footer(self) -> None:
        """Print the totals, and where to read on."""
        findings, passed_over = self.document["findings"], self.document["passed_over"]
        files = lines_not_understood(self.document["evidence"])
        parts = [
            f"evidence: {counted(len(self.document['hosts']), 'host')}",
            counted(len(files), "file"),
            f"{counted(sum(files.values()), 'line')} not understood",
        ]
        if passed_over and not self.verbose:
            parts.append(f"{counted(len(passed_over), 'file')} passed over (-v lists them)")
        self.page.blank()
        self.page.line(parts, "dim")
        if findings and findings[0]["severity"] != "info":
            more = [] if self.verbose else ["-v shows every command"]
            self.page.line([f"ldapdiag checks {findings[0]['check']} explains", *more], "dim")


HINTED_NAMES = {family.short: family for family in Family}
"""The products, as hints name them."""

HINTED_NAME = "|".join(map(re.escape, HINTED_NAMES))
PART = pattern(
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
