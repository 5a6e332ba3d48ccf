"""Options for collection from live targets: bind, timeout and sampling. All commands that collect share them.

Bind options, named as in ldapsearch(1). A password is read from a prompt or a file, never from the command line.

Options about what appears on the terminal: colours, notices, and the findings that the text shows.
"""

from __future__ import annotations

import inspect
import os
import shlex
import stat
import sys
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from ldapdiag.cli.commands import Panel
from ldapdiag.cli.exit_codes import FAILED
from ldapdiag.cli.interruptible import ended_by_interrupt
from ldapdiag.cli.judging import FailOn
from ldapdiag.cli.notices import Notices
from ldapdiag.cli.output import print_error
from ldapdiag.cli.site_options import ConfigOption, found_site, named_targets, with_target
from ldapdiag.cli.times import DurationOption
from ldapdiag.errors import LdapdiagError, UsageError
from ldapdiag.report.color import Color

if TYPE_CHECKING:
    from collections.abc import Container

    from ldapdiag.finding import Severity
    from ldapdiag.site.configuration import SiteConfiguration
    from ldapdiag.sources.collection_options import BindOptions, CollectionOptions

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
        parser=DurationOption(least=1, most=3600, whole=True),
        metavar="SECONDS",
        help="Stop waiting for a target after SECONDS.",
        rich_help_panel=Panel.COLLECTING,
    ),
]
SampleInterval = Annotated[
    float,
    typer.Option(
        "--apart",
        parser=DurationOption(most=86_400),
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


class LeastSeverity(StrEnum):
    """Values of --severity."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INFO = "info"

    @property
    def severity(self) -> Severity:
        """Return the severity of this name."""
        from ldapdiag.finding import Severity  # noqa: PLC0415  import late: --help must be quick

        return Severity[self.name]


ColorOption = Annotated[
    Color,
    typer.Option(
        "--color",
        metavar="WHEN",
        help="Colour the text; auto: on a terminal, as NO_COLOR and FORCE_COLOR ask.",
        rich_help_panel=Panel.OUTPUT,
    ),
]
SeverityOption = Annotated[
    LeastSeverity,
    typer.Option(
        "--severity",
        help="Show findings of at least this severity in the text; counts, other formats and exit code include all.",
        rich_help_panel=Panel.OUTPUT,
    ),
]
