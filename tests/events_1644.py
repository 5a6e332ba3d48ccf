"""Events 1644 of a domain controller and a schema, written for tests: by hand from the formats, not captured."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ldapdiag.sources.gathering import gather

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

HEADER = (
    "LDAPServer,TimeGenerated,ClientIP,ClientPort,StartingNode,Filter,SearchScope,AttributeSelection,ServerControls,"
    "VisitedEntries,ReturnedEntries,UsedIndexes,PagesReferenced,PagesReadFromDisk,PagesPreReadFromDisk,"
    "CleanPagesModified,DirtyPagesModified,SearchTimeMS,AttributesPreventingOptimization,User\r\n"
)
FOREST = "DC=ad,DC=example,DC=com"
WALK = "DNT_index:90000:N;"
ALL = 90_000
"""Entries that a walk visits."""

ANR, CONSTRUCTED, LINKED = {"searchFlags": "5"}, {"systemFlags": "4"}, {"linkID": "2"}
SCHEMA: Mapping[str, Mapping[str, str]] = {
    "objectClass": {"searchFlags": "9"},
    "objectCategory": {"searchFlags": "1"},
    "cn": {"searchFlags": "1"},
    "l": {"searchFlags": "1"},
    "givenName": ANR,
    "displayName": ANR,
    "description": {"searchFlags": "32"},
    "searchFlags": {},
    "employeeNumber": {"searchFlags": "16", "isMemberOfPartialAttributeSet": "FALSE"},
    "title": {},
    "department": {"searchFlags": "640"},
    "company": {},
    "info": {},
    "mobile": {},
    "initials": {"isMemberOfPartialAttributeSet": "TRUE"},
    "showInAdvancedViewOnly": {"attributeSyntax": "2.5.5.8"},
    "userAccountControl": {"searchFlags": "25"},
    "member": LINKED,
    "tokenGroups": CONSTRUCTED,
    "oldAttribute": {"isDefunct": "TRUE"},
}
"""searchFlags are 0 unless they are named."""


def schema_ldif(
    attributes: Mapping[str, Mapping[str, str]] = SCHEMA, root: str = FOREST, flags: Mapping[str, int] | None = None
) -> str:
    """Return attributeSchema entries; `flags`: searchFlags of some in place of their own. The CN has a capital."""
    entries = []
    for name, values in attributes.items():
        own = {"searchFlags": "0", **values} | ({"searchFlags": str(flags[name])} if flags and name in flags else {})
        lines = [f"dn: CN=X-{name},CN=Schema,CN=Configuration,{root}", f"lDAPDisplayName: {name}"]
        entries.append("\n".join([*lines, *(f"{each}: {value}" for each, value in own.items())]))
    return "\n\n".join(entries) + "\n\n"


@dataclass(slots=True)
class Events:
    """The events of one domain controller, a second apart."""

    server: str = "DC1"
    hour: int = 8
    rows: list[list[str]] = field(default_factory=list)

    def ask(self, filter_: str, visited: int = ALL, used: str = WALK, preventing: str = "none", **how: Any) -> None:
        """Log the same search twenty times."""
        for _ in range(how.get("times", 20)):
            second = len(self.rows)
            at = f"2026-11-20 {self.hour + second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
            who = (f"10.1.1.{1 + second % 3}", str(40_000 + second % 20_000))
            what = (how.get("base", FOREST), f" {filter_} ", how.get("scope", "subtree"), "[all]", "")
            work = (
                str(visited),
                str(how.get("returned", 1)),
                used,
                str(3 * visited),
                "0",
                "0",
                "0",
                "0",
                str(how.get("ms", 1500)),
            )
            self.rows.append([self.server, at, *who, *what, *work, preventing, f"ADEX\\svc{second % 2}"])

    @property
    def csv(self) -> str:
        """Return them as Event1644Reader.ps1 writes them."""
        text = io.StringIO(newline="")
        csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\r\n").writerows(self.rows)
        return HEADER + text.getvalue()


def facts_of_forest(folder: Path, *events: Events, schema: str | None = None) -> tuple[Any, ...]:
    """Return the facts of the events of each domain controller, in folders of their names, beside a schema."""
    for one in events:
        (folder / one.server).mkdir(exist_ok=True)
        (folder / one.server / "events.csv").write_text(one.csv, newline="")
    if schema is not None:
        (folder / "schema.ldf").write_text(schema)
    return gather([str(folder)]).facts
