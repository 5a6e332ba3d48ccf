"""Remedies on Active Directory: ntdsutil commands from learn.microsoft.com, not tested on a domain controller.

One line each, the same in cmd.exe and PowerShell, to be run by an Enterprise Admin on any domain controller.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where
from ldapdiag.servers.active_directory.defaults import DEFAULTS, MAX_CONNECTIONS, POOL_THREADS
from ldapdiag.servers.commands.remedy_texts import (
    CLIENTS_ARE_REFUSED,
    MANY_THREADS,
    POOL_MUST_RECONNECT,
    SECURE_BINDS,
    STOPGAP,
    idle_for,
)
from ldapdiag.servers.commands.shell_text import HOST_NAME, PLACEHOLDER
from ldapdiag.servers.hosts.kernel import KERNEL_KEEPALIVE_TIME

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Version
    from ldapdiag.servers.commands.server_address import ServerAddress

FOREST_WIDE = (
    "This changes the default query policy, which replicates to every domain controller of the forest; it does not "
    "apply where queryPolicyObject of the NTDS Settings or of the site names another policy."
)
RESTART = ""
TCP_PARAMETERS = r"HKLM\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters"
POWERSHELL = (
    "The PowerShell equivalent is Set-ADObject on CN=Default Query Policy,CN=Query-Policies,CN=Directory Service,"
    "CN=Windows NT,CN=Services below the configuration naming context, with -Remove @{lDAPAdminLimits='<the old>'} "
    "-Add @{lDAPAdminLimits='<the new>'}."
)


def policies(server: ServerAddress, *commands: str) -> str:
    """Return an ntdsutil command that connects to a server's LDAP policies, runs commands and quits."""
    name = server.host if HOST_NAME.fullmatch(server.host) else PLACEHOLDER
    steps = ("LDAP policies", "Connections", f"Connect to server {name}", "Quit", *commands, "Quit", "Quit")
    return " ".join(["ntdsutil", *(f'"{step}"' for step in steps)])


def setting(server: ServerAddress, policy: str, value: int) -> str:
    """Return an ntdsutil command that sets one policy."""
    return policies(server, f"Set {policy} to {value}", "Commit Changes", "Show Values")


def shown(server: ServerAddress) -> str:
    """Return an ntdsutil command that shows all policies."""
    return policies(server, "Show Values")


def set_idle_timeout(server: ServerAddress, seconds: int, current: int | None, version: Version = ()) -> Remedy:
    """Set MaxConnIdleTime; the undo restores the former value or the default."""
    former = current if current is not None else DEFAULTS.idle_timeout_seconds.at(version)
    return Remedy(
        title=f"Set the idle timeout to {seconds:,} s",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=setting(server, "MaxConnIdleTime", seconds),
        changes=(
            f"{idle_for(seconds)}; their clients receive a notice of disconnection. {FOREST_WIDE} It applies to new "
            f"connections; whether it applies to those that are open now is not documented. {POWERSHELL}"
        ),
        risk=(
            f"{POOL_MUST_RECONNECT} No account can be exempted. The undo restores the value in the evidence, or the "
            "default of 900 s."
        ),
        undo=setting(server, "MaxConnIdleTime", former or 0),
        verify=f"{shown(server)}\nnetstat -ano | findstr :389",
        family=Family.AD,
        needs=Needs.RECONNECT,
    )


