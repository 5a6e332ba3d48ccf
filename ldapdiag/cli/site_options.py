"""The option --config, and what a site configuration gives to a command: targets by name, and defaults."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldapdiag.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import date

    from ldapdiag.cli.notices import Notices
    from ldapdiag.site.configuration import SiteTarget
    from ldapdiag.sources.site_file import SiteFile

NONE = Path("none")
SIGN = "@"
"""Before the name of a target; a file of that name is ./@NAME."""

ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Read the site configuration from FILE; none: read none. Default: ./ldapdiag.toml, "
        "~/.config/ldapdiag/ldapdiag.toml or /etc/ldapdiag/ldapdiag.toml, the first that exists.",
        show_default=False,
    ),
]

WHO = ("bind_dn", "sasl")
WITH_WHAT = ("prompt", "password_file")
"""Options that exclude or complete each other: who binds, and with which password."""


def found_site(config: Path | None, evidence: Iterable[str], notices: Notices) -> SiteFile:
    """Return the site configuration that is in force; notices about it are written."""
    from ldapdiag.sources.site_file import SiteFile, find  # noqa: PLC0415  import late: --help must be quick

    if config == NONE:
        return SiteFile()
    found = find(config, evidence, today())
    for notice in found.notices:
        notices.write(notice)
    return found


def today() -> date:
    """Return the day of this host, by which acceptances end."""
    return datetime.now(UTC).astimezone().date()


def named_targets(evidence: list[str], site: SiteFile, *, default: bool) -> tuple[list[str], SiteTarget | None]:
    """Return the evidence with each @NAME replaced by what it stands for, and the target that was named, if any.

    Without evidence it is that of the default target, if `default`. Raises UsageError for an unknown name, and for
    targets with different options.
    """
    configuration = site.configuration
    if not evidence and default and configuration is not None and configuration.target is not None:
        evidence = [f"{SIGN}{configuration.target}"]
    targets = {one: _target(one.removeprefix(SIGN), site) for one in evidence if one.startswith(SIGN)}
    first, *others = targets.values() or [None]
    if first is not None and (other := next((one for one in others if one and one.options != first.options), None)):
        raise UsageError(f"@{first.name} and @{other.name} have different options; name one of them in a run")
    expanded = [part for one in evidence for part in (targets[one].evidence if one in targets else (one,))]
    return list(dict.fromkeys(expanded)), first


def named_logs(files: list[str], config: Path | None, notices: Notices) -> tuple[list[str], SiteTarget | None]:
    """Return the files and hosts of a command that reads logs alone, and the target of an @NAME among them.

    Each @NAME is replaced by what it stands for, without its servers, which show no log over LDAP. Only a name needs
    the site configuration.
    """
    from ldapdiag.sources.targets import LdapTarget, parse_target  # noqa: PLC0415  import late

    target = None
    named = files
    if config is not None or any(file.startswith(SIGN) for file in files):
        named, target = named_targets(files, found_site(config, files, notices), default=False)
    servers = [one for one in named if isinstance(parse_target(one), LdapTarget)]
    if typed := [server for server in servers if server in files]:
        raise UsageError(f"{typed[0]}: a server shows no access log over LDAP; name its host, as in ssh://HOST")
    if len(servers) == len(named):
        raise UsageError(f"{' '.join(files)}: it has no files and no hosts, and a server shows no access log over LDAP")
    return [one for one in named if one not in servers], target


def _target(name: str, site: SiteFile) -> SiteTarget:
    from ldapdiag.spelling import did_you_mean  # noqa: PLC0415  import late

    configuration = site.configuration
    if configuration is None:
        where = ", ".join(map(str, site.looked))
        raise UsageError(
            f"@{name}: there is no site configuration{f' (looked for: {where})' if where else ''}; "
            f"'ldapdiag config -h' states its form, and ./@{name} is a file of this name"
        )
    if name not in configuration.targets:
        known = ", ".join(configuration.targets) or "none"
        problem = f"@{name}: no such target in {configuration.path}; it has: {known}."
        raise UsageError(f"{problem}{did_you_mean(name, configuration.targets)}".removesuffix("."))
    return configuration.targets[name]


def with_target(given: Mapping[str, Any], typed: set[str], target: SiteTarget | None) -> dict[str, Any]:
    """Return the values of options, those of the target where the command line has none; `typed` are the others.

    A DN or mechanism on the command line replaces the whole bind of the target, a password its password.
    """
    if target is None:
        return dict(given)
    options = _named_as_parameters(target)
    dropped = {*WHO, *WITH_WHAT} if typed & {*WHO, "simple"} else {*WITH_WHAT} if typed & {*WITH_WHAT} else set()
    taken = {name: value for name, value in options.items() if name in given and name not in typed | dropped}
    return {**given, **taken}


def _named_as_parameters(target: SiteTarget) -> dict[str, Any]:
    """Return the options of a target by the parameters of the commands, with their types."""
    options: dict[str, Any] = dict(target.options)
    for name in ("password_file", "ca_file"):
        if name in options:
            options[name] = Path(options[name])
    if "start_tls" in options:
        options["start_tls"] = ("no", "try", "must").index(options["start_tls"])
    if "ldap_ports" in options:
        options["ldap_port"] = options.pop("ldap_ports")
    return options


def target_names(incomplete: str) -> list[str]:
    """Return the targets, as @NAME, that begin so; none before the @, where the shell completes file names."""
    from ldapdiag.sources.site_file import target_names as names  # noqa: PLC0415  import late

    if not incomplete.startswith(SIGN):
        return []
    return [f"{SIGN}{name}" for name in names() if f"{SIGN}{name}".startswith(incomplete)]
