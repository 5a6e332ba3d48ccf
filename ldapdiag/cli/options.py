"""The options that say how to look at servers and hosts live: whom to bind as, how long to wait."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
TIMEOUT = 10
APART = 4.0
