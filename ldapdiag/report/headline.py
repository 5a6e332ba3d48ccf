"""What a report states first: the worst finding or that nothing is wrong, the first step, and how many of each.

What each kind of evidence shows, in plain words: for a report that lacks most of it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.flows import FlowTable
from ldapdiag.evidence.host_facts import DescriptorCount, KernelSettings, ProcessLimits
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.evidence.monitor import Monitor
from ldapdiag.evidence.ruleset import Ruleset
from ldapdiag.evidence.sockets import SocketTable
from ldapdiag.evidence.storage import BlockDevices, EffectiveOptions, FileExtents, KernelErrors, MountTable
from ldapdiag.evidence.storage.settings import StorageSettings
from ldapdiag.finding import NEXT, NO_COMMAND, Severity
from ldapdiag.lazy_dataclass import NamedTuple, dataclass
from ldapdiag.report.not_judged import lacks_of, unjudged_part, unjudged_share
from ldapdiag.report.verdicts import is_accepted, of_outcome, severity_of
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MOST = 0.75
"""Share of the checks that must judge, so that no finding is an all-clear."""
LARGE_PART = 0.1
"""Share of the searches of an index report, or of their time, without which there is no all-clear."""
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
    """The first sentence of a report; `finding` where it is a finding's title."""

    label: str
    text: str
    detail: str = ""
    finding: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class FirstStep:
    """What to do first: a remedy by its title, or a text alone."""

    text: str
    remedy: Mapping[str, Any] | None = None


def outcomes(document: Mapping[str, Any]) -> list[str]:
    """Return how many findings of each severity there are, and verdicts of the other outcomes."""
    severities = Counter(severity_of(finding) for finding in document["findings"] if not is_accepted(finding))
    accepted = len(document["findings"]) - severities.total()
    counts = {str(severity): severities[severity] for severity in sorted(severities, reverse=True)}
    counts["accepted"] = accepted
    for outcome in ("crashed", "clear", "not-judged"):
        counts[outcome.replace("-", " ")] = len(list(of_outcome(document, outcome)))
    counts["disabled"] = len(document["disabled"])
    found = [] if severities else ["no other finding" if accepted else "no finding"]
    return [*found, *(f"{number:,} {name}" for name, number in counts.items() if number)]


def headline(document: Mapping[str, Any]) -> Headline:
    """Return the first sentence: the title of the worst finding that counts, what was not read, or what is clear."""
    if worst := _worst(document):
        severity = worst["severity"]
        label = severity.upper() if severity_of(worst) >= Severity.HIGH else severity
        return Headline(label, worst["title"], finding=worst)
    if missing := document["shortfall"]:
        return Headline(NOT_READ, missing["reason"])
    return _rest(document)


def reservation(document: Mapping[str, Any]) -> str:
    """Return that what was found is no all-clear of the rest, where it is no worse than medium; else an empty text."""
    worst = _worst(document)
    if worst is None or document["shortfall"] or severity_of(worst) > Severity.MEDIUM:
        return ""
    rest = _rest(document, NOTHING_WORSE)
    return rest.text if rest.label in {UNKNOWN, CRASHED} else ""


