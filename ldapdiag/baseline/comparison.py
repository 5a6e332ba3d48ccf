"""Comparison: what became of each finding of an earlier report, and what was before each present one."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.baseline.changes import ChangedFinding, Changes, FindingChange, FormerFinding
from ldapdiag.baseline.host_names import same_hosts
from ldapdiag.baseline.log_extent import AS_MANY
from ldapdiag.baseline.paired import PairedFinding
from ldapdiag.baseline.reported import MORE
from ldapdiag.baseline.what_became import WhatBecame
from ldapdiag.check import MainNumber
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ldapdiag.baseline.host_names import HostNames
    from ldapdiag.baseline.log_extent import LogExtent
    from ldapdiag.baseline.reported import Reported, ReportedFinding, Source

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
