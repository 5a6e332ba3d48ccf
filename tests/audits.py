"""Audits of a 389-ds for tests: a log built in memory, its indexes as LDIF, and the verdicts of the index checks."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import facts
from incidents import diagnosed_facts, findings
from indexes_389 import BACKEND, LIST, index, limits
from reading import facts_of
from traffic import Log

if TYPE_CHECKING:
    from ldapdiag.diagnosis import Diagnosis
    from ldapdiag.finding import Finding

SUFFIX = b"dc=example,dc=com"
UNINDEXED, PARTLY, UNKNOWN = b"A", b"U", b"F"


@dataclass(slots=True)
class Audit:
    """A server while its log and its indexes are written."""

    log: Log = field(default_factory=Log)
    indexes: dict[str, tuple[str, ...]] = field(default_factory=lambda: {"objectClass": ("nsIndexType: eq",)})
    limit: int = 4000
    others: tuple[str, ...] = ()
    """More entries of its configuration."""
    configured: bool = True
    ops: dict[int, int] = field(default_factory=dict)

    def has(self, attribute: str, *types: str, lines: tuple[str, ...] = ()) -> None:
        """Configure indexes."""
        self.indexes[attribute] = (*(f"nsIndexType: {one}" for one in types), *lines)

    def asks(self, filter_: str, notes: bytes = b"", *, times: int = 20, took: float = 0.1, **how: Any) -> None:
        """Ask the same many times, on a connection of its own."""
        number = self.log.opens()
        self.log.binds(number)
        for op in range(1, times + 1):
            self.log.searches(
                number,
                op,
                filter_.encode(),
                took=took,
                notes=notes,
                base=how.get("base", SUFFIX),
                **{name: value for name, value in how.items() if name != "base"},
            )
        self.log.closes(number)

    def facts(self) -> list[Any]:
        """Return what gathering would read."""
        told: list[Any] = [self.log.fact()]
        if self.configured:
            entries = "".join(index(*lines, attribute=name) for name, lines in self.indexes.items())
            text = BACKEND + LIST + entries + limits(f"nsslapd-idlistscanlimit: {self.limit}") + "".join(self.others)
            told.extend(replace(fact, origin=facts.origin("ldap", "dse.ldif")) for fact in facts_of(text))
        return told

    def diagnosis(self) -> Diagnosis:
        """Return the diagnosis by every check."""
        return diagnosed_facts(self.facts())

    def found(self, check: str) -> dict[str, Finding]:
        """Return the findings of a check, by the attribute, or by the filter if there is one."""
        told = findings(self.diagnosis(), check).values()
        return {str(one.observed.get("shape") or one.observed["attribute"]): one for one in told}
