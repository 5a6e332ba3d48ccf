"""Remedies on OpenDJ and its relatives: the commands and their undo, tested with OpenDJ 4.10.1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where
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
from ldapdiag.servers.idle.account_limits import AccountIdleLimit
from ldapdiag.servers.opendj.defaults import IDLE
from ldapdiag.servers.opends.dsconfig import (
    HANDLER,
    PASSWORD_FILE,
    PASSWORD_HINT,
    Dsconfig,
    accept_backlog,
    idle_time_limit,
    prop,
    secure_binds,
)
from ldapdiag.servers.settings import Purpose, ServerSettings, SettingRow, WantedValue, drop_in, kernel_time

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Version
    from ldapdiag.servers.commands.server_address import ServerAddress

ADMINISTRATION_PORT = 4444
UNIT = "opendj.service"
RESTART = "systemctl restart opendj"
VIRTUAL = '--name "Idle time limit"'


def manager(version: Version) -> str:
    """Return the DN of the administrator; ForgeRock DS 7 and PingDS 8 renamed it."""
    return "uid=admin" if (7,) <= version < (11,) else MANAGER


def dsconfig(server: ServerAddress, version: Version = ()) -> Dsconfig:
    """Return dsconfig for the administration port of a server."""
    name = manager(version)
    named = f'"{name}"' if " " in name else name
    return Dsconfig(f"-h {host(server)} -p {ADMINISTRATION_PORT} -D {named} --bindPasswordFile {PASSWORD_FILE} -X -n")


def _tool(wanted: WantedValue) -> Dsconfig:
    return dsconfig(wanted.server, wanted.version)


def _idle_timeout(wanted: WantedValue) -> Remedy:
    """Set idle-time-limit, or a limit for every account where the version ignores that setting."""
    version = wanted.version
    if why := IDLE.ignored.at(version):
        return _limit_every_account(wanted, why)
    doubtful = version[:1] in {(), (4,), (5,)}
    row = SettingRow(
        commands=idle_time_limit(_tool),
        changes=(
            f"{idle_for(wanted.value, IDLE.at(version).latest(wanted.value))}; their clients receive a notice of "
            "disconnection. A connection copies its limit when it is opened and when it binds, so those that are open "
            "now may keep the old one. "
            + ("OpenDJ before the fix of its issue 697 (July 2026) ignores the setting. " if doubtful else "")
            + PASSWORD_HINT
        ),
        risk=f"{POOL_MUST_RECONNECT} {EXEMPT_ACCOUNTS}",
        needs=Needs.NONE if IDLE.reaches_open_connections.at(version) else Needs.REBIND,
    )
    return row.remedy(Family.OPENDJ, Purpose.IDLE_TIMEOUT, wanted)


def _limit_every_account(wanted: WantedValue, why: str) -> Remedy:
    """Give every account without a limit one by a virtual attribute; 4.10.1 closed after 3.1 s under a limit of 3 s."""
    tool, seconds = _tool(wanted), wanted.value
    settings = ("attribute-type:ds-rlim-idle-time-limit", f"value:{seconds}", "enabled:true")
    return Remedy(
        title=f"Give every account an idle limit of {seconds:,} s",
        target=wanted.server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=tool.run(
            "create-virtual-attribute", "--type user-defined", VIRTUAL, *(f'--set "{setting}"' for setting in settings)
        ),
        changes=(
            f"Every entry without a limit of its own gets ds-rlim-idle-time-limit: {seconds}, because {why}. "
            "Connections copy it when they bind: those that are bound now keep their limit, and anonymous ones have "
            f"none. {PASSWORD_HINT}"
        ),
        risk=f"{POOL_MUST_RECONNECT} {EXEMPT_ACCOUNTS}",
        undo=tool.run("delete-virtual-attribute", VIRTUAL),
        verify=tool.show("virtual-attribute", "attribute-type", "value", "enabled", component=VIRTUAL),
        family=Family.OPENDJ,
        needs=Needs.REBIND,
    )


def _enabled_again(tool: Dsconfig) -> list[str]:
    """Return the commands after which the handler listens anew."""
    return [tool.set("connection-handler", f"enabled:{state}", component=HANDLER) for state in ("false", "true")]


SETTINGS = ServerSettings(
    family=Family.OPENDJ,
    restart=RESTART,
    account_limit=AccountIdleLimit(family=Family.OPENDJ, attribute=IDLE.account_attribute, never=0, exempt=IDLE.exempt),
    rows={
        Purpose.IDLE_TIMEOUT: _idle_timeout,
        Purpose.KEEPALIVE: kernel_time(Family.OPENDJ, KEEPALIVE_OF_HANDLERS),
        Purpose.DESCRIPTORS: SettingRow(
            commands=drop_in(
                UNIT, RESTART, "grep 'open files' /proc/$(pgrep -of org.opends.server.core.DirectoryServer)/limits"
            ),
            changes=(
                "The server may open {value:,} descriptors{instead}. If systemd does not start it: 'ulimit -n {value}' "
                "before start-ds, or /etc/security/limits.conf. If max-allowed-client-connections is set, it still "
                "applies."
            ),
            risk=f"A restart. {STOPGAP}",
            needs=Needs.RESTART,
        ),
        Purpose.BACKLOG: SettingRow(
            commands=accept_backlog(_tool, _enabled_again, shown=" --advanced"),
            changes=(
                "The listening socket queues up to {value:,} connections before the kernel drops new ones. "
                f"{PASSWORD_HINT}"
            ),
            risk=(
                "The handler is disabled and enabled, which closes its connections. The handler of LDAPS has a backlog "
                f"of its own. {LONG_QUEUE}"
            ),
            needs=Needs.RECONNECT,
        ),
        Purpose.THREADS: SettingRow(
            commands=prop(_tool, "work-queue", "num-worker-threads"),
            changes=f"{OPERATIONS_AT_ONCE}. {PASSWORD_HINT}",
            risk=MANY_THREADS,
        ),
        Purpose.SECURE_BINDS: secure_binds(_tool),
    },
)
