"""Active Directory as a product: ntdsutil commands from learn.microsoft.com, not tested on a domain controller.

Samba's, which are no remedies of their own, were run on its version 4.17.

One line each, the same in cmd.exe and PowerShell, to be run by an Enterprise Admin on any domain controller. SERVER
stands for a controller that the operator did not name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.remedy import Needs, Remedy, RemedyKind
from ldapdiag.servers.active_directory import candidates, index_remedies
from ldapdiag.servers.active_directory.defaults import DEFAULTS, IDLE, MAX_CONNECTIONS, POOL_THREADS
from ldapdiag.servers.active_directory.rewrites import rewrite
from ldapdiag.servers.commands.remedy_texts import (
    CLIENTS_ARE_REFUSED,
    MANY_THREADS,
    POOL_MUST_RECONNECT,
    STOPGAP,
    idle_for,
)
from ldapdiag.servers.commands.shell_text import HOST_NAME, PLACEHOLDER
from ldapdiag.servers.hosts.kernel import KERNEL_KEEPALIVE_TIME
from ldapdiag.servers.product import Product
from ldapdiag.servers.settings import Commands, Purpose, ServerSettings, SettingRow, WantedValue

if TYPE_CHECKING:
    from collections.abc import Callable

    from ldapdiag.servers.commands.server_address import ServerAddress

FOREST_WIDE = (
    "SERVER in a command stands for the domain controller, where you did not name it as a target. "
    "This changes the default query policy, which replicates to every domain controller of the forest; it does not "
    "apply where queryPolicyObject of the NTDS Settings or of the site names another policy."
)
CONNECTIONS = "netstat -ano | findstr :389"
TCP_PARAMETERS = r"HKLM\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters"
POWERSHELL = (
    "The PowerShell equivalent is Set-ADObject on CN=Default Query Policy,CN=Query-Policies,CN=Directory Service,"
    "CN=Windows NT,CN=Services below the configuration naming context, with -Remove @{lDAPAdminLimits='<the old>'} "
    "-Add @{lDAPAdminLimits='<the new>'}."
)

ON_SAMBA = (
    "Samba has no ntdsutil; there the same is, for new connections, which it closes without a notice (tested with "
    '4.17): EDITOR="sed -i s/MaxConnIdleTime=.*/MaxConnIdleTime={}/" ldbedit -H /var/lib/samba/private/sam.ldb '
    '--cross-ncs "(cn=Default Query Policy)" lDAPAdminLimits'
)


def policies(server: ServerAddress, *commands: str) -> str:
    """Return an ntdsutil command that connects to a server's LDAP policies, runs commands and quits."""
    name = server.host if server.is_named and HOST_NAME.fullmatch(server.host) else PLACEHOLDER
    steps = ("LDAP policies", "Connections", f"Connect to server {name}", "Quit", *commands, "Quit", "Quit")
    return " ".join(["ntdsutil", *(f'"{step}"' for step in steps)])


def setting(server: ServerAddress, policy: str, value: int) -> str:
    """Return an ntdsutil command that sets one policy."""
    return policies(server, f"Set {policy} to {value}", "Commit Changes", "Show Values")


def shown(server: ServerAddress) -> str:
    """Return an ntdsutil command that shows all policies."""
    return policies(server, "Show Values")


def policy(name: str, default: int, *, verify: str = "", always: bool = False) -> Callable[[WantedValue], Commands]:
    """Return the commands of a policy; the undo of an unknown value, or `always`, restores the default."""

    def commands(wanted: WantedValue) -> Commands:
        former = default if always or wanted.former is None else wanted.former
        text, undo = setting(wanted.server, name, wanted.value), setting(wanted.server, name, former)
        return Commands(text, undo, "\n".join(filter(None, (shown(wanted.server), verify))))

    return commands


def _keepalive(wanted: WantedValue) -> Commands:
    """Set Windows' keepalive time: Active Directory has no policy for it."""
    entry = f'"{TCP_PARAMETERS}" /v KeepAliveTime'
    former = f"/t REG_DWORD /d {wanted.former * 1000} /f" if wanted.former else "/f"
    return Commands(
        f"reg add {entry} /t REG_DWORD /d {wanted.value * 1000} /f",
        f"reg {'add' if wanted.former else 'delete'} {entry} {former}",
        f"reg query {entry}",
    )


