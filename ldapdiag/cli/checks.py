"""ldapdiag checks: the catalogue, and the manual page of a check."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Annotated

import typer

from ldapdiag.cli.output import complain, standard_output
from ldapdiag.errors import LdapdiagError

if TYPE_CHECKING:
    from ldapdiag.catalogue import AnyCheck


def checks(
    one: Annotated[str | None, typer.Argument(metavar="ID", help="The check to explain.", show_default=False)] = None,
) -> None:
    """List the checks, or explain one."""
    from ldapdiag.catalogue import chosen, installed_checks  # noqa: PLC0415  import late: --help must be quick
    from ldapdiag.report.manual_page import manual_page  # noqa: PLC0415  import late

    try:
        known = chosen(installed_checks(), [one] if one else [])
        with standard_output() as stream:
            stream.write(manual_page(known[0], shutil.get_terminal_size().columns) if one else _catalogue(known))
    except LdapdiagError as error:
        complain(error)
        raise typer.Exit(2) from None


def _catalogue(known: tuple[AnyCheck, ...]) -> str:
    width = max(len(check.id) for check in known)
    return "".join(f"{check.id:{width}}  {check.title}\n" for check in known)
