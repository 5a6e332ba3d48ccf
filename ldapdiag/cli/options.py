"""Options for collection from live targets: bind, timeout and sampling. All commands that collect share them."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from ldapdiag.cli.bind_options import bind_options
from ldapdiag.cli.commands import Panel
from ldapdiag.cli.exit_codes import FAILED
from ldapdiag.cli.judging import FailOn
from ldapdiag.cli.notices import Notices
from ldapdiag.cli.output import print_error
from ldapdiag.cli.site_options import ConfigOption, found_site, named_targets, with_target
from ldapdiag.cli.times import Duration
from ldapdiag.errors import LdapdiagError

if TYPE_CHECKING:
    from collections.abc import Container

    from ldapdiag.site.configuration import SiteConfiguration
    from ldapdiag.sources.collection_options import CollectionOptions

BindDn = Annotated[
    str | None,
    typer.Option(
        "--bind-dn",
        "-D",
        metavar="DN",
        help="Bind as this DN (needs -W or -y).",
        show_default=False,
        rich_help_panel=Panel.BINDING,
    ),
]
Prompt = Annotated[bool, typer.Option("--prompt", "-W", help="Prompt for the password.", rich_help_panel=Panel.BINDING)]
PasswordFile = Annotated[
    Path | None,
    typer.Option(
        "--password-file",
        "-y",
        metavar="FILE",
        help="Read the password from FILE, without the newline at its end.",
        show_default=False,
        rich_help_panel=Panel.BINDING,
    ),
]
Simple = Annotated[bool, typer.Option("-x", help="Use a simple bind (default with -D).", rich_help_panel=Panel.BINDING)]
Sasl = Annotated[
    str | None,
    typer.Option(
        "-Y",
        metavar="MECHANISM",
        help="Use a SASL bind: EXTERNAL or GSSAPI.",
        show_default=False,
        rich_help_panel=Panel.BINDING,
    ),
]
StartTlsCount = Annotated[
    int,
    typer.Option(
        "-Z",
        count=True,
        help="Use StartTLS if available; -ZZ: require it.",
        show_default=False,
        rich_help_panel=Panel.BINDING,
    ),
]
CaFile = Annotated[
    Path | None,
    typer.Option(
        "--ca-file",
        metavar="FILE",
        help="Trust the authorities in FILE (PEM) instead of the system's.",
        show_default=False,
        rich_help_panel=Panel.BINDING,
    ),
]
Insecure = Annotated[
    bool, typer.Option("--insecure", help="Accept any server certificate.", rich_help_panel=Panel.BINDING)
]
Sudo = Annotated[
    bool,
    typer.Option(
        "--sudo",
        help="Use sudo -n on the hosts, for evidence that only root can read.",
        rich_help_panel=Panel.COLLECTING,
    ),
]
Timeout = Annotated[
    int,
    typer.Option(
        "--timeout",
        parser=Duration(least=1, most=3600, whole=True),
        metavar="SECONDS",
        help="Stop waiting for a target after SECONDS.",
        rich_help_panel=Panel.COLLECTING,
    ),
]
SampleInterval = Annotated[
    float,
    typer.Option(
        "--apart",
        parser=Duration(most=86_400),
        metavar="SECONDS",
        help="Wait SECONDS between the two snapshots of a server; from 60 on, its growth is measured, too.",
        rich_help_panel=Panel.COLLECTING,
    ),
]
ProbeAnswers = Annotated[
    bool,
    typer.Option(
        "--probe-answers",
        help="Search entries of each ldap:// target by their values, to test that its indexes answer right.",
        rich_help_panel=Panel.COLLECTING,
    ),
]


ALIKE = ("evidence", "config", "since", "cluster")
"""What several commands have that selects the evidence."""
FOR_COMMANDS = ("options", "site")
"""Parameters of commands that are no options."""

OptionsFactory = Callable[[], "CollectionOptions"]
"""Returns the collection options; may prompt for a password first."""


def collection_options(  # noqa: PLR0913  one parameter per option
    *,
    quiet: bool = False,
    bind_dn: BindDn = None,
    prompt: Prompt = False,
    password_file: PasswordFile = None,
    simple: Simple = False,
    sasl: Sasl = None,
    start_tls: StartTlsCount = 0,
    ca_file: CaFile = None,
    insecure: Insecure = False,
    sudo: Sudo = False,
    timeout: Timeout = 10,
    apart: SampleInterval = 4,
    probe_answers: ProbeAnswers = False,
) -> CollectionOptions:
    """Return the collection options. Raises UsageError for options that exclude each other."""
    from ldapdiag.sources.collection_options import CollectionOptions  # noqa: PLC0415  import late

    bind = bind_options(
        bind_dn,
        prompt=prompt,
        password_file=password_file,
        simple=simple,
        sasl=sasl,
        start_tls=start_tls,
        ca_file=ca_file,
        insecure=insecure,
        notices=Notices(quiet=quiet),
    )
    return CollectionOptions(
        bind=bind,
        sudo=sudo,
        timeout_seconds=timeout,
        sample_interval_seconds=apart,
        probe_answers=probe_answers,
    )


def with_collection_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the collection options and --config to a command, which receives `options: OptionsFactory`.

    The evidence that it receives has each @NAME replaced, and an option that the command line omits has the value of
    the site configuration; a parameter `site` receives the configuration itself. An option that the command has, too
    (--quiet), is given to both.
    """
    own, added = inspect.signature(command), inspect.signature(collection_options)
    both = own.parameters.keys() & added.parameters.keys()

    @wraps(command)
    def with_options(context: typer.Context, config: Path | None, **typed: Any) -> None:  # noqa: ANN401  whatever the command line contains
        try:
            given, site = _with_site(context, config, typed)
        except LdapdiagError as error:
            print_error(error)
            raise typer.Exit(FAILED) from None
        values = {name: given[name] if name in both else given.pop(name) for name in added.parameters}
        words = _typed(context, {*added.parameters} - both)

        def asked() -> CollectionOptions:
            return replace(collection_options(**values), typed=words)

        command(**given, options=asked, **({"site": site} if "site" in own.parameters else {}))

    hints = _hints(collection_options) | _hints(command)
    shown = [one for one in own.parameters.values() if one.name not in FOR_COMMANDS]
    with_options.__signature__ = own.replace(  # type: ignore[attr-defined]  # typer reads it
        parameters=[
            *(
                one.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[one.name])
                for one in (*shown, *(two for two in added.parameters.values() if two.name not in both))
            ),
            inspect.Parameter("config", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=ConfigOption),
            inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context),
        ]
    )
    with_options.__annotations__ = {**hints, "config": ConfigOption, "context": typer.Context}
    return with_options


