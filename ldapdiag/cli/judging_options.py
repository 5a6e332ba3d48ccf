"""Options of the commands that judge evidence: diagnose, indexes and storage."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from ldapdiag.cli.collecting import Collecting
from ldapdiag.cli.commands import Panel
from ldapdiag.cli.destinations import DOCUMENTS, Destination, Output, ReportFormat, check_table
from ldapdiag.cli.notices import Notices, QuietOption
from ldapdiag.cli.option_groups import FailOn, FailOnOption
from ldapdiag.errors import UsageError
from ldapdiag.lazy_dataclass import NamedTuple
from ldapdiag.report.color import Color

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from ldapdiag.finding import Severity


StrictOption = Annotated[
    bool,
    Panel.GATE.option(
        "--strict", help="Exit with 1 for a check that is not judged, too; with 2 if a log was read in part."
    ),
]
BaselineOption = Annotated[
    Path | None,
    Panel.GATE.option(
        "--baseline",
        metavar="FILE",
        help="Compare with an earlier report of the same command, written by --format json.",
    ),
]
FailOnNewOption = Annotated[
    bool,
    Panel.GATE.option("--fail-on-new", help="Of the findings, let only new and worse ones since --baseline count."),
]


class Gate(NamedTuple):
    """What makes the exit code 1."""

    fail_on: FailOnOption = FailOn.HIGH
    strict: StrictOption = False
    baseline: BaselineOption = None
    fail_on_new: FailOnNewOption = False

    @property
    def least(self) -> Severity | None:
        """Return the lowest severity that makes the exit code 1; None: none does."""
        from ldapdiag.finding import Severity  # noqa: PLC0415  import late: --help must be quick

        return None if self.fail_on is FailOn.NEVER else Severity[self.fail_on.name]

    def check(self) -> None:
        """Raise UsageError for --fail-on-new without a report to compare with."""
        if self.fail_on_new and self.baseline is None:
            raise UsageError("--fail-on-new needs --baseline FILE, the report to compare with")


class LeastSeverity(StrEnum):
    """Values of --severity."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INFO = "info"

    @property
    def severity(self) -> Severity:
        """Return the severity of this name."""
        from ldapdiag.finding import Severity  # noqa: PLC0415  import late: --help must be quick

        return Severity[self.name]


SeverityOption = Annotated[
    LeastSeverity,
    Panel.OUTPUT.option(
        "--severity",
        help="Show findings of at least this severity in the text; counts, other formats and exit code include all.",
    ),
]
VerboseOption = Annotated[
    bool,
    Panel.OUTPUT.option("--verbose", "-v", help="Show all rows and findings in full, with origins and skipped files."),
]


class Detail(NamedTuple):
    """How much of a report the text shows."""

    severity: SeverityOption = LeastSeverity.INFO
    verbose: VerboseOption = False


class TextOptions(TypedDict):
    """What the functions that print a report take."""

    verbose: bool
    color: Color
    at_least: Severity


SinceOption = Annotated[
    str | None,
    Panel.EVIDENCE.option(
        "--since",
        metavar="TIME",
        help="Read access logs from TIME on, as in 09:55, -1h (before their end), 2026-11-20T08:45 (UTC).",
    ),
]


class Judging(NamedTuple):
    """What the commands that judge evidence have in common."""

    output: Output
    detail: Detail
    gate: Gate
    collecting: Collecting
    quiet: QuietOption = False
    since: SinceOption = None

    @property
    def notices(self) -> Notices:
        """Return what writes notices."""
        return Notices(quiet=self.quiet, color=self.output.color)

    def text(self) -> TextOptions:
        """Return the options of the text alone."""
        detail = self.detail
        return {"verbose": detail.verbose, "color": self.output.color, "at_least": detail.severity.severity}

    def written(self, table: str | None, more: Collection[ReportFormat] = ()) -> tuple[Destination, ...]:
        """Return where the report goes. Raises UsageError, before anything is read, where options exclude others.

        `more`: formats that other commands lack.
        """
        self.gate.check()
        written = self.output.destinations((*DOCUMENTS, ReportFormat.JUNIT, *more))
        check_table(table, written)
        return written

    def formats(self) -> dict[ReportFormat, Callable[[Mapping[str, Any]], str]]:
        """Return what renders the formats that these commands have in addition."""

        def junit(report: Mapping[str, Any]) -> str:
            from ldapdiag.report.monitoring import junit  # noqa: PLC0415  import late

            gate = self.gate
            return junit.render(report, fail_on=gate.least, only_new=gate.fail_on_new, strict=gate.strict)

        return {ReportFormat.JUNIT: junit}
