"""What a report states first: the worst finding or that nothing is wrong, the first step, and how many of each.

What each kind of evidence shows, in plain words: for a report that lacks most of it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.flows import FlowTable
from ldapdiag.evidence.host_facts import DescriptorCount, KernelSettings, ProcessLimits
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.evidence.monitor import Monitor
from ldapdiag.evidence.report_kind import ReportKind
from ldapdiag.evidence.ruleset import Ruleset
from ldapdiag.evidence.sockets import SocketTable
from ldapdiag.evidence.storage import BlockDevices, EffectiveOptions, FileExtents, KernelErrors, MountTable
from ldapdiag.evidence.storage.settings import StorageSettings
from ldapdiag.finding import NEXT, NO_COMMAND, Clear, Crashed, Finding, NotJudged, Severity
from ldapdiag.report.not_judged import lacks_of
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from collections.abc import Set as AbstractSet

    from ldapdiag.diagnosis import Diagnosis
    from ldapdiag.remedy import Remedy
    from ldapdiag.report.not_judged import Lack

MOST = 0.75
"""Share of the checks that must judge, so that no finding is an all-clear."""
CLEAR, UNKNOWN, NOT_READ, CRASHED = "clear", "unknown", "NOT READ", "CRASHED"
NOTHING_WRONG, NOTHING_WORSE = "Nothing wrong found", "Nothing worse found"
CURED_BY = {
    "costly-search": "missing-index",
}
"""Checks without remedies of their own, and the check that prints them: each manual page refers to it."""

DECISIVE = {"unsafe-writes": "whether a power cut loses acknowledged changes"}
"""Of a report on storage: checks without which there is no all-clear, and what is not known where they cannot judge."""

SCRIPT = "All of a host but its logs: ldapdiag collect --print-script > collect.sh, to be run there."
FEW = 3
"""Kinds of evidence named where most of it is missing."""


@dataclass(frozen=True, slots=True)
class Headline:
    """The first sentence of a report; `finding` and `check` where it is a finding's title."""

    label: str
    text: str
    detail: str = ""
    finding: Finding | None = None
    check: str = ""


@dataclass(frozen=True, slots=True)
class FirstStep:
    """What to do first: a remedy by its title, or a text alone."""

    text: str
    remedy: Remedy | None = None


def outcomes(diagnosis: Diagnosis) -> list[str]:
    """Return how many findings of each severity there are, and verdicts of the other outcomes."""
    verdicts = [one.verdict for one in diagnosis.judged]
    severities = Counter(one.severity for one in diagnosis.counting)
    accepted = len(diagnosis.findings) - severities.total()
    counts = {str(severity): severities[severity] for severity in sorted(severities, reverse=True)}
    counts["accepted"] = accepted
    for name, kind in {"crashed": Crashed, "clear": Clear, "not judged": NotJudged}.items():
        counts[name] = sum(isinstance(one, kind) for one in verdicts)
    counts["disabled"] = len(diagnosis.disabled)
    found = [] if severities else ["no other finding" if accepted else "no finding"]
    return [*found, *(f"{number:,} {name}" for name, number in counts.items() if number)]


def headline(diagnosis: Diagnosis, at_least: Severity = Severity.INFO) -> Headline | None:
    """Return the first sentence; None if the worst finding is below a severity, and so is not printed."""
    if worst := _worst(diagnosis):
        check, finding = worst
        label = str(finding.severity)
        label = label.upper() if finding.severity >= Severity.HIGH else label
        return Headline(label, finding.title, finding=finding, check=check) if finding.severity >= at_least else None
    if missing := diagnosis.shortfall:
        return Headline(NOT_READ, missing.reason)
    return _rest(diagnosis)


def reservation(diagnosis: Diagnosis) -> str:
    """Return that what was found is no all-clear of the rest, where it is no worse than medium; else an empty text."""
    worst = _worst(diagnosis)
    if worst is None or diagnosis.shortfall or not is_reserved(str(worst[1].severity)):
        return ""
    return reserved(_rest(diagnosis, NOTHING_WORSE))


def is_reserved(severity: str) -> bool:
    """Return whether a worst finding of this severity lets a reader take the rest for clear."""
    return Severity.INFO < Severity[severity.upper()] <= Severity.MEDIUM


def reserved(rest: Headline) -> str:
    """Return the sentence about the rest of a report with a finding; empty where it is clear."""
    return rest.text if rest.label in {UNKNOWN, CRASHED} else ""


def _worst(diagnosis: Diagnosis) -> tuple[str, Finding] | None:
    """Return the worst finding that counts, and its check."""
    found = ((check, one) for check, one in diagnosis.found if one.severity > Severity.INFO and not one.is_accepted)
    return next(found, None)


def _rest(diagnosis: Diagnosis, nothing: str = NOTHING_WRONG) -> Headline:
    """Return what the other verdicts amount to."""
    unsettled = {one.check for one in diagnosis.judged if isinstance(one.verdict, NotJudged)}
    return without_finding(
        {one.check for one in diagnosis.judged},
        {one.check for one in diagnosis.judged if isinstance(one.verdict, Clear | Finding)},
        {one.check for one in diagnosis.crashed},
        lacks_of(diagnosis.judged),
        gaps=len(diagnosis.bundle.gaps),
        unsettled={*unsettled, *diagnosis.disabled} if diagnosis.kind is ReportKind.STORAGE else (),
        disabled=len(diagnosis.disabled),
        accepted=len(diagnosis.findings) - len(diagnosis.counting),
        nothing=nothing,
    )


