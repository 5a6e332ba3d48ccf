"""What `ldapdiag top --replay` runs through: captures, each judged as of its time, and the runs of histories."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ldapdiag.cli.diagnose import summary_of
from ldapdiag.cli.judging import collected_again, report_of
from ldapdiag.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from threading import Event

    from ldapdiag.cli.judging_options import Judging
    from ldapdiag.cli.notices import Notices
    from ldapdiag.live_view.replay import Moment

MOST_CAPTURES = 200
"""Each with up to 10 MB of connections in memory."""


def recorded_moments(files: Sequence[str], asked: Judging, stop: Event, notices: Notices) -> list[Moment]:
    """Return the moments of these files, at least one. Raises LdapdiagError."""
    from ldapdiag.sources.targets import parse_target  # noqa: PLC0415  import late: --help must be quick

    if not files or any(parse_target(one) for one in files):
        raise UsageError("--replay: name captures of ldapdiag collect, or a history of --record; no live target")
    if len(files) > MOST_CAPTURES:
        raise UsageError(f"--replay: {len(files):,} files, and at most {MOST_CAPTURES} are held; name fewer")
    moments: list[Moment] = []
    for place, file in enumerate(files, 1):
        if stop.is_set():
            break
        notices.write(f"reading {place} of {len(files)}: {file}")
        moments += _of_file(file, asked, stop)
    if not moments:
        raise UsageError(f"--replay {files[0]}: no run in it")
    return moments


def _of_file(file: str, asked: Judging, stop: Event) -> Iterator[Moment]:
    from ldapdiag.live_view.replay import moment_of_run  # noqa: PLC0415  import late
    from ldapdiag.sources.history.database import is_database  # noqa: PLC0415

    if is_database(Path(file)):
        from ldapdiag.sources.history.recorded_runs import read  # noqa: PLC0415  import late

        yield from map(moment_of_run, read(Path(file)).runs)
        return
    from ldapdiag.analysis.hosts.instances import Instance  # noqa: PLC0415  import late
    from ldapdiag.report.as_json import moment  # noqa: PLC0415

    diagnosis = collected_again([file], asked, stop, {}, f"--replay {file}: nothing in it can be judged")
    run = summary_of(diagnosis, 0, f"--replay {file}")
    monitors = {one.name: one.monitor for one in diagnosis.facts.every(Instance)}
    yield moment_of_run(run, {**report_of(diagnosis)(), "taken_at": moment(run.taken)}, monitors)