def _threads(wanted: WantedValue) -> Remedy:
    """Set MaxPoolThreads, a number per processor."""
    row = SettingRow(
        title="Set the number of worker threads per processor to {value}",
        commands=policy("MaxPoolThreads", POOL_THREADS),
        changes=f"The number of threads per processor that receive requests from the network. {FOREST_WIDE}",
        risk=MANY_THREADS,
    )
    return row.remedy(Family.AD, Purpose.THREADS, wanted if wanted.value > 0 else wanted._replace(value=POOL_THREADS))


SETTINGS = ServerSettings(
    family=Family.AD,
    restart="",
    rows={
        Purpose.IDLE_TIMEOUT: SettingRow(
            commands=policy("MaxConnIdleTime", DEFAULTS.idle_timeout_seconds.at(()) or 0, verify=CONNECTIONS),
            changes=lambda wanted: (
                f"{idle_for(wanted.value)}; their clients receive a notice of disconnection. {FOREST_WIDE} It applies "
                "to new connections; whether it applies to those that are open now is not documented. "
                f"{POWERSHELL} {ON_SAMBA.format(wanted.value)}"
            ),
            risk=(
                f"{POOL_MUST_RECONNECT} No account can be exempted. The undo restores the value in the evidence, or "
                "the default of 900 s."
            ),
            needs=Needs.RECONNECT,
        ),
        Purpose.KEEPALIVE: SettingRow(
            title=f"{Purpose.KEEPALIVE} (Windows)",
            commands=_keepalive,
            changes=lambda wanted: (
                f"From the next start, Windows probes the peer of each socket with SO_KEEPALIVE after "
                f"{wanted.value:,} s of idle time instead of {wanted.former or KERNEL_KEEPALIVE_TIME:,} s. Whether the "
                "sockets of Active Directory have it is not documented; MaxConnIdleTime always applies."
            ),
            risk="A restart of the domain controller, and small packets from every program on it that uses keepalives.",
            needs=Needs.RESTART,
        ),
        Purpose.DESCRIPTORS: SettingRow(
            title="Raise MaxConnections to {value:,}",
            commands=policy("MaxConnections", MAX_CONNECTIONS, verify=CONNECTIONS, always=True),
            changes=(
                "A domain controller keeps {value:,} connections before it drops one for each new one. "
                f"{FOREST_WIDE} {POWERSHELL.replace('{', '{{').replace('}', '}}')}"
            ),
            risk=f"{STOPGAP} Each connection uses memory of lsass.exe.",
        ),
        Purpose.BACKLOG: SettingRow(
            kind=RemedyKind.ADVICE,
            commands=lambda _: Commands(
                "Neither Active Directory nor Windows has a setting for it. Check why lsass.exe accepts connections "
                "too slowly: slow searches (event 1644), busy processors, or MaxConnections reached.",
                "None needed: nothing is changed.",
                CONNECTIONS,
            ),
            changes="Nothing by itself.",
            risk="None.",
        ),
        Purpose.THREADS: _threads,
        Purpose.SECURE_BINDS: SettingRow(
            kind=RemedyKind.ADVICE,
            commands=lambda _: Commands(
                "Require LDAP signing in the policy of all domain controllers: 'Domain controller: LDAP server signing "
                "requirements' (LDAPServerIntegrity = 2). Before that, event 2889 of the Directory Service log names "
                "the clients that will be refused ('16 LDAP Interface Events' = 2). Samba requires it unless smb.conf "
                "has 'ldap server require strong auth = no'.",
                "Set the policy to None (LDAPServerIntegrity = 1).",
                r"reg query HKLM\SYSTEM\CurrentControlSet\Services\NTDS\Parameters /v LDAPServerIntegrity",
            ),
            changes="A simple BIND needs TLS, and a SASL BIND signing or TLS; others get strongerAuthRequired (8).",
            risk=f"{CLIENTS_ARE_REFUSED} SASL clients without signing are refused, too.",
        ),
    },
)

PRODUCT = Product(
    family=Family.AD,
    defaults=DEFAULTS,
    idle_enforcement=IDLE,
    remedies=SETTINGS,
    on_linux=False,
    candidates=candidates,
    candidates_tested=False,
    index_remedies=index_remedies,
    without_script=index_remedies.WITHOUT_SCRIPT,
    without_ldif=index_remedies.WITHOUT_LDIF,
    rewrite=rewrite,
)
