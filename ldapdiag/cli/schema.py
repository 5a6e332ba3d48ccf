"""ldapdiag schema: the JSON Schema of every JSON that ldapdiag writes, and of its configuration."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

import typer

from ldapdiag.cli.option_groups import command
from ldapdiag.cli.output import standard_output

SchemaName = Literal["report", "log", "history", "capture", "config", "settings", "checks"]
"""The schemas in the package; each is a file of this name in ldapdiag/report/schemas."""
NAMES: tuple[SchemaName, ...] = get_args(SchemaName)


@command
def schema(
    name: Annotated[
        SchemaName | None,
        typer.Argument(
            metavar="NAME",
            help="The schema to print: report, log, history, capture, config, settings or checks.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """List the JSON Schemas of the output, or print one.

    They are in the form of JSON Schema 2020-12: report is that of diagnose, indexes and storage, log that of log,
    history that of history, settings that of config, checks that of checks, and capture that of the manifest of a
    capture; config is that of ldapdiag.toml, for editors that complete TOML.

    An object whose keys the contract lists has no others. The keys of observed are known for the checks of ldapdiag;
    those of checks from other packages are free.

    Examples:
        Validate a report:
            ldapdiag schema report > report.schema.json
            check-jsonschema --schemafile report.schema.json report.json
    """
    with standard_output() as stream:
        stream.write(_catalogue() if name is None else text_of(name))


def text_of(name: SchemaName) -> str:
    """Return a schema as JSON."""
    from importlib.resources import files  # noqa: PLC0415  import late: --help must be quick

    return files("ldapdiag.report").joinpath("schemas", f"{name}.json").read_text(encoding="utf-8")


def _catalogue() -> str:
    """Return a line for each schema: its name and its title."""
    import json  # noqa: PLC0415  import late

    width = max(map(len, NAMES)) + 2
    return "".join(f"{name:{width}}{json.loads(text_of(name))['title']}\n" for name in NAMES)
