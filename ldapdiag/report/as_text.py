"""The report of a diagnosis as text: the main finding in one sentence, then its numbers, then what to run."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from ldapdiag.finding import Severity
from ldapdiag.report.common_parts import ROWS, ReportScreen
from ldapdiag.report.head import print_head
from ldapdiag.report.indexes.plan_block import print_plan
from ldapdiag.report.page import packed
from ldapdiag.report.verdicts import of_outcome, severity_of
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ldapdiag.report.headline import FirstStep, Headline

IN_FULL = 3
"""Findings of one check with chart, sentences and commands, without -v; further ones have their title and remedies'."""
CLEAR_ROWS = 3
"""Lines that name the checks which are clear, without -v."""
SERVERS = 2
"""Servers described without -v."""
GRAVE = 50
"""Findings of one check at high or critical shown without -v."""


class Screen(ReportScreen):
    """The report of one diagnosis, printed part by part."""

    __slots__ = ()

    def body(self, first: Headline | None, step: FirstStep | None) -> None:
        """Print the head, and the other findings."""
        if first is not None:
            print_head(self.page, self.document, first, step, verbose=self.verbose)
        self.findings(first, step)

    def servers(self) -> None:
        """Print a line on each server; without -v on the first few."""
        servers = self.document["servers"]
        shown = servers if self.verbose else servers[:SERVERS]
        for server in shown:
            self.page.packed(server["name"], summary(server), "bold", "bold", most=None if self.verbose else 2)
        if len(servers) > len(shown):
            self.page.indented(f"and {counted(len(servers) - len(shown), 'more server')} (-v lists them)")

    def findings(self, first: Headline | None, step: FirstStep | None) -> None:
        """Print the other findings; of the lesser ones of a check only the first few, and of many grave ones."""
        counts: Counter[tuple[str, bool]] = Counter()
        plans = [] if self.verbose else self.document["plans"]
        in_plan = {id_: place for place, plan in enumerate(plans) for id_ in plan["findings"]}
        printed = set[int]()
        for finding in self.document["findings"]:
            if (severity := severity_of(finding)) < self.at_least:
                continue
            if (place := in_plan.get(finding["id"])) is not None:
                if place not in printed:
                    printed.add(place)
                    print_plan(self.page, self.document, plans[place], step)
                continue
            check, grave = finding["check"], severity >= Severity.HIGH
            counts[check, grave] += 1
            within = counts[check, grave] <= (GRAVE if grave else ROWS)
            if (self.verbose or within) and (first is None or finding is not first.finding):
                self.finding(finding, step, brief=not self.verbose and counts[check, grave] > IN_FULL)
        for (check, grave), number in counts.items():
            more = number - (GRAVE if grave else ROWS)
            if more > 0 and not self.verbose:
                severe = " at high or critical" if grave else ""
                self.page.indented(f"and {more:,} more of {check}{severe} (-v shows them)")
                self.page.blank()

    def clear(self) -> None:
        """Print the clear subjects: in full for checks that also have findings, else the checks by name."""
        found = {finding["check"] for finding in self.document["findings"]}
        verdicts = Counter(verdict["check"] for verdict in self.document["verdicts"])
        reasons: dict[str, list[str]] = defaultdict(list)
        for one in of_outcome(self.document, "clear"):
            reasons[one["check"]].append(f"{one['subject']}: {one['reason']}  ({one['check']})")
        lines = [line for check, all_of in reasons.items() if check in found or self.verbose for line in all_of]
        shown = lines if self.verbose else lines[:ROWS]
        self.page.listed("clear", shown, "green")
        if len(lines) > len(shown):
            self.page.indented(f"and {len(lines) - len(shown)} more (-v shows them)")
        whole = [
            f"{check} ({len(all_of)} of {verdicts[check]})" if len(all_of) < verdicts[check] else check
            for check, all_of in reasons.items()
            if check not in found and not self.verbose
        ]
        if whole:
            self.page.packed("" if shown else "clear", whole if self.verbose else self.few(whole), "green")

    def few(self, names: list[str]) -> list[str]:
        """Return the names of a few lines, and the number of the others."""
        for number in range(len(names), 0, -1):
            more = [f"{len(names) - number} more (-v names them)"] if number < len(names) else []
            if len(list(packed([*names[:number], *more], self.page.room))) <= CLEAR_ROWS:
                return [*names[:number], *more]
        return names


def summary(server: Mapping[str, Any]) -> list[str]:
    """Return the first line on a server: product, connections, descriptors, idle timeout."""
    parts, numbers = [server["description"]], server["numbers"]
    if numbers["connections"] is not None:
        parts.append(counted(numbers["connections"], "connection"))
    used, limit, seconds = (numbers[key] for key in ("descriptors_used", "descriptors_limit", "idle_timeout_seconds"))
    if used is not None and limit is not None:
        at_most = f"{limit:,} at most"
        parts.append(at_most if numbers["limits_connections"] else f"{used:,} of {limit:,} descriptors")
    if seconds is not None:
        parts.append(f"idle timeout {f'{seconds:,} s' if seconds else 'off'}")
    return parts
