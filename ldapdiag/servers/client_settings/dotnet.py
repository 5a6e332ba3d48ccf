"""System.DirectoryServices.Protocols, the LDAP client of .NET; from its documentation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.servers.client_settings.values import ANSWER_TIMEOUT, ClientSoftware, ClientValues, client_remedy

if TYPE_CHECKING:
    from ldapdiag.remedy import Remedy

KEY = r"HKLM\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters"


def set_dotnet(values: ClientValues) -> Remedy:
    """Probe, and reconnect where the server has closed the connection."""
    return client_remedy(
        values,
        ".NET",
        text=f"connection.Timeout = TimeSpan.FromSeconds({ANSWER_TIMEOUT});\n"
        "connection.SessionOptions.TcpKeepAlive = true;\n"
        "connection.SessionOptions.AutoReconnect = true;\n"
        f"// Dispose of an LdapConnection that was idle for {values.longest_idle} s, and open a new one.",
        changes="Windows probes the server after its own keepalive time, 7200 s by default: on its host run "
        f'reg add "{KEY}" /v KeepAliveTime /t REG_DWORD /d {1000 * values.probe_seconds} /f and restart. On Linux, '
        ".NET uses libldap: see its settings.",
        risk="KeepAliveTime applies to every program on the host.",
        undo=f'reg delete "{KEY}" /v KeepAliveTime /f\n:: and remove the lines from the program',
    )


DOTNET = ClientSoftware(
    name=".NET",
    programs=frozenset({"dotnet", "w3wp", "w3wp.exe"}),
    setting="TcpKeepAlive",
    source="from learn.microsoft.com, not tested",
    remedy=set_dotnet,
)
