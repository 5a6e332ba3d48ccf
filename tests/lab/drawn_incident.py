"""The closed loop on a directory and kinds of search that a seed draws, and what the server says against the report.

incident = drawn_incident("openldap", folder, host, seed=5, people=20_000, kinds=100, times=5)
incident.changed            kinds that do not find what they found before
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from lab.audited_load import audit
from lab.closed_loop import close_loop
from lab.directory_servers import SUFFIX
from lab.drawn_directory import drawn_389, drawn_slapd
from lab.searching_client import Lane
from ldapdiag.evidence.filters import shape
from ldapdiag.evidence.schema.standard import standard

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from lab.audited_load import Report
    from lab.closed_loop import Loop
    from lab.directory_servers import Server
    from lab.drawn_directory import DrawnDirectory
    from lab.search_kinds import SearchKind
    from lab.search_load import Records

SERVERS = {"openldap": drawn_slapd, "389-ds": drawn_389}
LIMITED = {4, 11}
LONG = 0.002
"""Seconds; below it, the noise of the machine is as long as the search."""
ON_INDEXES = frozenset({"missing-index", "index-not-built", "unused-index"})


@dataclass(frozen=True, slots=True)
class DrawnIncident:
    """Both rounds, and an audit of the first round's log with the configuration after the plan."""

    kinds: Mapping[str, SearchKind]
    loop: Loop
    old_log: Report

    def seconds(self, name: str) -> tuple[float, float]:
        """Return the medians of a kind before and after."""
        return _median(self.loop.first.records, name), _median(self.loop.second.records, name)

    @property
    def planned(self) -> list[str]:
        """Return the kinds that the report predicts a time for, and that no limit ended."""
        first = self.loop.first
        return [
            name
            for name, kind in self.kinds.items()
            if "predicted" in first.report.verdicts(kind) and {one.sent.err for one in first.records[name]} == {0}
        ]

    @property
    def not_quicker(self) -> list[str]:
        """Return the planned kinds that took LONG, and are not quicker."""
        times = {name: self.seconds(name) for name in self.planned}
        return [name for name, (before, after) in times.items() if before >= LONG and after >= before]

    @property
    def slower(self) -> list[str]:
        """Return the kinds that take LONG, and twice as long as before."""
        times = {name: self.seconds(name) for name in self.kinds}
        return [name for name, (before, after) in times.items() if after >= LONG and after > 2 * before]

    @property
    def changed(self) -> list[str]:
        """Return the kinds that find something else, where no limit ended the search.

        A range of numbers of which the report says that its index misses entries may find more.
        """
        wrong = {
            one["observed"]["attribute"].lower()
            for one in self.loop.first.report.findings
            if one["check"] == "wrong-answers-possible"
        }
        pairs = {
            name: zip(self.loop.first.records[name], self.loop.second.records[name], strict=True) for name in self.kinds
        }
        warned = {
            name
            for name, kind in self.kinds.items()
            if any(f"({one}{sign}" in kind.filter.lower() for one in wrong for sign in (">", "<"))
        }
        return [
            name
            for name, several in pairs.items()
            if any(
                after.sent.err not in {before.sent.err, 0, *(LIMITED if before.sent.err in LIMITED else ())}
                or (before.sent.err not in LIMITED and before.sent.answer != after.sent.answer and name not in warned)
                or after.sent.entries < before.sent.entries
                for before, after in several
            )
        ]

    @property
    def unreported(self) -> list[str]:
        """Return the kinds that scan, take LONG, and stand nowhere in the report."""
        first = self.loop.first
        told = "\n".join(f"{one['title']}\n{one['detail']}" for one in first.report.findings).lower().replace("(?", "(")
        return [
            name
            for name in sorted(first.scans)
            if self.seconds(name)[0] >= LONG
            and not any(one.sent.err in LIMITED for one in first.records[name])  # they may have matched many
            and not first.report.verdicts(self.kinds[name])
            and not any(one in told for one in _spellings(self.kinds[name].text(0)))
        ]

    @property
    def asked_again(self) -> list[str]:
        """Return what later audits say of indexes."""
        return [
            f"{when}: {one['title']}"
            for when, report in (("new log", self.loop.second.report), ("old log", self.old_log))
            for one in report.findings
            if one["check"] in ON_INDEXES
        ]


def _median(records: Records, name: str) -> float:
    return median(one.etime for one in records[name])


def _spellings(text: str) -> set[str]:
    """Return the shape of a filter as it was sent, and with the first names of its attributes, as slapd logs it."""
    plain = shape(text.encode()).decode()
    named = re.sub(r"\(([\w.]+)(?=[=~<>])", lambda found: f"({standard().primary(found[1])}", plain)
    return {plain.lower(), named.lower()}


def drawn_incident(
    server: Server, family: str, folder: Path, directory: DrawnDirectory, kinds: Mapping[str, SearchKind], times: int
) -> DrawnIncident:
    """Close the loop on a server that has the directory."""
    lanes = {
        "person": Lane(SUFFIX, "sub", f"(uid={directory.value('uid', 5)})"),
        "rootDSE": Lane("", "base", "(objectClass=*)"),
    }
    loop = close_loop(server, family, folder, times, kinds, lanes)
    return DrawnIncident(kinds, loop, audit(server, loop.first.log, folder))
