"""ldapdiag checks: the catalogue, and the manual page of a check."""

from __future__ import annotations

import shutil
import textwrap
from typing import TYPE_CHECKING, Annotated

import typer

from ldapdiag.cli.completion import check_ids
from ldapdiag.cli.output import print_error, standard_output
from ldapdiag.errors import LdapdiagError

if TYPE_CHECKING:
    from ldapdiag.catalogue import AnyCheck

NARROWEST = 20
"""Columns that a title has on the narrowest terminal."""


def checks(
    one: Annotated[
        str | None,
        typer.Argument(metavar="ID", help="The check to explain.", show_default=False, autocompletion=check_ids),
    ] = None,
) -> None:
    """List the checks, or explain one."""
    from ldapdiag.catalogue import chosen, installed_checks  # noqa: PLC0415  import late: --help must be quick
    from ldapdiag.report.manual_page import manual_page  # noqa: PLC0415  import late

    try:
        known = chosen(installed_checks(), [one] if one else [])
        with standard_output() as stream:
            columns = shutil.get_terminal_size().columns
            stream.write(manual_page(known[0], columns) if one else _catalogue(known, columns))
    except LdapdiagError as error:
        print_error(error)
        raise typer.Exit(2) from None


def _catalogue(known: tuple[AnyCheck, ...], columns: int) -> str:
    """Return a line for each check; where the terminal is too narrow, its title goes on below itself."""
    width = max(len(check.id) for check in known) + 2
    room = max(columns - width, NARROWEST)
    lines = (textwrap.wrap(check.title, room, break_on_hyphens=False) for check in known)
    indented = f"\n{'':{width}}"
    return "".join(f"{check.id:{width}}{indented.join(title)}\n" for check, title in zip(known, lines, strict=True))
