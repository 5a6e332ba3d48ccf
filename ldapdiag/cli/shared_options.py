"""Options that `log` shares with the commands that collect and judge, without the others of these."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from ldapdiag.cli.commands import Panel
from ldapdiag.cli.times import DurationOption

Sudo = Annotated[
    bool,
    typer.Option(
        "--sudo",
        help="Use sudo -n on the hosts, for evidence that only root can read.",
        rich_help_panel=Panel.COLLECTING,
    ),
]
Timeout = Annotated[
    int,
    typer.Option(
        "--timeout",
        parser=DurationOption(least=1, most=3600, whole=True),
        metavar="SECONDS",
        help="Stop waiting for a target after SECONDS.",
        rich_help_panel=Panel.COLLECTING,
    ),
]


class FailOn(StrEnum):
    """The lowest severity that makes the exit code 1."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    NEVER = "never"


FailOnOption = Annotated[
    FailOn,
    typer.Option(
        "--fail-on",
        metavar="SEVERITY",
        help="Exit with 1 for a finding of at least this severity.",
        rich_help_panel=Panel.GATE,
    ),
]
