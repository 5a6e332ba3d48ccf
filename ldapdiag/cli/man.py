"""ldapdiag man: print the manual page, in man(7), from the commands and options themselves."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import typer  # noqa: TC002  typer evaluates the annotation

from ldapdiag import __version__
from ldapdiag.cli.output import standard_output

if TYPE_CHECKING:
    from collections.abc import Iterator

DATE = "2026-11-23"
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


def man(ctx: typer.Context) -> None:
    """Print the manual page of ldapdiag.

    To read it, and to install it:

        ldapdiag man | man -l -

        ldapdiag man > /usr/local/share/man/man1/ldapdiag.1
    """
    with standard_output() as stream:
        stream.writelines(f"{line}\n" for line in _page(ctx.find_root().command))


def _page(group: Any) -> Iterator[str]:  # noqa: ANN401  typer hides click's classes
    """Yield the lines of the page: the group, each command with its options, and what all commands share."""
    parent = group.make_context("ldapdiag", [], resilient_parsing=True)
    commands = {name: command for name, command in group.commands.items() if not command.hidden}
    contexts = {
        name: command.make_context(name, [], parent=parent, resilient_parsing=True)
        for name, command in commands.items()
    }
    yield f'.TH LDAPDIAG 1 "{DATE}" "ldapdiag {__version__}" "User Commands"'
    yield from (".SH NAME", r"ldapdiag \- LDAP connection and index diagnostics")
    yield ".SH SYNOPSIS"
    for number, (name, command) in enumerate(commands.items()):
        yield from ([".br"] if number else [])
        yield f".B ldapdiag {escaped(name)}"
        yield escaped(" ".join(command.collect_usage_pieces(contexts[name])))
    yield ".SH DESCRIPTION"
    yield from _paragraphs(group.help)
    yield ".SH OPTIONS"
    yield from _parameters(group, parent)
    yield ".SH COMMANDS"
    for name, command in commands.items():
        yield f".SS ldapdiag {escaped(name)}"
        yield from _paragraphs(command.help)
        yield from _parameters(command, contexts[name])
    yield ".SH ENVIRONMENT"
    for variable, text in ENVIRONMENT.items():
        yield from (".TP", f".B {variable}", escaped(text))
    yield ".SH FILES"
    for path, text in FILES.items():
        yield from (".TP", f".I {escaped(path)}", escaped(text))
    yield ".SH SEE ALSO"
    yield ",\n".join(f".BR {name[:-3]} {name[-3:]}" for name in SEE_ALSO).replace(",\n", " ,\n")


def _paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs of a help; indented ones are examples, printed as they stand."""
    for number, paragraph in enumerate(re.split(r"\n\s*\n", text.strip())):
        lines = paragraph.splitlines()
        if lines[0].startswith(" "):
            yield from (".PP", ".RS 4", ".nf", *(escaped(line.strip()) for line in lines), ".fi", ".RE")
        else:
            yield from ([".PP"] if number else [])
            yield escaped(" ".join(line.strip() for line in lines))


def _parameters(command: Any, context: Any) -> Iterator[str]:  # noqa: ANN401  as above
    """Yield arguments and options with their descriptions, as --help lists them."""
    records = (one.get_help_record(context) for one in command.get_params(context))
    for names, text in filter(None, records):
        options = re.match(r"(?:--?[\w-]+(?:, )?)*", names)
        bold = options[0] if options else ""
        value = names.removeprefix(bold).strip()
        shown = [rf"\fB{escaped(bold.strip())}\fR"] if bold else []
        yield ".TP"
        yield " ".join([*shown, *([rf"\fI{escaped(value)}\fR"] if value else [])])
        yield escaped(re.sub(r"\s+", " ", text))


def escaped(text: str) -> str:
    """Return a line of text as man(7) prints it unchanged, in ASCII."""
    line = "".join(SPECIAL.get(one, one if one.isascii() else rf"\[u{ord(one):04X}]") for one in text)
    return rf"\&{line}" if line.startswith(".") else line
