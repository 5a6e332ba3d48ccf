"""A forest for tests: events 1644 of its domain controllers and its schema, made from the formats, not captured."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from ldapdiag.sources.gathering import gather
from log.windows_events import as_csv, event

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

    from log.windows_events import Event

FOREST = "DC=ad,DC=example,DC=com"
ALL = 90_000
"""Entries that a walk visits."""
WALK = {"visited": ALL, "used": "DNT_index:90000:N;", "preventing": "none", "base": FOREST, "milliseconds": 1500}

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
    "info": {"searchFlags": "33"},
    "mobile": {},
    "initials": {"isMemberOfPartialAttributeSet": "TRUE"},
    "showInAdvancedViewOnly": {"attributeSyntax": "2.5.5.8"},
    "userAccountControl": {"searchFlags": "25"},
    "member": LINKED,
    "tokenGroups": CONSTRUCTED,
    "unicodePwd": {},
    "lastLogon": {"systemFlags": "17"},
    "uSNChanged": {"systemFlags": "17", "searchFlags": "9"},
    "oldAttribute": {"isDefunct": "TRUE"},
    "pager": {"isDefunct": "FALSE", "systemFlags": "16"},
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
    listed: list[Event] = field(default_factory=list)

    def ask(self, filter_: str, **how: Any) -> None:
        """Log the same search of a walk twenty times, unless `how` differs, by three clients and two accounts."""
        for _ in range(20):
            second = len(self.listed)
            who = {"client": f"10.1.1.{1 + second % 3}:{40_000 + second}", "user": f"ADEX\\svc{second % 2}"}
            one = event(0, filter_, **{**WALK, **who, **how}, server=self.server)
            self.listed.append(replace(one, time=one.time + timedelta(seconds=second)))


def facts_of_forest(folder: Path, *events: Events, schema: str | None = None) -> tuple[Any, ...]:
    """Return the facts of one export with the events of all domain controllers, beside a schema."""
    listed = sorted((one for each in events for one in each.listed), key=lambda one: one.time)
    (folder / "events.csv").write_text(as_csv(listed, culture="de-DE"))
    if schema is not None:
        (folder / "schema.ldf").write_text(schema)
    return gather([str(folder)]).facts
