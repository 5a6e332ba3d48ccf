"""cn=config of OpenDJ, its relatives and PingDirectory, from a search or from config.ldif, entry by entry.

    dn: cn=config
    objectClass: ds-cfg-root-config
    ds-cfg-idle-time-limit: 0 seconds
    ds-cfg-max-allowed-client-connections: 0

    dn: cn=LDAP Connection Handler,cn=Connection Handlers,cn=config
    objectClass: ds-cfg-ldap-connection-handler
    ds-cfg-listen-port: 389
    ds-cfg-use-tcp-keep-alive: true

An account's own limit stands on its entry: ds-rlim-idle-time-limit, in seconds, 0 for none (measured with 4.10.1).
Source: the template opendj-server-legacy/resource/config/config.ldif; Oracle 820-6170, 821-0507; Ping's reference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.configuration.duration import seconds
from ldapdiag.evidence.configuration.opends_settings import PERSONAL_LIMIT, POLICY_IDLE, VIRTUAL, WANTED, OpendsSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.configuration import Configuration
    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.ldif import Entry

CONFIG = "cn=config"
BELOW = ",cn=config"
OWN_NAMES = "ds-cfg-"
WHOLE_ENTRY = ("objectClass", "cn")
"""Present when nobody asked for single attributes."""
LDAP_HANDLER = "ds-cfg-ldap-connection-handler"
ATTRIBUTES = (*WHOLE_ENTRY, *sorted(f"{OWN_NAMES}{name}" for name in WANTED))
"""What is read of the configuration, with the prefix LDIF gives it."""
MOST_ACCOUNTS = 10_000
"""Entries with an idle limit of their own; what is beyond is not kept, with a note."""


class OpendjConfiguration:
    """Makes one Configuration of all entries that say something on connections."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.settings = OpendsSettings()
        self.exemptions: dict[str, int] = {}

    def take(self, entry: Entry) -> None:
        """Read cn=config, handlers, the work queue, and the idle limit any entry has of its own."""
        limit = entry.number(PERSONAL_LIMIT)
        if limit is not None:
            self._exempt(entry.dn, limit)
        if entry.key != CONFIG and not entry.key.endswith(BELOW):
            return
        told = _told(entry)
        if told is None:
            return
        classes = {name.lower() for name in entry.values("objectClass")}
        if entry.key == CONFIG:
            self.settings.take_global(told)
            self.settings.complete = entry.closed and all(name in entry for name in WHOLE_ENTRY)
        elif LDAP_HANDLER in classes:
            self.settings.take_handler(told)
        elif VIRTUAL in told:
            self.settings.take_virtual_attribute(told)
        elif entry.key == f"cn=work queue{BELOW}":
            self.settings.take_work_queue(told)
        elif period := seconds(told.get(POLICY_IDLE, "")):
            self.settings.take_global(dict.fromkeys([POLICY_IDLE], ""))
            self.document.note(
                f"A client connection policy closes connections that rest {period} s, whatever the global limit."
            )

    def facts(self) -> Iterator[Configuration]:
        """Return the configuration, if any entry said something."""
        if self.settings.say_something or self.settings.complete or self.exemptions:
            yield self.settings.configuration(self.document.origin(), self.exemptions)

    def _exempt(self, dn: str, limit: int) -> None:
        if len(self.exemptions) >= MOST_ACCOUNTS:
            self.document.note(f"Only the first {MOST_ACCOUNTS} accounts with an idle limit of their own were kept.")
        else:
            self.exemptions[dn] = limit if limit > 0 else -1


def _told(entry: Entry) -> dict[str, str] | None:
    """Return the properties we want, without the prefix that LDIF gives them; None for another server's entry."""
    own = [name for name in entry.attributes if name.startswith(OWN_NAMES)]
    bare = {name.removeprefix(OWN_NAMES): name for name in own}
    return {name: entry.first(bare[name]) for name in WANTED & bare.keys()} if own else None
