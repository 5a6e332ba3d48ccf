"""ldapdiag checks: the catalogue, and the manual page of a check."""

from __future__ import annotations

import shutil
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from ldapdiag.cli.commands import Panel
from ldapdiag.cli.completion import check_ids
from ldapdiag.cli.notices import Notices
from ldapdiag.cli.option_groups import command
from ldapdiag.cli.output import standard_output
from ldapdiag.cli.site_options import ConfigOption, found_site

if TYPE_CHECKING:
    from pathlib import Path

    from ldapdiag.catalogue import AnyCheck
    from ldapdiag.site.configuration import SiteConfiguration


class ChecksFormat(StrEnum):
    """Formats of the list, and of a manual page."""

    TEXT = "text"
    JSON = "json"


@command
def checks(
    one: Annotated[
        str | None,
        typer.Argument(metavar="ID", help="The check to explain.", show_default=False, autocompletion=check_ids),
    ] = None,
    *,
    form: Annotated[
        ChecksFormat, Panel.OUTPUT.option("--format", metavar="FORMAT", help="Print it in this format.")
    ] = ChecksFormat.TEXT,
    config: ConfigOption = None,
) -> None:
    """List the checks, or print the manual page of one.

    The page has the settings that are in force.

    Examples:
        The list:
            ldapdiag checks
        One of them:
            ldapdiag checks ghost-connections
        Names and groups, for a program:
            ldapdiag checks --format json
    """
    from ldapdiag.catalogue import chosen, installed_checks  # noqa: PLC0415  import late: --help must be quick
    from ldapdiag.report.manual_page import as_json, as_text  # noqa: PLC0415

    known = chosen(installed_checks(), [one] if one else [])
    columns = shutil.get_terminal_size().columns
    with standard_output() as stream:
        if form is ChecksFormat.JSON:
            stream.write(as_json(_in_force(known, config)[0]))
        else:
            stream.write(_explained(known[0], config, columns) if one else as_text(known, columns))


def _in_force(
    checks: tuple[AnyCheck, ...], config: Path | None
) -> tuple[tuple[AnyCheck, ...], SiteConfiguration | None]:
    """Return the checks as the site has configured them, disabled ones too."""
    from ldapdiag.site.configuration import checks_in_force  # noqa: PLC0415  import late

    site = found_site(config, (), Notices()).configuration
    return checks_in_force(checks, site, named=tuple(check.id for check in checks)).checks, site


def _explained(check: AnyCheck, config: Path | None, columns: int) -> str:
    """Return the manual page of a check as the site has configured it."""
    from ldapdiag.report.manual_page import manual_page  # noqa: PLC0415  import late
    from ldapdiag.report.neutral import neutral  # noqa: PLC0415

    (configured,), site = _in_force((check,), config)
    page = manual_page(configured, columns, origin=site.path if site else "")
    if site is None or check.id not in site.disabled:
        return page
    return f"{page}\nDISABLED\n  by {neutral(site.path)}: {neutral(site.disabled[check.id])}\n"
