"""Remedies on Directory Server Enterprise Edition: dsconf commands from its manuals, not tested.

dsconf exists from 6.0 on and prompts for the password; up to 5.2 ldapmodify writes the same settings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.remedy import Needs, RemedyKind
from ldapdiag.servers.commands.ldap_tools import host, modify, port, shown
from ldapdiag.servers.commands.remedy_texts import (
    BACKLOG,
    EXEMPT_ENTRIES,
    LONG_QUEUE,
    MANY_THREADS,
    OPERATIONS_AT_ONCE,
    POOL_MUST_RECONNECT,
    STOPGAP,
    idle_for,
)
from ldapdiag.servers.commands.shell_text import ldif_replace
from ldapdiag.servers.dsee.defaults import DEFAULTS, IDLE
from ldapdiag.servers.idle.account_limits import AccountIdleLimit
from ldapdiag.servers.settings import Commands, Purpose, ServerSettings, SettingRow, WantedValue, kernel_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from ldapdiag.servers.defaults import ByVersion

FIRST_WITH_DSCONF = (6, 0)
ATTRIBUTES = {
    "idle-timeout": "nsslapd-idletimeout",
    "file-descriptor-count": "nsslapd-maxdescriptors",
    "max-thread-count": "nsslapd-threadnumber",
}
"""Properties of dsconf, and their attributes in cn=config."""
RESTART = "dsadm restart INSTANCE_PATH"
WHERE_IT_IS = "INSTANCE_PATH is the directory of the instance: 'dsconf info' shows it."


def prop(name: str, default: ByVersion[int], *, restart: str = "") -> Callable[[WantedValue], Commands]:
    """Return the commands of a property; the undo of an unknown value restores the version's default."""

    def commands(wanted: WantedValue) -> Commands:
        former = wanted.former if wanted.former is not None else default.at(wanted.version) or 0
        text, undo = (_set(wanted, name, value) for value in (wanted.value, former))
        return Commands(text, undo, _shown(wanted, name)).then(restart)

    return commands


def _set(wanted: WantedValue, name: str, value: int) -> str:
    """Return the command that sets one property; dsconf spells no idle timeout `none`."""
    server = wanted.server
    if () < wanted.version < FIRST_WITH_DSCONF:
        return modify(server, *ldif_replace(ATTRIBUTES[name], value))
    spelt = "none" if name == "idle-timeout" and not value else str(value)
    return f"dsconf set-server-prop -h {host(server)} -p {port(server)} {name}:{spelt}"


def _shown(wanted: WantedValue, name: str) -> str:
    """Return the command that shows one property."""
    server = wanted.server
    if () < wanted.version < FIRST_WITH_DSCONF:
        return shown(server, ATTRIBUTES[name])
    return f"dsconf get-server-prop -h {host(server)} -p {port(server)} {name}"


def _of_kernel(wanted: WantedValue) -> str:
    milliseconds = 1000 * wanted.value
    return (
        " These commands are for Linux. On Solaris 11: "
        f"ipadm set-prop -p _keepalive_interval={milliseconds} tcp; on Solaris 10: ndd -set /dev/tcp "
        f"tcp_keepalive_interval {milliseconds} (milliseconds; default 7200000). Only sockets with SO_KEEPALIVE send "
        "probes: netstat or ss shows their timers."
    )


def _backlog(wanted: WantedValue) -> Commands:
    """Raise nsslapd-listenBacklog, for which dsconf has no property."""
    attribute = "nsslapd-listen-backlog" if wanted.version[:1] == (6,) else "nsslapd-listenBacklog"
    former = wanted.former if wanted.former is not None else DEFAULTS.listen_backlog.at(wanted.version)
    text, undo = (modify(wanted.server, *ldif_replace(attribute, value)) for value in (wanted.value, former))
    return Commands(f"{text}\n{RESTART}", f"{undo}\n{RESTART}", shown(wanted.server, attribute))


SETTINGS = ServerSettings(
    family=Family.DSEE,
    restart=RESTART,
    account_limit=AccountIdleLimit(family=Family.DSEE, attribute=IDLE.account_attribute, never=-1, exempt=IDLE.exempt),
    rows={
        Purpose.IDLE_TIMEOUT: SettingRow(
            commands=prop("idle-timeout", DEFAULTS.idle_timeout_seconds),
            changes=lambda wanted: (
                f"{idle_for(wanted.value)}; their clients receive a FIN. Connections that are open now may keep the "
                "old limit: close them by keepalive, by hand or by a restart. Without dsconf, set nsslapd-idletimeout: "
                f"{wanted.value} in cn=config with ldapmodify."
            ),
            risk=f"{POOL_MUST_RECONNECT} {EXEMPT_ENTRIES}",
            needs=Needs.REBIND,
        ),
        Purpose.KEEPALIVE: kernel_time(Family.DSEE, _of_kernel),
        Purpose.DESCRIPTORS: SettingRow(
            commands=prop("file-descriptor-count", DEFAULTS.max_descriptors, restart=RESTART),
            changes=(
                "The server may open {value:,} descriptors, within the limit of its process: first raise 'ulimit -n' "
                "of its user (on Solaris 10 rlim_fd_max in /etc/system, or process.max-file-descriptor of its "
                f"project). {WHERE_IT_IS}"
            ),
            risk=f"A restart. {STOPGAP}",
            needs=Needs.RESTART,
        ),
        Purpose.BACKLOG: SettingRow(
            commands=_backlog,
            changes=(
                f"{BACKLOG}, within the limit of the kernel (Linux: net.core.somaxconn; Solaris: tcp_conn_req_max_q). "
                f"{WHERE_IT_IS}"
            ),
            risk=f"A restart. {LONG_QUEUE}",
            needs=Needs.RESTART,
        ),
        Purpose.THREADS: SettingRow(
            commands=prop("max-thread-count", DEFAULTS.threads, restart=RESTART),
            changes=f"{OPERATIONS_AT_ONCE}, from the next start. In 6 it is thread-count. {WHERE_IT_IS}",
            risk=MANY_THREADS,
            needs=Needs.RESTART,
        ),
        Purpose.SECURE_BINDS: SettingRow(
            title="Close the port without TLS",
            kind=RemedyKind.ADVICE,
            commands=lambda _: Commands(
                "The server has no setting for BINDs alone. When all clients use LDAPS: "
                "dsconf set-server-prop ldap-port:disabled, over the secure port, then dsadm restart.",
                "dsconf set-server-prop ldap-port:389, then dsadm restart.",
                "dsconf get-server-prop ldap-port ldap-secure-port",
            ),
            changes=(
                "Only the LDAPS port is left: neither anonymous clients nor StartTLS can use the other one any more."
            ),
            risk="Every client of the port without TLS is cut off, monitoring and replication included.",
            needs=Needs.RESTART,
        ),
    },
)
