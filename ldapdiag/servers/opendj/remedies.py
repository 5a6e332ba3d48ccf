"""Remedies on OpenDJ and its relatives: what to paste, as tried on OpenDJ 4.10.1, and how to take it back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where
from ldapdiag.servers.account_idle_limits import AccountIdleLimit, limited
from ldapdiag.servers.dsconfig import PASSWORD_FILE, PASSWORD_HINT, Dsconfig
from ldapdiag.servers.host_remedies import kernel_keepalive, listen_ceiling
from ldapdiag.servers.ldap_tools import MANAGER
from ldapdiag.servers.opendj.defaults import DEFAULTS
from ldapdiag.servers.shell_text import bare_host, unit_drop_in, unit_drop_in_undo

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Version

ADMINISTRATION_PORT = 4444
UNIT = "opendj.service"
RESTART = "systemctl restart opendj"
HANDLER = '--handler-name "LDAP Connection Handler"'
VIRTUAL = '--name "Idle time limit"'
ACCOUNT_LIMIT = AccountIdleLimit(
    family=Family.OPENDJ, attribute="ds-rlim-idle-time-limit", never=0, exempt=DEFAULTS.exempt_identities
)


def manager(version: Version) -> str:
    """Return the account that may do everything; ForgeRock DS 7 and PingDS 8 renamed it."""
    return "uid=admin" if (7,) <= version < (11,) else MANAGER


def dsconfig(server: str, version: Version = ()) -> Dsconfig:
    """Return dsconfig at the administration port of a server."""
    name = manager(version)
    named = f'"{name}"' if " " in name else name
    return Dsconfig(
        f"-h {bare_host(server)} -p {ADMINISTRATION_PORT} -D {named} --bindPasswordFile {PASSWORD_FILE} -X -n"
    )


def set_idle_timeout(server: str, seconds: int, current: int | None, version: Version = ()) -> Remedy:
    """Set idle-time-limit, or give every account a limit where the version ignores that setting."""
    if why := DEFAULTS.idle_timeout_ignored.at(version):
        return _limit_every_account(server, seconds, why, version)
    tool = dsconfig(server, version)
    doubtful = version[:1] in {(), (4,), (5,)}
    return Remedy(
        title=f"Set the idle timeout to {seconds} s",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=tool.set("global-configuration", f"idle-time-limit:{seconds} s"),
        changes=(
            f"Connections that rest {seconds} s are closed; their clients are told so. A connection takes its limit "
            "when it is opened and when it binds, so those open now may keep the old one. "
            + ("OpenDJ before the fix of its issue 697 (July 2026) ignores the setting. " if doubtful else "")
            + PASSWORD_HINT
        ),
        risk=(
            "A pool that rests longer gets a closed connection and must open a new one; persistent searches need "
            "ds-rlim-idle-time-limit: 0 on the entries of their accounts."
        ),
        undo=tool.set("global-configuration", f"idle-time-limit:{current or 0} s"),
        verify=tool.show("global-configuration", "idle-time-limit"),
        family=Family.OPENDJ,
        needs=Needs.NONE if DEFAULTS.idle_timeout_reaches_open_connections.at(version) else Needs.RECONNECT,
    )


def _limit_every_account(server: str, seconds: int, why: str, version: Version) -> Remedy:
    """Give every account that has none a limit by a virtual attribute; tried on 4.10.1, closed after 3.1 s under 3."""
    tool = dsconfig(server, version)
    settings = ("attribute-type:ds-rlim-idle-time-limit", f"value:{seconds}", "enabled:true")
    return Remedy(
        title=f"Give every account an idle limit of {seconds} s",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=tool.run(
            "create-virtual-attribute", "--type user-defined", VIRTUAL, *(f'--set "{one}"' for one in settings)
        ),
        changes=(
            f"Not idle-time-limit, because {why}: every entry without a limit of its own gets "
            f"ds-rlim-idle-time-limit: {seconds}. Connections take it when they bind: those bound now keep theirs, and "
            f"anonymous ones have none. {PASSWORD_HINT}"
        ),
        risk=(
            "A pool that rests longer gets a closed connection and must open a new one; persistent searches need "
            "ds-rlim-idle-time-limit: 0 on the entries of their accounts."
        ),
        undo=tool.run("delete-virtual-attribute", VIRTUAL),
        verify=tool.show("virtual-attribute", "attribute-type", "value", "enabled", component=VIRTUAL),
        family=Family.OPENDJ,
        needs=Needs.RECONNECT,
    )


def set_keepalive(server: str, seconds: int, current: int | None = None, version: Version = ()) -> Remedy:
    """Set the kernel's keepalive time: the handlers switch keepalives on and leave their time to the kernel."""
    del version  # the same in each
    advice = " It acts while use-tcp-keep-alive of the connection handlers is true, as it is unless set otherwise."
    return kernel_keepalive(server, seconds, current, where=Where.SERVER, family=Family.OPENDJ, advice=advice)


