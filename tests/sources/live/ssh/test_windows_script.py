"""The script for Windows, as the grammar of PowerShell reads it: PowerShell itself, and Windows, are not at hand."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
import tree_sitter_powershell
from tree_sitter import Language, Parser

from ldapdiag.sources.live.ssh.windows import FIRST_LOOK, powershell_script

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

TEXT = powershell_script("0123456789abcdef", 3, *FIRST_LOOK)
GRAMMAR = Parser(Language(tree_sitter_powershell.language()))
READS = {
    "ConvertTo-Csv", "ForEach-Object", "Get-CimInstance", "Get-Date", "Get-Item", "Get-NetIPAddress",
    "Get-NetTCPConnection", "Get-Process", "Get-WinEvent", "Group-Object", "Select-Object", "Where-Object", "netstat",
}  # fmt: skip
"""All that the script may run but its own functions; none of them writes."""
METHODS = {"WriteLine", "ToString", "ToUniversalTime", "ContainsKey", "GetValue", "AddSeconds", "Replace", "ToXml"}
NEVER = {"redirection", "command_invokation_operator", "ERROR"}


def nodes(text: str) -> Iterator[Node]:
    """Yield the nodes of the syntax of a script."""
    waiting = [GRAMMAR.parse(f"{text}\n".encode()).root_node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += node.children


def named(text: str, kind: str) -> set[str]:
    """Return the texts of the nodes of a kind."""
    return {node.text.decode() for node in nodes(text) if node.type == kind}


def faults(text: str) -> set[str]:
    """Return what a script has that could change something, or that is no PowerShell."""
    calls = [node for node in nodes(text) if node.type == "invokation_expression"]
    methods = {re.findall(rb"\w+", call.text[: call.children[-1].start_byte - call.start_byte])[-1] for call in calls}
    return (
        named(text, "command_name") - READS - named(text, "function_name")
        | {method.decode() for method in methods} - METHODS
        | {kind for kind in NEVER if any(node.type == kind for node in nodes(text))}
        | {token for token in named(text, "generic_token") if ">" in token}
        | {name for name in named(text, "left_assignment_expression") if not re.fullmatch(r"\$[a-zA-Z]+", name)}
    )


class TestScript:
    def test_it_only_reads(self) -> None:
        assert faults(TEXT) == set()

    @pytest.mark.parametrize(
        "line",
        [
            "Set-Item -Path 'HKLM:\\x' 1", "reg add HKLM\\x", "Get-Process > a.txt", "netstat 2>a.txt", "& $x", ". $x",
            "$a.b = 1", "$env:PATH = 'x'", "[IO.File]::Delete('x')", "$key.SetValue('x', 1)", "iex 'x'", "function f {",
        ],
    )  # fmt: skip
    def test_what_could_change_something_is_seen(self, line: str) -> None:
        assert faults(line)

    def test_what_is_shown_is_defined(self) -> None:
        assert {step.partition(" ")[0] for step in FIRST_LOOK} <= named(TEXT, "function_name")

    def test_each_statement_is_whole_at_the_next_empty_line(self) -> None:
        """`-Command -` takes a line that is no whole statement for the first of several, up to an empty one.

        A brace in the next line begins no function (issues 2068 and 3223 of PowerShell).
        """
        for block in TEXT.split("\n\n"):
            is_begun = block.startswith("function ") and block.partition("\n")[0].endswith("{")
            for statement in [block] if is_begun else block.splitlines():
                assert not named(statement, "ERROR"), statement
        assert TEXT.isascii()
