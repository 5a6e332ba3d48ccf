"""ldapdiag client-settings: what LDAP clients must set, by the timeouts of the server and the firewall."""

from __future__ import annotations

from typing import Annotated

import typer

from ldapdiag.cli.output import print_error, standard_output
from ldapdiag.errors import LdapdiagError, UsageError


def client_settings(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...", help="A client library or program, as in SSSD or JNDI.", show_default=False
        ),
    ] = None,
    *,
    idle_timeout: Annotated[
        int | None,
        typer.Option("--idle-timeout", metavar="SECONDS", min=2, help="The idle timeout of the server."),
    ] = None,
    firewall: Annotated[
        int | None,
        typer.Option("--firewall", metavar="SECONDS", min=4, help="The idle timeout of the firewall on the path."),
    ] = None,
) -> None:
    """Print the settings of LDAP clients for idle connections.

    With them a client uses no connection that the server or a firewall has closed.
    """
    from ldapdiag.report.client_settings import print_client_settings  # noqa: PLC0415  import late: --help is quick
    from ldapdiag.servers.client_settings.choosing import EVERY_SOFTWARE, settings_by_name, software_named  # noqa: PLC0415  import late

    try:
        if not idle_timeout and not firewall:
            raise UsageError("give the idle timeout of the server (--idle-timeout) or of the firewall (--firewall)")
        if unknown := [name for name in names or [] if not software_named(name)]:
            known = ", ".join(software.name for software in EVERY_SOFTWARE)
            raise UsageError(f"there are no settings of {', '.join(unknown)}; there are those of {known}")
        remedies = settings_by_name(idle_timeout, firewall // 2 if firewall else None, names or [])
        with standard_output() as stream:
            print_client_settings(remedies, stream)
    except LdapdiagError as error:
        print_error(error)
        raise typer.Exit(2) from None
