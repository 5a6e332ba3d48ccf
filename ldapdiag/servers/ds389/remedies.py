"""Remedies on 389 Directory Server: what to paste, as tried on 2.3.1, and how to take it back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where
from ldapdiag.servers.account_idle_limits import AccountIdleLimit, limited
from ldapdiag.servers.ds389.defaults import DEFAULTS
from ldapdiag.servers.host_remedies import kernel_keepalive, listen_ceiling
from ldapdiag.servers.kernel import KERNEL_KEEPALIVE_INTERVAL, KERNEL_KEEPALIVE_PROBES
from ldapdiag.servers.ldap_tools import modify, shown
from ldapdiag.servers.shell_text import ldif_replace, unit_drop_in, unit_drop_in_undo

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Version

UNIT = "dirsrv@.service"
RESTART = "systemctl restart dirsrv.target"
ACCOUNT_LIMIT = AccountIdleLimit(
    family=Family.DS389, attribute="nsIdleTimeout", never=-1, exempt=DEFAULTS.exempt_identities
)


def set_idle_timeout(server: str, seconds: int, current: int | None, version: Version = ()) -> Remedy:
    """Set nsslapd-idletimeout. Without a former value, the undo goes back to the version's default."""
    changes = f"Connections that rest {seconds} s are closed; their clients see a clean end."
    reaches = DEFAULTS.idle_timeout_reaches_open_connections.at(version)
    if reaches is not True:
        changes += (
            " A connection takes its limit when it is opened and when it binds"
            + (
                ", so those open now keep the old one"
                if reaches is False
                else ", so those open now may keep the old one"
            )
            + ": they end by keepalive, by ss -K on the server, or by a restart."
        )
    if DEFAULTS.enforces_idle_only_under_activity.at(version):
        changes += " This version looks at the clock only when some connection is active (issue #6004)."
    return Remedy(
        title=f"Set the idle timeout to {seconds} s",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=modify(server, *ldif_replace("nsslapd-idletimeout", seconds)),
        changes=changes,
        risk=(
            "A pool that rests longer gets a closed connection and must open a new one; replication and persistent "
            "searches need nsIdleTimeout: -1 on their entries. Connections of Directory Manager are never closed."
        ),
        undo=modify(server, *ldif_replace("nsslapd-idletimeout", current)),
        verify=shown(server, "nsslapd-idletimeout"),
        family=Family.DS389,
        needs=Needs.NONE if reaches else Needs.RECONNECT,
    )


def set_keepalive(server: str, seconds: int, current: int | None = None, version: Version = ()) -> Remedy:
    """Set nsslapd-tcp-keepalive-time, or the kernel's time where the server has no setting of its own."""
    in_server = DEFAULTS.sets_keepalive_time.at(version)
    if in_server is False:
        return kernel_keepalive(server, seconds, current, where=Where.SERVER, family=Family.DS389)
    return Remedy(
        title=f"Probe resting connections after {seconds} s",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=modify(server, *ldif_replace("nsslapd-tcp-keepalive-time", seconds)),
        changes=(
            f"The kernel asks each peer after {seconds} s of rest, so boxes between keep the connection; a dead one is "
            f"closed {KERNEL_KEEPALIVE_INTERVAL * KERNEL_KEEPALIVE_PROBES} s later by the kernel's defaults. "
            "New connections only." + ("" if in_server else " Needs version 2.0.15, 2.1.1 or later; others refuse it.")
        ),
        risk=f"One small packet each way per resting connection every {seconds} s.",
        undo=modify(server, *ldif_replace("nsslapd-tcp-keepalive-time", current)),
        verify=f"{shown(server, 'nsslapd-tcp-keepalive-time')}\nss -tno state established '( sport = :389 )'",
        family=Family.DS389,
        needs=Needs.RECONNECT,
    )


def exempt_from_idle_timeout(server: str, dns: tuple[str, ...], seconds: int = -1) -> Remedy | None:
    """Give accounts an idle limit of their own; None when no name can be pasted or none needs it."""
    return limited(server, dns, seconds, ACCOUNT_LIMIT)


def raise_descriptor_limit(server: str, current: int | None, wanted: int, version: Version = ()) -> Remedy:
    """Raise the descriptors of the process and of the server. The table of connections is sized at the start."""
    cap = DEFAULTS.descriptor_cap.at(version)
    setting = modify(server, *ldif_replace("nsslapd-maxdescriptors", wanted))
    undo = [unit_drop_in_undo(UNIT), RESTART]
    if current is not None:
        undo = [modify(server, *ldif_replace("nsslapd-maxdescriptors", current)), *undo]
    return Remedy(
        title=f"Raise the descriptor limit to {wanted}",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text="\n".join([unit_drop_in(UNIT, wanted), RESTART, setting, RESTART]),
        changes=(
            f"Every instance on the host may open {wanted} descriptors. The first restart gives the process its limit, "
            "above which the server refuses the setting; the second gives the table of connections its size."
        ),
        risk=(
            "Two restarts of every instance on the host. It buys time, and dead connections fill it again."
            + (f" The server takes no more than {cap} connections, whatever is set (FDS_PROCESS_MAX)." if cap else "")
        ),
        undo="\n".join(undo),
        verify=f"{shown(server, 'nsslapd-maxdescriptors')}\ngrep 'open files' /proc/$(pidof -s ns-slapd)/limits",
        family=Family.DS389,
        needs=Needs.RESTART,
    )


def raise_backlog(server: str, current: int | None, wanted: int, version: Version = ()) -> Remedy:  # noqa: ARG001  the same question for every product
    """Raise nsslapd-listen-backlog-size and the kernel's ceiling for it."""
    ceiling = listen_ceiling(wanted)
    return Remedy(
        title=f"Let {wanted} connections wait to be accepted",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text="\n".join([ceiling.text, modify(server, *ldif_replace("nsslapd-listen-backlog-size", wanted)), RESTART]),
        changes=f"The listening sockets queue {wanted} connections instead of turning them away.",
        risk="A restart of every instance on the host. A longer queue hides a server that accepts too slowly.",
        undo="\n".join(
            [modify(server, *ldif_replace("nsslapd-listen-backlog-size", current)), ceiling.undo, RESTART],
        ),
        verify="ss -ltn '( sport = :389 or sport = :636 )'    # Send-Q is the backlog",
        family=Family.DS389,
        needs=Needs.RESTART,
    )


def raise_threads(server: str, current: int | None, wanted: int) -> Remedy:
    """Set nsslapd-threadnumber; -1 lets the server follow the number of processors."""
    return Remedy(
        title=f"Run {wanted} worker threads" if wanted > 0 else "Let the server choose its worker threads",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text="\n".join([modify(server, *ldif_replace("nsslapd-threadnumber", wanted)), RESTART]),
        changes="The number of operations worked on at once, from the next start on.",
        risk="Threads far beyond the processors slow each other down. Slow searches keep any number of threads busy.",
        undo="\n".join([modify(server, *ldif_replace("nsslapd-threadnumber", current)), RESTART]),
        verify=shown(server, "nsslapd-threadnumber"),
        family=Family.DS389,
        needs=Needs.RESTART,
    )
