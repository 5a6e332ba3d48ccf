"""Remedies on OpenLDAP's slapd: the commands and their undo, tested with 2.5.13 and cn=config."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.remedy import Needs
from ldapdiag.servers.commands.ldap_tools import as_root
from ldapdiag.servers.commands.remedy_texts import (
    CLIENTS_ARE_REFUSED,
    LONG_QUEUE,
    MANY_THREADS,
    OPERATIONS_AT_ONCE,
    POOL_MUST_RECONNECT,
    SHOW_BACKLOG,
    STOPGAP,
    idle_for,
)
from ldapdiag.servers.commands.shell_text import here_document, ldif_replace
from ldapdiag.servers.hosts.host_remedies import listen_ceiling
from ldapdiag.servers.openldap.defaults import DEFAULTS, IDLE
from ldapdiag.servers.settings import Commands, Purpose, ServerSettings, SettingRow, WantedValue, drop_in, kernel_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from ldapdiag.servers.commands.server_address import ServerAddress
    from ldapdiag.servers.defaults import ByVersion

UNIT = "slapd.service"
RESTART = "systemctl restart slapd"


def modify(server: ServerAddress, *ldif: str, secure: bool = False) -> str:
    """Return an ldapmodify command with its LDIF."""
    return here_document(as_root("ldapmodify", server, secure=secure), *ldif)


def shown(server: ServerAddress, attribute: str, *, secure: bool = False) -> str:
    """Return an ldapsearch command that shows one setting of cn=config."""
    return f"{as_root('ldapsearch', server, secure=secure)} -LLL -b cn=config -s base {attribute}"


def config(attribute: str, default: ByVersion[int | None]) -> Callable[[WantedValue], Commands]:
    """Return the commands of an attribute of cn=config; the undo of an unknown value restores the version's default."""

    def commands(wanted: WantedValue) -> Commands:
        former = default.at(wanted.version) if wanted.former is None else wanted.former
        text, undo = (modify(wanted.server, *ldif_replace(attribute, value)) for value in (wanted.value, former))
        return Commands(text, undo, shown(wanted.server, attribute))

    return commands


def _closes(wanted: WantedValue) -> str:
    return (
        f"{idle_for(wanted.value, IDLE.at(wanted.version).latest(wanted.value))}, those that are open now included; "
        f"their clients receive a FIN. Without cn=config: add the line 'idletimeout {wanted.value}' to slapd.conf and "
        "restart slapd."
    )


def _backlog(wanted: WantedValue) -> Commands:
    """Raise the kernel's limit, up to the backlog that is compiled into slapd."""
    built_in = DEFAULTS.listen_backlog.at(wanted.version)
    ceiling = listen_ceiling(wanted.value if built_in is None else min(wanted.value, built_in))
    return Commands(f"{ceiling.text}\n{RESTART}", f"{ceiling.undo}\n{RESTART}", SHOW_BACKLOG)


def _queues(wanted: WantedValue) -> str:
    built_in, former = DEFAULTS.listen_backlog.at(wanted.version), wanted.former
    return (
        f"The listening sockets queue up to {wanted.value:,} connections"
        f"{'' if former is None else f' instead of {former:,}'}, but never more than the compiled-in "
        f"SLAPD_LISTEN_BACKLOG ({f'{built_in:,}' if built_in else '1,024 or 2,048'})."
    )


def _secure_binds(wanted: WantedValue) -> Commands:
    """Add a security strength factor for simple BINDs; ldapi has 71 (olcLocalSSF), TLS at least 128.

    Measured with 2.5.13: slapd deletes no single value of olcSecurity, and the last value of a factor applies.
    """
    head = ("dn: cn=config", "changetype: modify", "add: olcSecurity")
    on, off = (modify(wanted.server, *head, f"olcSecurity: simple_bind={factor}", secure=True) for factor in (71, 0))
    return Commands(on, off, shown(wanted.server, "olcSecurity", secure=True))


SETTINGS = ServerSettings(
    family=Family.OPENLDAP,
    restart=RESTART,
    rows={
        Purpose.IDLE_TIMEOUT: SettingRow(
            commands=config("olcIdleTimeout", DEFAULTS.idle_timeout_seconds),
            changes=_closes,
            risk=(
                f"{POOL_MUST_RECONNECT} No account can be exempted. Connections with an operation in progress stay "
                "open."
            ),
        ),
        Purpose.KEEPALIVE: kernel_time(Family.OPENLDAP),
        Purpose.DESCRIPTORS: SettingRow(
            commands=drop_in(UNIT, RESTART, "grep 'open files' /proc/$(pidof -s slapd)/limits"),
            changes=(
                "slapd may open {value:,} descriptors{instead}. If systemd does not start it: 'ulimit -n {value}' in "
                "the script that does."
            ),
            risk=f"A restart. {STOPGAP} slapd sizes its tables by the limit.",
            needs=Needs.RESTART,
        ),
        Purpose.BACKLOG: SettingRow(
            title="Raise the listen backlog",
            commands=_backlog,
            changes=_queues,
            risk=f"A restart. {LONG_QUEUE}",
            needs=Needs.RESTART,
        ),
        Purpose.THREADS: SettingRow(
            commands=config("olcThreads", DEFAULTS.threads),
            changes=(
                f"{OPERATIONS_AT_ONCE}. Without cn=config: add the line 'threads {{value}}' to slapd.conf and restart "
                "slapd."
            ),
            risk=MANY_THREADS,
        ),
        Purpose.SECURE_BINDS: SettingRow(
            commands=_secure_binds,
            changes=(
                "A simple BIND needs TLS, StartTLS or ldapi; others get confidentialityRequired (13). Anonymous BINDs "
                "stay possible. SASL PLAIN is refused without TLS while olcSaslSecProps contains noplain, its default. "
                "Without cn=config: add the line 'security simple_bind=71' to slapd.conf and restart slapd."
            ),
            risk=(
                f"{CLIENTS_ARE_REFUSED} Replication and chaining that bind in the clear (syncrepl, back-ldap) are "
                "clients, too."
            ),
        ),
    },
)