def set_keepalive(server: ServerAddress, seconds: int, current: int | None = None, version: Version = ()) -> Remedy:
    """Set Windows' keepalive time: Active Directory has no policy for it."""
    del version  # the same in every version
    entry = f'"{TCP_PARAMETERS}" /v KeepAliveTime'
    former = f"/t REG_DWORD /d {current * 1000} /f" if current else "/f"
    return Remedy(
        title=f"Send keepalive probes after {seconds:,} s of idle time (Windows)",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=f"reg add {entry} /t REG_DWORD /d {seconds * 1000} /f",
        changes=(
            f"From the next start, Windows probes the peer of each socket with SO_KEEPALIVE after {seconds:,} s of "
            f"idle time instead of {current or KERNEL_KEEPALIVE_TIME:,} s. Whether the sockets of Active Directory "
            "have it is not documented; MaxConnIdleTime always applies."
        ),
        risk="A restart of the domain controller, and small packets from every program on it that uses keepalives.",
        undo=f"reg {'add' if current else 'delete'} {entry} {former}",
        verify=f"reg query {entry}",
        family=Family.AD,
        needs=Needs.RESTART,
    )


def exempt_from_idle_timeout(server: ServerAddress, dns: tuple[str, ...], seconds: int = -1) -> None:
    """Return None: MaxConnIdleTime has no exceptions for accounts."""
    del server, dns, seconds


def raise_descriptor_limit(server: ServerAddress, current: int | None, wanted: int, version: Version = ()) -> Remedy:
    """Raise MaxConnections, the only limit."""
    del current, version  # `current` is a number of descriptors, not MaxConnections
    return Remedy(
        title=f"Raise MaxConnections to {wanted:,}",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=setting(server, "MaxConnections", wanted),
        changes=(
            f"A domain controller keeps {wanted:,} connections before it drops one for each new one. {FOREST_WIDE} "
            f"{POWERSHELL}"
        ),
        risk=f"{STOPGAP} Each connection uses memory of lsass.exe.",
        undo=setting(server, "MaxConnections", MAX_CONNECTIONS),
        verify=f"{shown(server)}\nnetstat -ano | findstr :389",
        family=Family.AD,
    )


def raise_backlog(server: ServerAddress, current: int | None, wanted: int, version: Version = ()) -> Remedy:
    """Advise what to check: Windows has no such setting."""
    del current, version  # the same in every version
    return Remedy(
        title=f"Raise the listen backlog to {wanted:,}",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.ADVICE,
        text="Neither Active Directory nor Windows has a setting for it. Check why lsass.exe accepts connections too "
        "slowly: slow searches (event 1644), busy processors, or MaxConnections reached.",
        changes="Nothing by itself.",
        risk="None.",
        undo="None needed: nothing is changed.",
        verify="netstat -ano | findstr :389",
        family=Family.AD,
    )


def raise_threads(server: ServerAddress, current: int | None, wanted: int) -> Remedy:
    """Set MaxPoolThreads, a number per processor."""
    each = wanted if wanted > 0 else POOL_THREADS
    return Remedy(
        title=f"Set the number of worker threads per processor to {each}",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=setting(server, "MaxPoolThreads", each),
        changes=f"The number of threads per processor that receive requests from the network. {FOREST_WIDE}",
        risk=MANY_THREADS,
        undo=setting(server, "MaxPoolThreads", POOL_THREADS if current is None else current),
        verify=shown(server),
        family=Family.AD,
    )


def require_secure_binds(server: ServerAddress, version: Version = ()) -> Remedy:
    """Advise LDAP signing, without which a domain controller refuses simple BINDs without TLS."""
    del version  # the same in every version
    return Remedy(
        title=SECURE_BINDS,
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.ADVICE,
        text="Require LDAP signing in the policy of all domain controllers: 'Domain controller: LDAP server signing "
        "requirements' (LDAPServerIntegrity = 2). Before that, event 2889 of the Directory Service log names the "
        "clients that will be refused ('16 LDAP Interface Events' = 2).",
        changes="A simple BIND needs TLS, and a SASL BIND signing or TLS; others get strongerAuthRequired (8).",
        risk=f"{CLIENTS_ARE_REFUSED} SASL clients without signing are refused, too.",
        undo="Set the policy to None (LDAPServerIntegrity = 1).",
        verify=r"reg query HKLM\SYSTEM\CurrentControlSet\Services\NTDS\Parameters /v LDAPServerIntegrity",
        family=Family.AD,
    )
