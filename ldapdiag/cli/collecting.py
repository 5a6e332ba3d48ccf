"""Options for the collection from live targets, and for the bind, named as in ldapsearch(1).

A password is read from a prompt or a file, never from the command line.
"""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ldapdiag.cli.commands import Panel
from ldapdiag.cli.interruptible import ended_by_interrupt
from ldapdiag.cli.option_groups import Given, Sudo, Timeout
from ldapdiag.cli.times import DurationOption
from ldapdiag.errors import UsageError
from ldapdiag.lazy_dataclass import NamedTuple

if TYPE_CHECKING:
    from ldapdiag.cli.notices import Notices
    from ldapdiag.sources.collection_options import BindOptions, CollectionOptions

MAX_PASSWORD_BYTES = 4096


BindDnOption = Annotated[
    str | None, Panel.BINDING.option("--bind-dn", "-D", metavar="DN", help="Bind as this DN (needs -W or -y).")
]
PromptOption = Annotated[bool, Panel.BINDING.option("--prompt", "-W", help="Prompt for the password.")]
PasswordFileOption = Annotated[
    Path | None,
    Panel.BINDING.option(
        "--password-file", "-y", metavar="FILE", help="Read the password from FILE, without the newline at its end."
    ),
]
SimpleOption = Annotated[bool, Panel.BINDING.option("-x", help="Use a simple bind (default with -D).")]
SaslOption = Annotated[
    str | None, Panel.BINDING.option("-Y", metavar="MECHANISM", help="Use a SASL bind: EXTERNAL or GSSAPI.")
]
StartTlsOption = Annotated[
    int, Panel.BINDING.option("-Z", count=True, show_default=False, help="Use StartTLS if available; -ZZ: require it.")
]
CaFileOption = Annotated[
    Path | None,
    Panel.BINDING.option(
        "--ca-file", metavar="FILE", help="Trust the authorities in FILE (PEM) instead of the system's."
    ),
]
InsecureOption = Annotated[bool, Panel.BINDING.option("--insecure", help="Accept any server certificate.")]


class Binding(NamedTuple):
    """The bind at servers."""

    bind_dn: BindDnOption = None
    prompt: PromptOption = False
    password_file: PasswordFileOption = None
    simple: SimpleOption = False
    sasl: SaslOption = None
    start_tls: StartTlsOption = 0
    ca_file: CaFileOption = None
    insecure: InsecureOption = False

    def options(self, notices: Notices) -> BindOptions:
        """Return the bind that these options describe; may prompt for the password.

        Raises UsageError for options that exclude each other.
        """
        from ldapdiag.sources.collection_options import BindOptions, Mechanism, StartTls  # noqa: PLC0415  import late

        mechanisms = {"EXTERNAL": Mechanism.EXTERNAL, "GSSAPI": Mechanism.GSSAPI}
        if self.sasl is not None and self.sasl.upper() not in mechanisms:
            raise UsageError(
                f"-Y {self.sasl}: unsupported SASL mechanism; use EXTERNAL or GSSAPI, or omit -Y for a simple bind"
            )
        if self.sasl is not None and (self.simple or self.bind_dn is not None):
            raise UsageError("-Y (SASL bind) excludes -x and -D (simple bind); omit one of them")
        if self.bind_dn is None and (self.prompt or self.password_file):
            raise UsageError("-W and -y need a bind DN: add -D DN")
        if self.bind_dn is not None and not (self.prompt or self.password_file):
            raise UsageError(f"-D {self.bind_dn}: no password given: use -W or -y FILE")
        if self.prompt and self.password_file:
            raise UsageError("-W and -y exclude each other: omit one of them")
        if self.ca_file is not None and not self.ca_file.is_file():
            raise UsageError(f"cannot read --ca-file {self.ca_file}: no such file")
        password, exact = (
            _password(self.bind_dn, self.password_file, notices) if self.bind_dn is not None else ("", False)
        )
        return BindOptions(
            dn=self.bind_dn or "",
            password=password,
            password_file=str(self.password_file) if exact else "",
            mechanism=mechanisms[self.sasl.upper()] if self.sasl is not None else Mechanism.SIMPLE,
            start_tls=(StartTls.NO, StartTls.TRY, StartTls.MUST)[min(self.start_tls, 2)],
            ca_file=str(self.ca_file) if self.ca_file is not None else None,
            insecure=self.insecure,
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
        os.close(os.open("/dev/tty", os.O_RDWR | getattr(os, "O_NOCTTY", 0)))
    except OSError:
        return sys.stdin is not None and sys.stdin.isatty()
    return True


ApartOption = Annotated[
    float,
    Panel.COLLECTING.option(
        "--apart",
        parser=DurationOption(most=86_400),
        metavar="SECONDS",
        help="Wait SECONDS between the two snapshots of a server; from 60 on, its growth is measured, too.",
    ),
]
ProbeAnswersOption = Annotated[
    bool,
    Panel.COLLECTING.option(
        "--probe-answers",
        help="Search entries of each ldap:// target by their values, to test that its indexes answer right.",
    ),
]


class Collecting(NamedTuple):
    """How targets are reached, and how often they are read."""

    binding: Binding
    given: Given
    sudo: Sudo = False
    timeout: Timeout = 10
    apart: ApartOption = 4
    probe_answers: ProbeAnswersOption = False

    def options(self, notices: Notices) -> CollectionOptions:
        """Return the collection options; may prompt for a password. Raises UsageError as `Binding.options` does."""
        from ldapdiag.sources.collection_options import CollectionOptions  # noqa: PLC0415  import late

        return CollectionOptions(
            bind=self.binding.options(notices),
            sudo=self.sudo,
            timeout_seconds=self.timeout,
            sample_interval_seconds=self.apart,
            probe_answers=self.probe_answers,
            typed=self.given.words,
        )
