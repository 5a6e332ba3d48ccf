"""Comparison: what became of each finding of an earlier report, and what was before each present one.

What became of a finding that the present report does not have: gone, or not seen.

Gone is a claim: the same check judged the same subject clear, by sources of the kinds that showed the finding. Whatever
may hide the finding makes it not seen: a source or a host that was not read, a check that did not run, crashed, lacks
evidence, has a much shorter access log, was judged with other settings, or has more findings than a report lists.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.baseline.changes import ChangedFinding, Changes, FindingChange, FormerFinding
from ldapdiag.baseline.host_names import same_hosts
from ldapdiag.baseline.reported import ACCESS_LOG, MORE, NEVER_MISSED
from ldapdiag.check import MainNumber, Worse
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from ldapdiag.baseline.host_names import HostNames
    from ldapdiag.baseline.reported import Reported, ReportedFinding, ReportedVerdict

SHARE, DIFFERENCE = 0.1, 1.0
"""A number has changed if it differs by more than this share of what it was, and by more than this."""
LACKING = 5
"""Sources that a note names."""
PROCESS = pattern(r"\(process \d+\)")
"""In the name of a server of which nothing else is known; it changes with every restart."""
REMAINDER = MainNumber(MORE, Worse.MORE)


def compare(before: Reported, now: Reported, numbers: Mapping[str, MainNumber], origin: str) -> Changes:
    """Compare two reports of one command. `numbers` are the main numbers by check, `origin` is the file of `before`."""
    hosts = same_hosts(before.hosts, now.hosts)
    earlier = [_renamed(one, hosts) for one in before.findings]
    pairs = Pairs.of(earlier, now.findings)
    outcomes = _Outcomes(before, hosts)
    changed = {}
    for place, finding in enumerate(now.findings):
        former = earlier[pairs.former[place]] if place in pairs.former else None
        number = REMAINDER if finding.is_remainder else numbers.get(finding.check)
        changed[finding.id] = _changed(former, finding, number) if former else _new(finding, outcomes)
    new = [finding for place, finding in enumerate(now.findings) if place not in pairs.former]
    became = WhatBecame(before, now, hosts, new)
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
        notes=(*hosts.notes, *_notes(before, now), *_shorter_logs(before, now, hosts), *_lacking(before, now, hosts)),
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


def _changed(former: ReportedFinding, now: ReportedFinding, number: MainNumber | None) -> ChangedFinding:
    """Compare two findings of one id: by severity, else by the main number of the check."""
    values = (former.number(number.key), now.number(number.key)) if number else (None, None)
    if former.severity != now.severity:
        change = FindingChange.WORSE if now.severity > former.severity else FindingChange.BETTER
    else:
        change = _by_number(*values, number.worse if number else Worse.MORE)
    return ChangedFinding(
        change=change,
        outcome="finding",
        severity=former.severity,
        key=number.key if number else "",
        number=values[0],
        now=values[1],
    )


def _by_number(before: float | None, now: float | None, worse: Worse) -> FindingChange:
    if before is None or now is None or abs(now - before) <= max(DIFFERENCE, SHARE * abs(before)):
        return FindingChange.SAME
    return FindingChange.WORSE if (now > before) is (worse is Worse.MORE) else FindingChange.BETTER


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


def _lacking(before: Reported, now: Reported, hosts: HostNames) -> Iterator[str]:
    """Yield what only the baseline is based on: a finding may be better for lack of evidence alone."""
    sources = {(kind, hosts.of(about)) for kind, about in before.sources if kind not in NEVER_MISSED}
    lacking = sorted(f"{kind} of {about}" if about else kind for kind, about in sources - now.sources)
    if lacking:
        more = f" and {len(lacking) - LACKING:,} more" if len(lacking) > LACKING else ""
        yield f"in the baseline, and not in this evidence: {', '.join(lacking[:LACKING])}{more}"


def _shorter_logs(before: Reported, now: Reported, hosts: HostNames) -> Iterator[str]:
    """Yield the access logs that cover much less than in the baseline: a finding may be better for that alone."""
    lacking = {
        server: now.logs[server].lacks(extent)
        for name, extent in before.logs.items()
        if (server := hosts.of(name)) in now.logs
    }
    shorter = [f"the access log of {server} {lacks}" for server, lacks in sorted(lacking.items()) if lacks]
    yield from shorter[:LACKING]
    if len(shorter) > LACKING:
        yield f"{len(shorter) - LACKING:,} more access logs are much shorter than in the baseline"


LISTED = 10
"""Findings of one check about one server, of which the check may have left out others: some list no more than this."""
ALIKE = ("shape", "client", "account", "operation", "attribute")
"""Keys of `observed`: a new finding that has one of them in common may be the earlier one, grouped otherwise."""


class WhatBecame:
    """The verdicts and the sources of the present report, by check, to look up what became of earlier findings."""

    def __init__(self, before: Reported, now: Reported, hosts: HostNames, new: Collection[ReportedFinding]) -> None:
        """Look up in `now`, of which `new` are the findings that have no earlier one."""
        self._before, self._now, self._new = before, now, new
        self._verdicts: dict[str, list[ReportedVerdict]] = defaultdict(list)
        for verdict in now.verdicts:
            self._verdicts[verdict.check].append(verdict)
        self._cut = {finding.check for finding in now.findings if finding.is_remainder}
        self._listed = Counter((finding.check, finding.server) for finding in now.findings)
        self._names = {host.name for host in now.hosts}
        self._logs = {hosts.of(name): extent for name, extent in before.logs.items()}
        self._doubts = {hosts.of(name): why for name, why in hosts.doubts.items()}

    def of(self, finding: ReportedFinding) -> tuple[bool, str]:
        """Return whether an earlier finding (with present names) is gone, and why, or why that is not known."""
        hidden = next(self._hidden(finding), None)
        if hidden is not None:
            return False, hidden
        exact = [one for one in self._verdicts[finding.check] if one.subject == finding.subject]
        unclear = next((one for one in exact if one.outcome != "clear"), None)
        if unclear is not None:
            return False, unclear.reason or "it is judged, but not clear"
        return (True, exact[0].reason) if exact else self._by_server(finding)

    def _hidden(self, finding: ReportedFinding) -> Iterator[str]:
        """Yield what may hide a finding, whatever its check says of its subject."""
        check, now = finding.check, self._now
        if finding.is_remainder:
            yield "the baseline does not list these findings"
        if check in now.disabled:
            yield f"{check} is disabled: {now.disabled[check]}"
        if not self._verdicts[check]:
            yield f"{check} did not run"
        if any(one.outcome == "crashed" for one in self._verdicts[check]):
            yield f"{check} crashed"
        if check in self._cut:
            yield f"{check} has more findings than a report lists"
        if now.shortfall:
            yield f"this report lacks most of its evidence: {now.shortfall}"
        yield from self._not_read(finding)
        yield from self._shorter_logs(finding)
        if self._before.settings.get(check) != now.settings.get(check):
            yield f"{check} has other settings than in the baseline"

    def _not_read(self, finding: ReportedFinding) -> Iterator[str]:
        """Yield the hosts and the sources of a finding that the present report lacks."""
        for host in finding.hosts:
            if host not in self._names:
                yield f"no evidence of {host}"
            elif host in self._doubts:
                yield self._doubts[host]
        for kind, about in sorted(finding.sources - self._now.sources):
            if kind not in NEVER_MISSED:
                yield f"no {kind} of {about or 'any host'} in this evidence"

    def _shorter_logs(self, finding: ReportedFinding) -> Iterator[str]:
        """Yield the access logs of a finding that are much shorter than in the baseline."""
        for server in sorted(about for kind, about in finding.sources if kind == ACCESS_LOG and about in self._logs):
            now = self._now.logs.get(server)
            lacks = now.lacks(self._logs[server]) if now else "shows no operations at known times"
            if lacks:
                yield f"the access log of {server} {lacks}"

    def _by_server(self, finding: ReportedFinding) -> tuple[bool, str]:
        """Return what became of a finding of which the present report does not name the subject."""
        check = finding.check
        about = {finding.server, *finding.hosts} - {None}
        if not about:
            return False, f"{check} has no verdict on {finding.subject}"
        judged = [one for one in self._verdicts[check] if not one.about or {one.about, one.subject} & about]
        name = finding.server or ", ".join(finding.hosts)
        unclear = next((one for one in judged if one.outcome == "not-judged"), None)
        if unclear is not None:
            return False, unclear.reason
        if not judged:
            return False, f"{check} has judged nothing of {name}"
        if self._listed[check, finding.server] >= LISTED:
            return False, f"{check} has {self._listed[check, finding.server]:,} findings at {name} and may list no more"
        alike = next((one for one in self._new if _are_alike(one, finding)), None)
        if alike is not None:
            return False, f"it may be part of the new finding: {alike.title}"
        return True, f"{check} has judged {name}, and it is no finding any more"


def _are_alike(one: ReportedFinding, other: ReportedFinding) -> bool:
    if (one.check, one.server) != (other.check, other.server):
        return False
    return any(
        one.observed.get(key) not in {None, ""} and one.observed[key] == other.observed.get(key) for key in ALIKE
    )
