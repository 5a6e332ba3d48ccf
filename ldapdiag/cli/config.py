"""ldapdiag config: the site configuration that is in force, and where each value comes from."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

from ldapdiag.cli.commands import Panel
from ldapdiag.cli.notices import Notices, QuietOption
from ldapdiag.cli.option_groups import FailOn, command
from ldapdiag.cli.output import standard_output
from ldapdiag.cli.site_options import ConfigOption, found_site

if TYPE_CHECKING:
    from ldapdiag.site.configuration import SiteConfiguration


class ConfigFormat(StrEnum):
    """Formats of the configuration."""

    TEXT = "text"
    JSON = "json"


@command
def config(
    *,
    config: ConfigOption = None,
    form: Annotated[
        ConfigFormat, Panel.OUTPUT.option("--format", metavar="FORMAT", help="Print it in this format.")
    ] = ConfigFormat.TEXT,
    quiet: QuietOption = False,
) -> None:
    """Print the site configuration that is in force.

    A site configuration gives names to targets, and contains the decisions of a site. Each value that is not in the
    file is marked as a default; without a file, the places are listed where one was looked for. The text is a file in
    the same form.

    A file:
        With these three lines in ldapdiag.toml, ldapdiag diagnose @prod reads two targets:
            schema = "ldapdiag.config/1"
            [targets.prod]
            evidence = ["ldaps://ds1", "ssh://ds1"]

    Exit code:
        0  valid, or no file
        2  an error in the file

    Examples:
        What is in force here:
            ldapdiag config
        A file, before it is installed:
            ldapdiag config --config new.toml
    """
    from ldapdiag.report.site_configuration import as_json, as_text, effective_values  # noqa: PLC0415  import late

    found = found_site(config, (), Notices(quiet=quiet))
    site = found.configuration
    if site is not None:
        _check_settings(site)
    values = tuple(effective_values(site, _defaults()))
    with standard_output() as stream:
        stream.write((as_json if form is ConfigFormat.JSON else as_text)(values, site, found.looked))


def _check_settings(site: SiteConfiguration) -> None:
    """Raise UsageError for a setting that no check has, or a value that it does not take."""
    from ldapdiag.catalogue import installed_checks  # noqa: PLC0415  import late: --help must be quick
    from ldapdiag.site.configuration import checks_in_force  # noqa: PLC0415

    checks_in_force(installed_checks(), site)


def _defaults() -> dict[str, Any]:
    """Return the values that the options of the commands have where neither they nor a file sets them."""
    from ldapdiag.sources.collection_options import BindOptions, CollectionOptions  # noqa: PLC0415  import late

    collection, bind = CollectionOptions(), BindOptions()
    return {
        "fail_on": str(FailOn.HIGH),
        "timeout": collection.timeout_seconds,
        "apart": collection.sample_interval_seconds,
        "sudo": collection.sudo,
        "probe_answers": collection.probe_answers,
        "start_tls": str(bind.start_tls),
        "prompt": False,
    }
