"""The command line application with its commands."""

from __future__ import annotations

from typing import Annotated

import typer

from ldapdiag import __version__
from ldapdiag.cli.checks import checks
from ldapdiag.cli.client_settings import client_settings
from ldapdiag.cli.collect import collect
from ldapdiag.cli.commands import CommandGroup, SingleCommand
from ldapdiag.cli.completion import completion
from ldapdiag.cli.config import config
from ldapdiag.cli.diagnose import diagnose
from ldapdiag.cli.history import history
from ldapdiag.cli.indexes import indexes
from ldapdiag.cli.log import log
from ldapdiag.cli.man import man
from ldapdiag.cli.schema import schema
from ldapdiag.cli.storage import storage

WIDEST_HELP = 120
"""Columns of --help on a wide terminal; longer lines are hard to read."""

app = typer.Typer(
    name="ldapdiag",
    cls=CommandGroup,
    context_settings={"help_option_names": ["--help", "-h"], "max_content_width": WIDEST_HELP},
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
        bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Diagnose LDAP servers: ghost connections, timeouts, missing indexes, disks.

    Examples:
        On the directory server itself, as root; from files; more help:
            ldapdiag diagnose
            ldapdiag indexes /var/log/dirsrv/slapd-ds1/access* dse.ldif
            ldapdiag help indexes
    """


app.command(cls=SingleCommand)(diagnose)
app.command(cls=SingleCommand)(indexes)
app.command(cls=SingleCommand)(storage)
app.command(cls=SingleCommand)(log)
app.command(cls=SingleCommand)(history)
app.command(cls=SingleCommand)(collect)
app.command(cls=SingleCommand)(checks)
app.command(cls=SingleCommand)(client_settings)
app.command(cls=SingleCommand)(config)
app.command(cls=SingleCommand)(schema)
app.command(cls=SingleCommand)(completion)
app.command(cls=SingleCommand)(man)
