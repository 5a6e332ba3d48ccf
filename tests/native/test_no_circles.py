"""The Rust modules import each other in one direction only."""

from __future__ import annotations

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCES = Path(__file__).parent.parent.parent / "native" / "src"

TESTS = re.compile(r"^#\[cfg\(test\)\]\nmod tests \{.*\Z", re.MULTILINE | re.DOTALL)
WITHOUT_CODE = re.compile(r'//[^\n]*|b?r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"', re.DOTALL)
USE = re.compile(r"^(?P<indent> *)(?:pub(?:\([^)]*\))? )?use (?P<tree>[^;]+);", re.MULTILINE)
CHILD = re.compile(r"^(?:pub(?:\([^)]*\))? )?mod (\w+);", re.MULTILINE)
INLINE = re.compile(r"\b((?:crate|super)(?:::\w+)+)")


def modules() -> dict[str, str]:
    """Return the source of every module but the crate root, by its path: `filters::sets`."""
    paths = (path for path in SOURCES.rglob("*.rs") if path.name != "lib.rs")
    return {"::".join(path.relative_to(SOURCES).with_suffix("").parts): path.read_text("utf-8") for path in paths}


def leaves(tree: str) -> list[str]:
    """Return the paths of a use tree: `a::{b, c::d}` has `a::b` and `a::c::d`."""
    tree = re.sub(r"\s+(as \w+)?", "", tree)
    prefix, brace, rest = tree.partition("{")
    if not brace:
        return [tree]
    parts, depth = [""], 0
    for character in rest[:-1]:
        depth += (character == "{") - (character == "}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [prefix + leaf for part in parts if part for leaf in leaves(part)]


def resolved(path: str, module: str, children: set[str], *, nested: bool) -> str:
    """Return a path of `module` as seen from the crate root; `nested`: inside an inline module."""
    first, _, rest = path.partition("::")
    parent = module if nested else module.rpartition("::")[0]
    match first:
        case "crate":
            return rest
        case "super":
            return f"{parent}::{rest}".removeprefix("::")
        case "self":
            return f"{module}::{rest}"
    return f"{module}::{path}" if first in children else ""


def imports(module: str, source: str, known: set[str]) -> set[str]:
    """Return the modules that a module imports; importing an item imports the module that has it."""
    code = WITHOUT_CODE.sub("", TESTS.sub("", source))
    children = set(CHILD.findall(code))
    paths = [
        resolved(leaf, module, children, nested=bool(use["indent"]))
        for use in USE.finditer(code)
        for leaf in leaves(use["tree"])
    ]
    paths += [resolved(path, module, children, nested=False) for path in INLINE.findall(USE.sub("", code))]
    found = set()
    for path in filter(None, paths):
        name = path
        while name and name not in known:
            name = name.rpartition("::")[0]
        found.add(name)
    return found - {"", module}


def graph(sources: dict[str, str]) -> dict[str, set[str]]:
    """Return the imports of every module."""
    return {module: imports(module, source, set(sources)) for module, source in sources.items()}


def test_no_module_imports_itself_through_others() -> None:
    TopologicalSorter(graph(modules())).prepare()


@pytest.mark.parametrize(
    "sources",
    [
        {"a": "use crate::b::X;", "b": "use crate::{c, d::{e, Y}};", "c": "", "d": "", "d::e": "use crate::a;"},
        {"a": "mod b;\n\nuse b::X;", "a::b": "use super::Y;"},
        {"a": "fn f() { crate::b::g() }", "b": "fn g() {\n    use crate::a::f;\n}"},
    ],
    ids=["crate", "parent", "inline"],
)
def test_a_circle_is_found(sources: dict[str, str]) -> None:
    with pytest.raises(CycleError):
        TopologicalSorter(graph(sources)).prepare()


def test_comments_texts_and_tests_import_nothing() -> None:
    source = '//! See crate::b.\nconst TEXT: &str = "crate::b";\n#[cfg(test)]\nmod tests {\n    use crate::b;\n}\n'
    assert graph({"a": source, "b": ""}) == {"a": set(), "b": set()}
