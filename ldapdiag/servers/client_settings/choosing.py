"""Which client settings are printed: those of the programs in the client's socket table, else all of them by name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where
from ldapdiag.servers.client_settings.c_library import LIBLDAP
from ldapdiag.servers.client_settings.dotnet import DOTNET
from ldapdiag.servers.client_settings.java import JNDI, KEYCLOAK, SPRING, UNBOUNDID
from ldapdiag.servers.client_settings.name_services import NSLCD, SSSD
from ldapdiag.servers.client_settings.python import LDAP3, PYTHON_LDAP
from ldapdiag.servers.client_settings.values import SHOW_SOCKETS, ClientSoftware, ClientValues

if TYPE_CHECKING:
    from collections.abc import Iterable

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
