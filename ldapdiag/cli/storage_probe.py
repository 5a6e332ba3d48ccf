"""`ldapdiag storage --probe`: measure a volume of this host before its evidence is collected, and keep the result."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ldapdiag.cli.commands import Panel
from ldapdiag.cli.report_file import check_file, write_file
from ldapdiag.cli.times import Duration
from ldapdiag.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from threading import Event

    from ldapdiag.cli.notices import Notices
    from ldapdiag.evidence.storage.probe import StorageProbe

ProbeOption = Annotated[
    Path | None,
    typer.Option(
        "--probe",
        metavar="DIRECTORY",
        help="Measure first how long syncs take on the volume of DIRECTORY, which you may write to; a server that "
        "runs there is slower meanwhile.",
        show_default=False,
        rich_help_panel=Panel.PROBE,
    ),
]
ProbeSecondsOption = Annotated[
    int,
    typer.Option(
        "--probe-seconds",
        parser=Duration(least=2, most=600, whole=True),
        metavar="SECONDS",
        help="End the probe after SECONDS.",
        rich_help_panel=Panel.PROBE,
    ),
]
ProbeSizeOption = Annotated[
    int,
    typer.Option(
        "--probe-size", min=1, max=4096, metavar="MIB", help="Write at most MIB mebibytes.", rich_help_panel=Panel.PROBE
    ),
]
SaveProbeOption = Annotated[
    Path | None,
    typer.Option(
        "--save-probe",
        metavar="FILE",
        help="Write what --probe measured to FILE, which is evidence for ldapdiag storage and diagnose.",
        show_default=False,
        rich_help_panel=Panel.PROBE,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedProbe:
    """The probe that the options ask for."""

    directory: Path
    seconds: int
    mebibytes: int
    saved_to: Path | None

    def run(self, notices: Notices, stop: Event) -> StorageProbe:
        """Return what was measured, as evidence of this host. LdapdiagError where it cannot be measured or saved."""
        from ldapdiag.evidence.storage.probe_file import as_text  # noqa: PLC0415  import late: --help must be quick
        from ldapdiag.sources.live.local_host import own_folder  # noqa: PLC0415
        from ldapdiag.sources.probe.limits import ProbeLimits  # noqa: PLC0415
        from ldapdiag.sources.probe.probing import risk, run_probe  # noqa: PLC0415
        from ldapdiag.sources.progress import NO_PROGRESS  # noqa: PLC0415

        limits = ProbeLimits(bytes=self.mebibytes << 20, seconds=float(self.seconds))
        notices.write(risk(limits))
        with notices.progress() as progress:
            probe = run_probe(self.directory, limits, progress or NO_PROGRESS, stop)
        if self.saved_to is not None:
            write_file(self.saved_to, lambda stream: stream.write(as_text(probe)))
            notices.write(f"{self.saved_to}: what the probe measured")
        folder = own_folder()
        origin = replace(probe.origin, path=f"{folder}/probe of {probe.directory}", folder=folder)
        return replace(probe, origin=origin)


def asked_probe(
    directory: Path | None, seconds: int, mebibytes: int, saved_to: Path | None, evidence: Sequence[str]
) -> AskedProbe | None:
    """Return the probe that is asked for, or None. Raises UsageError, before anything is written, if it cannot be."""
    if directory is None:
        if saved_to is not None:
            raise UsageError("--save-probe writes what --probe measures; add --probe DIRECTORY")
        return None
    if evidence and "local:" not in evidence:
        raise UsageError(f"--probe {directory} measures this host; name local: as well, or no evidence")
    check_file(saved_to)
    return AskedProbe(directory=directory, seconds=seconds, mebibytes=mebibytes, saved_to=saved_to)
