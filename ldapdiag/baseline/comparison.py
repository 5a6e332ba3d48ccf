"""Comparison: what became of each finding of an earlier report, and what was before each present one."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ldapdiag.baseline.chance import HOUR, Measure, Measured, difference, number_of
from ldapdiag.baseline.changes import ChangedFinding, Changes, FindingChange, FormerFinding
from ldapdiag.baseline.host_names import same_hosts
from ldapdiag.baseline.log_extent import AS_MANY
from ldapdiag.baseline.reported import MORE, KeptNumber
from ldapdiag.baseline.what_became import WhatBecame
from ldapdiag.check import MainNumber, Worse
from ldapdiag.finding import Confidence, Severity
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from ldapdiag.baseline.host_names import HostNames
    from ldapdiag.baseline.log_extent import LogExtent
    from ldapdiag.baseline.reported import Reported, ReportedFinding, Source

OPERATIONS = 1_000
UNKNOWN_SCATTER = 4.0
"""Variance of times of which the report does not show it, in squares of their mean: more than most logs have."""


def measured(number: MainNumber, observed: Mapping[str, Any], log: LogExtent | None) -> Measured | None:
    """Return the main number as it is compared; None if the finding, or what is known of its log, has not enough."""
    value, of = number_of(observed, number.key), number_of(observed, number.of)
    if value is None:
        return None
    if number.quantity in {"value", "count"}:
        measures = [Measure(value=value, events=value if number.quantity == "count" else None)]
    elif number.quantity == "share":
        measures = [Measure(value=100 * value / of, events=value)] if of else []
    else:
        events, scatter = (
            (value, 1.0) if number.quantity == "logged" else (of or 0.0, _scatter(value, of or 0.0, observed))
        )
        measures = [Measure(value=value * share, events=events, scatter=scatter) for share in _shares(log)]
    unit = "%" if number.quantity == "share" else "s" if number.key.endswith("_seconds") else ""
    return Measured(key=number.key, measures=tuple(measures), unit=unit) if measures else None


def _shares(log: LogExtent | None) -> list[float]:
    """Return what 1,000 operations are of a log, and an hour; nothing if its operations are not known."""
    if log is None or not log.operations:
        return []
    return [OPERATIONS / log.operations, *([HOUR / log.seconds] if log.seconds else [])]


def _scatter(total: float, count: float, observed: Mapping[str, Any]) -> float:
    """Return 1 + (spread / mean)² of the times of so many operations."""
    spread, worst = number_of(observed, "spread_seconds"), number_of(observed, "worst_seconds")
    if total and count and spread is not None:
        relative = spread * count / total
        return 1 + relative * relative
    if total and worst:
        return max(1.0, worst * count / total)  # times of one mean and maximum scatter no more (Bhatia and Davis, 2000)
    return 1 + UNKNOWN_SCATTER


NAMES = {"logged": "{} per 1,000 operations", "spent": "{} per 1,000 operations", "share": "share of {}"}
"""How a number is called, by its quantity."""
CHANGES = {1: FindingChange.WORSE, 0: FindingChange.SAME, -1: FindingChange.BETTER}
MIXED = "less severe, but more of it: neither better nor worse"
CERTAINTY = list(Confidence)
"""The most certain first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedNumber:
    """A number of both reports."""

    number: MainNumber
    before: KeptNumber
    now: Measured

    @property
    def worse(self) -> int:
        """Return 1 if it is worse, -1 if better, 0 if chance or little explains the difference."""
        return difference(self.before.number, self.now) * (1 if self.number.worse is Worse.MORE else -1)

    @property
    def is_better_rate(self) -> bool:
        """Return whether it is better, and does not depend on how long a log is."""
        return self.number.is_of_a_log and self.worse == -1


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedFinding:
    """A finding of both reports, with what the logs of its server cover."""

    former: ReportedFinding
    now: ReportedFinding
    taken_at: datetime | None
    """Of the earlier report."""
    logs: tuple[LogExtent | None, LogExtent | None]

    def changed(self, number: MainNumber | None, became: WhatBecame) -> ChangedFinding:
        """Return how it has changed, by the main number of its check, unless evidence is missing."""
        compared = next(self._compared(number), None)
        worse = compared.worse if compared else None
        rises = self._rise(compared)
        is_mixed = rises == -1 and worse == 1  # the limit may have been raised, or what shows its severity is missing
        change = FindingChange.SAME if is_mixed else CHANGES[rises or worse or 0]
        by_rate = compared is not None and compared.is_better_rate and not (rises or self._is_doubtful)
        is_milder = change is FindingChange.BETTER or (change is FindingChange.SAME and self._is_milder)
        lacks = became.lacks(self.former, by_rate=by_rate) if is_milder else ""
        return ChangedFinding(
            change=FindingChange.LESS_SEEN if lacks else change,
            outcome="finding",
            severity=self.former.severity,
            confidence=self.former.confidence,
            name=_name(compared.number) if compared else "",
            before=compared.before if compared else None,
            now=compared.now if compared else None,
            reason=lacks or (MIXED if is_mixed else "one report lacks it" if number and not compared else ""),
        )

    def _compared(self, number: MainNumber | None) -> Iterator[ComparedNumber]:
        """Yield the numbers that both reports have."""
        for one in number.alternatives if number else ():
            now, kept = measured(one, self.now.observed, self.logs[1]), self.former.reference
            if kept is None or kept.number.key != one.key:
                before = measured(one, self.former.observed, self.logs[0])
                kept = KeptNumber(number=before, taken_at=self.taken_at) if before else None
            if kept is not None and now is not None:
                yield ComparedNumber(number=one, before=kept, now=now)

    def _rise(self, compared: ComparedNumber | None) -> int:
        """Return 1 if it is more severe, -1 if less; 0 also if a longer or shorter log alone may explain it."""
        rises = (self.now.severity > self.former.severity) - (self.now.severity < self.former.severity)
        return 0 if compared is not None and self._is_by_amount(compared.number) else rises

    def _is_by_amount(self, number: MainNumber) -> bool:
        """Return whether the two severities may follow from how much log there is."""
        highest = max(self.former.severity, self.now.severity)
        by_sign = any((number_of(self.now.observed, key) or 0.0) >= least for key, least in number.signs)
        return highest <= Severity[number.up_to.upper()] and not by_sign

    @property
    def _is_milder(self) -> bool:
        """Return whether it is less severe or less certain than before."""
        return self._is_doubtful or self.now.severity < self.former.severity

    @property
    def _is_doubtful(self) -> bool:
        return CERTAINTY.index(self.now.confidence) > CERTAINTY.index(self.former.confidence)


