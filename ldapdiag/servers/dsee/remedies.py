"""Remedies on Directory Server Enterprise Edition: dsconf's commands as the manuals have them; not tried.

dsconf came with 6.0 and asks for the password; up to 5.2 the same settings are written with ldapmodify.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where
from ldapdiag.servers.account_idle_limits import AccountIdleLimit, limited
from ldapdiag.servers.dsee.defaults import DEFAULTS
from ldapdiag.servers.host_remedies import kernel_keepalive
from ldapdiag.servers.ldap_tools import modify, shown
from ldapdiag.servers.shell_text import bare_host, ldif_replace

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Version

PORT = 389
FIRST_WITH_DSCONF = (6, 0)
ATTRIBUTES = {
    "idle-timeout": "nsslapd-idletimeout",
    "file-descriptor-count": "nsslapd-maxdescriptors",
    "max-thread-count": "nsslapd-threadnumber",
}
"""dsconf's properties, and the attributes of cn=config they stand for."""
RESTART = "dsadm restart INSTANCE_PATH"
WHERE_IT_IS = "INSTANCE_PATH is the instance's folder: 'dsconf info' shows it."
ACCOUNT_LIMIT = AccountIdleLimit(
    family=Family.DSEE, attribute="nsIdleTimeout", never=-1, exempt=DEFAULTS.exempt_identities
)


def setting(server: str, name: str, value: int, version: Version = ()) -> str:
    """Return the command that sets one property; `none` is dsconf's word for no idle timeout."""
    if () < version < FIRST_WITH_DSCONF:
        return modify(server, *ldif_replace(ATTRIBUTES[name], value))
    spelt = "none" if name == "idle-timeout" and not value else str(value)
    return f"dsconf set-server-prop -h {bare_host(server)} -p {PORT} {name}:{spelt}"


def looked_up(server: str, name: str, version: Version = ()) -> str:
    """Return the command that shows one property."""
    if () < version < FIRST_WITH_DSCONF:
        return shown(server, ATTRIBUTES[name])
    return f"dsconf get-server-prop -h {bare_host(server)} -p {PORT} {name}"


def set_idle_timeout(server: str, seconds: int, current: int | None, version: Version = ()) -> Remedy:
    """Set idle-timeout. Without a former value, the undo goes back to the default."""
    former = current if current is not None else DEFAULTS.idle_timeout_seconds.at(version)
    return Remedy(
        title=f"Set the idle timeout to {seconds} s",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=setting(server, "idle-timeout", seconds, version),
        changes=(
            f"Connections that rest {seconds} s are closed; their clients see a clean end. Connections open now may "
            "keep the old limit: they end by keepalive, by hand, or by a restart. Without dsconf: ldapmodify "
            f"nsslapd-idletimeout: {seconds} in cn=config."
        ),
        risk=(
            "A pool that rests longer gets a closed connection and must open a new one; replication and persistent "
            "searches need nsIdleTimeout: -1 on their entries. Connections of Directory Manager are never closed."
        ),
        undo=setting(server, "idle-timeout", former or 0, version),
        verify=looked_up(server, "idle-timeout", version),
        family=Family.DSEE,
        needs=Needs.RECONNECT,
    )


def set_keepalive(server: str, seconds: int, current: int | None = None, version: Version = ()) -> Remedy:
    """Set the kernel's keepalive time: the server has no setting of its own."""
    del version  # the same in each
    advice = (
        " These are Linux's commands. On Solaris 11: "
        f"ipadm set-prop -p _keepalive_interval={1000 * seconds} tcp; on Solaris 10: ndd -set /dev/tcp "
        f"tcp_keepalive_interval {1000 * seconds} (milliseconds; 7200000 unless set). Only sockets with SO_KEEPALIVE "
        "are asked: netstat or ss shows their timers."
    )
    return kernel_keepalive(server, seconds, current, where=Where.SERVER, family=Family.DSEE, advice=advice)


def exempt_from_idle_timeout(server: str, dns: tuple[str, ...], seconds: int = -1) -> Remedy | None:
    """Give accounts an idle limit of their own; None when no name can be pasted or none needs it."""
    return limited(server, dns, seconds, ACCOUNT_LIMIT)


def raise_descriptor_limit(server: str, current: int | None, wanted: int, version: Version = ()) -> Remedy:
    """Raise file-descriptor-count, which the process' own limit must allow."""
    former = current if current is not None else DEFAULTS.max_descriptors.at(version)
    return _at_next_start(
        server,
        "file-descriptor-count",
        (wanted, former or 0),
        version,
        title=f"Raise the descriptor limit to {wanted}",
        changes=(
            f"The server may open {wanted} descriptors, if its process may: raise 'ulimit -n' of the user it runs as "
            "first (on Solaris 10 rlim_fd_max in /etc/system, or process.max-file-descriptor of its project)."
        ),
        risk="A restart. It buys time, and dead connections fill it again.",
    )


def raise_backlog(server: str, current: int | None, wanted: int, version: Version = ()) -> Remedy:
    """Raise nsslapd-listenBacklog, which has no property in dsconf."""
    attribute = "nsslapd-listen-backlog" if version[:1] == (6,) else "nsslapd-listenBacklog"
    former = current if current is not None else DEFAULTS.listen_backlog.at(version)
    return Remedy(
        title=f"Let {wanted} connections wait to be accepted",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text="\n".join([modify(server, *ldif_replace(attribute, wanted)), RESTART]),
        changes=(
            f"The listening sockets queue {wanted} connections, if the kernel allows as many (Linux: "
            f"net.core.somaxconn; Solaris: tcp_conn_req_max_q). {WHERE_IT_IS}"
        ),
        risk="A restart. A longer queue hides a server that accepts too slowly.",
        undo="\n".join([modify(server, *ldif_replace(attribute, former)), RESTART]),
        verify=shown(server, attribute),
        family=Family.DSEE,
        needs=Needs.RESTART,
    )


def raise_threads(server: str, current: int | None, wanted: int) -> Remedy:
    """Set max-thread-count."""
    former = current if current is not None else DEFAULTS.threads.at(())
    return _at_next_start(
        server,
        "max-thread-count",
        (wanted, former or 0),
        (),
        title=f"Run {wanted} worker threads",
        changes="The number of operations worked on at once, from the next start on. In 6 it is thread-count.",
        risk="Threads far beyond the processors slow each other down. Slow searches keep any number of threads busy.",
    )


def _at_next_start(
    server: str, name: str, values: tuple[int, int], version: Version, *, title: str, changes: str, risk: str
) -> Remedy:
    wanted, former = values
    return Remedy(
        title=title,
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text="\n".join([setting(server, name, wanted, version), RESTART]),
        changes=f"{changes} {WHERE_IT_IS}",
        risk=risk,
        undo="\n".join([setting(server, name, former, version), RESTART]),
        verify=looked_up(server, name, version),
        family=Family.DSEE,
        needs=Needs.RESTART,
    )
