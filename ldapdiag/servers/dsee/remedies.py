"""Remedies on Directory Server Enterprise Edition: dsconf commands from its manuals, not tested.

dsconf exists from 6.0 on and prompts for the password; up to 5.2 ldapmodify writes the same settings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where
from ldapdiag.servers.commands.ldap_tools import host, modify, port, shown
from ldapdiag.servers.commands.remedy_texts import (
    EXEMPT_ENTRIES,
    LONG_QUEUE,
    MANY_THREADS,
    OPERATIONS_AT_ONCE,
    POOL_MUST_RECONNECT,
    STOPGAP,
    backlog_of,
    idle_for,
)
from ldapdiag.servers.commands.shell_text import ldif_replace
from ldapdiag.servers.dsee.defaults import DEFAULTS, IDLE
from ldapdiag.servers.hosts.host_remedies import kernel_keepalive
from ldapdiag.servers.idle.account_limits import AccountIdleLimit, set_account_limit

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Version
    from ldapdiag.servers.commands.server_address import ServerAddress

FIRST_WITH_DSCONF = (6, 0)
ATTRIBUTES = {
    "idle-timeout": "nsslapd-idletimeout",
    "file-descriptor-count": "nsslapd-maxdescriptors",
    "max-thread-count": "nsslapd-threadnumber",
}
"""Properties of dsconf, and their attributes in cn=config."""
RESTART = "dsadm restart INSTANCE_PATH"
WHERE_IT_IS = "INSTANCE_PATH is the directory of the instance: 'dsconf info' shows it."
ACCOUNT_LIMIT = AccountIdleLimit(family=Family.DSEE, attribute=IDLE.account_attribute, never=-1, exempt=IDLE.exempt)


def setting(server: ServerAddress, name: str, value: int, version: Version = ()) -> str:
    """Return the command that sets one property; dsconf spells no idle timeout `none`."""
    if () < version < FIRST_WITH_DSCONF:
        return modify(server, *ldif_replace(ATTRIBUTES[name], value))
    spelt = "none" if name == "idle-timeout" and not value else str(value)
    return f"dsconf set-server-prop -h {host(server)} -p {port(server)} {name}:{spelt}"


def show_setting(server: ServerAddress, name: str, version: Version = ()) -> str:
    """Return the command that shows one property."""
    if () < version < FIRST_WITH_DSCONF:
        return shown(server, ATTRIBUTES[name])
    return f"dsconf get-server-prop -h {host(server)} -p {port(server)} {name}"


def set_idle_timeout(server: ServerAddress, seconds: int, current: int | None, version: Version = ()) -> Remedy:
    """Set idle-timeout. Without a former value, the undo restores the default."""
    former = current if current is not None else DEFAULTS.idle_timeout_seconds.at(version)
    return Remedy(
        title=f"Set the idle timeout to {seconds:,} s",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=setting(server, "idle-timeout", seconds, version),
        changes=(
            f"{idle_for(seconds)}; their clients receive a FIN. Connections that are open now may keep the old limit: "
            "close them by keepalive, by hand or by a restart. Without dsconf, set nsslapd-idletimeout: "
            f"{seconds} in cn=config with ldapmodify."
        ),
        risk=f"{POOL_MUST_RECONNECT} {EXEMPT_ENTRIES}",
        undo=setting(server, "idle-timeout", former or 0, version),
        verify=show_setting(server, "idle-timeout", version),
        family=Family.DSEE,
        needs=Needs.REBIND,
    )


def set_keepalive(server: ServerAddress, seconds: int, current: int | None = None, version: Version = ()) -> Remedy:
    """Set the kernel's keepalive time: the server has no setting for it."""
    del version  # the same in every version
    advice = (
        " These commands are for Linux. On Solaris 11: "
        f"ipadm set-prop -p _keepalive_interval={1000 * seconds} tcp; on Solaris 10: ndd -set /dev/tcp "
        f"tcp_keepalive_interval {1000 * seconds} (milliseconds; default 7200000). Only sockets with SO_KEEPALIVE send "
        "probes: netstat or ss shows their timers."
    )
    return kernel_keepalive(server.name, seconds, current, where=Where.SERVER, family=Family.DSEE, advice=advice)


