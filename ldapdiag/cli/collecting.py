"""Options for the collection from live targets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ldapdiag.cli.binding import Binding
from ldapdiag.cli.commands import Panel
from ldapdiag.cli.option_groups import Given
from ldapdiag.cli.shared_options import Sudo, Timeout
from ldapdiag.cli.times import DurationOption
from ldapdiag.lazy_dataclass import NamedTuple

if TYPE_CHECKING:
    from ldapdiag.cli.notices import Notices
    from ldapdiag.sources.collection_options import CollectionOptions


ApartOption = Annotated[
    float,
    typer.Option(
        "--apart",
        parser=DurationOption(most=86_400),
        metavar="SECONDS",
        help="Wait SECONDS between the two snapshots of a server; from 60 on, its growth is measured, too.",
        rich_help_panel=Panel.COLLECTING,
    ),
]
ProbeAnswersOption = Annotated[
    bool,
    typer.Option(
        "--probe-answers",
        help="Search entries of each ldap:// target by their values, to test that its indexes answer right.",
        rich_help_panel=Panel.COLLECTING,
    ),
]


class Collecting(NamedTuple):
    """How targets are reached, and how often they are read."""

    binding: Binding
    given: Given
    sudo: Sudo = False
    timeout: Timeout = 10
    apart: ApartOption = 4
    probe_answers: ProbeAnswersOption = False

    def options(self, notices: Notices) -> CollectionOptions:
        """Return the collection options; may prompt for a password. Raises UsageError as `Binding.options` does."""
        from ldapdiag.sources.collection_options import CollectionOptions  # noqa: PLC0415  import late

        return CollectionOptions(
            bind=self.binding.options(notices),
            sudo=self.sudo,
            timeout_seconds=self.timeout,
            sample_interval_seconds=self.apart,
            probe_answers=self.probe_answers,
            typed=self.given.words,
        )
