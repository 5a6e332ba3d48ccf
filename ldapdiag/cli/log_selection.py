"""The options of `ldapdiag log` that select operations, and show their lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from ldapdiag.cli.commands import Panel
from ldapdiag.cli.times import DurationOption
from ldapdiag.errors import UsageError
from ldapdiag.lazy_dataclass import NamedTuple

if TYPE_CHECKING:
    from ldapdiag.analysis.log.selections import Wanted

MOST_SHOWN = 1_000


ClientOption = Annotated[
    list[str] | None,
    Panel.SELECTION.option(
        "--client",
        metavar="ADDRESS",
        help="Count only operations of this client, or of a network, as in 10.1.0.0/16. Repeatable.",
    ),
]
AccountOption = Annotated[
    list[str] | None,
    Panel.SELECTION.option(
        "--account", metavar="DN", help="Count only operations of this bind DN (anonymous: of none). Repeatable."
    ),
]
ConnOption = Annotated[
    list[int] | None,
    Panel.SELECTION.option(
        "--conn", metavar="N", min=0, help="Count only operations of the connection with this number. Repeatable."
    ),
]
ShapeOption = Annotated[
    list[str] | None,
    Panel.SELECTION.option(
        "--shape",
        metavar="FILTER",
        help="Count only searches whose filter is this one except for the values. Repeatable.",
    ),
]
MinEtimeOption = Annotated[
    float,
    Panel.SELECTION.option(
        "--min-etime", metavar="SECONDS", parser=DurationOption(), help="Count only operations that took this long."
    ),
]
CodeOption = Annotated[
    list[int] | None,
    Panel.SELECTION.option(
        "--code", metavar="N", min=0, help="Count only operations with this result code. Repeatable."
    ),
]
ShowLinesOption = Annotated[
    int,
    Panel.SELECTION.option(
        "--show-lines", metavar="N", min=0, max=MOST_SHOWN, help="Print the lines of the N slowest operations."
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
