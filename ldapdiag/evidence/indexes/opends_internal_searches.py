"""Internal searches of OpenDJ, its relatives and PingDirectory, and the attributes they compute.

    dn: cn=UID Unique Attribute,cn=Plugins,cn=config
    objectClass: ds-cfg-unique-attribute-plugin
    ds-cfg-enabled: true
    ds-cfg-type: uid

Internal searches are not in the access log. Source: the template config.ldif and the configuration references of OpenDJ
and PingDirectory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.indexes.internal_search import InternalSearch

if TYPE_CHECKING:
    from ldapdiag.evidence.ldif import Entry

SEARCHERS = {
    "ds-cfg-unique-attribute-plugin": ("ds-cfg-type", "uniqueness"),
    "ds-cfg-referential-integrity-plugin": ("ds-cfg-attribute-type", "referential integrity"),
    "ds-cfg-exact-match-identity-mapper": ("ds-cfg-match-attribute", "the identity mapper"),
    "ds-cfg-regular-expression-identity-mapper": ("ds-cfg-match-attribute", "the identity mapper"),
    "ds-cfg-subject-dn-to-user-attribute-certificate-mapper": ("ds-cfg-subject-attribute", "certificate mapping"),
    "ds-cfg-fingerprint-certificate-mapper": ("ds-cfg-fingerprint-attribute", "certificate mapping"),
}
"""Classes of entries that make the server search, the setting that names the attributes, and what searches."""
GROUPS = {"member": "static groups", "uniquemember": "static groups"}
"""Searched for when an entry is renamed or deleted, and when groups are loaded."""
BASE, MATCH_BASE = "ds-cfg-base-dn", "ds-cfg-match-base-dn"
VIRTUAL, VIRTUAL_TYPE = "virtual-attribute", "ds-cfg-attribute-type"
MOST = 1000


class OpendsInternalSearches:
    """Collects the attributes that the server searches for internally, and those it computes."""

    def __init__(self) -> None:
        self.found: dict[InternalSearch, None] = dict.fromkeys(
            InternalSearch(attribute=attribute, by=by) for attribute, by in GROUPS.items()
        )
        self.virtual_attributes: dict[str, str] = {}

    def take(self, entry: Entry) -> None:
        """Read the entry of an enabled plug-in, mapper or virtual attribute."""
        if entry.first("ds-cfg-enabled").lower() != "true" or len(self.found) >= MOST:
            return
        for name in map(str.lower, entry.values("objectClass")):
            if name in SEARCHERS:
                setting, what_for = SEARCHERS[name]
                for attribute in entry.values(setting):
                    search = InternalSearch(
                        attribute=attribute,
                        by=what_for,
                        bases=entry.values(BASE) or entry.values(MATCH_BASE),
                        frequent=True,
                    )
                    self.found[search] = None
            elif name.endswith(VIRTUAL) and VIRTUAL_TYPE in entry and len(self.virtual_attributes) < MOST:
                self.virtual_attributes[entry.first(VIRTUAL_TYPE).lower()] = "a virtual attribute"
