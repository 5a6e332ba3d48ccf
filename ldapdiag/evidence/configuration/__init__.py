"""Configuration: the limits, timeouts and keepalive a directory server is set to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ldapdiag.evidence.family import ServerIdentity
from ldapdiag.evidence.origin import Origin

CONFIG = "cn=config"
WHOLE_ENTRY = ("objectClass", "cn")
"""Present in cn=config when nobody asked for single attributes."""
MOST_ACCOUNTS = 10_000
"""Entries with an idle limit of their own, or replicating accounts; what is beyond is not kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """Settings as configured. None: not in the text, so the server's default for its version holds."""

    kind: ClassVar[str] = "configuration"
    how: ClassVar[str] = (
        "389-ds: ldapsearch … -b cn=config -s base > cn-config.ldif; OpenLDAP: ldapsearch … -b cn=config -s base "
        "(or slapcat -n0) > cn-config.ldif; DSEE: dsconf get-server-prop > dsconf.txt; OpenDJ, PingDirectory: dsconfig "
        "get-global-configuration-prop > dsconfig.txt, or config.ldif; Active Directory: "
        'ntdsutil "LDAP policies" Connections "Connect to server …" Quit "Show Values" Quit Quit > policies.txt'
    )

    origin: Origin
    identity: ServerIdentity
    complete: bool = False
    """True when the text is the whole entry, so that an attribute that is absent is at its default."""
    idle_timeout_seconds: int | None = None
    """0 is off."""
    account_idle_timeout_seconds: int | None = None
    """What every account has that has none of its own, where that is a setting (OpenDJ: a virtual attribute)."""
    keepalive_seconds: int | None = None
    """389-ds nsslapd-tcp-keepalive-time."""
    keepalive: bool | None = None
    """Whether the server switches keepalives on for its sockets, where that is a setting (use-tcp-keep-alive)."""
    max_descriptors: int | None = None
    reserved_descriptors: int | None = None
    connection_table_size: int | None = None
    threads: int | None = None
    max_threads_per_connection: int | None = None
    listen_backlog: int | None = None
    max_connections: int | None = None
    """Where that is a setting; 0 is none. At Active Directory's MaxConnections each new one costs another its life."""
    ports: tuple[int, ...] = ()
    idle_exemptions: tuple[tuple[str, int], ...] = ()
    """(DN, seconds) of entries with their own idle limit (nsIdleTimeout, ds-rlim-idle-time-limit); -1 is none."""
    replication_accounts: tuple[str, ...] = ()
    """Bind DNs that replicate (nsDS5ReplicaBindDN, olcUpdateDN): an idle timeout must spare them."""
