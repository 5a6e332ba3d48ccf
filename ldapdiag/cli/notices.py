"""What a command writes to standard error beside errors: progress, warnings, and what the report contains as well."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

from ldapdiag.cli.commands import Panel
from ldapdiag.cli.output import print_error, print_gaps
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.report.color import Color

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractContextManager

    from ldapdiag.evidence.bundle import Gap, PassedOver
    from ldapdiag.report.progress import ByteProgress, TerminalProgress

QuietOption = Annotated[
    bool,
    Panel.OUTPUT.option(
        "--quiet", "-q", help="Write only errors to standard error: no progress, no warnings, no notices."
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Notices:
    """Writes notices, unless --quiet is given. Errors do not pass through here."""

    quiet: bool = False
    color: Color = Color.AUTO
    gaps_in_output: bool = True
    """The output contains the gaps as well; where it does not, they are no mere notices."""

    def write(self, notice: object) -> None:
        """Write one line."""
        if not self.quiet:
            print_error(notice)

    def write_gaps(self, gaps: Iterable[Gap | PassedOver]) -> None:
        """Write a line for each gap, unless the output is enough."""
        if not self.quiet or not self.gaps_in_output:
            print_gaps(gaps)

    def progress(self) -> AbstractContextManager[TerminalProgress | None]:
        """Return a display of the targets and files that are read."""
        from ldapdiag.report.progress import show_progress  # noqa: PLC0415  import late: --help must be quick

        return nullcontext() if self.quiet else show_progress(self.color)

    def byte_progress(self) -> AbstractContextManager[ByteProgress | None]:
        """Return a bar of the bytes that are read."""
        from ldapdiag.report.progress import show_byte_progress  # noqa: PLC0415  import late

        return nullcontext() if self.quiet else show_byte_progress(self.color)
