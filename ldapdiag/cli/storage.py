"""ldapdiag storage: the disk under a directory server, what a power cut would lose, and what waits for a sync.

`ldapdiag storage --probe`: measure a volume of this host before its evidence is collected, and keep the result.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from ldapdiag.cli.commands import Panel
from ldapdiag.cli.destinations import check_file, write_files
from ldapdiag.cli.exit_codes import INTERRUPTED
from ldapdiag.cli.interruptible import interruptible
from ldapdiag.cli.judging import deliver_report, exit_code, report_of, run_diagnosis
from ldapdiag.cli.judging_options import Judging
from ldapdiag.cli.option_groups import command
from ldapdiag.cli.rendering import writer
from ldapdiag.cli.site_options import target_names
from ldapdiag.cli.times import DurationOption
from ldapdiag.errors import UsageError
from ldapdiag.evidence.report_kind import ReportKind
from ldapdiag.lazy_dataclass import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from threading import Event

    from ldapdiag.cli.destinations import ReportFormat
    from ldapdiag.cli.notices import Notices
    from ldapdiag.evidence.storage.probe import StorageProbe


ProbeOption = Annotated[
    Path | None,
    Panel.PROBE.option(
        "--probe",
        metavar="DIRECTORY",
        help="Measure first how long syncs take on the volume of DIRECTORY, which you may write to; a server that "
        "runs there is slower meanwhile.",
    ),
]
ProbeSecondsOption = Annotated[
    int,
    Panel.PROBE.option(
        "--probe-seconds",
        parser=DurationOption(least=2, most=600, whole=True),
        metavar="SECONDS",
        help="End the probe after SECONDS.",
    ),
]
ProbeSizeOption = Annotated[
    int, Panel.PROBE.option("--probe-size", min=1, max=4096, metavar="MIB", help="Write at most MIB mebibytes.")
]
SaveProbeOption = Annotated[
    Path | None,
    Panel.PROBE.option(
        "--save-probe",
        metavar="FILE",
        help="Write what --probe measured to FILE, which is evidence for ldapdiag storage and diagnose.",
    ),
]


class Probe(NamedTuple):
    """What is measured before the evidence is collected."""

    probe: ProbeOption = None
    probe_seconds: ProbeSecondsOption = 30
    probe_size: ProbeSizeOption = 128
    save_probe: SaveProbeOption = None

    def check(self, evidence: Sequence[str]) -> None:
        """Raise UsageError, before anything is written, where nothing can be measured or saved."""
        if self.probe is None and self.save_probe is not None:
            raise UsageError("--save-probe writes what --probe measures; add --probe DIRECTORY")
        if self.probe is not None and evidence and "local:" not in evidence:
            raise UsageError(f"--probe {self.probe} measures this host; name local: as well, or no evidence")
        if self.probe is not None and sys.platform != "linux":
            raise UsageError(f"--probe {self.probe}: only on Linux can a file system be measured")
        check_file(self.save_probe)

    def measure(self, notices: Notices, stop: Event) -> tuple[StorageProbe, ...]:
        """Return what was measured, as evidence of this host; nothing without --probe.

        Raises LdapdiagError where it cannot be measured or saved.
        """
        if (directory := self.probe) is None:
            return ()
        from ldapdiag.evidence.storage.probe_file import as_text  # noqa: PLC0415  import late: --help must be quick
        from ldapdiag.sources.probe.limits import ProbeLimits  # noqa: PLC0415
        from ldapdiag.sources.probe.probing import risk, run_probe  # noqa: PLC0415
        from ldapdiag.sources.progress import NO_PROGRESS  # noqa: PLC0415
        from ldapdiag.sources.targets import LocalTarget  # noqa: PLC0415

        limits = ProbeLimits(bytes=self.probe_size << 20, seconds=float(self.probe_seconds))
        notices.write(risk(limits))
        with notices.progress() as progress:
            probe = run_probe(directory, limits, progress or NO_PROGRESS, stop)
        if self.save_probe is not None:
            write_files([(self.save_probe, lambda stream: stream.write(as_text(probe)))])
            notices.write(f"{self.save_probe}: what the probe measured")
        folder = LocalTarget().name
        origin = replace(probe.origin, path=f"{folder}/probe of {probe.directory}", folder=folder)
        return (replace(probe, origin=origin),)


EvidenceArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="EVIDENCE...",
        help="Files, folders, captures; - for standard input. Or live targets: local: (this host, the default), "
        "ssh://HOST, ldap://HOST (settings), @NAME of ldapdiag.toml.",
        show_default=False,
        autocompletion=target_names,
    ),
]


class StorageTable(StrEnum):
    """Tables of `storage`."""

    VOLUMES = "volumes"
    SETTINGS = "settings"
    FILES = "files"
    PROBES = "probes"
    FINDINGS = "findings"
    VERDICTS = "verdicts"
    GAPS = "gaps"
    EVIDENCE = "evidence"


TableOption = Annotated[
    StorageTable | None, Panel.OUTPUT.option("--table", help="Write this table as CSV; default volumes.")
]


@command
def storage(
    evidence: EvidenceArgument = None,
    *,
    asked: Judging,
    table: TableOption = None,
    probe: Probe,
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
    written = asked.written(table)
    probe.check(evidence or [])
    with interruptible(evidence or []) as stop:
        diagnosis = run_diagnosis(
            evidence or [],
            asked,
            stop,
            kind=ReportKind.STORAGE,
            collecting={"sample_interval_seconds": 0.0, "logs": True},  # disks do not change between snapshots
            measure=lambda: probe.measure(asked.notices, stop),
        )
    report = report_of(diagnosis)
    deliver_report(asked, report, _writer(report, table, asked), written)
    raise typer.Exit(INTERRUPTED if stop.is_set() else exit_code(diagnosis, asked.gate))


def _writer(
    report: Callable[[], Mapping[str, Any]], table: StorageTable | None, asked: Judging
) -> Callable[[ReportFormat, TextIO], object]:
    from ldapdiag.report import as_json  # noqa: PLC0415  import late
    from ldapdiag.report.storage import as_text  # noqa: PLC0415  import late, with rich
    from ldapdiag.report.tables.of_storage import TABLES  # noqa: PLC0415

    text = partial(as_text.StorageScreen.write, **asked.text())
    return writer(report, text, as_json.render, TABLES[table or StorageTable.VOLUMES], asked.formats())