def _name(number: MainNumber) -> str:
    name = number.name or number.key.removesuffix("_seconds").replace("_", " ")
    return NAMES.get(number.quantity, "{}").format(name)


LACKING = 5
"""Sources that a note names."""
PROCESS = pattern(r"\(process \d+\)")
"""In the name of a server of which nothing else is known; it changes with every restart."""
REMAINDER = MainNumber(MORE, "findings that are not listed", "value")


def compare(before: Reported, now: Reported, numbers: Mapping[str, MainNumber], origin: str) -> Changes:
    """Compare two reports of one command. `numbers` are the main numbers by check, `origin` is the file of `before`."""
    hosts = same_hosts(before.hosts, now.hosts)
    earlier = [_renamed(one, hosts) for one in before.findings]
    pairs = Pairs.of(earlier, now.findings)
    outcomes = _Outcomes(before, hosts)
    new = [finding for place, finding in enumerate(now.findings) if place not in pairs.former]
    became = WhatBecame(before, now, hosts, new, numbers)
    logs = became.logs
    changed = {finding.id: _new(finding, outcomes) for finding in new}
    for place, former in pairs.former.items():
        finding = now.findings[place]
        extents = (logs.get(finding.server or ""), now.logs.get(finding.server or ""))
        pair = PairedFinding(former=earlier[former], now=finding, taken_at=before.taken_at, logs=extents)
        number = REMAINDER if finding.is_remainder else numbers.get(finding.check)
        changed[finding.id] = pair.changed(number, became)
    gone: list[FormerFinding] = []
    not_seen: list[FormerFinding] = []
    for place, finding in enumerate(earlier):
        if place not in pairs.present:
            is_gone, reason = became.of(finding)
            (gone if is_gone else not_seen).append(FormerFinding(finding=before.findings[place], reason=reason))
    return Changes(
        origin=origin,
        taken_at=before.taken_at,
        version=before.version,
        findings=changed,
        gone=gone,
        not_seen=not_seen,
        notes=(
            *hosts.notes,
            *_notes(before, now),
            *_not_compared(now, changed),
            *_traffic(now, logs),
            *_shorter_logs(now, logs),
            *_lacking(became.lacking),
        ),
        less_logged=any(
            now.logs[server].lacks(extent, AS_MANY) for server, extent in logs.items() if server in now.logs
        ),
    )


def _renamed(finding: ReportedFinding, hosts: HostNames) -> ReportedFinding:
    """Return an earlier finding with the present names of hosts and servers."""
    return replace(
        finding,
        id=hosts.of(finding.id),
        subject=hosts.of(finding.subject),
        server=hosts.of(finding.server) if finding.server else None,
        hosts=tuple(map(hosts.of, finding.hosts)),
        sources=frozenset((kind, hosts.of(about)) for kind, about in finding.sources),
    )


@dataclass(frozen=True, slots=True)
class Pairs:
    """The findings that both reports have, by their places."""

    former: Mapping[int, int]
    """Of a present finding: its earlier one."""
    present: Mapping[int, int]
    """Of an earlier finding: its present one."""

    @classmethod
    def of(cls, before: Sequence[ReportedFinding], now: Sequence[ReportedFinding]) -> Pairs:
        """Match findings by id; then those of which the id differs only in how a name is written."""
        former: dict[int, int] = {}
        for spelt in (_exact, _folded):
            left = _places(before, spelt, but=set(former.values()))
            right = _places(now, spelt, but=former.keys())
            for name, places in right.items():
                others = left.get(name, [])
                if spelt is _exact or len(places) == len(others) == 1:
                    former.update(zip(places, others, strict=False))
        return cls(former, {earlier: present for present, earlier in former.items()})


