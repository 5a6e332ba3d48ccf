"""Options for collection from live targets: bind, timeout and sampling. All commands that collect share them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from ldapdiag.cli.bind_options import bind_options
from ldapdiag.cli.notices import Notices

if TYPE_CHECKING:
    from ldapdiag.sources.collection_options import CollectionOptions

BindDn = Annotated[
    str | None,
    typer.Option("--bind-dn", "-D", metavar="DN", help="Bind as this DN (needs -W or -y).", show_default=False),
]
Prompt = Annotated[bool, typer.Option("--prompt", "-W", help="Prompt for the password.")]
PasswordFile = Annotated[
    Path | None,
    typer.Option(
        "--password-file",
        "-y",
        metavar="FILE",
        help="Read the password from FILE, without the newline at its end.",
        show_default=False,
    ),
]
Simple = Annotated[bool, typer.Option("-x", help="Use a simple bind (default with -D).")]
Sasl = Annotated[
    str | None,
    typer.Option("-Y", metavar="MECHANISM", help="Use a SASL bind: EXTERNAL or GSSAPI.", show_default=False),
]
StartTlsCount = Annotated[
    int, typer.Option("-Z", count=True, help="Use StartTLS if available; -ZZ: require it.", show_default=False)
]
CaFile = Annotated[
    Path | None,
    typer.Option(
        "--ca-file",
        metavar="FILE",
        help="Trust the authorities in FILE (PEM) instead of the system's.",
        show_default=False,
    ),
]
Insecure = Annotated[bool, typer.Option("--insecure", help="Accept any server certificate.")]
Sudo = Annotated[bool, typer.Option("--sudo", help="Use sudo -n on the hosts, for evidence that only root can read.")]
Timeout = Annotated[
    int,
    typer.Option("--timeout", min=1, max=3600, metavar="SECONDS", help="Stop waiting for a target after SECONDS."),
]
SampleInterval = Annotated[
    float,
    typer.Option(
        "--apart",
        min=0,
        max=86400,
        metavar="SECONDS",
        help="Wait SECONDS between the two snapshots of a server; from 60 on, its growth is measured, too.",
    ),
]
ProbeAnswers = Annotated[
    bool,
    typer.Option(
        "--probe-answers",
        help="Search entries of each ldap:// target by their values, to test that its indexes answer right.",
    ),
]


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
    apart: SampleInterval = 4.0,
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
    """Add the collection options to a command, which receives them as `options: OptionsFactory`.

    An option that the command has, too (--quiet), is given to both.
    """
    own, added = inspect.signature(command), inspect.signature(collection_options)
    both = own.parameters.keys() & added.parameters.keys()

    @wraps(command)
    def with_options(**given: Any) -> None:  # noqa: ANN401  whatever the command line contains
        options = partial(
            collection_options, **{name: given[name] if name in both else given.pop(name) for name in added.parameters}
        )
        command(**given, options=options)

    hints = _hints(collection_options) | _hints(command)
    shown = [one for one in own.parameters.values() if one.name != "options"]
    with_options.__signature__ = own.replace(  # type: ignore[attr-defined]  # typer reads it
        parameters=[
            one.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[one.name])
            for one in (*shown, *(two for two in added.parameters.values() if two.name not in both))
        ]
    )
    with_options.__annotations__ = hints
    return with_options


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of a function's parameters; CollectionOptions is imported for type checkers only."""
    names = function.__globals__ | {"CollectionOptions": object}
    hints = get_type_hints(function, globalns=names, include_extras=True)
    return {name: hint for name, hint in hints.items() if name not in {"options", "return"}}
