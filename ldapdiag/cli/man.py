"""ldapdiag man: print the manual page, in man(7), from the commands and options themselves."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import chain
from typing import TYPE_CHECKING, Any

import typer  # noqa: TC002  typer evaluates the annotation

from ldapdiag import __version__
from ldapdiag.cli.commands import EXAMPLES, EXIT_CODE, Panel, help_text, listed_options
from ldapdiag.cli.exit_codes import EXIT_STATUS
from ldapdiag.cli.option_groups import command
from ldapdiag.cli.output import standard_output
from ldapdiag.servers.tested import HEADINGS, rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ldapdiag.cli.commands import HelpText, ListedOption, Section

DATE = "2026-11-30"
"""The date of this version (CHANGELOG.md), not that of the run: the same version gives the same bytes."""
ENVIRONMENT = {
    "LDAPDIAG_SSH": "The command to use instead of ssh, with its options.",
    "LDAPDIAG_SCANNER": "native or python: the scanner of access logs.",
    "LDAPDIAG_TRACEBACK": "If set, a bug in ldapdiag prints a traceback.",
    "NO_COLOR": "If set and not empty, the text has no colours. --color always comes before it.",
    "FORCE_COLOR": "If set and not empty, the text has colours in a pipe, too. --color never comes before it.",
    "COLUMNS": "The width of the text, on a terminal and in a pipe.",
}
FILES = {
    "./ldapdiag.toml": "The site configuration: that of the working folder,",
    "~/.config/ldapdiag/ldapdiag.toml": "that of the user, or below $XDG_CONFIG_HOME,",
    "/etc/ldapdiag/ldapdiag.toml": "and that of the system. The first that exists is read; ldapdiag config prints it.",
}
SEE_ALSO = ("ldapsearch(1)", "ssh(1)", "ss(8)", "conntrack(8)", "tcp(7)")
SPECIAL = {"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti", '"': r"\(dq"}
"""Characters that man(7) or a printer takes for others: groff_char(7), section "Eight-bit encodings"."""


@command
def man(context: typer.Context) -> None:
    """Print the manual page of ldapdiag.

    Examples:
        Read it:
            ldapdiag man | man -l -
        Install it:
            ldapdiag man > /usr/local/share/man/man1/ldapdiag.1
    """
    with standard_output() as stream:
        stream.writelines(f"{line}\n" for line in _page(context.find_root().command))


def _page(group: Any) -> Iterator[str]:  # noqa: ANN401  typer hides click's classes
    """Yield the lines of the page: the group, each command with its options, and what several commands share."""
    parent = group.make_context("ldapdiag", [], resilient_parsing=True)
    commands = {name: single for name, single in group.commands.items() if not single.hidden}
    contexts = {
        name: single.make_context(name, [], parent=parent, resilient_parsing=True) for name, single in commands.items()
    }
    options = {name: listed_options(single, contexts[name]) for name, single in commands.items()}
    of_program = listed_options(group, parent)
    times = Counter(chain.from_iterable(options.values()))
    shared = [one for one, number in times.items() if number > 1 and one not in of_program]
    yield f'.TH LDAPDIAG 1 "{DATE}" "ldapdiag {__version__}" "User Commands"'
    yield from (".SH NAME", r"ldapdiag \- LDAP connection and index diagnostics")
    yield ".SH SYNOPSIS"
    for number, (name, single) in enumerate(commands.items()):
        yield from ([".br"] if number else [])
        yield f".B ldapdiag {escaped(name)}"
        yield escaped(" ".join(single.collect_usage_pieces(contexts[name])))
    yield ".SH DESCRIPTION"
    yield from _paragraphs(help_text(group).before)
    yield ".SH OPTIONS"
    yield from _options(of_program)
    yield from (".PP", "The following are options of several commands, each of which lists them.")
    for panel in Panel:
        if of_panel := [one for one in shared if one.panel is panel]:
            yield from (f".SS {panel}", *_options(of_panel))
    yield ".SH COMMANDS"
    for name, single in commands.items():
        yield f".SS ldapdiag {escaped(name)}"
        yield from _command(help_text(single), options[name], (*of_program, *shared))
    yield ".SH EXIT STATUS"
    for code, meaning in EXIT_STATUS.items():
        yield from (".TP", f".B {code}", escaped(meaning))
    yield from _sections(commands, EXIT_CODE)
    yield ".SH ENVIRONMENT"
    for variable, text in ENVIRONMENT.items():
        yield from (".TP", f".B {variable}", escaped(text))
    yield ".SH FILES"
    for path, text in FILES.items():
        yield from (".TP", f".I {escaped(path)}", escaped(text))
    yield ".SH PRODUCTS"
    for product, *cells in rows():
        tested = "; ".join(f"{heading}: {cell}" for heading, cell in zip(HEADINGS, cells, strict=True))
        yield from (".TP", f".B {escaped(product)}", escaped(f"{tested[:1].upper()}{tested[1:]}.".replace("`", "")))
    yield ".SH EXAMPLES"
    yield from _sections(commands, EXAMPLES)
    yield ".SH SEE ALSO"
    yield ",\n".join(f".BR {name[:-3]} {name[-3:]}" for name in SEE_ALSO).replace(",\n", " ,\n")


def _command(text: HelpText, options: Sequence[ListedOption], shared: Sequence[ListedOption]) -> Iterator[str]:
    """Yield what is a command's own, and the names of the options that it shares with others."""
    yield from _paragraphs(text.before)
    yield from _options(option for option in options if option not in shared)
    if common := [option.short for option in options if option in shared]:
        yield from (".PP", escaped(f"Shared options: {', '.join(common)}."))
    for section in text.sections:
        if section.title not in {EXAMPLES, EXIT_CODE}:
            yield from (".PP", rf"\fI{escaped(section.title)}\fR", ".br", *_blocks(section))


