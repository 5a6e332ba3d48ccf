"""Configuration: the configured limits, timeouts and keepalive settings of a directory server."""

from __future__ import annotations

from typing import ClassVar

from ldapdiag.evidence.family import ServerIdentity
from ldapdiag.evidence.origin import Origin
from ldapdiag.lazy_dataclass import dataclass

CONFIG = "cn=config"
WHOLE_ENTRY = ("objectClass", "cn")
"""Present in cn=config unless the search requested single attributes."""
MOST_ACCOUNTS = 10_000
"""Limit on accounts with an idle timeout of their own and on replication accounts; further ones are dropped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """Settings as configured. None: not in the text, so the default of the server's version applies."""

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
    """True: the text is the complete entry, so a missing attribute has its default."""
    idle_timeout_seconds: int | None = None
    """0: no timeout."""
    account_idle_timeout_seconds: int | None = None
    """The default of accounts without an idle timeout of their own (OpenDJ: by a virtual attribute)."""
    keepalive_seconds: int | None = None
    """389-ds nsslapd-tcp-keepalive-time."""
    keepalive: bool | None = None
    """Whether the server enables TCP keepalive on its sockets, where that is a setting (use-tcp-keep-alive)."""
    max_descriptors: int | None = None
    reserved_descriptors: int | None = None
    connection_table_size: int | None = None
    threads: int | None = None
    max_threads_per_connection: int | None = None
    listen_backlog: int | None = None
    max_connections: int | None = None
    """Where that is a setting; 0: no limit. At its MaxConnections, Active Directory closes one for each new one."""
    query_limits: tuple[tuple[str, int], ...] = ()
    """Further LDAP policies of Active Directory in force, by name (MaxPageSize)."""
    ports: tuple[int, ...] = ()
    local_sockets: tuple[str, ...] | None = None
    """The paths of the sockets at which it listens for ldapi (389-ds nsslapd-ldapifilepath)."""
    manager: str = ""
    """The DN of the directory manager (nsslapd-rootdn); empty: unknown."""
    idle_exemptions: tuple[tuple[str, int], ...] = ()
    """(DN, seconds) of accounts with their own idle timeout (nsIdleTimeout, ds-rlim-idle-time-limit); -1: none."""
    replication_accounts: tuple[str, ...] = ()
    """Bind DNs of replication (nsDS5ReplicaBindDN, olcUpdateDN), to be exempted from an idle timeout."""
