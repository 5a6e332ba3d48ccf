"""ldapdiag checks: the catalogue, and the manual page of a check."""

from __future__ import annotations

import inspect
from typing import Annotated

import typer

from ldapdiag.errors import LdapdiagError


def checks(
    one: Annotated[str | None, typer.Argument(metavar="[ID]", help="The check to explain.", show_default=False)] = None,
) -> None:
    """List the checks, or explain one."""
    from ldapdiag.catalogue import chosen, installed_checks  # noqa: PLC0415  import late: --help must be quick

    try:
        known = chosen(installed_checks(), [one] if one else [])
    except LdapdiagError as error:
        typer.echo(f"ldapdiag: {error}", err=True)
        raise typer.Exit(2) from None
    if one is None:
        width = max(len(check.id) for check in known)
        for check in known:
            typer.echo(f"{check.id:{width}}  {check.title}")
        return
    needs = ", ".join(f"{need.fact.__name__}{' (if present)' if need.optional else ''}" for need in known[0].needs)
    typer.echo(f"{known[0].id}\n\n{inspect.cleandoc(known[0].manual)}\n\n## Facts it reads\n{needs}")
