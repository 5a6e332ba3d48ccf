"""The command line application with its commands.

Its annotations are no text, which Typer would compile six times.
"""

import os
from typing import Annotated

import typer

from ldapdiag import __version__
from ldapdiag.cli.commands import CommandGroup

WIDEST_HELP = 120
"""Columns of --help on a wide terminal; longer lines are hard to read."""
VARIABLE = "_LDAPDIAG_COMPLETE"
"""Is in the environment where a shell asks for completions."""

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
        On the server itself, as root (from files: ldapdiag help indexes):
            ldapdiag diagnose
    """


def answer_shell() -> None:
    """Let Typer answer the script, if that runs this process; Typer offers to install scripts only with all of it."""
    if VARIABLE in os.environ:
        from typer.completion import completion_init  # type: ignore[attr-defined]  # noqa: PLC0415  import late

        completion_init()
