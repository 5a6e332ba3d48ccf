"""Options that `log` shares with the commands that collect and judge, without the others of these."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from ldapdiag.cli.commands import Panel
from ldapdiag.cli.times import DurationOption

Sudo = Annotated[
    bool, Panel.COLLECTING.option("--sudo", help="Use sudo -n on the hosts, for evidence that only root can read.")
]
Timeout = Annotated[
    int,
    Panel.COLLECTING.option(
        "--timeout",
        parser=DurationOption(least=1, most=3600, whole=True),
        metavar="SECONDS",
        help="Stop waiting for a target after SECONDS.",
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
    Panel.GATE.option("--fail-on", metavar="SEVERITY", help="Exit with 1 for a finding of at least this severity."),
]
