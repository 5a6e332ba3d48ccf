"""Options that several commands share, declared once as groups: a command receives each group as one object.

A group is a NamedTuple whose fields are declared as typer's parameters are, or are groups themselves; it costs little
at start, unlike a dataclass. `command` gives typer the options of the groups one by one.
"""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Callable
from enum import StrEnum
from functools import cache, wraps
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldapdiag.cli.commands import Panel
from ldapdiag.cli.exit_codes import FAILED
from ldapdiag.cli.notices import Notices
from ldapdiag.cli.output import print_error
from ldapdiag.cli.rendering import shell_words
from ldapdiag.cli.site_options import ConfigOption, found_site, named_targets, with_target
from ldapdiag.cli.times import DurationOption
from ldapdiag.errors import LdapdiagError
from ldapdiag.lazy_dataclass import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ldapdiag.site.configuration import SiteConfiguration

SELECTING = ("evidence", "config", "since", "cluster")
"""Parameters that select the evidence."""
REACHING = (Panel.COLLECTING, Panel.BINDING)
"""Panels of the options that reach it."""
KEYWORD = inspect.Parameter.KEYWORD_ONLY
GIVEN = "given"


class Given(NamedTuple):
    """What a command is given beside its options."""

    site: SiteConfiguration | None
    """The site configuration that is in force."""
    words: str
    """The evidence, and the options that select or reach it, as words of a shell."""


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command for typer: its groups option by option, and an error as a line and exit code 2.

    A command with a parameter of the type Given has --config, too. Its evidence has each @NAME replaced, and an option
    that the command line omits has the value of the site configuration.
    """
    hints = _hints(function)
    own = inspect.signature(function).parameters
    shown = [one for name in own for one in _shown(own[name], hints[name])]
    is_given = any(one.annotation is typer.Context for one in shown) and "context" not in own

    @wraps(function)
    def run(**typed: Any) -> None:  # noqa: ANN401  whatever the command line contains
        try:
            if is_given:
                typed[GIVEN] = _given(typed)
            function(**{name: _value(name, hints[name], typed) for name in own})
        except LdapdiagError as error:
            print_error(error)
            raise typer.Exit(FAILED) from None

    run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]  # typer reads it
    run.__annotations__ = {one.name: one.annotation for one in shown}
    return run


def is_typed(context: typer.Context, name: str) -> bool:
    """Return whether the command line has the option of a parameter."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _fields(hint: Any) -> dict[str, Any]:  # noqa: ANN401  a type of any kind
    """Return the types of the fields of a group; nothing for another type."""
    return _hints(hint) if isinstance(hint, type) and hasattr(hint, "_fields") else {}


@cache
def _hints(of: type | Callable[..., None]) -> dict[str, Any]:
    """Return the types of parameters or fields: mostly they have names, and to compile each takes longer than all."""
    scope = vars(import_module(of.__module__))
    known = vars(builtins) | scope
    named = {name: text for name, text in of.__annotations__.items() if name != "return"}
    return {name: known[text] if text in known else eval(text, scope) for name, text in named.items()}  # noqa: S307  of our own modules


def _shown(parameter: inspect.Parameter, hint: Any) -> list[inspect.Parameter]:  # noqa: ANN401  as above
    """Return the parameters that typer sees in the place of one."""
    if hint is Given:
        config = inspect.Parameter("config", KEYWORD, default=None, annotation=ConfigOption)
        return [config, inspect.Parameter("context", KEYWORD, annotation=typer.Context)]
    fields = _fields(hint)
    if not fields:
        return [parameter.replace(kind=KEYWORD, annotation=hint)]
    defaults = hint._field_defaults
    own = [inspect.Parameter(name, KEYWORD, default=defaults.get(name, parameter.empty)) for name in fields]
    return [shown for one, of in zip(own, fields.values(), strict=True) for shown in _shown(one, of)]


def _value(name: str, hint: Any, typed: Mapping[str, Any]) -> Any:  # noqa: ANN401  as above
    """Return the value of a parameter, a group by its options."""
    if hint is Given:
        return typed[GIVEN]
    if fields := _fields(hint):
        return hint(**{one: _value(one, of, typed) for one, of in fields.items()})
    return typed[name]


def _given(values: dict[str, Any]) -> Given:
    """Replace @NAMEs, and set the options that the command line omits, by the site configuration."""
    context: typer.Context = values["context"]
    typed = {name for name in values if name != "context" and is_typed(context, name)}
    evidence = "evidence" if "evidence" in values else "target"
    found = found_site(values["config"], values[evidence] or [], Notices(quiet=values.get("quiet", False)))
    of_this_host = values.get("print_script") or values.get("probe")
    named, target = named_targets(values[evidence] or [], found, default=not of_this_host)
    values |= with_target({**values, evidence: named}, typed, target)
    site = found.configuration
    if site is not None and site.fail_on is not None and "fail_on" in values and "fail_on" not in typed:
        values["fail_on"] = type(values["fail_on"])(site.fail_on)
    return Given(site, _typed(context))


def _typed(context: typer.Context) -> str:
    """Return the evidence and the options that select or reach it, as words of a shell."""
    words = list[str]()
    for parameter in context.command.params:
        name = parameter.name or ""
        value = context.params.get(name)
        if not is_typed(context, name) or not (
            name in SELECTING or getattr(parameter, "rich_help_panel", None) in REACHING
        ):
            continue
        if parameter.param_type_name == "argument":
            words += (f"./{word}" if word.startswith("-") and word != "-" else word for word in value or ())
        elif isinstance(value, bool) or getattr(parameter, "count", False):
            words += [parameter.opts[-1]] * int(value or 0)
        else:
            words += [parameter.opts[-1], str(value)]
    return shell_words(words)


Sudo = Annotated[
    bool, Panel.COLLECTING.option("--sudo", help="Use sudo -n on the hosts, for evidence that only root can read.")
]
Timeout = Annotated[
    int,
    Panel.COLLECTING.option(
        "--timeout",
        parser=DurationOption(least=1, most=3600, whole=True),
        metavar="SECONDS",
        help="Stop waiting for a target after SECONDS.",
    ),
]


class FailOn(StrEnum):
    """The lowest severity that makes the exit code 1."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    NEVER = "never"


FailOnOption = Annotated[
    FailOn,
    Panel.GATE.option("--fail-on", metavar="SEVERITY", help="Exit with 1 for a finding of at least this severity."),
]