def _worst(document: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the worst finding that counts: they stand in the order of their severity."""
    return next(
        (finding for finding in document["findings"] if finding["severity"] != "info" and not is_accepted(finding)),
        None,
    )


def _rest(document: Mapping[str, Any], nothing: str = NOTHING_WRONG) -> Headline:
    """Return what the verdicts without a finding amount to.

    The rule of every format: an all-clear is a claim, and needs most checks to judge, and none to crash. Of a report on
    storage the decisive ones have to judge every subject, and of one on indexes nearly all searches are to be judged.
    """
    checks: dict[str, set[str]] = {}
    for verdict in document["verdicts"]:
        checks.setdefault(verdict["check"], set()).add(verdict["outcome"])
    crashed = [name for name, outcomes in checks.items() if "crashed" in outcomes]
    unjudged = [name for name, outcomes in checks.items() if outcomes.isdisjoint({"clear", "finding"})]
    if accepted := sum(map(is_accepted, document["findings"])):
        nothing = f"{nothing} apart from {counted(accepted, 'accepted finding')}"
    if crashed:
        return Headline(CRASHED, f"{nothing}, but {counted(len(crashed), 'check')} crashed: not an all-clear")
    for check in DECISIVE.keys() & _unsettled(document):
        return Headline(UNKNOWN, f"{nothing}, but it is not known {DECISIVE[check]}", _unknown(document))
    if not checks:
        return Headline(UNKNOWN, "No check had anything to judge: not an all-clear")
    plans = document.get("indexes", ())
    parts = [f"{unjudged_part(plan)} at {plan['server']}" for plan in plans if unjudged_part(plan)]
    if any(unjudged_share(plan) >= LARGE_PART for plan in plans):
        return Headline(UNKNOWN, f"{nothing}, but {'; '.join(parts)}: not an all-clear")
    judged = len(checks) - len(unjudged)
    if judged < MOST * len(checks):
        lacking = f"{len(unjudged):,} of {counted(len(checks), 'check')} lack{'s' * (len(unjudged) == 1)} evidence"
        return Headline(UNKNOWN, f"{nothing}, but {lacking}: not an all-clear", _unknown(document))
    left = [f"{counted(len(unjudged), 'check')} could not judge"] if unjudged else []
    found = "; ".join([f"{nothing} by {counted(judged, 'check')}", *left, *parts])
    left_out = f"; {counted(len(document['disabled']), 'check')} disabled by this site" if document["disabled"] else ""
    unread = f"; {counted(len(document['gaps']), 'gap')} in the evidence" if document["gaps"] else ""
    return Headline(CLEAR, f"{found}{left_out}{unread}")


def _unsettled(document: Mapping[str, Any]) -> set[str]:
    """Return the checks of a report on storage that did not judge every subject, or were disabled."""
    if "storage" not in document:
        return set()
    return {one["check"] for one in (*of_outcome(document, "not-judged"), *document["disabled"])}


def _unknown(document: Mapping[str, Any]) -> str:
    """Return in plain words what the evidence does not show, that of the most checks first."""
    kinds = dict.fromkeys(kind for lack in lacks_of(document["verdicts"]) for kind in lack.missing[:1])
    shows = [UNKNOWNS[kind].shows for kind in kinds if kind in UNKNOWNS][:FEW]
    return f"The evidence does not show {'; '.join(shows)}. {SCRIPT}" if shows else ""


def first_step(document: Mapping[str, Any], first: Headline | None) -> FirstStep | None:
    """Return what to do first: the remedy of the worst finding, or what to collect where most checks lack evidence."""
    if first is None:
        return None
    if (worst := first.finding) is not None:
        for finding in (*_cures(document, worst), worst):
            if finding["remedies"]:
                return FirstStep(finding["remedies"][0]["title"], finding["remedies"][0])
        without = (line for line in worst["detail"].split("\n") if line.startswith((NEXT, NO_COMMAND)))
        return FirstStep(next(without, "").removeprefix(NEXT) or f"read what to do: ldapdiag checks {worst['check']}")
    if first.label == NOT_READ and document["shortfall"]:
        return FirstStep(document["shortfall"]["how"] or "")
    if first.label != UNKNOWN:
        return None
    unjudged = (one for one in of_outcome(document, "not-judged") if one["check"] == "missing-index")
    hows = (one["how"] for one in unjudged if "indexes" in document and one["how"])
    return FirstStep(next(hows, "") or _collect(document))


def _cures(document: Mapping[str, Any], worst: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the findings whose remedies help the worst one, which has none of its own."""
    cure, shape = CURED_BY.get(worst["check"]), worst["observed"].get("shape")
    for finding in document["findings"]:
        if (finding["check"], finding["server"]) == (cure, worst["server"]) and shape in finding["observed"].get(
            "shapes", ()
        ):
            yield finding


def _collect(document: Mapping[str, Any]) -> str:
    """Return what to collect, that of the most checks first."""
    most: dict[str, int] = {}
    lacks = lacks_of(document["verdicts"])
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
