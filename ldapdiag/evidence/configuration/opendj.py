"""cn=config of OpenDJ, its relatives and PingDirectory, from a search or from config.ldif, entry by entry.

    dn: cn=config
    objectClass: ds-cfg-root-config
    ds-cfg-idle-time-limit: 0 seconds
    ds-cfg-max-allowed-client-connections: 0

    dn: cn=LDAP Connection Handler,cn=Connection Handlers,cn=config
    objectClass: ds-cfg-ldap-connection-handler
    ds-cfg-listen-port: 389
    ds-cfg-use-tcp-keep-alive: true

An account's own idle timeout is in its entry: ds-rlim-idle-time-limit, in seconds, 0 for none (measured with 4.10.1).
Source: the template opendj-server-legacy/resource/config/config.ldif; Oracle 820-6170, 821-0507; Ping's reference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.configuration import CONFIG, MOST_ACCOUNTS, WHOLE_ENTRY
from ldapdiag.evidence.configuration.duration import seconds
from ldapdiag.evidence.configuration.opends_settings import PERSONAL_LIMIT, POLICY_IDLE, VIRTUAL, WANTED, OpendsSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.configuration import Configuration
    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.ldif import Entry

BELOW = ",cn=config"
OWN_NAMES = "ds-cfg-"
LDAP_HANDLER = "ds-cfg-ldap-connection-handler"
ATTRIBUTES = (*WHOLE_ENTRY, *sorted(f"{OWN_NAMES}{name}" for name in WANTED))
"""The attributes read of the configuration, with their prefix in LDIF."""


class OpendjConfiguration:
    """Makes one Configuration from the entries of cn=config and of accounts."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.settings = OpendsSettings()
        self.exemptions: dict[str, int] = {}

    def take(self, entry: Entry) -> None:
        """Read cn=config, handlers, the work queue, and the idle timeout of any other entry."""
        limit = entry.number(PERSONAL_LIMIT)
        if limit is not None:
            self._exempt(entry.dn, limit)
        if entry.key != CONFIG and not entry.key.endswith(BELOW):
            return
        properties = _properties(entry)
        if properties is None:
            return
        classes = {name.lower() for name in entry.values("objectClass")}
        if entry.key == CONFIG:
            self.settings.take_global(properties)
            self.settings.complete = entry.closed and all(name in entry for name in WHOLE_ENTRY)
        elif LDAP_HANDLER in classes:
            self.settings.take_handler(properties)
        elif VIRTUAL in properties:
            self.settings.take_virtual_attribute(properties)
        elif entry.key == f"cn=work queue{BELOW}":
            self.settings.take_work_queue(properties)
        elif period := seconds(properties.get(POLICY_IDLE, "")):
            self.settings.take_global(dict.fromkeys([POLICY_IDLE], ""))
            self.document.note(
                f"A client connection policy closes connections idle for {period} s, whatever the global limit."
            )

    def facts(self) -> Iterator[Configuration]:
        """Return the configuration, if any entry contributed to it."""
        if self.settings.relevant or self.settings.complete or self.exemptions:
            yield self.settings.configuration(self.document.origin(), self.exemptions)

    def _exempt(self, dn: str, limit: int) -> None:
        if len(self.exemptions) >= MOST_ACCOUNTS:
            self.document.note(f"Only the first {MOST_ACCOUNTS:,} accounts with their own idle timeout were kept.")
        else:
            self.exemptions[dn] = limit if limit > 0 else -1


def _properties(entry: Entry) -> dict[str, str] | None:
    """Return the properties in WANTED, without their prefix in LDIF; None for the entry of another product."""
    own = [name for name in entry.attributes if name.startswith(OWN_NAMES)]
    bare = {name.removeprefix(OWN_NAMES): name for name in own}
    return {name: entry.first(bare[name]) for name in WANTED & bare.keys()} if own else None