def exempt_from_idle_timeout(server: str, dns: tuple[str, ...], seconds: int = -1) -> Remedy | None:
    """Give accounts an idle limit of their own; None when no name can be pasted or none needs it."""
    return limited(server, dns, seconds, ACCOUNT_LIMIT)


def raise_descriptor_limit(server: str, current: int | None, wanted: int, version: Version = ()) -> Remedy:
    """Raise the descriptors of the process, which are the server's only limit unless one on connections is set."""
    del version  # the same in each
    former = "" if current is None else f" instead of {current}"
    return Remedy(
        title=f"Raise the descriptor limit to {wanted}",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text="\n".join([unit_drop_in(UNIT, wanted), RESTART]),
        changes=(
            f"The server may open {wanted} descriptors{former}. Where systemd does not start it: 'ulimit -n {wanted}' "
            "before start-ds, or /etc/security/limits.conf. max-allowed-client-connections, where it is set, stays."
        ),
        risk="A restart. It buys time, and dead connections fill it again.",
        undo="\n".join([unit_drop_in_undo(UNIT), RESTART]),
        verify="grep 'open files' /proc/$(pgrep -of org.opends.server.core.DirectoryServer)/limits",
        family=Family.OPENDJ,
        needs=Needs.RESTART,
    )


def raise_backlog(server: str, current: int | None, wanted: int, version: Version = ()) -> Remedy:
    """Raise accept-backlog and the kernel's ceiling for it. The handler takes it when it is enabled again."""
    tool = dsconfig(server, version)
    ceiling = listen_ceiling(wanted)
    again = [tool.set("connection-handler", f"enabled:{state}", component=HANDLER) for state in ("false", "true")]
    back = (
        tool.reset("connection-handler", "accept-backlog", component=HANDLER)
        if current is None
        else tool.set("connection-handler", f"accept-backlog:{current}", component=HANDLER)
    )
    wider = tool.set("connection-handler", f"accept-backlog:{wanted}", component=HANDLER)
    return Remedy(
        title=f"Let {wanted} connections wait to be accepted",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text="\n".join([ceiling.text, wider, *again]),
        changes=f"The listening socket queues {wanted} connections instead of turning them away. {PASSWORD_HINT}",
        risk=(
            "The handler is switched off and on: its connections are closed. The handler of LDAPS has a backlog of its "
            "own. A longer queue hides a server that accepts too slowly."
        ),
        undo="\n".join([ceiling.undo, back, *again]),
        verify=f"{tool.show('connection-handler', 'accept-backlog', component=HANDLER)} --advanced\nss -ltn",
        family=Family.OPENDJ,
        needs=Needs.RECONNECT,
    )


def raise_threads(server: str, current: int | None, wanted: int) -> Remedy:
    """Set num-worker-threads."""
    tool = dsconfig(server)
    return Remedy(
        title=f"Run {wanted} worker threads",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=tool.set("work-queue", f"num-worker-threads:{wanted}"),
        changes=f"The number of operations worked on at once. {PASSWORD_HINT}",
        risk="Threads far beyond the processors slow each other down. Slow searches keep any number of threads busy.",
        undo=(
            tool.reset("work-queue", "num-worker-threads")
            if current is None
            else tool.set("work-queue", f"num-worker-threads:{current}")
        ),
        verify=tool.show("work-queue", "num-worker-threads"),
        family=Family.OPENDJ,
    )
