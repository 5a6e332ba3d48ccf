"""Remedies on OpenLDAP's slapd: the commands and their undo, tested with 2.5.13 and cn=config."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where
from ldapdiag.servers.commands.ldap_tools import as_root
from ldapdiag.servers.commands.remedy_texts import (
    CLIENTS_ARE_REFUSED,
    LONG_QUEUE,
    MANY_THREADS,
    POOL_MUST_RECONNECT,
    SECURE_BINDS,
    SHOW_BACKLOG,
    STOPGAP,
    idle_for,
)
from ldapdiag.servers.commands.shell_text import here_document, ldif_replace, unit_drop_in, unit_drop_in_undo
from ldapdiag.servers.hosts.host_remedies import kernel_keepalive, listen_ceiling
from ldapdiag.servers.openldap.defaults import DEFAULTS, IDLE

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Version
    from ldapdiag.servers.commands.server_address import ServerAddress

UNIT = "slapd.service"
RESTART = "systemctl restart slapd"


def modify(server: ServerAddress, *ldif: str, secure: bool = False) -> str:
    """Return an ldapmodify command with its LDIF."""
    return here_document(as_root("ldapmodify", server, secure=secure), *ldif)


def shown(server: ServerAddress, attribute: str, *, secure: bool = False) -> str:
    """Return an ldapsearch command that shows one setting of cn=config."""
    return f"{as_root('ldapsearch', server, secure=secure)} -LLL -b cn=config -s base {attribute}"


def set_idle_timeout(server: ServerAddress, seconds: int, current: int | None, version: Version = ()) -> Remedy:
    """Set olcIdleTimeout; it applies at once, also to open connections."""
    return Remedy(
        title=f"Set the idle timeout to {seconds:,} s",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=modify(server, *ldif_replace("olcIdleTimeout", seconds)),
        changes=(
            f"{idle_for(seconds, IDLE.at(version).latest(seconds))}, those that are open now included; their clients "
            "receive a FIN. "
            f"Without cn=config: add the line 'idletimeout {seconds}' to slapd.conf and restart slapd."
        ),
        risk=(
            f"{POOL_MUST_RECONNECT} No account can be exempted. Connections with an operation in progress stay open."
        ),
        undo=modify(
            server,
            *ldif_replace("olcIdleTimeout", DEFAULTS.idle_timeout_seconds.at(version) if current is None else current),
        ),
        verify=shown(server, "olcIdleTimeout"),
        family=Family.OPENLDAP,
    )


def set_keepalive(server: ServerAddress, seconds: int, current: int | None = None, version: Version = ()) -> Remedy:
    """Set the kernel's keepalive time: slapd sets SO_KEEPALIVE, but no time of its own."""
    del version  # the same in every version
    return kernel_keepalive(server.name, seconds, current, where=Where.SERVER, family=Family.OPENLDAP)


def exempt_from_idle_timeout(server: ServerAddress, dns: tuple[str, ...], seconds: int = -1) -> None:
    """Return None: slapd has a single idle timeout, without exceptions for accounts."""
    del server, dns, seconds


def raise_descriptor_limit(server: ServerAddress, current: int | None, wanted: int, version: Version = ()) -> Remedy:
    """Raise the descriptor limit of the process; slapd has no other."""
    del version  # the same in every version
    former = "" if current is None else f" instead of {current:,}"
    return Remedy(
        title=f"Raise the descriptor limit to {wanted:,}",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text="\n".join([unit_drop_in(UNIT, wanted), RESTART]),
        changes=(
            f"slapd may open {wanted:,} descriptors{former}. If systemd does not start it: 'ulimit -n {wanted}' in the "
            "script that does."
        ),
        risk=f"A restart. {STOPGAP} slapd sizes its tables by the limit.",
        undo="\n".join([unit_drop_in_undo(UNIT), RESTART]),
        verify="grep 'open files' /proc/$(pidof -s slapd)/limits",
        family=Family.OPENLDAP,
        needs=Needs.RESTART,
    )


def raise_backlog(server: ServerAddress, current: int | None, wanted: int, version: Version = ()) -> Remedy:
    """Raise the kernel's limit, up to the backlog that is compiled into slapd."""
    built_in = DEFAULTS.listen_backlog.at(version)
    ceiling = listen_ceiling(wanted if built_in is None else min(wanted, built_in))
    former = "" if current is None else f" instead of {current:,}"
    return Remedy(
        title="Raise the listen backlog",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=f"{ceiling.text}\n{RESTART}",
        changes=(
            f"The listening sockets queue up to {wanted:,} connections{former}, but never more than the compiled-in "
            f"SLAPD_LISTEN_BACKLOG ({f'{built_in:,}' if built_in else '1,024 or 2,048'})."
        ),
        risk=f"A restart. {LONG_QUEUE}",
        undo=f"{ceiling.undo}\n{RESTART}",
        verify=SHOW_BACKLOG,
        family=Family.OPENLDAP,
        needs=Needs.RESTART,
    )


def raise_threads(server: ServerAddress, current: int | None, wanted: int) -> Remedy:
    """Set olcThreads; it applies at once."""
    return Remedy(
        title=f"Set the number of worker threads to {wanted}",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=modify(server, *ldif_replace("olcThreads", wanted)),
        changes=(
            "The number of operations that run at the same time. "
            f"Without cn=config: add the line 'threads {wanted}' to slapd.conf and restart slapd."
        ),
        risk=MANY_THREADS,
        undo=modify(server, *ldif_replace("olcThreads", DEFAULTS.threads.at(()) if current is None else current)),
        verify=shown(server, "olcThreads"),
        family=Family.OPENLDAP,
    )


def require_secure_binds(server: ServerAddress, version: Version = ()) -> Remedy:
    """Add a security strength factor for simple BINDs; ldapi has 71 (olcLocalSSF), TLS at least 128.

    Measured with 2.5.13: slapd deletes no single value of olcSecurity, and the last value of a factor applies.
    """
    del version  # the same in every version
    head = ("dn: cn=config", "changetype: modify", "add: olcSecurity")
    return Remedy(
        title=SECURE_BINDS,
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=modify(server, *head, "olcSecurity: simple_bind=71", secure=True),
        changes=(
            "A simple BIND needs TLS, StartTLS or ldapi; others get confidentialityRequired (13). Anonymous BINDs stay "
            "possible. SASL PLAIN is refused without TLS while olcSaslSecProps contains noplain, its default. "
            "Without cn=config: add the line 'security simple_bind=71' to slapd.conf and restart slapd."
        ),
        risk=(
            f"{CLIENTS_ARE_REFUSED} Replication and chaining that bind in the clear (syncrepl, back-ldap) are clients, "
            "too."
        ),
        undo=modify(server, *head, "olcSecurity: simple_bind=0", secure=True),
        verify=shown(server, "olcSecurity", secure=True),
        family=Family.OPENLDAP,
    )
