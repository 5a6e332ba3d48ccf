"""Remedies on PingDirectory: dsconfig commands from its documentation, not tested."""

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
from ldapdiag.servers.commands.shell_text import here_document
from ldapdiag.servers.hosts.host_remedies import kernel_keepalive, listen_ceiling
from ldapdiag.servers.idle.account_limits import AccountIdleLimit, set_account_limit
from ldapdiag.servers.opends.dsconfig import HANDLER, PASSWORD_FILE, PASSWORD_HINT, Dsconfig, secure_binds
from ldapdiag.servers.ping.defaults import IDLE

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Version
    from ldapdiag.servers.commands.server_address import ServerAddress

SECURE_PORT = 636
RESTART = "stop-server --restart"
WHERE_IT_IS = "Run this in the directory of the server, as its user."
DESCRIPTORS = "config/num-file-descriptors"
ACCOUNT_LIMIT = AccountIdleLimit(family=Family.PING, attribute=IDLE.account_attribute, never=0, exempt=IDLE.exempt)


def dsconfig(server: ServerAddress) -> Dsconfig:
    """Return dsconfig for the LDAPS port of a server, which also serves its configuration."""
    return Dsconfig(
        f"--hostname {host(server)} --port {SECURE_PORT} --useSSL --trustAll "
        f'--bindDN "{MANAGER}" --bindPasswordFile {PASSWORD_FILE} --no-prompt'
    )


def set_idle_timeout(server: ServerAddress, seconds: int, current: int | None, version: Version = ()) -> Remedy:
    """Set idle-time-limit of the global configuration."""
    del version  # the same in every version
    tool = dsconfig(server)
    return Remedy(
        title=f"Set the idle timeout to {seconds:,} s",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=tool.set("global-configuration", f"idle-time-limit:{seconds} s"),
        changes=(
            f"{idle_for(seconds)}; those that are open now may keep the old limit. To limit only some clients: "
            "maximum-idle-connection-duration of a client connection policy (dsconfig "
            f"set-client-connection-policy-prop), which can only be shorter. {PASSWORD_HINT}"
        ),
        risk=f"{POOL_MUST_RECONNECT} {EXEMPT_ACCOUNTS}",
        undo=tool.set("global-configuration", f"idle-time-limit:{current or 0} s"),
        verify=tool.show("global-configuration", "idle-time-limit"),
        family=Family.PING,
        needs=Needs.RECONNECT,
    )


def set_keepalive(server: ServerAddress, seconds: int, current: int | None = None, version: Version = ()) -> Remedy:
    """Set the kernel's keepalive time: the connection handlers set SO_KEEPALIVE, but no time of their own."""
    del version  # the same in every version
    return kernel_keepalive(
        server.name, seconds, current, where=Where.SERVER, family=Family.PING, advice=KEEPALIVE_OF_HANDLERS
    )


def exempt_from_idle_timeout(server: ServerAddress, dns: tuple[str, ...], seconds: int = -1) -> Remedy | None:
    """Set an idle limit for accounts; None when no DN is valid."""
    return set_account_limit(server, dns, seconds, ACCOUNT_LIMIT)


def raise_descriptor_limit(server: ServerAddress, current: int | None, wanted: int, version: Version = ()) -> Remedy:
    """Raise the limit that the start scripts request."""
    del version  # the same in every version
    former = "" if current is None else f" instead of {current:,}"
    return Remedy(
        title=f"Raise the descriptor limit to {wanted:,}",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text="\n".join([here_document(f"cat > {DESCRIPTORS}", f"NUM_FILE_DESCRIPTORS={wanted}", mark="CONF"), RESTART]),
        changes=(
            f"The server may open {wanted:,} descriptors{former}, within the limit of its user "
            f"(/etc/security/limits.conf, or LimitNOFILE of its unit). {WHERE_IT_IS} If "
            "maximum-concurrent-connections is set, it still applies."
        ),
        risk=f"A restart. {STOPGAP}",
        undo=f"rm {DESCRIPTORS}\n{RESTART}",
        verify="grep 'open files' /proc/$(cat logs/server.pid)/limits",
        family=Family.PING,
        needs=Needs.RESTART,
    )


def raise_backlog(server: ServerAddress, current: int | None, wanted: int, version: Version = ()) -> Remedy:
    """Raise accept-backlog and the kernel's limit for it."""
    del version  # the same in every version
    tool = dsconfig(server)
    ceiling = listen_ceiling(wanted)
    back = tool.restore("connection-handler", "accept-backlog", current, HANDLER)
    wider = tool.set("connection-handler", f"accept-backlog:{wanted}", component=HANDLER)
    return Remedy(
        title=f"Raise the listen backlog to {wanted:,}",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=f"{ceiling.text}\n{wider}\n{RESTART}",
        changes=f"The listening socket queues up to {wanted:,} connections. {WHERE_IT_IS} {PASSWORD_HINT}",
        risk=f"A restart. {LONG_QUEUE}",
        undo=f"{ceiling.undo}\n{back}\n{RESTART}",
        verify=f"{tool.show('connection-handler', 'accept-backlog', component=HANDLER)}\nss -ltn",
        family=Family.PING,
        needs=Needs.RESTART,
    )


def raise_threads(server: ServerAddress, current: int | None, wanted: int) -> Remedy:
    """Set num-worker-threads."""
    tool = dsconfig(server)
    return Remedy(
        title=f"Set the number of worker threads to {wanted}",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text="\n".join([tool.set("work-queue", f"num-worker-threads:{wanted}"), RESTART]),
        changes=f"{OPERATIONS_AT_ONCE}, from the next start. {WHERE_IT_IS} {PASSWORD_HINT}",
        risk=MANY_THREADS,
        undo="\n".join([tool.restore("work-queue", "num-worker-threads", current), RESTART]),
        verify=tool.show("work-queue", "num-worker-threads"),
        family=Family.PING,
        needs=Needs.RESTART,
    )


def require_secure_binds(server: ServerAddress, version: Version = ()) -> Remedy:
    """Set require-secure-authentication of the default password policy."""
    del version  # the same in every version
    return secure_binds(dsconfig(server), server.name, Family.PING)
