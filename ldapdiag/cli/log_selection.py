"""The options of `ldapdiag log` that select operations, and show their lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ldapdiag.cli.commands import Panel
from ldapdiag.cli.times import DurationOption
from ldapdiag.errors import UsageError
from ldapdiag.lazy_dataclass import NamedTuple

if TYPE_CHECKING:
    from ldapdiag.analysis.log.selections import Wanted

MOST_SHOWN = 1_000


ClientOption = Annotated[
    list[str] | None,
    typer.Option(
        "--client",
        metavar="ADDRESS",
        help="Count only operations of this client, or of a network, as in 10.1.0.0/16. Repeatable.",
        show_default=False,
        rich_help_panel=Panel.SELECTION,
    ),
]
AccountOption = Annotated[
    list[str] | None,
    typer.Option(
        "--account",
        metavar="DN",
        help="Count only operations of this bind DN (anonymous: of none). Repeatable.",
        rich_help_panel=Panel.SELECTION,
    ),
]
ConnOption = Annotated[
    list[int] | None,
    typer.Option(
        "--conn",
        metavar="N",
        min=0,
        help="Count only operations of the connection with this number. Repeatable.",
        rich_help_panel=Panel.SELECTION,
    ),
]
ShapeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--shape",
        metavar="FILTER",
        help="Count only searches whose filter is this one except for the values. Repeatable.",
        show_default=False,
        rich_help_panel=Panel.SELECTION,
    ),
]
MinEtimeOption = Annotated[
    float,
    typer.Option(
        "--min-etime",
        metavar="SECONDS",
        parser=DurationOption(),
        help="Count only operations that took this long.",
        rich_help_panel=Panel.SELECTION,
    ),
]
CodeOption = Annotated[
    list[int] | None,
    typer.Option(
        "--code",
        metavar="N",
        min=0,
        help="Count only operations with this result code. Repeatable.",
        rich_help_panel=Panel.SELECTION,
    ),
]
ShowLinesOption = Annotated[
    int,
    typer.Option(
        "--show-lines",
        metavar="N",
        min=0,
        max=MOST_SHOWN,
        help="Print the lines of the N slowest operations.",
        rich_help_panel=Panel.SELECTION,
    ),
]


class Select(NamedTuple):
    """Which operations are counted, and how many lines are shown of them."""

    client: ClientOption = None
    account: AccountOption = None
    conn: ConnOption = None
    shape: ShapeOption = None
    min_etime: MinEtimeOption = 0
    code: CodeOption = None
    show_lines: ShowLinesOption = 0

    def wanted(self) -> Wanted | None:
        """Return what the options ask for; None where they ask for nothing. Raises UsageError."""
        if not any(self):
            return None
        from ldapdiag.analysis.log.selections import Wanted  # noqa: PLC0415  import late

        for option, values in (("--client", self.client), ("--account", self.account), ("--shape", self.shape)):
            if values and "" in values:
                raise UsageError(f"{option} needs a value that is not empty")
        return Wanted(
            clients=tuple(self.client or ()),
            accounts=tuple(self.account or ()),
            connections=tuple(self.conn or ()),
            shapes=tuple(self.shape or ()),
            codes=tuple(self.code or ()),
            least_seconds=self.min_etime,
            most_shown=self.show_lines,
        )
