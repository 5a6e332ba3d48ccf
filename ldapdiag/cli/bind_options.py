"""Bind options, named as in ldapsearch(1). A password is read from a prompt or a file, never from the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from ldapdiag.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from ldapdiag.sources.collection_options import BindOptions

MAX_PASSWORD_BYTES = 4096


def bind_options(  # noqa: PLR0913  one parameter per option
    dn: str | None,
    *,
    prompt: bool,
    password_file: Path | None,
    simple: bool,
    sasl: str | None,
    start_tls: int,
    ca_file: Path | None,
    insecure: bool,
) -> BindOptions:
    """Return the bind that these options describe. Raises UsageError for options that exclude each other."""
    from ldapdiag.sources.collection_options import BindOptions, Mechanism, StartTls  # noqa: PLC0415  import late

    mechanisms = {"EXTERNAL": Mechanism.EXTERNAL, "GSSAPI": Mechanism.GSSAPI}
    if sasl is not None and sasl.upper() not in mechanisms:
        raise UsageError(f"-Y {sasl}: unsupported SASL mechanism; use EXTERNAL or GSSAPI, or omit -Y for a simple bind")
    if sasl is not None and (simple or dn is not None):
        raise UsageError("-Y (SASL bind) excludes -x and -D (simple bind); omit one of them")
    if dn is None and (prompt or password_file):
        raise UsageError("-W and -y need a bind DN: add -D DN")
    if dn is not None and not (prompt or password_file):
        raise UsageError(f"-D {dn}: no password given: use -W or -y FILE")
    if prompt and password_file:
        raise UsageError("-W and -y exclude each other: omit one of them")
    if ca_file is not None and not ca_file.is_file():
        raise UsageError(f"cannot read --ca-file {ca_file}: no such file")
    password, exact = _password(dn, password_file) if dn is not None else ("", False)
    return BindOptions(
        dn=dn or "",
        password=password,
        password_file=str(password_file) if exact else "",
        mechanism=mechanisms[sasl.upper()] if sasl is not None else Mechanism.SIMPLE,
        start_tls=(StartTls.NO, StartTls.TRY, StartTls.MUST)[min(start_tls, 2)],
        ca_file=str(ca_file) if ca_file is not None else None,
        insecure=insecure,
    )


def _password(dn: str, file: Path | None) -> tuple[str, bool]:
    """Return the password, and whether it is all that a file contains."""
    if file is None:
        prompt = f"Password for {dn}"
        return str(typer.prompt(prompt, hide_input=True, err=True, default="", show_default=False)), False
    try:
        with file.open("rb") as stream:
            content = stream.read(MAX_PASSWORD_BYTES + 1)
        text = content.decode()
    except OSError as error:
        raise UsageError(
            f"cannot read the password from {file}: {(error.strerror or str(error)).lower()}; name another file with -y"
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"cannot read the password from {file}: not UTF-8 (RFC 4513); convert the file") from error
    if len(content) > MAX_PASSWORD_BYTES:
        raise UsageError(
            f"cannot read the password from {file}: longer than {MAX_PASSWORD_BYTES:,} bytes; check the name after -y"
        )
    password = text.removesuffix("\n").removesuffix("\r")
    return password, password == text