def _exact(finding: ReportedFinding) -> str:
    return finding.id


def _folded(finding: ReportedFinding) -> str:
    return PROCESS.sub("(process)", finding.id).casefold()


def _places(
    findings: Sequence[ReportedFinding], name: Callable[[ReportedFinding], str], *, but: Iterable[int]
) -> dict[str, list[int]]:
    places: dict[str, list[int]] = defaultdict(list)
    excluded = set(but)
    for place, finding in enumerate(findings):
        if place not in excluded:
            places[name(finding)].append(place)
    return places


class _Outcomes:
    """What an earlier report has about a subject that was no finding."""

    def __init__(self, before: Reported, hosts: HostNames) -> None:
        self._exact = {(one.check, hosts.of(one.subject)): one.outcome for one in before.verdicts if one.subject}
        self._of_check: dict[str, Counter[str]] = defaultdict(Counter)
        for verdict in before.verdicts:
            self._of_check[verdict.check][verdict.outcome] += 1
        self._cut = {finding.check for finding in before.findings if finding.is_remainder}

    def of(self, finding: ReportedFinding) -> str:
        """Return clear, not-judged or crashed; not-listed, if it may be among those not listed; else absent."""
        of_check = self._of_check.get(finding.check, Counter())
        if finding.check in self._cut:
            return "not-listed"
        if (exact := self._exact.get((finding.check, finding.subject))) and exact != "finding":
            return exact
        for outcome in ("crashed", "not-judged"):
            if of_check[outcome]:
                return outcome
        return "clear" if of_check else "absent"


def _new(finding: ReportedFinding, outcomes: _Outcomes) -> ChangedFinding:
    return ChangedFinding(change=FindingChange.NEW, outcome=outcomes.of(finding))


def _notes(before: Reported, now: Reported) -> Iterator[str]:
    if before.shortfall:
        yield f"the baseline lacks most of its evidence: {before.shortfall}"
    if before.taken_at and now.taken_at and before.taken_at > now.taken_at:
        yield "the baseline is later than this report"
    if before.version and before.version != now.version:
        yield f"ldapdiag {before.version} wrote the baseline, this is {now.version}: checks may judge otherwise"
    checks = sorted(
        {one.check for one in (*before.findings, *now.findings)}
        & {name for name in {*before.settings, *now.settings} if before.settings.get(name) != now.settings.get(name)}
    )
    if checks:
        yield f"other settings than in the baseline: {', '.join(checks)}"


def _lacking(sources: Iterable[Source]) -> Iterator[str]:
    """Yield what only the baseline is based on: a finding may be better for lack of evidence alone."""
    lacking = sorted(f"{kind} of {about}" if about else kind for kind, about in sources)
    if lacking:
        more = f" and {len(lacking) - LACKING:,} more" if len(lacking) > LACKING else ""
        yield f"in the baseline, and not in this evidence: {', '.join(lacking[:LACKING])}{more}"


def _not_compared(now: Reported, changed: Mapping[str, ChangedFinding]) -> Iterator[str]:
    """Yield the checks of findings that are the same by severity alone."""
    lacking = Counter(finding.check for finding in now.findings if changed[finding.id].is_by_severity_alone)
    if lacking:
        checks = ", ".join(f"{check} ({count:,})" if count > 1 else check for check, count in sorted(lacking.items()))
        yield f"compared by severity alone, as one report lacks the number, or the operations of the log: {checks}"


def _traffic(now: Reported, logs: Mapping[str, LogExtent]) -> Iterator[str]:
    """Yield the servers of which the log shows more or less traffic; findings are compared per operation."""
    rates = {server: now.logs[server].differs(extent) for server, extent in logs.items() if server in now.logs}
    yield from _some(
        [f"traffic of {server}: {rate}" for server, rate in sorted(rates.items()) if rate],
        "show other traffic than the baseline",
    )


def _shorter_logs(now: Reported, logs: Mapping[str, LogExtent]) -> Iterator[str]:
    """Yield the access logs that cover much less than in the baseline: a finding may be better for that alone."""
    lacking = {server: now.logs[server].lacks(extent) for server, extent in logs.items() if server in now.logs}
    shorter = [f"the access log of {server} {lacks}" for server, lacks in sorted(lacking.items()) if lacks]
    yield from _some(shorter, "are much shorter than in the baseline")


def _some(notes: Sequence[str], what: str) -> Iterator[str]:
    yield from notes[:LACKING]
    if len(notes) > LACKING:
        yield f"{len(notes) - LACKING:,} more access logs {what}"
