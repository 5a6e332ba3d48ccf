"""The gate of `ldapdiag log --fail-on`: the checks that need an access log alone, and their findings in a line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.cli.option_groups import FailOn
from ldapdiag.cli.output import print_error, print_gaps
from ldapdiag.cli.site_options import found_site, today
from ldapdiag.errors import UsageError
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ldapdiag.cli.notices import Notices
    from ldapdiag.diagnosis import Diagnosis
    from ldapdiag.evidence.access_log import AccessLog, CountedLog
    from ldapdiag.evidence.bundle import Gap


def check_alone_with(fail_on: FailOn, others: Mapping[str, object]) -> None:
    """Raise UsageError for options that --fail-on excludes: checks judge a whole log, once."""
    for name, value in others.items():
        if value and fail_on is not FailOn.NEVER:
            raise UsageError(f"--fail-on excludes {name}: omit one of them")


def facts_of(logs: Sequence[CountedLog], fail_on: FailOn) -> tuple[AccessLog, ...]:
    """Return the access logs as evidence, if they are judged, with counts of their own."""
    if fail_on is FailOn.NEVER:
        return ()
    from ldapdiag.sources.recognition.log_discovery import access_logs  # noqa: PLC0415  import late

    return tuple(access_logs(log._replace(segment=log.segment.copied()) for log in logs))


def judged_by_log(
    logs: Sequence[AccessLog],
    files: Sequence[str],
    config: Path | None,
    fail_on: FailOn,
    *,
    gaps: Sequence[Gap],
    notices: Notices,
) -> int:
    """Run the checks on access logs, print the findings that count, and return the exit code; 0 without logs.

    By their signatures, those that need more are not judged. `gaps`, what was not read of the logs, comes last.
    """
    if not logs:
        return 0
    from ldapdiag.catalogue import installed_checks  # noqa: PLC0415  import late: --help must be quick
    from ldapdiag.cli.judging import exit_code  # noqa: PLC0415
    from ldapdiag.cli.judging_options import Gate  # noqa: PLC0415
    from ldapdiag.diagnosis import diagnose  # noqa: PLC0415
    from ldapdiag.evidence.bundle import Bundle  # noqa: PLC0415
    from ldapdiag.site.configuration import checks_in_force  # noqa: PLC0415

    site = found_site(config, files, notices).configuration
    in_force = checks_in_force(installed_checks(), site, today=today())
    diagnosis = diagnose(Bundle(facts=tuple(logs)), in_force.checks, in_force=in_force)
    _print(diagnosis, fail_on, files)
    if gaps:
        print_error("no all-clear: not all of the log was read")
        print_gaps(gaps)
    return exit_code(diagnosis, Gate(fail_on=fail_on))


def _print(diagnosis: Diagnosis, fail_on: FailOn, files: Sequence[str]) -> None:
    """Print each finding that counts in a line, how many others there are, and where to go on."""
    import shlex  # noqa: PLC0415  import late

    from ldapdiag.finding import Clear, Finding, Severity  # noqa: PLC0415  import late
    from ldapdiag.report.neutral import neutral  # noqa: PLC0415

    least = Severity[fail_on.name]
    every = [(check, one) for check, one in diagnosis.found if not one.is_accepted and one.severity > Severity.INFO]
    counting = [(check, one) for check, one in every if one.severity >= least]
    for check, one in counting:
        print_error(f"{one.severity}: {neutral(one.title, longest=400)} ({check})")
    for judged in diagnosis.crashed:
        print_error(f"{judged.check} crashed; nothing is claimed about what it judges")
    able = {judged.check for judged in diagnosis.judged if isinstance(judged.verdict, Finding | Clear)}
    others = f", {counted(len(every) - len(counting), 'finding')} below" if len(every) > len(counting) else ""
    more = f"; more: ldapdiag diagnose {shlex.join(files)}" if every or diagnosis.crashed else ""
    found = counted(len(counting), "finding") if counting else "no finding"
    by = f"the {counted(len(able), 'check')} that need the log alone"
    print_error(f"{found} at {fail_on} or above by {by}{others}{more}")
