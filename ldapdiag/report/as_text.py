"""A diagnosis for a person: the sentence to say on the phone first, then its numbers, then what to run."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ldapdiag.analysis.descriptors import Descriptors
from ldapdiag.analysis.keepalive import GhostLifetime
from ldapdiag.analysis.servers import DirectoryServer
from ldapdiag.finding import Clear, Crashed, Finding, NotJudged, Severity
from ldapdiag.report.charts import bar
from ldapdiag.report.neutral import neutral

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.diagnosis import Diagnosis
    from ldapdiag.remedy import Remedy

MARGIN = 12
"""Columns for the severity, and for what stands in its place."""

WIDEST = 120
PIPED = 100
BAR = 40
ROWS = 5
"""Rows of a share shown without -v."""

STYLES = {
    Severity.CRITICAL: "bold red",
    Severity.HIGH: "red",
    Severity.MEDIUM: "yellow",
    Severity.LOW: "cyan",
    Severity.INFO: "dim",
}


def print_report(diagnosis: Diagnosis, stream: TextIO, *, verbose: bool = False) -> None:
    """Write the report; colours only to a terminal (rich knows NO_COLOR, too)."""
    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    console.width = min(console.width, WIDEST) if console.is_terminal else PIPED
    Screen(console, diagnosis, verbose=verbose).show()


@dataclass(slots=True)
class Screen:
    """One report on its way to a console."""

    console: Console
    diagnosis: Diagnosis
    verbose: bool

    def show(self) -> None:
        """Print every part, in the order of SCREENS: servers, findings, what is clear, what is not judged."""
        for server in self.diagnosis.facts.every(DirectoryServer):
            self.console.print(Text(self.summary(server), style="bold"))
        self.console.print()
        for check, finding in self.diagnosis.found:
            self.finding(finding, check)
        self.crashed()
        self.clear()
        self.not_judged()
        self.files()
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
        return neutral(f"{server.host}   {' · '.join(parts)}")

    def finding(self, finding: Finding, check: str) -> None:
        """Print one finding: title, picture, sentences, remedies."""
        label = str(finding.severity)
        label = label.upper() if finding.severity >= Severity.HIGH else label
        self.labelled(label, finding.title, STYLES[finding.severity])
        for line in self.picture(finding):
            self.indented(line)
        detailed = self.verbose or finding.severity >= Severity.HIGH
        for sentence in finding.detail.splitlines() if detailed else ():
            self.indented(sentence)
        self.indented(f"{check} · {finding.confidence}", style="dim")
        if self.verbose:
            self.indented(f"from {', '.join(finding.origins)}", style="dim")
        for number, remedy in enumerate(finding.remedies, 1):
            self.remedy(number, remedy)
        self.console.print()

    def picture(self, finding: Finding) -> Iterator[str]:
        """Yield the bars that carry a finding's numbers."""
        observed = finding.observed
        if observed.get("client_count") is not None and observed.get("server_count") is not None:
            hosts = " + ".join(observed["client_hosts"]) or observed["client"]
            yield from bars(
                [(f"at {finding.server}", observed["server_count"]), (f"at {hosts}", observed["client_count"])]
            )
        if rows := observed.get("by_account"):
            yield from self.shares([(row["bind_dn"], row["connections"]) for row in rows])
        elif rows := observed.get("by_client"):
            yield from self.shares([(row["client"], row["connections"]) for row in rows])

    def shares(self, rows: list[tuple[str, int]]) -> Iterator[str]:
        """Yield the largest shares, all of them with -v."""
        shown = rows if self.verbose else rows[:ROWS]
        yield from bars(shown)
        if len(rows) > len(shown):
            rest = sum(count for _, count in rows[len(shown) :])
            yield f"and {len(rows) - len(shown)} more with {rest}"

    def remedy(self, number: int, remedy: Remedy) -> None:
        """Print a remedy; the first one with its commands, the others with -v."""
        needs = "" if remedy.needs == "none" else f", needs a {remedy.needs}"
        self.indented(f"{number}  {remedy.title}  (at {remedy.target}{needs})", style="bold")
        if remedy.kind == "advice":
            self.indented(f"   {remedy.text}")
            return
        if number > 1 and not self.verbose:
            return
        self.indented(f"   {remedy.changes}")
        self.console.print()
        self.verbatim(remedy.text)
        self.console.print()
        if self.verbose:
            self.indented(f"   risk: {remedy.risk}")
            self.indented("   verify:")
            self.verbatim(remedy.verify)
            self.indented("   undo:")
            self.verbatim(remedy.undo)

    def crashed(self) -> None:
        """Print the checks that have a bug."""
        for one in self.diagnosis.judged:
            if isinstance(one.verdict, Crashed):
                where = f" at {one.verdict.where}" if one.verdict.where else ""
                self.labelled(
                    "CRASHED", f"{one.check}: {one.verdict.reason}{where}; nothing is claimed of it", "bold red"
                )

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
        for number, line in enumerate(lines):
            self.labelled("" if number else "clear", line, "green")

    def not_judged(self) -> None:
        """Print what could not be judged, each reason once, and how to change that."""
        checks: dict[tuple[str, str | None], list[str]] = defaultdict(list)
        for one in self.diagnosis.judged:
            if isinstance(one.verdict, NotJudged):
                known = checks[one.verdict.reason, one.verdict.how]
                if one.check not in known:
                    known.append(one.check)
        for number, ((reason, how), names) in enumerate(checks.items()):
            self.labelled("" if number else "not judged", f"{', '.join(names)}: {reason}", "magenta")
            if how:
                self.indented(f"how: {how}", style="dim")

    def files(self) -> None:
        """Print every gap and, with -v, the files that were passed over and what was read how well."""
        bundle = self.diagnosis.bundle
        for number, gap in enumerate(bundle.gaps):
            self.labelled("" if number else "gaps", f"{gap.target}: {gap.reason}", "magenta")
        if not self.verbose:
            return
        for fact in bundle.facts:
            origin = fact.origin
            damage = f", {origin.not_understood} not understood: {origin.samples[0]!r}" if origin.samples else ""
            self.indented(f"read {origin.path}: {fact.kind} of {origin.host}, {origin.lines} lines{damage}")
            for note in origin.notes:
                self.indented(f"   {note}")
        for one in bundle.passed_over:
            self.indented(f"passed over {one.target}: {one.reason}")

    def footer(self) -> None:
        """Print the count of everything, and where to read on."""
        bundle, findings = self.diagnosis.bundle, self.diagnosis.findings
        real = [finding for finding in findings if finding.severity > Severity.INFO]
        files = {fact.origin.path: fact.origin.not_understood for fact in bundle.facts}
        critical = sum(finding.severity is Severity.CRITICAL for finding in findings)
        parts = [
            f"{len(real)} finding{'s' * (len(real) != 1)}",
            *([f"{critical} critical"] if critical else []),
            f"evidence: {len(self.diagnosis.hosts)} hosts, {len(files)} files, {sum(files.values())} lines lost",
            *([f"{len(bundle.passed_over)} files passed over (-v lists them)"] if bundle.passed_over else []),
        ]
        self.console.print()
        self.console.print(Text(" · ".join(parts), style="dim"))
        if real:
            first = self.diagnosis.found[0][0]
            self.console.print(Text(f"ldapdiag checks {first} explains · -v shows every command", style="dim"))

    def labelled(self, label: str, text: str, style: str) -> None:
        """Print a line with its label in the margin."""
        grid = Table.grid()
        grid.add_column(width=MARGIN, no_wrap=True)
        grid.add_column()
        weight = "bold" if "red" in style else ""
        grid.add_row(Text(label, style=style), Text(neutral(text), style=weight))
        self.console.print(grid)

    def indented(self, text: str, style: str = "") -> None:
        """Print a text behind the margin, wrapped there."""
        self.console.print(Padding.indent(Text(neutral(text), style=style), MARGIN))

    def verbatim(self, text: str) -> None:
        """Print commands at the left edge, never wrapped: a blank in front of an LDIF line would fold it (RFC 2849)."""
        for line in neutral(text, lines=True, longest=1 << 20).splitlines():
            self.console.print(Text(line), soft_wrap=True)


def bars(rows: list[tuple[str, int]]) -> Iterator[str]:
    """Yield rows of name, number and bar, aligned; all bars share one scale."""
    named = [(neutral(name, longest=60), number) for name, number in rows]
    width = max(len(name) for name, _ in named)
    digits = max(len(str(number)) for _, number in named)
    largest = max(number for _, number in named)
    for name, number in named:
        yield f"{name:<{width}}  {number:>{digits}} {bar(number, largest, BAR)}".rstrip()
