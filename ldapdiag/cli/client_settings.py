"""ldapdiag client-settings: what LDAP clients must set, by the timeouts of the server and the firewall."""

from __future__ import annotations

from typing import Annotated

import typer

from ldapdiag.cli.commands import Panel
from ldapdiag.cli.option_groups import command
from ldapdiag.cli.output import standard_output
from ldapdiag.cli.times import DurationOption
from ldapdiag.errors import UsageError

EXAMPLE = "ldapdiag client-settings --firewall 1h"


@command
def client_settings(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="A client library or program, as in SSSD or JNDI; without timeouts, all names are listed.",
            show_default=False,
        ),
    ] = None,
    *,
    idle_timeout: Annotated[
        int | None,
        Panel.EVIDENCE.option(
            "--idle-timeout",
            metavar="SECONDS",
            parser=DurationOption(least=2, whole=True),
            help="The idle timeout of the server.",
        ),
    ] = None,
    firewall: Annotated[
        int | None,
        Panel.EVIDENCE.option(
            "--firewall",
            metavar="SECONDS",
            parser=DurationOption(least=4, whole=True),
            help="The idle timeout of the firewall on the path.",
        ),
    ] = None,
) -> None:
    """Print the settings of LDAP clients for idle connections.

    With them a client uses no connection that the server or a firewall has closed.

    Examples:
        Behind a firewall that drops connections idle for an hour:
            ldapdiag client-settings --firewall 1h SSSD
        All clients of a server with an idle timeout of 5 minutes:
            ldapdiag client-settings --idle-timeout 5m
    """
    from ldapdiag.report.as_data import remedy_as_data  # noqa: PLC0415  import late: --help is quick
    from ldapdiag.report.findings import print_remedy  # noqa: PLC0415
    from ldapdiag.report.page import page_for  # noqa: PLC0415
    from ldapdiag.servers.client_settings.choosing import EVERY_SOFTWARE, settings_by_name, software_named  # noqa: PLC0415  import late

    if unknown := [name for name in names or [] if not software_named(name)]:
        known = ", ".join(software.name for software in EVERY_SOFTWARE)
        raise UsageError(f"there are no settings of {', '.join(unknown)}; there are those of {known}")
    if not idle_timeout and not firewall and names:
        raise UsageError(f"give the idle timeout of the server or of the firewall, as in {EXAMPLE} {names[0]}")
    with standard_output() as stream:
        if idle_timeout or firewall:
            remedies = settings_by_name(idle_timeout, firewall // 2 if firewall else None, names or [])
            page = page_for(stream)
            for place, remedy in enumerate(remedies, 1):
                print_remedy(page, str(place), remedy_as_data(remedy), verbose=True)
            return
        width = max(len(software.name) for software in EVERY_SOFTWARE) + 2
        stream.writelines(f"{software.name:{width}}{software.setting}\n" for software in EVERY_SOFTWARE)
        stream.write(f"\nTheir values follow from a timeout: {EXAMPLE}\n")
