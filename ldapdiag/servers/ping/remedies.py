"""Remedies on PingDirectory: dsconfig commands from its documentation, not tested."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.remedy import Needs
from ldapdiag.servers.commands.ldap_tools import MANAGER, host
from ldapdiag.servers.commands.remedy_texts import (
    EXEMPT_ACCOUNTS,
    KEEPALIVE_OF_HANDLERS,
    LONG_QUEUE,
    MANY_THREADS,
    OPERATIONS_AT_ONCE,
    POOL_MUST_RECONNECT,
    STOPGAP,
    idle_for,
)
from ldapdiag.servers.commands.shell_text import here_document
from ldapdiag.servers.idle.account_limits import AccountIdleLimit
from ldapdiag.servers.opends.dsconfig import (
    PASSWORD_FILE,
    PASSWORD_HINT,
    Dsconfig,
    accept_backlog,
    idle_time_limit,
    prop,
    secure_binds,
)
from ldapdiag.servers.ping.defaults import IDLE
from ldapdiag.servers.settings import Commands, Purpose, ServerSettings, SettingRow, WantedValue, kernel_time

if TYPE_CHECKING:
    from ldapdiag.servers.commands.server_address import ServerAddress

SECURE_PORT = 636
RESTART = "stop-server --restart"
WHERE_IT_IS = "Run this in the directory of the server, as its user."
DESCRIPTORS = "config/num-file-descriptors"


def dsconfig(server: ServerAddress) -> Dsconfig:
    """Return dsconfig for the LDAPS port of a server, which also serves its configuration."""
    return Dsconfig(
        f"--hostname {host(server)} --port {SECURE_PORT} --useSSL "
        f'--bindDN "{MANAGER}" --bindPasswordFile {PASSWORD_FILE} --no-prompt'
    )


def _tool(wanted: WantedValue) -> Dsconfig:
    return dsconfig(wanted.server)


def _descriptors(wanted: WantedValue) -> Commands:
    """Raise the limit that the start scripts request."""
    text = here_document(f"cat > {DESCRIPTORS}", f"NUM_FILE_DESCRIPTORS={wanted.value}", mark="CONF")
    undo = f"rm {DESCRIPTORS}"
    return Commands(f"{text}\n{RESTART}", f"{undo}\n{RESTART}", "grep 'open files' /proc/$(cat logs/server.pid)/limits")


SETTINGS = ServerSettings(
    family=Family.PING,
    restart=RESTART,
    account_limit=AccountIdleLimit(family=Family.PING, attribute=IDLE.account_attribute, never=0, exempt=IDLE.exempt),
    rows={
        Purpose.IDLE_TIMEOUT: SettingRow(
            commands=idle_time_limit(_tool),
            changes=lambda wanted: (
                f"{idle_for(wanted.value)}; those that are open now may keep the old limit. To limit only some "
                "clients: maximum-idle-connection-duration of a client connection policy (dsconfig "
                f"set-client-connection-policy-prop), which can only be shorter. {PASSWORD_HINT}"
            ),
            risk=f"{POOL_MUST_RECONNECT} {EXEMPT_ACCOUNTS}",
            needs=Needs.RECONNECT,
        ),
        Purpose.KEEPALIVE: kernel_time(Family.PING, KEEPALIVE_OF_HANDLERS),
        Purpose.DESCRIPTORS: SettingRow(
            commands=_descriptors,
            changes=(
                "The server may open {value:,} descriptors{instead}, within the limit of its user "
                f"(/etc/security/limits.conf, or LimitNOFILE of its unit). {WHERE_IT_IS} If "
                "maximum-concurrent-connections is set, it still applies."
            ),
            risk=f"A restart. {STOPGAP}",
            needs=Needs.RESTART,
        ),
        Purpose.BACKLOG: SettingRow(
            commands=accept_backlog(_tool, lambda _: [RESTART]),
            changes=f"The listening socket queues up to {{value:,}} connections. {WHERE_IT_IS} {PASSWORD_HINT}",
            risk=f"A restart. {LONG_QUEUE}",
            needs=Needs.RESTART,
        ),
        Purpose.THREADS: SettingRow(
            commands=prop(_tool, "work-queue", "num-worker-threads", restart=RESTART),
            changes=f"{OPERATIONS_AT_ONCE}, from the next start. {WHERE_IT_IS} {PASSWORD_HINT}",
            risk=MANY_THREADS,
            needs=Needs.RESTART,
        ),
        Purpose.SECURE_BINDS: secure_binds(_tool),
    },
)
