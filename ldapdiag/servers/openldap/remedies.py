"""Remedies on OpenLDAP's slapd: what to paste, as tried on 2.5.13 with cn=config, and how to take it back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where
from ldapdiag.servers.host_remedies import kernel_keepalive, listen_ceiling
from ldapdiag.servers.openldap.defaults import DEFAULTS
from ldapdiag.servers.shell_text import here_document, ldif_replace, unit_drop_in, unit_drop_in_undo

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Version

UNIT = "slapd.service"
RESTART = "systemctl restart slapd"


def modify(*ldif: str) -> str:
    """Return an ldapmodify as root over the local socket, whom packages let write cn=config."""
    return here_document("ldapmodify -Q -Y EXTERNAL -H ldapi:///", *ldif)


def shown(attribute: str) -> str:
    """Return an ldapsearch that shows one setting of cn=config."""
    return f"ldapsearch -LLL -Q -Y EXTERNAL -H ldapi:/// -b cn=config -s base {attribute}"


def set_idle_timeout(server: str, seconds: int, current: int | None, version: Version = ()) -> Remedy:
    """Set olcIdleTimeout; it holds at once, for the connections already open too."""
    return Remedy(
        title=f"Set the idle timeout to {seconds} s",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=modify(*ldif_replace("olcIdleTimeout", seconds)),
        changes=(
            f"Connections that rest {seconds} s are closed, those open now too; their clients see a clean end. "
            f"A server without cn=config takes the line 'idletimeout {seconds}' in slapd.conf and a restart."
        ),
        risk=(
            "A pool that rests longer gets a closed connection and must open a new one; no account can be exempted. "
            "Connections with an operation under way are spared."
        ),
        undo=modify(
            *ldif_replace("olcIdleTimeout", DEFAULTS.idle_timeout_seconds.at(version) if current is None else current)
        ),
        verify=shown("olcIdleTimeout"),
        family=Family.OPENLDAP,
    )


def set_keepalive(server: str, seconds: int, current: int | None = None, version: Version = ()) -> Remedy:
    """Set the kernel's keepalive time: slapd switches keepalives on and leaves their time to the kernel."""
    del version  # the same in each
    return kernel_keepalive(server, seconds, current, where=Where.SERVER, family=Family.OPENLDAP)


def exempt_from_idle_timeout(server: str, dns: tuple[str, ...], seconds: int = -1) -> None:  # noqa: ARG001  the same question for every product
    """Return None: slapd has one idle timeout, and no account has its own."""
    return


def raise_descriptor_limit(server: str, current: int | None, wanted: int, version: Version = ()) -> Remedy:
    """Raise the descriptors of the process, which are slapd's only limit."""
    del version  # the same in each
    former = "" if current is None else f" instead of {current}"
    return Remedy(
        title=f"Raise the descriptor limit to {wanted}",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text="\n".join([unit_drop_in(UNIT, wanted), RESTART]),
        changes=(
            f"slapd may open {wanted} descriptors{former}. Where systemd does not start it: "
            f"'ulimit -n {wanted}' in the script that does."
        ),
        risk="A restart. It buys time, and dead connections fill it again. slapd sizes its tables by the limit.",
        undo="\n".join([unit_drop_in_undo(UNIT), RESTART]),
        verify="grep 'open files' /proc/$(pidof -s slapd)/limits",
        family=Family.OPENLDAP,
        needs=Needs.RESTART,
    )


def raise_backlog(server: str, current: int | None, wanted: int, version: Version = ()) -> Remedy:
    """Raise the kernel's ceiling, as far as slapd's compiled backlog can use it."""
    built_in = DEFAULTS.listen_backlog.at(version)
    ceiling = listen_ceiling(wanted if built_in is None else min(wanted, built_in))
    former = "" if current is None else f" instead of {current}"
    return Remedy(
        title="Let more connections wait to be accepted",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=f"{ceiling.text}\n{RESTART}",
        changes=(
            f"The listening sockets queue up to {wanted}{former}, but never more than SLAPD_LISTEN_BACKLOG, which is "
            f"compiled in ({built_in or '1024 or 2048'})."
        ),
        risk="A restart. A longer queue hides a server that accepts too slowly.",
        undo=f"{ceiling.undo}\n{RESTART}",
        verify="ss -ltn '( sport = :389 or sport = :636 )'    # Send-Q is the backlog",
        family=Family.OPENLDAP,
        needs=Needs.RESTART,
    )


def raise_threads(server: str, current: int | None, wanted: int) -> Remedy:
    """Set olcThreads; it holds at once."""
    return Remedy(
        title=f"Run {wanted} worker threads",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=modify(*ldif_replace("olcThreads", wanted)),
        changes=(
            "The number of operations worked on at once. "
            f"A server without cn=config takes the line 'threads {wanted}' in slapd.conf and a restart."
        ),
        risk="Threads far beyond the processors slow each other down. Slow searches keep any number of threads busy.",
        undo=modify(*ldif_replace("olcThreads", DEFAULTS.threads.at(()) if current is None else current)),
        verify=shown("olcThreads"),
        family=Family.OPENLDAP,
    )
