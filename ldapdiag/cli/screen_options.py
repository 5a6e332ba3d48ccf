"""Options about what appears on the terminal: colours, notices, and the findings that the text shows."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from ldapdiag.cli.commands import Panel
from ldapdiag.report.color import Color

if TYPE_CHECKING:
    from ldapdiag.finding import Severity


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


ColorOption = Annotated[
    Color,
    typer.Option(
        "--color",
        metavar="WHEN",
        help="Colour the text; auto: on a terminal, as NO_COLOR and FORCE_COLOR ask.",
        rich_help_panel=Panel.OUTPUT,
    ),
]
SeverityOption = Annotated[
    LeastSeverity,
    typer.Option(
        "--severity",
        help="Show findings of at least this severity in the text; counts, other formats and exit code include all.",
        rich_help_panel=Panel.OUTPUT,
    ),
]
