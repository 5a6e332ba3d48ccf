"""What became of a finding that the present report does not have: gone, or not seen; and what may hide one.

Gone is a claim: the same check judged the same subject clear, by sources of the kinds that showed the finding. Whatever
may hide the finding makes it not seen: a source or a host that was not read, a check that did not run, crashed, lacks
evidence, has a much shorter access log, was judged with other settings, or has more findings than a report lists.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import chain
from typing import TYPE_CHECKING

from ldapdiag.baseline.log_extent import AS_MANY, LEAST_OPERATIONS
from ldapdiag.baseline.reported import ACCESS_LOG, NEVER_MISSED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from ldapdiag.baseline.host_names import HostNames
    from ldapdiag.baseline.reported import Reported, ReportedFinding, ReportedVerdict, Source
    from ldapdiag.check import MainNumber

LISTED = 10
"""Findings of one check about one server, of which the check may have left out others: some list no more than this."""
ALIKE = ("shape", "client", "account", "operation", "attribute")
"""Keys of `observed`: a new finding that has one of them in common may be the earlier one, grouped otherwise."""


class WhatBecame:
    """The verdicts and the sources of the present report, by check, to look up what became of earlier findings."""

    def __init__(
        self,
        before: Reported,
        now: Reported,
        hosts: HostNames,
        new: Collection[ReportedFinding],
        numbers: Mapping[str, MainNumber],
    ) -> None:
        """Look up in `now`, of which `new` are the findings that have no earlier one."""
        self._by_amount = {check for check, number in numbers.items() if number.is_of_a_log}
        self._before, self._now, self._new = before, now, new
        self._verdicts: dict[str, list[ReportedVerdict]] = defaultdict(list)
        for verdict in now.verdicts:
            self._verdicts[verdict.check].append(verdict)
        self._cut = {finding.check for finding in now.findings if finding.is_remainder}
        self._listed = Counter((finding.check, finding.server) for finding in now.findings)
        self._names = {host.name for host in now.hosts}
        self.logs = {hosts.of(name): extent for name, extent in before.logs.items()}
        """The extents of the earlier logs, by the present names of their servers."""
        read = {(kind, hosts.of(about)) for kind, about in before.sources if kind not in NEVER_MISSED}
        self.lacking = read - now.sources
        """The sources of the earlier report alone, by present names."""
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

    def lacks(self, finding: ReportedFinding, *, by_rate: bool) -> str:
        """Return why an earlier finding may only look better now; empty: it is better.

        A rate does not depend on how long a log is. Severity and certainty may depend on any source: what one client
        shows excludes a cause on another.
        """
        further = self._not_read_of(self.lacking) if not by_rate else iter(())
        return next(chain(self._lacks(finding, logs=not by_rate), further), "")

    def _lacks(self, finding: ReportedFinding, *, logs: bool) -> Iterator[str]:
        check, now = finding.check, self._now
        if now.shortfall:
            yield f"this report lacks most of its evidence: {now.shortfall}"
        yield from self._not_read(finding)
        if logs:
            yield from self._shorter_logs(finding)
        if self._before.settings.get(check) != now.settings.get(check):
            yield f"{check} has other settings than in the baseline"

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
        yield from self._lacks(finding, logs=True)

    def _not_read(self, finding: ReportedFinding) -> Iterator[str]:
        """Yield the hosts and the sources of a finding that the present report lacks."""
        for host in finding.hosts:
            if host not in self._names:
                yield f"no evidence of {host}"
            elif host in self._doubts:
                yield self._doubts[host]
        yield from self._not_read_of(finding.sources - self._now.sources)

    @staticmethod
    def _not_read_of(sources: Collection[Source]) -> Iterator[str]:
        for kind, about in sorted(sources):
            if kind not in NEVER_MISSED:
                yield f"no {kind} of {about or 'any host'} in this evidence"

    def _shorter_logs(self, finding: ReportedFinding) -> Iterator[str]:
        """Yield the access logs of a finding that are much shorter than in the baseline."""
        for server in sorted(about for kind, about in finding.sources if kind == ACCESS_LOG and about in self.logs):
            now = self._now.logs.get(server)
            least = AS_MANY if finding.check in self._by_amount else LEAST_OPERATIONS
            lacks = now.lacks(self.logs[server], least) if now else "shows no operations at known times"
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
