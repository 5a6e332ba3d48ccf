"""Which client settings are printed: those of the programs in the client's socket table, else all of them by name.

System.DirectoryServices.Protocols, the LDAP client of .NET; from its documentation.

SSSD and nslcd: the daemons that look up users for a whole host.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where
from ldapdiag.servers.client_settings.c_library import LIBLDAP
from ldapdiag.servers.client_settings.java import JNDI, KEYCLOAK, SPRING, UNBOUNDID
from ldapdiag.servers.client_settings.python import LDAP3, PYTHON_LDAP
from ldapdiag.servers.client_settings.values import (
    ANSWER_TIMEOUT,
    SHOW_SOCKETS,
    ClientSoftware,
    ClientValues,
    client_remedy,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

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


SSSD_FILE = "/etc/sssd/conf.d/90-ldapdiag.conf"
NSLCD_FILE = "/etc/nslcd.conf"
FORMER_NSLCD_FILE = "/etc/nslcd.conf.before-ldapdiag"
RECONNECTS = "A look-up after a pause opens a new connection, which takes some milliseconds longer."
SSSD_SOURCE = "from sssd-ldap(5) of 2.8.2 and the release notes of 2.8.0; not tested"
NSLCD_SOURCE = "measured with nslcd 0.9.12 (Debian 12)"


def set_sssd(values: ClientValues) -> Remedy:
    """Close idle connections in SSSD; its default is 900 s, too long for most firewalls."""
    seconds = values.longest_idle
    remedy = client_remedy(
        values,
        "SSSD",
        text=f"# {SSSD_FILE}, of root, mode 0600; EXAMPLE: the name of the domain in sssd.conf\n"
        f"[domain/EXAMPLE]\nldap_connection_idle_timeout = {seconds}",
        changes=f"SSSD closes a connection that was idle for {seconds:,} s; the default is 900 s. "
        f"Before 2.8.0 it has no such setting: use ldap_connection_expire_timeout = {seconds}, which ends each "
        "connection at that age and must be longer than ldap_opt_timeout (8 s by default).",
        risk=RECONNECTS,
        undo=f"rm {SSSD_FILE}\nsystemctl restart sssd",
    )
    return replace(remedy, verify=f"sssctl config-check\n{SHOW_SOCKETS}")


def set_nslcd(values: ClientValues) -> Remedy:
    """Close idle connections in nslcd; its default is never."""
    seconds = values.longest_idle
    remedy = client_remedy(
        values,
        "nslcd",
        text=f"[ -e {FORMER_NSLCD_FILE} ] || cp -p {NSLCD_FILE} {FORMER_NSLCD_FILE}\n"
        f"sed -i '/^idle_timelimit/d' {NSLCD_FILE}\n"
        f"printf '\\nidle_timelimit {seconds}\\n' >> {NSLCD_FILE}\n"  # it may end without a newline
        "systemctl restart nslcd",
        changes=f"nslcd (nss-pam-ldapd) closes a connection that was idle for {seconds:,} s; by default it never does. "
        "It does so in time since 0.8.0; before, at the next look-up.",
        risk=RECONNECTS,
        undo=f"mv {FORMER_NSLCD_FILE} {NSLCD_FILE}\nsystemctl restart nslcd",
    )
    return replace(remedy, kind=RemedyKind.SHELL, verify=f"grep idle_timelimit {NSLCD_FILE}\n{SHOW_SOCKETS}")


SSSD = ClientSoftware(
    name="SSSD",
    programs=frozenset({"sssd", "sssd_be"}),
    setting="ldap_connection_idle_timeout",
    source=SSSD_SOURCE,
    remedy=set_sssd,
)
NSLCD = ClientSoftware(
    name="nslcd", programs=frozenset({"nslcd"}), setting="idle_timelimit", source=NSLCD_SOURCE, remedy=set_nslcd
)


EVERY_SOFTWARE = (SSSD, NSLCD, JNDI, SPRING, UNBOUNDID, KEYCLOAK, PYTHON_LDAP, LDAP3, LIBLDAP, DOTNET)


def client_settings(
    idle_timeout_seconds: int | None,
    keepalive_seconds: int | None,
    programs: Iterable[str],
    *,
    client: str = "the client",
) -> tuple[Remedy, ...]:
    """Return what a client must set, by the programs that own its connections; none where no timeout is known.

    `idle_timeout_seconds` is the server's, as recommended; `keepalive_seconds` at most half of the firewall's. Without
    a program that is known, the only remedy names the settings of all.
    """
    if not idle_timeout_seconds and not keepalive_seconds:
        return ()
    values = ClientValues(client=client, server_idle_seconds=idle_timeout_seconds, keepalive_seconds=keepalive_seconds)
    known = software_of(programs)
    if not known:
        return (_every_setting_by_name(values),)
    return tuple(remedy_of(software, values) for software in known)


def settings_by_name(
    idle_timeout_seconds: int | None, keepalive_seconds: int | None, names: Iterable[str]
) -> tuple[Remedy, ...]:
    """Return the remedies of the software with these names, or of all."""
    values = ClientValues(
        client="the client", server_idle_seconds=idle_timeout_seconds, keepalive_seconds=keepalive_seconds
    )
    named = {one.name for name in names for one in software_named(name)}
    return tuple(remedy_of(one, values) for one in EVERY_SOFTWARE if not named or one.name in named)


def software_named(name: str) -> tuple[ClientSoftware, ...]:
    """Return the client software with a name, which need not be whole."""
    return tuple(one for one in EVERY_SOFTWARE if name.casefold() in one.name.casefold())


def software_of(programs: Iterable[str]) -> tuple[ClientSoftware, ...]:
    """Return the client software of programs, as socket tables spell them."""
    names = {program.rpartition("/")[2].casefold() for program in programs}
    return tuple(software for software in EVERY_SOFTWARE if software.programs & names)


def remedy_of(software: ClientSoftware, values: ClientValues) -> Remedy:
    """Return the remedy of one software, with the source of its settings."""
    remedy = software.remedy(values)
    return replace(remedy, changes=f"{remedy.changes} The settings are {software.source}.")


def settings_command(server: int | None, keepalive: int | None) -> str:
    """Return the command that prints all settings for a server's idle timeout and a keepalive time, in seconds."""
    options = [f"--idle-timeout {server}"] if server else []
    options += [f"--firewall {2 * keepalive}"] if keepalive else []
    return " ".join(["ldapdiag client-settings", *options])


def _every_setting_by_name(values: ClientValues) -> Remedy:
    """Return advice that names the decisive setting of each software."""
    names = "; ".join(f"{software.name}: {software.setting}" for software in EVERY_SOFTWARE)
    command = settings_command(values.server_idle_seconds, values.keepalive_seconds)
    return Remedy(
        title="Close idle connections in the applications in time",
        target=values.client,
        where=Where.CLIENT,
        kind=RemedyKind.ADVICE,
        text=f"Let no application use a connection that was idle for more than {values.longest_idle:,} s, or send its "
        f"first keepalive probe later than after {values.probe_seconds:,} s. {names}. {command} prints them.",
        changes="Applications use no connection that the server or a firewall has closed.",
        risk="A request after a pause opens a new connection.",
        undo="Restore the former settings.",
        verify=SHOW_SOCKETS,
        needs=Needs.RESTART,
    )
