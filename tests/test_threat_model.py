"""The threat model: each row names tests that exist; and what no other module tests of its promises."""

from __future__ import annotations

import ast
import re
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from command import INCIDENT, diagnose

if TYPE_CHECKING:
    import pytest

HOUSE = Path(__file__).parent.parent
MODEL = (HOUSE / "docs" / "threat-model.md").read_text()
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
STARTERS = {"subprocess", "multiprocessing", "pickle", "marshal", "shelve", "ctypes", "code", "runpy", "pty"}
STARTING = {
    "ldapdiag/sources/probe/scratch.py": "a copy of itself, by the path of a module",
    "ldapdiag/sources/live/ssh/child.py": "the operator's ssh, nsenter, sh",
    "ldapdiag/sources/files/compressed.py": "pickle: between our own workers",
    "ldapdiag/evidence/log/stream_scan.py": "pickle: a copy, in memory",
    "ldapdiag/evidence/log/segment.py": "pickle: a copy, in memory",
    "ldapdiag/sources/live/local/namespaces.py": "ctypes: setns of the C library",
    "ldapdiag/sources/allocation.py": "ctypes: mallopt of the C library",
    "ldapdiag/lazy_dataclass.py": "exec: methods of the program's own dataclasses",
    "ldapdiag/cli/option_groups.py": "eval: annotations of our own modules",
}
"""Modules that start programs or evaluate text, and which."""


def test_each_row_names_tests_that_exist() -> None:
    named = NAMED.findall(MODEL)
    assert len(named) > 40
    assert [one for one in named if not re.search(rf"\bdef {one[1]}\(", (HOUSE / one[0]).read_text())] == []
    rows = [
        line
        for line in MODEL.splitlines()
        if line.startswith("|") and not re.match(r"\|(?:---| it may | value )", line)
    ]
    assert [row for row in rows if not NAMED.search(row)] == []


def test_a_diagnosis_of_files_opens_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a connection, or a name that is resolved")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refused)
    for name in ("getaddrinfo", "gethostbyname", "gethostbyaddr", "getnameinfo", "create_connection"):
        monkeypatch.setattr(socket, name, refused)
    ran = diagnose(INCIDENT, "-v")
    assert "CRITICAL" in ran.text


def test_only_these_modules_start_programs_or_evaluate() -> None:
    found = {
        str(path.relative_to(HOUSE))
        for folder in ("ldapdiag", "checks/ldapdiag_checks")
        for path in (HOUSE / folder).rglob("*.py")
        if any(map(_starts, ast.walk(ast.parse(path.read_text()))))
    }
    assert found == set(STARTING)


def _starts(node: ast.AST) -> bool:
    match node:
        case ast.Import(names=names):
            return any(one.name.partition(".")[0] in STARTERS for one in names)
        case ast.ImportFrom(module=str(module)):
            return module.partition(".")[0] in STARTERS
        case ast.Call(func=ast.Name(id="eval" | "exec" | "compile" | "__import__")):
            return True
        case ast.Call(func=ast.Attribute(value=ast.Name(id="os"), attr=name)):
            return name.startswith(("system", "popen", "exec", "spawn", "posix_spawn", "fork"))
    return False
