"""What has changed since an earlier report of the same command, the file of --baseline."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ldapdiag.errors import UsageError
from ldapdiag.evidence.report_kind import ReportKind
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from ldapdiag.baseline.reported import Reported
    from ldapdiag.check import MainNumber
    from ldapdiag.diagnosis import Diagnosis

COMMANDS = {ReportKind.ALL: "diagnose", ReportKind.INDEXES: "indexes", ReportKind.STORAGE: "storage"}


@dataclass(frozen=True, slots=True)
class Baseline:
    """An earlier report, and its file."""

    path: Path
    report: Reported


def read_baseline(path: Path | None, kind: ReportKind) -> Baseline | None:
    """Return the report of --baseline, None without. Raises UsageError if it cannot be compared with one of `kind`."""
    if path is None:
        return None
    from ldapdiag.sources.earlier_report import earlier_report  # noqa: PLC0415  import late: --help must be quick

    report = earlier_report(path)
    if report.kind is not kind:
        of, here = COMMANDS[report.kind], COMMANDS[kind]
        raise UsageError(f"the baseline {path} is of `ldapdiag {of}`; compare with a report of `ldapdiag {here}`")
    return Baseline(path, report)


def compared(diagnosis: Diagnosis, before: Baseline) -> Diagnosis:
    """Return the diagnosis with what has changed since the baseline."""
    from datetime import UTC, datetime  # noqa: PLC0415  import late

    from ldapdiag.baseline.comparison import compare  # noqa: PLC0415  import late
    from ldapdiag.baseline.reading import report_of  # noqa: PLC0415
    from ldapdiag.report import as_json  # noqa: PLC0415

    now = report_of(as_json.document(diagnosis, datetime.now(UTC)))
    return replace(diagnosis, changes=compare(before.report, now, _main_numbers(), before.path.name))


def _main_numbers() -> dict[str, MainNumber]:
    """Return the main number of each installed check that names one."""
    from ldapdiag.catalogue import installed_checks  # noqa: PLC0415  import late: --help must be quick

    return {check.id: check.number for check in installed_checks() if check.number is not None}
