"""Bind options, named as in ldapsearch(1). A password is read from a prompt or a file, never from the command line."""

from __future__ import annotations

import os
import stat
import sys
from typing import TYPE_CHECKING

import typer

from ldapdiag.cli.interruptible import ended_by_interrupt
from ldapdiag.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from ldapdiag.cli.notices import Notices
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
    notices: Notices,
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
    password, exact = _password(dn, password_file, notices) if dn is not None else ("", False)
    return BindOptions(
        dn=dn or "",
        password=password,
        password_file=str(password_file) if exact else "",
        mechanism=mechanisms[sasl.upper()] if sasl is not None else Mechanism.SIMPLE,
        start_tls=(StartTls.NO, StartTls.TRY, StartTls.MUST)[min(start_tls, 2)],
        ca_file=str(ca_file) if ca_file is not None else None,
        insecure=insecure,
    )


def _password(dn: str, file: Path | None, notices: Notices) -> tuple[str, bool]:
    """Return the password, and whether it is all that a file contains."""
    if file is None:
        return _prompted(dn), False
    try:
        with file.open("rb") as stream:
            content = stream.read(MAX_PASSWORD_BYTES + 1)
            mode = os.fstat(stream.fileno()).st_mode
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
    if stat.S_ISREG(mode) and (what := _open_to_others(mode)):
        notices.write(f"warning: {file} can be {what} (mode {stat.S_IMODE(mode):04o}); run chmod 600 {file}")
    password = text.removesuffix("\n").removesuffix("\r")
    return password, password == text


def _open_to_others(mode: int) -> str:
    """Return what others than the owner may do with a file, and who they are; empty for nothing."""
    for done, everyone, group in (("read", stat.S_IROTH, stat.S_IRGRP), ("changed", stat.S_IWOTH, stat.S_IWGRP)):
        if mode & (everyone | group):
            return f"{done} by {'all users' if mode & everyone else 'its group'}"
    return ""


def _prompted(dn: str) -> str:
    """Return the password that the operator enters on the terminal. Raises UsageError without one."""
    if not _has_terminal():
        raise UsageError("-W: cannot prompt for the password: no terminal; use -y FILE")
    prompt = f"Password for {dn}"
    try:
        with ended_by_interrupt():
            return str(typer.prompt(prompt, hide_input=True, err=True, default="", show_default=False))
    except typer.Abort as error:
        raise UsageError("-W: no password was entered; enter one, or use -y FILE") from error


def _has_terminal() -> bool:
    """Return whether getpass can turn off the echo: on the controlling terminal, or on standard input."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return sys.stdin is not None and sys.stdin.isatty()
    return True
