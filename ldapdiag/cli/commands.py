"""Commands and their help: options in groups, then what is worth reading once, the exit codes and examples.

The docstring of a command is its help. What stands before the first section is shown before the options:

    Title:
        Text, wrapped where it is shown.

            A line that is shown as it stands.
        0  The meaning of a code.

An error about an unknown option names the one that was probably meant; click lists three of any likeness.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from functools import cache
from importlib import import_module
from inspect import cleandoc
from itertools import groupby
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern

EXAMPLES, EXIT_CODE = "Examples", "Exit code"
"""Sections that the manual page collects from all commands."""
WIDEST_NAME = 28
"""Columns of the name of an option; a longer one has a line of its own."""
SECTION = pattern(r"^(\S.*):\n(?= )", re.MULTILINE)
CODE = pattern(r"\d+  ")
HELP = "help"


class Panel(StrEnum):
    """Groups of options in the order of the help."""

    ARGUMENTS = "Arguments"
    EVIDENCE = "Evidence"
    SELECTION = "Selection of operations"
    OUTPUT = "Output"
    GATE = "Gate"
    COLLECTING = "Collecting"
    BINDING = "Binding"
    PROBE = "Probe"
    HISTORY = "History"
    OTHER = "Other"

    def option(self, *names: str, **about: Any) -> Any:  # noqa: ANN401  what typer.Option takes and returns
        """Return an option of this group, as typer has it."""
        return typer.Option(*names, rich_help_panel=self, **about)


Block = str | list[str] | dict[str, str]
"""A part of a section: text to wrap, lines as they stand, or codes with their meanings."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a help."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class HelpText:
    """The docstring of a command: what stands before the options, and the sections after them."""

    before: str
    sections: tuple[Section, ...]


@dataclass(frozen=True, slots=True)
class ListedOption:
    """An option or argument as a help lists it."""

    panel: Panel
    names: str
    text: str

    @property
    def short(self) -> str:
        """Return its name, the long one if it has one."""
        return self.names.split(", ")[-1].split()[0]


COMMANDS = {
    "diagnose": "Diagnose LDAP connections from live hosts or captures.",
    "indexes": "Find missing indexes, and the smallest set to add.",
    "storage": "Show the disk under a server, and what a power cut loses.",
    "log": "Report slow searches, clients and more from access logs.",
    "history": "Report how connections and findings change over time.",
    "collect": "Collect the evidence of servers and clients as a capture.",
    "top": "Watch directory servers live on the terminal.",
    "exporter": "Serve the numbers of a diagnosis to Prometheus.",
    "checks": "List the checks, or print the manual page of one.",
    "client-settings": "Print the settings of LDAP clients for idle connections.",
    "config": "Print the site configuration that is in force.",
    "schema": "List the JSON Schemas of the output, or print one.",
    "completion": "Print the completion script of a shell.",
    "man": "Print the manual page of ldapdiag.",
}
"""The commands with the first line of their help: the list of them is printed without importing them."""


