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
from ldapdiag.servers.commands.shell_text import unit_drop_in, unit_drop_in_undo
from ldapdiag.servers.hosts.host_remedies import kernel_keepalive, listen_ceiling
from ldapdiag.servers.idle.account_limits import AccountIdleLimit, set_account_limit
from ldapdiag.servers.opendj.defaults import IDLE
from ldapdiag.servers.opends.dsconfig import HANDLER, PASSWORD_FILE, PASSWORD_HINT, Dsconfig, secure_binds

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Version
    from ldapdiag.servers.commands.server_address import ServerAddress

ADMINISTRATION_PORT = 4444
UNIT = "opendj.service"
RESTART = "systemctl restart opendj"
VIRTUAL = '--name "Idle time limit"'
ACCOUNT_LIMIT = AccountIdleLimit(family=Family.OPENDJ, attribute=IDLE.account_attribute, never=0, exempt=IDLE.exempt)


def manager(version: Version) -> str:
    """Return the DN of the administrator; ForgeRock DS 7 and PingDS 8 renamed it."""
    return "uid=admin" if (7,) <= version < (11,) else MANAGER


def dsconfig(server: ServerAddress, version: Version = ()) -> Dsconfig:
    """Return dsconfig for the administration port of a server."""
    name = manager(version)
    named = f'"{name}"' if " " in name else name
    return Dsconfig(f"-h {host(server)} -p {ADMINISTRATION_PORT} -D {named} --bindPasswordFile {PASSWORD_FILE} -X -n")


def set_idle_timeout(server: ServerAddress, seconds: int, current: int | None, version: Version = ()) -> Remedy:
    """Set idle-time-limit, or a limit for every account where the version ignores that setting."""
    if why := IDLE.ignored.at(version):
        return _limit_every_account(server, seconds, why, version)
    tool = dsconfig(server, version)
    doubtful = version[:1] in {(), (4,), (5,)}
    return Remedy(
        title=f"Set the idle timeout to {seconds:,} s",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=tool.set("global-configuration", f"idle-time-limit:{seconds} s"),
        changes=(
            f"{idle_for(seconds, IDLE.at(version).latest(seconds))}; their clients receive a notice of disconnection. "
            "A connection copies its limit when it is opened and when it binds, so those that are open now may keep "
            "the old one. "
            + ("OpenDJ before the fix of its issue 697 (July 2026) ignores the setting. " if doubtful else "")
            + PASSWORD_HINT
        ),
        risk=f"{POOL_MUST_RECONNECT} {EXEMPT_ACCOUNTS}",
        undo=tool.set("global-configuration", f"idle-time-limit:{current or 0} s"),
        verify=tool.show("global-configuration", "idle-time-limit"),
        family=Family.OPENDJ,
        needs=Needs.NONE if IDLE.reaches_open_connections.at(version) else Needs.REBIND,
    )


def _limit_every_account(server: ServerAddress, seconds: int, why: str, version: Version) -> Remedy:
    """Give every account without a limit one by a virtual attribute; 4.10.1 closed after 3.1 s under a limit of 3 s."""
    tool = dsconfig(server, version)
    settings = ("attribute-type:ds-rlim-idle-time-limit", f"value:{seconds}", "enabled:true")
    return Remedy(
        title=f"Give every account an idle limit of {seconds:,} s",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=tool.run(
            "create-virtual-attribute", "--type user-defined", VIRTUAL, *(f'--set "{one}"' for one in settings)
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


def set_keepalive(server: ServerAddress, seconds: int, current: int | None = None, version: Version = ()) -> Remedy:
    """Set the kernel's keepalive time: the connection handlers set SO_KEEPALIVE, but no time of their own."""
    del version  # the same in every version
    return kernel_keepalive(
        server.name, seconds, current, where=Where.SERVER, family=Family.OPENDJ, advice=KEEPALIVE_OF_HANDLERS
    )


def exempt_from_idle_timeout(server: ServerAddress, dns: tuple[str, ...], seconds: int = -1) -> Remedy | None:
    """Set an idle limit for accounts; None when no DN is valid or all are exempt anyway."""
    return set_account_limit(server, dns, seconds, ACCOUNT_LIMIT)


def raise_descriptor_limit(server: ServerAddress, current: int | None, wanted: int, version: Version = ()) -> Remedy:
    """Raise the descriptor limit of the process; the server has no other unless one on connections is set."""
    del version  # the same in every version
    former = "" if current is None else f" instead of {current:,}"
    return Remedy(
        title=f"Raise the descriptor limit to {wanted:,}",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text="\n".join([unit_drop_in(UNIT, wanted), RESTART]),
        changes=(
            f"The server may open {wanted:,} descriptors{former}. If systemd does not start it: 'ulimit -n {wanted}' "
            "before start-ds, or /etc/security/limits.conf. If max-allowed-client-connections is set, it still applies."
        ),
        risk=f"A restart. {STOPGAP}",
        undo="\n".join([unit_drop_in_undo(UNIT), RESTART]),
        verify="grep 'open files' /proc/$(pgrep -of org.opends.server.core.DirectoryServer)/limits",
        family=Family.OPENDJ,
        needs=Needs.RESTART,
    )


def raise_backlog(server: ServerAddress, current: int | None, wanted: int, version: Version = ()) -> Remedy:
    """Raise accept-backlog and the kernel's limit for it; it applies when the handler is enabled again."""
    tool = dsconfig(server, version)
    ceiling = listen_ceiling(wanted)
    again = [tool.set("connection-handler", f"enabled:{state}", component=HANDLER) for state in ("false", "true")]
    back = tool.restore("connection-handler", "accept-backlog", current, HANDLER)
    wider = tool.set("connection-handler", f"accept-backlog:{wanted}", component=HANDLER)
    return Remedy(
        title=f"Raise the listen backlog to {wanted:,}",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text="\n".join([ceiling.text, wider, *again]),
        changes=(
            f"The listening socket queues up to {wanted:,} connections before the kernel drops new ones. "
            f"{PASSWORD_HINT}"
        ),
        risk=(
            "The handler is disabled and enabled, which closes its connections. The handler of LDAPS has a backlog of "
            f"its own. {LONG_QUEUE}"
        ),
        undo="\n".join([ceiling.undo, back, *again]),
        verify=f"{tool.show('connection-handler', 'accept-backlog', component=HANDLER)} --advanced\nss -ltn",
        family=Family.OPENDJ,
        needs=Needs.RECONNECT,
    )


def raise_threads(server: ServerAddress, current: int | None, wanted: int) -> Remedy:
    """Set num-worker-threads."""
    tool = dsconfig(server)
    return Remedy(
        title=f"Set the number of worker threads to {wanted}",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=tool.set("work-queue", f"num-worker-threads:{wanted}"),
        changes=f"{OPERATIONS_AT_ONCE}. {PASSWORD_HINT}",
        risk=MANY_THREADS,
        undo=tool.restore("work-queue", "num-worker-threads", current),
        verify=tool.show("work-queue", "num-worker-threads"),
        family=Family.OPENDJ,
    )


def require_secure_binds(server: ServerAddress, version: Version = ()) -> Remedy:
    """Set require-secure-authentication of the default password policy."""
    return secure_binds(dsconfig(server, version), server.name, Family.OPENDJ)
