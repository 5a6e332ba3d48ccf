"""cn=config of 389-ds and DSEE, from a search, an excerpt or dse.ldif, and accounts exempt from its idle timeout.

    dn: cn=config
    nsslapd-idletimeout: 3600
    nsslapd-tcp-keepalive-time: 300
    nsslapd-maxdescriptors: 1048576

dse.ldif contains the attributes that were set; a search also shows defaults.
Source: Red Hat Directory Server, Configuration and schema reference, section cn=config; ldap/servers/slapd/libglobs.c.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ldapdiag.evidence.configuration import CONFIG, MOST_ACCOUNTS, WHOLE_ENTRY, Configuration
from ldapdiag.evidence.family import Family, ServerIdentity, identify

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.ldif import Entry

DSEE_NAMES = (
    "ds-maxheaphigh",
    "ds-maxheaplow",
    "ds-start-tls-enabled",
    "nsslapd-infolog-area",
    "nsslapd-infolog-level",
    "nsslapd-maxconnections",
)
"""Attributes of DSEE that no 389-ds version has. Their defaults differ, so the product matters.

Source: Oracle E28967 (man pages of section 5dsconf)."""


def identity_of(entry: Entry) -> ServerIdentity:
    """Return the product of a cn=config entry, by its version or an attribute of DSEE; by default 389-ds."""
    identity = identify(entry.first("nsslapd-versionstring"))
    if identity and identity.family in {Family.DS389, Family.DSEE}:
        return identity
    return ServerIdentity(family=Family.DSEE if any(name in entry for name in DSEE_NAMES) else Family.DS389)


OWN_NAMES = "nsslapd-"
BACKLOGS = ("nsslapd-listen-backlog-size", "nsslapd-listenBacklog", "nsslapd-listen-backlog")
"""The names of 389-ds, of DSEE 7 and later, and of DSEE 6."""
LISTENS, SOCKET = "nsslapd-ldapilisten", "nsslapd-ldapifilepath"
ATTRIBUTES = (
    *WHOLE_ENTRY,
    "nsslapd-idletimeout",
    "nsslapd-tcp-keepalive-time",
    "nsslapd-maxdescriptors",
    "nsslapd-reservedescriptors",
    "nsslapd-conntablesize",
    "nsslapd-threadnumber",
    "nsslapd-maxthreadsperconn",
    *BACKLOGS,
    "nsslapd-port",
    "nsslapd-securePort",
    "nsslapd-security",
    "nsslapd-versionstring",
    "nsslapd-rootdn",
    LISTENS,
    SOCKET,
    *DSEE_NAMES,
)
"""The attributes read of cn=config. In the answer to a search for all of these, a missing attribute is not set."""
REPLICATION = ("nsDS5ReplicaBindDN", "nsDS5ReplicaBindDNGroup")
OF_THE_SERVER = frozenset(name.lower() for name in ATTRIBUTES if name.startswith(OWN_NAMES)) - {"nsslapd-security"}
"""Without any of these, the entry is the answer to a question about indexes (indexes/ds389_internal_searches.py)."""


class Ds389Configuration:
    """Makes one Configuration from cn=config and the entries of accounts."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.main: Configuration | None = None
        self.idle_exemptions: dict[str, int] = {}
        self.replication_accounts: dict[str, None] = {}

    def take(self, entry: Entry) -> None:
        """Read cn=config, and the idle timeout or the replication account in any other entry."""
        if entry.key == CONFIG and not OF_THE_SERVER.isdisjoint(entry.attributes):
            self.main = _settings(entry, self.document)
        if len(self.idle_exemptions) + len(self.replication_accounts) >= MOST_ACCOUNTS:
            self.document.note(f"Only the first {MOST_ACCOUNTS:,} accounts with their own idle timeout were kept.")
            return
        seconds = entry.number("nsIdleTimeout")
        if seconds is not None:
            self.idle_exemptions[entry.dn] = seconds
        self.replication_accounts.update(dict.fromkeys(filter(None, entry.values(REPLICATION[0]))))
        for group in filter(None, entry.values(REPLICATION[1])):
            self.document.note(f"Members of {group[:200]!r} replicate as well: exempt them from an idle timeout.")

    def facts(self) -> Iterator[Configuration]:
        """Return the configuration, if any entry contributed to it."""
        if self.main is None and not self.idle_exemptions and not self.replication_accounts:
            return
        main = self.main or Configuration(origin=self.document.origin(), identity=ServerIdentity(family=Family.DS389))
        yield replace(
            main,
            origin=self.document.origin(),
            idle_exemptions=tuple(self.idle_exemptions.items()),
            replication_accounts=tuple(self.replication_accounts),
        )


def _settings(entry: Entry, document: Document) -> Configuration:
    """Return the settings in the cn=config entry."""
    return Configuration(
        origin=document.origin(),
        identity=identity_of(entry),
        complete=entry.closed and all(name in entry for name in WHOLE_ENTRY),
        idle_timeout_seconds=_amount(entry, "nsslapd-idletimeout"),
        keepalive_seconds=_amount(entry, "nsslapd-tcp-keepalive-time"),
        max_descriptors=_amount(entry, "nsslapd-maxdescriptors"),
        reserved_descriptors=_amount(entry, "nsslapd-reservedescriptors"),
        connection_table_size=_amount(entry, "nsslapd-conntablesize"),
        threads=_amount(entry, "nsslapd-threadnumber"),
        max_threads_per_connection=_amount(entry, "nsslapd-maxthreadsperconn"),
        listen_backlog=next((size for size in map(partial(_amount, entry), BACKLOGS) if size is not None), None),
        max_connections=_amount(entry, "nsslapd-maxconnections"),
        ports=tuple(_ports(entry)),
        local_sockets=_local_sockets(entry),
        manager=entry.first("nsslapd-rootdn"),
    )


def _amount(entry: Entry, attribute: str) -> int | None:
    """Return a setting; None for a negative one (threads: -1), with which the server chooses the value."""
    value = entry.number(attribute)
    return value if value is not None and value >= 0 else None


def _local_sockets(entry: Entry) -> tuple[str, ...] | None:
    """Return the path of the local socket, if it is open; None: not in the text, as where dse.ldif has the default."""
    if entry.first(LISTENS).lower() == "off":
        return ()
    path = entry.first(SOCKET)
    return (path,) if path and LISTENS in entry else None


def _ports(entry: Entry) -> Iterator[int]:
    """Yield the server's ports; 0 is none, and the secure port counts only if TLS is on."""
    if port := _amount(entry, "nsslapd-port"):
        yield port
    if (secure := _amount(entry, "nsslapd-securePort")) and entry.first("nsslapd-security").lower() != "off":
        yield secure