def _paragraphs(text: str) -> Iterator[str]:
    for number, paragraph in enumerate(text.split("\n\n")):
        yield from ([".PP"] if number else [])
        yield escaped(" ".join(line.strip() for line in paragraph.splitlines()))


def _sections(commands: dict[str, Any], title: str) -> Iterator[str]:
    """Yield a section of every command that has it; equal ones once, under the names of their commands."""
    of: dict[str, list[str]] = defaultdict(list)
    for name, single in commands.items():
        for section in help_text(single).sections:
            if section.title == title:
                of["\n".join(_blocks(section))].append(f"ldapdiag {name}")
    for lines, names in of.items():
        yield from (f".SS {escaped(', '.join(names))}", lines)


def _blocks(section: Section) -> Iterator[str]:
    """Yield the blocks of a section."""
    for number, block in enumerate(section.blocks):
        match block:
            case str():
                yield from ([".PP"] if number else [])
                yield escaped(block)
            case dict():
                for code, meaning in block.items():
                    yield from (".TP", f".B {code}", escaped(meaning))
            case list():
                yield from (".RS 4", ".nf", *(escaped(line) for line in block), ".fi", ".RE")


def _options(listed: Iterable[ListedOption]) -> Iterator[str]:
    """Yield arguments and options with their descriptions, as --help lists them."""
    for one in listed:
        options = re.match(r"(?:--?[\w-]+(?:, )?)*", one.names)
        bold = options[0] if options else ""
        value = one.names.removeprefix(bold).strip()
        shown = [rf"\fB{escaped(bold.strip())}\fR"] if bold else []
        yield ".TP"
        yield " ".join([*shown, *([rf"\fI{escaped(value)}\fR"] if value else [])])
        yield escaped(re.sub(r"\s+", " ", one.text))


def escaped(text: str) -> str:
    """Return a line of text as man(7) prints it unchanged, in ASCII."""
    line = "".join(SPECIAL.get(one, one if one.isascii() else rf"\[u{ord(one):04X}]") for one in text)
    return rf"\&{line}" if line.startswith(".") else line
