"""Whom to bind as, from the options that ldapsearch has, too; a password comes from a prompt or a file, never argv."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from ldapdiag.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from ldapdiag.sources.live.ldap.binding import Binding

LONGEST_PASSWORD = 4096


def binding_of(  # noqa: PLR0913  one parameter per option
    dn: str | None,
    *,
    prompt: bool,
    password_file: Path | None,
    simple: bool,
    sasl: str | None,
    start_tls: int,
    ca_file: Path | None,
    insecure: bool,
) -> Binding:
    """Return the binding these options ask for; UsageError says which of them do not go together."""
    from ldapdiag.sources.live.ldap.binding import Binding, Mechanism, StartTls  # noqa: PLC0415  import late

    mechanisms = {"EXTERNAL": Mechanism.EXTERNAL, "GSSAPI": Mechanism.GSSAPI}
    if sasl is not None and sasl.upper() not in mechanisms:
        raise UsageError(f"-Y {sasl}: EXTERNAL and GSSAPI are the mechanisms I know; without -Y it is a simple bind")
    if sasl is not None and (simple or dn is not None):
        raise UsageError("-Y is a SASL bind; -x and -D belong to a simple one: leave either out")
    if dn is None and (prompt or password_file):
        raise UsageError("-W and -y are the password of a DN: name it with -D")
    if dn is not None and not (prompt or password_file):
        raise UsageError(f"-D {dn}: how to get its password? -W asks for it, -y FILE reads it")
    if prompt and password_file:
        raise UsageError("-W asks for the password and -y reads it from a file: leave either out")
    if ca_file is not None and not ca_file.is_file():
        raise UsageError(f"--ca-file {ca_file}: no such file")
    return Binding(
        dn=dn or "",
        password=_password(dn, password_file) if dn is not None else "",
        mechanism=mechanisms[sasl.upper()] if sasl is not None else Mechanism.SIMPLE,
        start_tls=(StartTls.NO, StartTls.TRY, StartTls.MUST)[min(start_tls, 2)],
        ca_file=str(ca_file) if ca_file is not None else None,
        insecure=insecure,
    )


def _password(dn: str, file: Path | None) -> str:
    if file is None:
        return str(typer.prompt(f"Password of {dn}", hide_input=True, err=True, default="", show_default=False))
    try:
        with file.open("rb") as stream:
            content = stream.read(LONGEST_PASSWORD + 1)
        text = content.decode()
    except OSError as error:
        raise UsageError(f"-y {file}: cannot read it: {(error.strerror or str(error)).lower()}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"-y {file}: a password in UTF-8 is expected (RFC 4513)") from error
    if len(content) > LONGEST_PASSWORD:
        raise UsageError(f"-y {file}: longer than any password; is this the right file?")
    return text.removesuffix("\n").removesuffix("\r")
