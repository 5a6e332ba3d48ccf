"""Remedies on PingDirectory: dsconfig's commands as Ping's documentation has them; not tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where
from ldapdiag.servers.account_idle_limits import AccountIdleLimit, limited
from ldapdiag.servers.dsconfig import PASSWORD_FILE, PASSWORD_HINT, Dsconfig
from ldapdiag.servers.host_remedies import kernel_keepalive, listen_ceiling
from ldapdiag.servers.ldap_tools import MANAGER
from ldapdiag.servers.ping.defaults import DEFAULTS
from ldapdiag.servers.shell_text import bare_host, here_document

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Version

SECURE_PORT = 636
RESTART = "stop-server --restart"
WHERE_IT_IS = "To be run in the server's folder, as the user it runs as."
HANDLER = '--handler-name "LDAP Connection Handler"'
DESCRIPTORS = "config/num-file-descriptors"
ACCOUNT_LIMIT = AccountIdleLimit(
    family=Family.PING, attribute="ds-rlim-idle-time-limit", never=0, exempt=DEFAULTS.exempt_identities
)


def dsconfig(server: str) -> Dsconfig:
    """Return dsconfig at the LDAPS port of a server, where its configuration is, too."""
    return Dsconfig(
        f"--hostname {bare_host(server)} --port {SECURE_PORT} --useSSL --trustAll "
        f'--bindDN "{MANAGER}" --bindPasswordFile {PASSWORD_FILE} --no-prompt'
    )


def set_idle_timeout(server: str, seconds: int, current: int | None, version: Version = ()) -> Remedy:
    """Set idle-time-limit of the global configuration."""
    del version  # the same in each
    tool = dsconfig(server)
    return Remedy(
        title=f"Set the idle timeout to {seconds} s",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=tool.set("global-configuration", f"idle-time-limit:{seconds} s"),
        changes=(
            f"Connections that rest {seconds} s are closed; those open now may keep the old limit. For some clients "
            "only: maximum-idle-connection-duration of a client connection policy (dsconfig "
            f"set-client-connection-policy-prop), which can only be shorter. {PASSWORD_HINT}"
        ),
        risk=(
            "A pool that rests longer gets a closed connection and must open a new one; persistent searches need "
            "ds-rlim-idle-time-limit: 0 on the entries of their accounts."
        ),
        undo=tool.set("global-configuration", f"idle-time-limit:{current or 0} s"),
        verify=tool.show("global-configuration", "idle-time-limit"),
        family=Family.PING,
        needs=Needs.RECONNECT,
    )


def set_keepalive(server: str, seconds: int, current: int | None = None, version: Version = ()) -> Remedy:
    """Set the kernel's keepalive time: the handlers switch keepalives on and leave their time to the kernel."""
    del version  # the same in each
    advice = " It acts while use-tcp-keep-alive of the connection handlers is true, as it is unless set otherwise."
    return kernel_keepalive(server, seconds, current, where=Where.SERVER, family=Family.PING, advice=advice)


def exempt_from_idle_timeout(server: str, dns: tuple[str, ...], seconds: int = -1) -> Remedy | None:
    """Give accounts an idle limit of their own; None when no name can be pasted."""
    return limited(server, dns, seconds, ACCOUNT_LIMIT)


def raise_descriptor_limit(server: str, current: int | None, wanted: int, version: Version = ()) -> Remedy:
    """Raise what the start scripts ask the system for."""
    del version  # the same in each
    former = "" if current is None else f" instead of {current}"
    return Remedy(
        title=f"Raise the descriptor limit to {wanted}",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text="\n".join([here_document(f"cat > {DESCRIPTORS}", f"NUM_FILE_DESCRIPTORS={wanted}", mark="CONF"), RESTART]),
        changes=(
            f"The server may open {wanted} descriptors{former}, if its user may: /etc/security/limits.conf, or "
            f"LimitNOFILE of its unit. {WHERE_IT_IS} maximum-concurrent-connections, where it is set, stays."
        ),
        risk="A restart. It buys time, and dead connections fill it again.",
        undo=f"rm {DESCRIPTORS}\n{RESTART}",
        verify="grep 'open files' /proc/$(cat logs/server.pid)/limits",
        family=Family.PING,
        needs=Needs.RESTART,
    )


def raise_backlog(server: str, current: int | None, wanted: int, version: Version = ()) -> Remedy:
    """Raise accept-backlog and the kernel's ceiling for it."""
    del version  # the same in each
    tool = dsconfig(server)
    ceiling = listen_ceiling(wanted)
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
        text=f"{ceiling.text}\n{wider}\n{RESTART}",
        changes=f"The listening socket queues {wanted} connections. {WHERE_IT_IS} {PASSWORD_HINT}",
        risk="A restart. A longer queue hides a server that accepts too slowly.",
        undo=f"{ceiling.undo}\n{back}\n{RESTART}",
        verify=f"{tool.show('connection-handler', 'accept-backlog', component=HANDLER)}\nss -ltn",
        family=Family.PING,
        needs=Needs.RESTART,
    )


def raise_threads(server: str, current: int | None, wanted: int) -> Remedy:
    """Set num-worker-threads."""
    tool = dsconfig(server)
    return Remedy(
        title=f"Run {wanted} worker threads",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text="\n".join([tool.set("work-queue", f"num-worker-threads:{wanted}"), RESTART]),
        changes=f"The number of operations worked on at once, from the next start on. {WHERE_IT_IS} {PASSWORD_HINT}",
        risk="Threads far beyond the processors slow each other down. Slow searches keep any number of threads busy.",
        undo="\n".join(
            [
                tool.reset("work-queue", "num-worker-threads")
                if current is None
                else tool.set("work-queue", f"num-worker-threads:{current}"),
                RESTART,
            ]
        ),
        verify=tool.show("work-queue", "num-worker-threads"),
        family=Family.PING,
        needs=Needs.RESTART,
    )