def _with_site(
    context: typer.Context, config: Path | None, given: dict[str, Any]
) -> tuple[dict[str, Any], SiteConfiguration | None]:
    """Return the values of parameters, those of the site configuration where the command line has none."""
    typed = {name for name in given if is_typed(context, name)}
    evidence = "evidence" if "evidence" in given else "target"
    found = found_site(config, given[evidence] or [], Notices(quiet=given["quiet"]))
    of_this_host = given.get("print_script") or given.get("probe")
    named, target = named_targets(given[evidence] or [], found, default=not of_this_host)
    values = with_target({**given, evidence: named}, typed, target)
    site = found.configuration
    if site is not None and site.fail_on is not None and "fail_on" in given and "fail_on" not in typed:
        values["fail_on"] = FailOn(site.fail_on)
    return values, site


def _typed(context: typer.Context, collecting: Container[str]) -> str:
    """Return the evidence and the options that select or reach it, as words of a shell."""
    words = list[str]()
    for one in context.command.params:
        name = one.name or ""
        source, value = context.get_parameter_source(name), context.params.get(name)
        if source is None or source.name != "COMMANDLINE" or not (name in collecting or name in ALIKE):
            continue
        if one.param_type_name == "argument":
            words += value or ()
        elif isinstance(value, bool) or getattr(one, "count", False):
            words += [one.opts[-1]] * int(value or 0)
        else:
            words += [one.opts[-1], str(value)]
    return shlex.join(words)


def is_typed(context: typer.Context, name: str) -> bool:
    """Return whether the command line has the option of a parameter."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of a function's parameters; the classes of their values are imported for type checkers."""
    names = function.__globals__ | {"CollectionOptions": object, "SiteConfiguration": object}
    hints = get_type_hints(function, globalns=names, include_extras=True)
    return {name: hint for name, hint in hints.items() if name not in {*FOR_COMMANDS, "return"}}