def exempt_from_idle_timeout(server: ServerAddress, dns: tuple[str, ...], seconds: int = -1) -> Remedy | None:
    """Set an idle limit for accounts; None when no DN is valid or all are exempt anyway."""
    return set_account_limit(server, dns, seconds, ACCOUNT_LIMIT)


def raise_descriptor_limit(server: ServerAddress, current: int | None, wanted: int, version: Version = ()) -> Remedy:
    """Raise file-descriptor-count, within the limit of the process."""
    former = current if current is not None else DEFAULTS.max_descriptors.at(version)
    return _at_next_start(
        server,
        "file-descriptor-count",
        (wanted, former or 0),
        version,
        title=f"Raise the descriptor limit to {wanted:,}",
        changes=(
            f"The server may open {wanted:,} descriptors, within the limit of its process: first raise 'ulimit -n' of "
            "its user (on Solaris 10 rlim_fd_max in /etc/system, or process.max-file-descriptor of its project)."
        ),
        risk=f"A restart. {STOPGAP}",
    )


def raise_backlog(server: ServerAddress, current: int | None, wanted: int, version: Version = ()) -> Remedy:
    """Raise nsslapd-listenBacklog, for which dsconf has no property."""
    attribute = "nsslapd-listen-backlog" if version[:1] == (6,) else "nsslapd-listenBacklog"
    former = current if current is not None else DEFAULTS.listen_backlog.at(version)
    return Remedy(
        title=f"Raise the listen backlog to {wanted:,}",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text="\n".join([modify(server, *ldif_replace(attribute, wanted)), RESTART]),
        changes=(
            f"{backlog_of(wanted)}, within the limit of the kernel (Linux: net.core.somaxconn; Solaris: "
            f"tcp_conn_req_max_q). {WHERE_IT_IS}"
        ),
        risk=f"A restart. {LONG_QUEUE}",
        undo="\n".join([modify(server, *ldif_replace(attribute, former)), RESTART]),
        verify=shown(server, attribute),
        family=Family.DSEE,
        needs=Needs.RESTART,
    )


def raise_threads(server: ServerAddress, current: int | None, wanted: int) -> Remedy:
    """Set max-thread-count."""
    former = current if current is not None else DEFAULTS.threads.at(())
    return _at_next_start(
        server,
        "max-thread-count",
        (wanted, former or 0),
        (),
        title=f"Set the number of worker threads to {wanted}",
        changes=f"{OPERATIONS_AT_ONCE}, from the next start. In 6 it is thread-count.",
        risk=MANY_THREADS,
    )


def _at_next_start(
    server: ServerAddress, name: str, values: tuple[int, int], version: Version, *, title: str, changes: str, risk: str
) -> Remedy:
    wanted, former = values
    return Remedy(
        title=title,
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text="\n".join([setting(server, name, wanted, version), RESTART]),
        changes=f"{changes} {WHERE_IT_IS}",
        risk=risk,
        undo="\n".join([setting(server, name, former, version), RESTART]),
        verify=show_setting(server, name, version),
        family=Family.DSEE,
        needs=Needs.RESTART,
    )


def require_secure_binds(server: ServerAddress, version: Version = ()) -> Remedy:
    """Advise to close the port without TLS: the server has no setting for BINDs alone."""
    del version  # the same in every version
    return Remedy(
        title="Close the port without TLS",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.ADVICE,
        text="The server has no setting for BINDs alone. When all clients use LDAPS: "
        "dsconf set-server-prop ldap-port:disabled, over the secure port, then dsadm restart.",
        changes="Only the LDAPS port is left: neither anonymous clients nor StartTLS can use the other one any more.",
        risk="Every client of the port without TLS is cut off, monitoring and replication included.",
        undo="dsconf set-server-prop ldap-port:389, then dsadm restart.",
        verify="dsconf get-server-prop ldap-port ldap-secure-port",
        family=Family.DSEE,
        needs=Needs.RESTART,
    )
