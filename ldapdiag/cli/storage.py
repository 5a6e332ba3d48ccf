"""ldapdiag storage: the disk under a directory server, what a power cut would lose, and what waits for a sync.

`ldapdiag storage --probe`: measure a volume of this host before its evidence is collected, and keep the result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from ldapdiag.cli import times
from ldapdiag.cli.baseline import BaselineOption, FailOnNewOption, check_gate
from ldapdiag.cli.commands import Panel
from ldapdiag.cli.destinations import (
    FormatOption,
    OutputOption,
    ReportFormat,
    check_file,
    check_table,
    contains_gaps,
    deliver,
    destinations,
    text_on_terminal,
    write_file,
)
from ldapdiag.cli.exit_codes import FAILED, INTERRUPTED
from ldapdiag.cli.interruptible import interruptible
from ldapdiag.cli.judging import FailOn, FailOnOption, SinceOption, StrictOption, exit_code, print_unread, run_diagnosis
from ldapdiag.cli.notices import Notices, QuietOption
from ldapdiag.cli.options import ColorOption, LeastSeverity, OptionsFactory, SeverityOption, with_collection_options
from ldapdiag.cli.output import print_error
from ldapdiag.cli.rendering import writer
from ldapdiag.cli.site_options import target_names
from ldapdiag.cli.times import DurationOption
from ldapdiag.errors import LdapdiagError, UsageError
from ldapdiag.evidence.report_kind import ReportKind
from ldapdiag.report.color import Color
from ldapdiag.report.tables.names import StorageTable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from threading import Event

    from ldapdiag.catalogue import AnyCheck
    from ldapdiag.diagnosis import Diagnosis
    from ldapdiag.evidence.storage.probe import StorageProbe
    from ldapdiag.site.configuration import SiteConfiguration
    from ldapdiag.sources.collection_options import CollectionOptions

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
        parser=DurationOption(least=2, most=600, whole=True),
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


@with_collection_options
def storage(  # noqa: PLR0913  one parameter per option of the command
    evidence: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="EVIDENCE...",
            help="Files, folders, captures; - for standard input. Or live targets: local: (this host, the default), "
            "ssh://HOST, ldap://HOST (settings), @NAME of ldapdiag.toml.",
            show_default=False,
            autocompletion=target_names,
        ),
    ] = None,
    *,
    form: FormatOption = None,
    output: OutputOption = None,
    table: Annotated[
        StorageTable | None,
        typer.Option(
            "--table",
            help="Write this table as CSV; default volumes.",
            show_default=False,
            rich_help_panel=Panel.OUTPUT,
        ),
    ] = None,
    fail_on: FailOnOption = FailOn.HIGH,
    since: SinceOption = None,
    strict: StrictOption = False,
    baseline: BaselineOption = None,
    fail_on_new: FailOnNewOption = False,
    probe: ProbeOption = None,
    probe_seconds: ProbeSecondsOption = 30,
    probe_size: ProbeSizeOption = 128,
    save_probe: SaveProbeOption = None,
    severity: SeverityOption = LeastSeverity.INFO,
    color: ColorOption = Color.AUTO,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose", "-v", help="Show all volumes, files and findings in full.", rich_help_panel=Panel.OUTPUT
        ),
    ] = False,
    quiet: QuietOption = False,
    options: OptionsFactory,
    site: SiteConfiguration | None,
) -> None:
    """Show the disk under a server, and what a power cut loses.

    The report has the volumes of the database, the transaction log, the changelog and the access log: file system,
    options in force, disks with their write caches, space and extents; and the settings of the server that decide
    whether a change waits for the disk. With the access log, the times of its writes are judged, too. Nothing is
    changed.

    Files that are read:
        /proc/PID/mountinfo of the server, or the output of mount, findmnt and df; /proc/fs/ext4/*/options, tune2fs -l,
        xfs_info, zfs get; lsblk -O -J, /sys/block/*/queue; filefrag; dmesg; and the server's configuration as for
        ldapdiag diagnose.

    Measuring a volume:
        --probe DIRECTORY measures how long a sync takes there: appends and overwrites of 4 and 16 KiB with fsync and
        fdatasync, commits of 1 to 80 writers that share syncs, small files, and the cost of access times. It writes
        into a scratch folder and removes it; it refuses a volume with little free space. The checks then compare the
        write times of the access log with it.

    Exit code:
        0  no finding at or above --fail-on
        1  such a finding, or a crashed check
        2  no evidence, or most of it passed over
        130  Ctrl-C

    Examples:
        On the server itself, as root:
            ldapdiag storage
        From another host:
            ldapdiag storage ssh://ds1 --sudo
        With a measurement, kept as evidence:
            ldapdiag storage --probe /var/lib/dirsrv --save-probe probe.json
    """
    try:
        written = destinations(form, output)
        check_table(table, written)
        check_gate(baseline, fail_on_new=fail_on_new)
        asked = asked_probe(probe, probe_seconds, probe_size, save_probe, evidence or [])
        notices = Notices(quiet=quiet, color=color)
        with interruptible(evidence or []) as stop:
            diagnosis = run_diagnosis(
                evidence or [],
                cache(_checks),
                partial(_collection_options, options),
                stop,
                period=times.asked_period(since),
                notices=notices,
                verbose=verbose,
                measure=lambda: (asked.run(notices, stop),) if asked else (),
                kind=ReportKind.STORAGE,
                site=site,
                baseline=baseline,
            )
        if not text_on_terminal(written):
            print_unread(diagnosis, quiet=quiet, alone=not contains_gaps(written))
        deliver(_writer(diagnosis, table, verbose=verbose, color=color, severity=severity), written)
    except LdapdiagError as error:
        print_error(error)
        raise typer.Exit(FAILED) from None
    raise typer.Exit(
        INTERRUPTED if stop.is_set() else exit_code(diagnosis, fail_on, strict=strict, fail_on_new=fail_on_new)
    )


def _collection_options(options: OptionsFactory) -> CollectionOptions:
    """Return the options with access logs, and without a sample interval: disks do not change between snapshots."""
    return replace(options(), sample_interval_seconds=0.0, logs=True)


def _checks() -> tuple[AnyCheck, ...]:
    from ldapdiag.catalogue import storage_checks  # noqa: PLC0415  import late: --help must be quick

    return storage_checks()


def _writer(
    diagnosis: Diagnosis, table: StorageTable | None, *, verbose: bool, color: Color, severity: LeastSeverity
) -> Callable[[ReportFormat, TextIO], object]:
    from datetime import UTC, datetime  # noqa: PLC0415  import late

    from ldapdiag.report import as_json  # noqa: PLC0415  import late
    from ldapdiag.report.storage import as_data, as_text  # noqa: PLC0415  import late, with rich
    from ldapdiag.report.tables.of_diagnosis import STORAGE_TABLES  # noqa: PLC0415

    return writer(
        lambda: as_json.document(diagnosis, datetime.now(UTC)) | as_data.storage(diagnosis),
        partial(as_text.print_storage, diagnosis, verbose=verbose, color=color, at_least=severity.severity),
        as_json.render,
        STORAGE_TABLES[table or StorageTable.VOLUMES],
    )