class _Commands(Mapping[str, Any]):
    """The commands by name. Each is imported when it is asked for: `ldapdiag.cli.NAME` has the function."""

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401  typer hides click's classes
        if name not in COMMANDS:
            raise KeyError(name)
        return _built(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


@cache
def _built(name: str) -> Any:  # noqa: ANN401  as above
    function = name.replace("-", "_")
    alone = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    alone.command(name, cls=SingleCommand)(getattr(import_module(f"ldapdiag.cli.{function}"), function))
    return get_command(alone)


class CommandGroup(TyperGroup):
    """The group of all commands."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401  those of typer
        super().__init__(**settings)
        self.commands = _Commands()  # type: ignore[assignment]  # typer adds none

    def list_commands(self, _: Any) -> list[str]:  # noqa: ANN401  typer hides click's classes
        """Return the names of the commands."""
        return list(COMMANDS)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401  typer hides click's classes
        """Parse the options before the command; `help COMMAND` is `COMMAND --help`."""
        if args[:1] == [HELP]:
            args = [*[argument for argument in args if argument != HELP][:1], "--help"]
        with _nearest(self.params):
            return super().parse_args(ctx, args)

    def format_help_text(self, _: Any, formatter: Any) -> None:  # noqa: ANN401  as above
        """Write what stands before the options."""
        _write_before(self, formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401  as above
        """Write the commands alone: with the two options of all of them the help would not fit into 24 rows."""
        self.format_commands(ctx, formatter)

    def format_commands(self, _: Any, formatter: Any) -> None:  # noqa: ANN401  as above
        """Write the commands with the first line of their help."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def format_epilog(self, _: Any, formatter: Any) -> None:  # noqa: ANN401  as above
        """Write the sections after the options."""
        _write_sections(self, formatter)


class SingleCommand(TyperCommand):
    """A command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401  as above
        """Parse the options and arguments of the command."""
        with _nearest(self.params):
            return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ANN401  as above
        """Return the parts of the usage; braces are for alternatives alone."""
        return [piece if "|" in piece else piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]

    def format_help_text(self, _: Any, formatter: Any) -> None:  # noqa: ANN401  as above
        """Write what stands before the options."""
        _write_before(self, formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401  as above
        """Write the options by their groups, in one column."""
        listed = listed_options(self, ctx)
        width = max(len(one.names) for one in listed if len(one.names) <= WIDEST_NAME)
        for panel in Panel:
            if rows := [(f"{one.names:{width}}", one.text) for one in listed if one.panel is panel]:
                with formatter.section(panel):
                    formatter.write_dl(rows, col_max=width)

    def format_epilog(self, _: Any, formatter: Any) -> None:  # noqa: ANN401  as above
        """Write the sections after the options."""
        _write_sections(self, formatter)


def listed_options(command: Any, context: Any) -> list[ListedOption]:  # noqa: ANN401  as above
    """Return the arguments and options of a command in their order; choices and ranges are in words."""
    found = []
    for parameter in command.get_params(context):
        if (record := parameter.get_help_record(context)) is None:
            continue
        names, (text, bracket, extra) = record[0], record[1].partition("  [")
        if (choices := getattr(parameter.type, "choices", None)) and parameter.param_type_name == "option":
            value = parameter.metavar or parameter.name.upper()
            names = f"{re.sub(' <.*', '', names).removesuffix(f' {value}')} {value}"
            text = f"{text} {value}: {', '.join(map(str, choices))}."
        extra = in_words(extra)
        if duration := getattr(getattr(parameter.type, "func", None), "forms", ""):
            bracket, extra = "  [", f"{extra.removesuffix(']')}{'; ' if extra else ''}{duration}]"
        panel = Panel.ARGUMENTS if parameter.param_type_name == "argument" else parameter.rich_help_panel or Panel.OTHER
        found.append(ListedOption(Panel(panel), names, f"{text}{bracket}{extra}"))
    return found


def in_words(text: str) -> str:
    """Return a text with its ranges of numbers in words."""
    number = r"(\d+(?:\.\d+)?)"
    return re.sub(f"x>={number}", r"\1 or more", re.sub(f"{number}<=x<={number}", r"\1 to \2", text))


def help_text(command: Any) -> HelpText:  # noqa: ANN401  as above
    """Return the help of a command by its sections."""
    before, *parts = SECTION.split(cleandoc(command.help or ""))
    return HelpText(
        before.rstrip(),
        tuple(Section(title, tuple(_blocks(text))) for title, text in zip(parts[::2], parts[1::2], strict=True)),
    )


def _blocks(text: str) -> Iterator[Block]:
    from textwrap import dedent  # noqa: PLC0415  import late: for help alone

    for kind, group in groupby(dedent(text).splitlines(), _kind):
        lines = [line.strip() for line in group]
        if kind == "codes":
            yield dict(line.split("  ", 1) for line in lines)
        elif kind:
            yield lines if kind == "lines" else " ".join(lines)


def _kind(line: str) -> str:
    if line.startswith(" "):
        return "lines"
    return "codes" if CODE.match(line) else "text" if line else ""


def _write_before(command: Any, formatter: Any) -> None:  # noqa: ANN401  as above
    formatter.write_paragraph()
    with formatter.indentation():
        formatter.write_text(help_text(command).before)


def _write_sections(command: Any, formatter: Any) -> None:  # noqa: ANN401  as above
    for section in help_text(command).sections:
        with formatter.section(section.title):
            for number, block in enumerate(section.blocks):
                if number and section.title != EXAMPLES:
                    formatter.write_paragraph()
                match block:
                    case str():
                        formatter.write_text(block)
                    case dict():
                        formatter.write_dl(list(block.items()))
                    case list():
                        formatter.write("".join(f"{'':{formatter.current_indent + 2}}{line}\n" for line in block))


@contextmanager
def _nearest(parameters: list[Any]) -> Iterator[None]:
    """Put errors about options into plain words; of an unknown one, name the nearest of the long options."""
    try:
        yield
    except Exception as error:
        if message := getattr(error, "message", ""):
            error.message = in_words(re.sub("is not a valid int(eger)?( range)?", "is not a whole number", message))  # type: ignore[attr-defined]
        if (unknown := getattr(error, "option_name", None)) and hasattr(error, "possibilities"):
            from ldapdiag.spelling import did_you_mean  # noqa: PLC0415  import late

            names = [name for parameter in parameters for name in parameter.opts if name.startswith("--")]
            error.possibilities = []
            error.message = f"No such option: {unknown!r}.{did_you_mean(unknown, [*names, '--help'])}"  # type: ignore[attr-defined]
        raise