def without_finding(  # noqa: PLR0913  what the rule depends on
    checks: AbstractSet[str],
    judged: AbstractSet[str],
    crashed: AbstractSet[str],
    lacks: Sequence[Lack],
    *,
    gaps: int,
    unsettled: Collection[str] = (),
    disabled: int = 0,
    accepted: int = 0,
    nothing: str = NOTHING_WRONG,
) -> Headline:
    """Return the sentence where nothing wrong, or nothing worse, was found.

    `judged`: the checks that judged. The rule of every format: an all-clear is a claim, and needs most checks to judge,
    and none to crash. Of a report on storage the decisive ones have to judge every subject (`unsettled`: those that did
    not).
    """
    if accepted:
        nothing = f"{nothing} apart from {counted(accepted, 'accepted finding')}"
    if crashed:
        return Headline(CRASHED, f"{nothing}, but {counted(len(crashed), 'check')} crashed: not an all-clear")
    for check in DECISIVE.keys() & set(unsettled):
        return Headline(UNKNOWN, f"{nothing}, but it is not known {DECISIVE[check]}", _unknown(lacks))
    if not checks:
        return Headline(UNKNOWN, "No check had anything to judge: not an all-clear")
    if len(judged) >= MOST * len(checks):
        lacking = f"; {counted(len(checks - judged), 'check')} could not judge" if checks - judged else ""
        unread = f"; {counted(gaps, 'gap')} in the evidence" if gaps else ""
        left_out = f"; {counted(disabled, 'check')} disabled by this site" if disabled else ""
        return Headline(CLEAR, f"{nothing} by {counted(len(judged), 'check')}{lacking}{left_out}{unread}")
    unjudged = len(checks - judged)
    lacking = f"{unjudged:,} of {counted(len(checks), 'check')} lack{'s' * (unjudged == 1)} evidence"
    return Headline(UNKNOWN, f"{nothing}, but {lacking}: not an all-clear", _unknown(lacks))


def _unknown(lacks: Sequence[Lack]) -> str:
    """Return in plain words what the evidence does not show, that of the most checks first."""
    kinds = dict.fromkeys(kind for lack in lacks for kind in lack.missing[:1])
    shows = [UNKNOWNS[kind].shows for kind in kinds if kind in UNKNOWNS][:FEW]
    return f"The evidence does not show {'; '.join(shows)}. {SCRIPT}" if shows else ""


def first_step(diagnosis: Diagnosis, first: Headline | None) -> FirstStep | None:
    """Return what to do first: the remedy of the worst finding, or what to collect where most checks lack evidence."""
    if first is None:
        return None
    if first.finding is not None:
        cure = CURED_BY.get(first.check)
        cures = [
            one
            for check, one in diagnosis.found
            if check == cure
            and one.server == first.finding.server
            and first.finding.observed.get("shape") in one.observed.get("shapes", ())
        ]
        for finding in (*cures, first.finding):
            if finding.remedies:
                return FirstStep(finding.remedies[0].title, finding.remedies[0])
        without = (line for line in first.finding.detail.splitlines() if line.startswith((NEXT, NO_COMMAND)))
        return FirstStep(next(without, "").removeprefix(NEXT) or f"read what to do: ldapdiag checks {first.check}")
    if first.label == NOT_READ and diagnosis.shortfall:
        return FirstStep(diagnosis.shortfall.how or "")
    return FirstStep(_collect(diagnosis)) if first.label == UNKNOWN else None


def _collect(diagnosis: Diagnosis) -> str:
    """Return what to collect, that of the most checks first."""
    most: dict[str, int] = {}
    lacks = lacks_of(diagnosis.judged)
    for lack in lacks:
        for kind in lack.missing[:1]:
            if kind in UNKNOWNS:
                most.setdefault(UNKNOWNS[kind].name, len(lack.checks))
    each = [f"{name} ({counted(number, 'check')})" for name, number in list(most.items())[:FEW]]
    if each:
        return f"add {', then '.join(each)}"
    return next((lack.how for lack in lacks if lack.how), "read why each check could not judge: add -v")


class Unknown(NamedTuple):
    """A kind of evidence, and what is unknown without it."""

    name: str
    shows: str


UNKNOWNS = {
    AccessLog.kind: Unknown("the access log", "which operations are slow or fail, and whose they are"),
    SocketTable.kind: Unknown("the socket table of both ends", "whether the connections exist at both ends"),
    IndexConfiguration.kind: Unknown("the index configuration", "which indexes are missing, not built or unused"),
    Configuration.kind: Unknown("the server's configuration", "which idle timeout the server has"),
    Monitor.kind: Unknown("cn=monitor", "whether worker threads are free"),
    FlowTable.kind: Unknown("the table of each middlebox", "which connections a middlebox still tracks"),
    Ruleset.kind: Unknown("the rules of each middlebox", "whether a middlebox drops packets without an entry"),
    KernelSettings.kind: Unknown("the kernel settings of middleboxes", "when a middlebox drops idle connections"),
    ProcessLimits.kind: Unknown("the limits of the server process", "how many descriptors the server may open"),
    DescriptorCount.kind: Unknown("the descriptors of the server process", "how many descriptors are open"),
    MountTable.kind: Unknown("the mounts of the server's process", "which file systems and disks the data is on"),
    StorageSettings.kind: Unknown("the server's configuration", "whether the server waits for the disk"),
    EffectiveOptions.kind: Unknown("the options in force of ext4", "whether ext4 flushes the cache of the disk"),
    BlockDevices.kind: Unknown("the block devices", "which disks the data is on"),
    FileExtents.kind: Unknown("the extents of the database files", "in how many pieces the database is"),
    KernelErrors.kind: Unknown("the messages of the kernel", "whether a disk reported errors"),
}
"""By the kind of the fact."""
