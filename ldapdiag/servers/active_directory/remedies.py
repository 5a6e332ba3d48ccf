"""Remedies on Active Directory: ntdsutil's commands as learn.microsoft.com has them; not tried on a domain controller.

One line each, the same in cmd.exe and PowerShell: run by an Enterprise Admin on any domain controller.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where
from ldapdiag.servers.active_directory.defaults import DEFAULTS, MAX_CONNECTIONS, POOL_THREADS
from ldapdiag.servers.kernel import KERNEL_KEEPALIVE_TIME
from ldapdiag.servers.shell_text import HOST_NAME, PLACEHOLDER

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Version

FOREST_WIDE = (
    "It changes the default query policy: every domain controller of the forest takes it as the configuration "
    "partition replicates, but for those whose NTDS Settings or site name a policy of their own in queryPolicyObject."
)
TCP_PARAMETERS = r"HKLM\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters"
POWERSHELL = (
    "In PowerShell the same is Set-ADObject on CN=Default Query Policy,CN=Query-Policies,CN=Directory Service,"
    "CN=Windows NT,CN=Services below the configuration naming context, with -Remove @{lDAPAdminLimits='<the old>'} "
    "-Add @{lDAPAdminLimits='<the new>'}."
)


def policies(server: str, *commands: str) -> str:
    """Return an ntdsutil that goes to the LDAP policies of a server, does something and leaves."""
    name = server if HOST_NAME.fullmatch(server) else PLACEHOLDER
    steps = ("LDAP policies", "Connections", f"Connect to server {name}", "Quit", *commands, "Quit", "Quit")
    return " ".join(["ntdsutil", *(f'"{step}"' for step in steps)])


def setting(server: str, policy: str, value: int) -> str:
    """Return an ntdsutil that sets one policy."""
    return policies(server, f"Set {policy} to {value}", "Commit Changes", "Show Values")


def shown(server: str) -> str:
    """Return an ntdsutil that shows all policies."""
    return policies(server, "Show Values")


def set_idle_timeout(server: str, seconds: int, current: int | None, version: Version = ()) -> Remedy:
    """Set MaxConnIdleTime; the undo goes back to the former value or to the default."""
    former = current if current is not None else DEFAULTS.idle_timeout_seconds.at(version)
    return Remedy(
        title=f"Set the idle timeout to {seconds} s",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=setting(server, "MaxConnIdleTime", seconds),
        changes=(
            f"Connections that rest {seconds} s are closed; the client gets a notice of disconnection. {FOREST_WIDE} "
            f"Whether connections open now take it is not documented; new ones do. {POWERSHELL}"
        ),
        risk=(
            "Every client of the forest that rests longer must connect again; no account can be exempted. "
            "The undo writes the value this run knew, or the default of 900 s."
        ),
        undo=setting(server, "MaxConnIdleTime", former or 0),
        verify=f"{shown(server)}\nnetstat -ano | findstr :389",
        family=Family.AD,
        needs=Needs.RECONNECT,
    )


def set_keepalive(server: str, seconds: int, current: int | None = None, version: Version = ()) -> Remedy:
    """Set Windows' keepalive time: no policy of Active Directory does."""
    del version  # the same in each
    entry = f'"{TCP_PARAMETERS}" /v KeepAliveTime'
    former = f"/t REG_DWORD /d {current * 1000} /f" if current else "/f"
    return Remedy(
        title=f"Probe resting connections after {seconds} s (Windows)",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=f"reg add {entry} /t REG_DWORD /d {seconds * 1000} /f",
        changes=(
            f"Windows asks the peer of each socket that has keepalives on after {seconds} s of rest instead of "
            f"{current or KERNEL_KEEPALIVE_TIME} s, from the next start on. Whether those of Active Directory "
            "have is not documented: MaxConnIdleTime is the setting that surely acts."
        ),
        risk="A restart of the domain controller, and small packets from every program on it that uses keepalives.",
        undo=f"reg {'add' if current else 'delete'} {entry} {former}",
        verify=f"reg query {entry}",
        family=Family.AD,
        needs=Needs.RESTART,
    )


def exempt_from_idle_timeout(server: str, dns: tuple[str, ...], seconds: int = -1) -> None:  # noqa: ARG001  the same question for every product
    """Return None: MaxConnIdleTime is one for all, and no account has its own."""
    return


def raise_descriptor_limit(server: str, current: int | None, wanted: int, version: Version = ()) -> Remedy:
    """Raise MaxConnections, the only limit there is."""
    del current, version  # MaxConnections is not the descriptors somebody counted
    return Remedy(
        title=f"Raise MaxConnections to {wanted}",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=setting(server, "MaxConnections", wanted),
        changes=(
            f"A domain controller holds {wanted} connections before it drops one for each new one. {FOREST_WIDE} "
            f"{POWERSHELL}"
        ),
        risk="It buys time, and dead connections fill it again. Each connection takes memory of lsass.exe.",
        undo=setting(server, "MaxConnections", MAX_CONNECTIONS),
        verify=f"{shown(server)}\nnetstat -ano | findstr :389",
        family=Family.AD,
    )


def raise_backlog(server: str, current: int | None, wanted: int, version: Version = ()) -> Remedy:
    """Say that Windows has no such setting."""
    del current, version  # the same in each
    return Remedy(
        title=f"Let {wanted} connections wait to be accepted",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.ADVICE,
        text="Neither Active Directory nor Windows has a setting for it: look for what keeps lsass.exe from accepting "
        "(slow searches: event 1644; processors; a full MaxConnections).",
        changes="Nothing by itself.",
        risk="None.",
        undo="None needed: nothing is changed.",
        verify="netstat -ano | findstr :389",
        family=Family.AD,
    )


def raise_threads(server: str, current: int | None, wanted: int) -> Remedy:
    """Set MaxPoolThreads, which counts for each processor."""
    each = wanted if wanted > 0 else POOL_THREADS
    return Remedy(
        title=f"Run {each} worker threads for each processor",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=setting(server, "MaxPoolThreads", each),
        changes=f"The threads that take requests from the network, for each processor. {FOREST_WIDE}",
        risk="Threads far beyond the processors slow each other down. Slow searches keep any number of threads busy.",
        undo=setting(server, "MaxPoolThreads", POOL_THREADS if current is None else current),
        verify=shown(server),
        family=Family.AD,
    )
