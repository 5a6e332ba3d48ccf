"""The command line application with its commands."""

from __future__ import annotations

from typing import Annotated

import typer

from ldapdiag import __version__
from ldapdiag.cli.checks import checks
from ldapdiag.cli.client_settings import client_settings
from ldapdiag.cli.collect import collect
from ldapdiag.cli.diagnose import diagnose
from ldapdiag.cli.history import history
from ldapdiag.cli.indexes import indexes
from ldapdiag.cli.log import log

app = typer.Typer(
    name="ldapdiag",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:  # noqa: FBT001  typer passes the value of the option by position
    if wanted:
        typer.echo(f"ldapdiag {__version__}")
        raise typer.Exit


@app.callback()
def options(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Diagnose the connections and the indexes of LDAP servers: ghost connections, timeouts, missing indexes."""


app.command()(diagnose)
app.command()(indexes)
app.command()(log)
app.command()(history)
app.command()(collect)
app.command()(checks)
app.command()(client_settings)
