"""A diagnosis for a person: the sentence to say on the phone first, then its numbers, then what to run."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from ldapdiag.analysis.descriptors import Descriptors
from ldapdiag.analysis.keepalive import GhostLifetime
from ldapdiag.analysis.servers import DirectoryServer
from ldapdiag.finding import Clear, Crashed, Finding, NotJudged, Severity
from ldapdiag.report.charts import bars
from ldapdiag.report.page import Page, page_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.diagnosis import Diagnosis
    from ldapdiag.remedy import Remedy

ROWS = 5
"""Rows of a share, and gaps, shown without -v."""

STYLES = {
    Severity.CRITICAL: "bold red",
    Severity.HIGH: "red",
    Severity.MEDIUM: "magenta",
    Severity.LOW: "bold",
    Severity.INFO: "dim",
}
"""Colours that can be read on a light ground and on a dark one; the word beside them says it all again."""


def print_report(diagnosis: Diagnosis, stream: TextIO, *, verbose: bool = False) -> None:
    """Write the report."""
    Screen(page_for(stream), diagnosis, verbose=verbose).show()


@dataclass(slots=True)
class Screen:
    """One report on its way to a page."""

    page: Page
    diagnosis: Diagnosis
    verbose: bool

    def show(self) -> None:
        """Print every part, in the order of SCREENS: servers, findings, what is clear, what is not judged."""
        for server in self.diagnosis.facts.every(DirectoryServer):
            self.page.labelled(server.host, self.summary(server), "bold", "bold")
        self.page.blank()
        for check, finding in self.diagnosis.found:
            self.finding(finding, check)
        self.crashed()
        self.clear()
        self.not_judged()
        self.gaps()
        if self.verbose:
            self.evidence()
        self.footer()

    def summary(self, server: DirectoryServer) -> str:
        """Return a server in one line."""
        parts = [str(server.identity or "directory server")]
        if server.established is not None:
            parts.append(f"{server.established} connections")
        descriptors = self.diagnosis.facts.of(Descriptors, server.host)
        if descriptors is not None and descriptors.used is not None and descriptors.limit is not None:
            parts.append(f"{descriptors.used} descriptors of {descriptors.limit}")
        lifetime = self.diagnosis.facts.of(GhostLifetime, server.host)
        if lifetime is not None and lifetime.idle_timeout_seconds is not None:
            seconds = lifetime.idle_timeout_seconds
            parts.append(f"idle timeout {f'{seconds} s' if seconds else 'off'}")
        return " · ".join(parts)

    def finding(self, finding: Finding, check: str) -> None:
        """Print one finding: title, picture, sentences, remedies."""
        grave = finding.severity >= Severity.HIGH
        label = str(finding.severity).upper() if grave else str(finding.severity)
        self.page.labelled(label, finding.title, STYLES[finding.severity], "bold" if grave else "")
        for row in self.picture(finding):
            self.page.row(row)
        for sentence in finding.detail.splitlines() if self.verbose or grave else ():
            self.page.indented(sentence)
        self.page.indented(f"{check} · {finding.confidence}", "dim")
        if self.verbose:
            self.page.indented(f"from {', '.join(finding.origins)}", "dim")
        for number, remedy in enumerate(finding.remedies, 1):
            self.remedy(number, remedy)
        self.page.blank()

    def picture(self, finding: Finding) -> Iterator[str]:
        """Yield the bars that carry a finding's numbers."""
        observed = finding.observed
        if observed.get("client_count") is not None and observed.get("server_count") is not None:
            hosts = " + ".join(observed.get("client_hosts") or [str(observed.get("client"))])
            ends = [(f"at {finding.server}", observed["server_count"]), (f"at {hosts}", observed["client_count"])]
            yield from bars(ends, self.page.room)
        if rows := observed.get("by_account"):
            yield from self.shares([(row["bind_dn"], row["connections"]) for row in rows])
        elif rows := observed.get("by_client"):
            yield from self.shares([(row["client"], row["connections"]) for row in rows])

    def shares(self, rows: list[tuple[str, int]]) -> Iterator[str]:
        """Yield the largest shares, all of them with -v."""
        shown = rows if self.verbose else rows[:ROWS]
        yield from bars(shown, self.page.room)
        if len(rows) > len(shown):
            rest = sum(count for _, count in rows[len(shown) :])
            yield f"and {len(rows) - len(shown)} more with {rest}"

    def remedy(self, number: int, remedy: Remedy) -> None:
        """Print a remedy; the first one with its commands, the others with -v."""
        needs = "" if remedy.needs == "none" else f", needs a {remedy.needs}"
        self.page.numbered(number, f"{remedy.title}  (at {remedy.target}{needs})", "bold")
        if remedy.kind == "advice":
            self.page.indented(remedy.text, deeper=3)
            return
        if number > 1 and not self.verbose:
            return
        self.page.indented(remedy.changes, deeper=3)
        self.commands("", remedy.text)
        if self.verbose:
            self.page.indented(f"risk: {remedy.risk}", deeper=3)
            self.commands("verify:", remedy.verify)
            self.commands("undo:", remedy.undo)

    def commands(self, title: str, text: str) -> None:
        """Print commands so that they can be pasted."""
        if title:
            self.page.indented(title, deeper=3)
        self.page.blank()
        self.page.verbatim(text)
        self.page.blank()

    def crashed(self) -> None:
        """Print the checks that have a bug."""
        for one in self.diagnosis.judged:
            if isinstance(one.verdict, Crashed):
                where = f" at {one.verdict.where}" if one.verdict.where else ""
                story = f"{one.check}: {one.verdict.reason}{where}; nothing is claimed of it"
                self.page.labelled("CRASHED", story, "bold red", "bold")

    def clear(self) -> None:
        """Print what is fine: a check in full where another subject of it is not, the others by name."""
        found = {one.check for one in self.diagnosis.judged if not isinstance(one.verdict, Clear)}
        reasons: dict[str, list[str]] = defaultdict(list)
        for one in self.diagnosis.judged:
            if isinstance(one.verdict, Clear):
                reasons[one.check].append(f"{one.verdict.subject}: {one.verdict.reason}")
        lines = [
            f"{reason}  ({check})" for check in reasons for reason in reasons[check] if check in found or self.verbose
        ]
        whole = [check for check in reasons if check not in found]
        if whole and not self.verbose:
            lines.append(" · ".join(whole))
        self.page.listed("clear", lines, "green")

    def not_judged(self) -> None:
        """Print what could not be judged, each reason once, and how to change that."""
        checks: dict[tuple[str, str | None], list[str]] = defaultdict(list)
        for one in self.diagnosis.judged:
            if isinstance(one.verdict, NotJudged):
                known = checks[one.verdict.reason, one.verdict.how]
                if one.check not in known:
                    known.append(one.check)
        for number, ((reason, how), names) in enumerate(checks.items()):
            self.page.labelled("" if number else "not judged", f"{', '.join(names)}: {reason}", "bold")
            if how:
                self.page.indented(f"how: {how}", "dim")

    def gaps(self) -> None:
        """Print what was named and could not be used, and what to do about it."""
        gaps = self.diagnosis.bundle.gaps
        shown = gaps if self.verbose else gaps[:ROWS]
        for number, gap in enumerate(shown):
            self.page.labelled("" if number else "gaps", f"{gap.target}: {gap.reason}", "bold")
            if gap.how:
                self.page.indented(f"how: {gap.how}", "dim")
        if len(gaps) > len(shown):
            self.page.indented(f"and {len(gaps) - len(shown)} more (-v lists them)")

    def evidence(self) -> None:
        """Print what was read, how well, and the files that were passed over."""
        for number, fact in enumerate(self.diagnosis.bundle.facts):
            origin = fact.origin
            of = f" of {origin.host}" if origin.host else ""
            damage = f", {origin.not_understood} not understood: {origin.samples[0]!r}" if origin.samples else ""
            story = f"{origin.path}: {fact.kind}{of}, {origin.lines} lines{damage}"
            self.page.labelled("" if number else "read", story, "bold")
            for note in origin.notes:
                self.page.indented(note, deeper=3)
        passed_over = [f"{one.target}: {one.reason}" for one in self.diagnosis.bundle.passed_over]
        self.page.listed("passed over", passed_over, "bold")

    def footer(self) -> None:
        """Print the count of everything, and where to read on."""
        bundle, findings = self.diagnosis.bundle, self.diagnosis.findings
        real = [finding for finding in findings if finding.severity > Severity.INFO]
        files = {fact.origin.path: fact.origin.not_understood for fact in bundle.facts}
        critical = sum(finding.severity is Severity.CRITICAL for finding in findings)
        hidden = bundle.passed_over and not self.verbose
        parts = [
            counted(len(real), "finding"),
            *([f"{critical} critical"] if critical else []),
            f"evidence: {counted(len(self.diagnosis.hosts), 'host')}, {counted(len(files), 'file')}, "
            f"{counted(sum(files.values()), 'line')} not understood",
            *([f"{counted(len(bundle.passed_over), 'file')} passed over (-v lists them)"] if hidden else []),
        ]
        self.page.blank()
        self.page.line(" · ".join(parts), "dim")
        if real:
            more = "" if self.verbose else " · -v shows every command"
            self.page.line(f"ldapdiag checks {self.diagnosis.found[0][0]} explains{more}", "dim")


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural where it must be."""
    return f"{number} {noun}{'s' * (number != 1)}"
