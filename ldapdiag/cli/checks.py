"""ldapdiag checks: the catalogue, and the manual page of a check."""

from __future__ import annotations

import shutil
import textwrap
from typing import TYPE_CHECKING, Annotated

import typer

from ldapdiag.cli.completion import check_ids
from ldapdiag.cli.notices import Notices
from ldapdiag.cli.output import print_error, standard_output
from ldapdiag.cli.site_options import ConfigOption, found_site
from ldapdiag.errors import LdapdiagError

if TYPE_CHECKING:
    from pathlib import Path

    from ldapdiag.catalogue import AnyCheck

NARROWEST = 20
"""Columns that a title has on the narrowest terminal."""


def checks(
    one: Annotated[
        str | None,
        typer.Argument(metavar="ID", help="The check to explain.", show_default=False, autocompletion=check_ids),
    ] = None,
    *,
    config: ConfigOption = None,
) -> None:
    """List the checks, or explain one: its manual page, with the settings that are in force.

    Examples:
        The list:
            ldapdiag checks
        One of them:
            ldapdiag checks ghost-connections
    """
    from ldapdiag.catalogue import chosen, installed_checks  # noqa: PLC0415  import late: --help must be quick

    try:
        known = chosen(installed_checks(), [one] if one else [])
        with standard_output() as stream:
            columns = shutil.get_terminal_size().columns
            stream.write(_explained(known[0], config, columns) if one else _catalogue(known, columns))
    except LdapdiagError as error:
        print_error(error)
        raise typer.Exit(2) from None


def _explained(check: AnyCheck, config: Path | None, columns: int) -> str:
    """Return the manual page of a check as the site has configured it."""
    from ldapdiag.report.manual_page import manual_page  # noqa: PLC0415  import late
    from ldapdiag.report.neutral import neutral  # noqa: PLC0415
    from ldapdiag.site.checks_in_force import checks_in_force  # noqa: PLC0415

    site = found_site(config, (), Notices()).configuration
    (configured,) = checks_in_force((check,), site, named=(check.id,)).checks
    page = manual_page(configured, columns, origin=site.path if site else "")
    if site is None or check.id not in site.disabled:
        return page
    return f"{page}\nDISABLED\n  by {neutral(site.path)}: {neutral(site.disabled[check.id])}\n"


def _catalogue(known: tuple[AnyCheck, ...], columns: int) -> str:
    """Return a line for each check; where the terminal is too narrow, its title goes on below itself."""
    width = max(len(check.id) for check in known) + 2
    room = max(columns - width, NARROWEST)
    lines = (textwrap.wrap(check.title, room, break_on_hyphens=False) for check in known)
    indented = f"\n{'':{width}}"
    return "".join(f"{check.id:{width}}{indented.join(title)}\n" for check, title in zip(known, lines, strict=True))
