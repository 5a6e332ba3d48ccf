"""The options that say how targets are asked: whom to bind as, how long to wait. Every command that asks has them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from ldapdiag.cli.binding import binding_of

if TYPE_CHECKING:
    from ldapdiag.sources.collection_options import Terms

BindDn = Annotated[
    str | None,
    typer.Option("--bind-dn", "-D", metavar="DN", help="Bind as this.", show_default=False),
]
Prompt = Annotated[bool, typer.Option("--prompt", "-W", help="Ask for the password.")]
PasswordFile = Annotated[
    Path | None,
    typer.Option(
        "--password-file",
        "-y",
        metavar="FILE",
        help="Read the password from this file; a newline at its end is not part of it.",
        show_default=False,
    ),
]
Simple = Annotated[bool, typer.Option("-x", help="Simple bind; it is the default with -D.")]
Sasl = Annotated[
    str | None,
    typer.Option("-Y", metavar="MECHANISM", help="SASL: EXTERNAL or GSSAPI.", show_default=False),
]
StartTls = Annotated[int, typer.Option("-Z", count=True, help="StartTLS; -ZZ: or give up.", show_default=False)]
CaFile = Annotated[
    Path | None,
    typer.Option(
        "--ca-file",
        metavar="FILE",
        help="The authorities to trust, instead of the system's (PEM).",
        show_default=False,
    ),
]
Insecure = Annotated[bool, typer.Option("--insecure", help="Accept any certificate: whoever answers is believed.")]
Sudo = Annotated[bool, typer.Option("--sudo", help="Use sudo -n on the hosts where root sees more.")]
Timeout = Annotated[
    int,
    typer.Option("--timeout", min=1, max=3600, metavar="SECONDS", help="Give each target up after this."),
]
Apart = Annotated[
    float,
    typer.Option(
        "--apart",
        min=0,
        max=86400,
        metavar="SECONDS",
        help="Between two looks at a server; from 60 on its growth is measured, too.",
    ),
]


Asked = Callable[[], "Terms"]
"""Tells on which terms targets are to be asked; it may ask for a password first."""


def terms_of(  # noqa: PLR0913  one parameter per option
    *,
    bind_dn: BindDn = None,
    prompt: Prompt = False,
    password_file: PasswordFile = None,
    simple: Simple = False,
    sasl: Sasl = None,
    start_tls: StartTls = 0,
    ca_file: CaFile = None,
    insecure: Insecure = False,
    sudo: Sudo = False,
    timeout: Timeout = 10,
    apart: Apart = 4.0,
) -> Terms:
    """Return the terms these options ask for; UsageError says which of them do not go together."""
    from ldapdiag.sources.collection_options import Terms  # noqa: PLC0415  import late

    binding = binding_of(
        bind_dn,
        prompt=prompt,
        password_file=password_file,
        simple=simple,
        sasl=sasl,
        start_tls=start_tls,
        ca_file=ca_file,
        insecure=insecure,
    )
    return Terms(binding=binding, sudo=sudo, seconds=timeout, apart=apart)


def asks_targets(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options above; it receives what they amount to as `terms: Asked`."""
    own, asking = inspect.signature(command), inspect.signature(terms_of)

    @wraps(command)
    def with_terms(**given: Any) -> None:  # noqa: ANN401  whatever the command line holds
        terms = partial(terms_of, **{name: given.pop(name) for name in asking.parameters})
        command(**given, terms=terms)

    hints = _hints(command) | _hints(terms_of)
    shown = [one for one in own.parameters.values() if one.name != "terms"]
    with_terms.__signature__ = own.replace(  # type: ignore[attr-defined]  # typer reads it
        parameters=[
            one.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[one.name])
            for one in (*shown, *asking.parameters.values())
        ]
    )
    with_terms.__annotations__ = hints
    return with_terms


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of a function's parameters; Terms is imported for type checkers alone."""
    known = function.__globals__ | {"Terms": object}
    hints = get_type_hints(function, globalns=known, include_extras=True)
    return {name: hint for name, hint in hints.items() if name not in {"terms", "return"}}
