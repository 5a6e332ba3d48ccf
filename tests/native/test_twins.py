"""A change of a dialect is made in two twin modules; native/twins.json has the digests of both when last compared."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path

import pytest

from ldapdiag.sources.logs import records

HOUSE = Path(__file__).parent.parent.parent
SOURCE = importlib.util.spec_from_file_location("twins", HOUSE / "native" / "twins.py")
assert SOURCE
assert SOURCE.loader
twins = importlib.util.module_from_spec(SOURCE)
SOURCE.loader.exec_module(twins)

ONLY_PYTHON = {
    "cut": "the native one has the border between records in dialects.rs",
    "recognised": "a log is recognised before its scanner is chosen",
    "latest": "a hint for both scanners",
    "east": "Python has the zones of the machine",
    "moment": "reports print times",
    "times": "a sample of a file, before its scanner is chosen",
    "when": "reports print times",
}
"""Functions that only the reference needs, and why."""
DIALECTS = (
    "bases", "clients", "ds389_json", "ds389_lines", "ds389_text", "dsee", "filters", "opendj_json",
    "opendj_text", "openldap", "ping_json", "ping_text", "stamps", "syslog",
)  # fmt: skip


def test_no_twin_was_changed_alone() -> None:
    assert twins.complaints() == []


def test_each_module_has_its_twin_or_a_reason_to_have_none() -> None:
    assert [name for name, (python, *_) in twins.twins().items() if not python.exists()] == []
    assert sorted(name for name in twins.ALONE if not (twins.RUST / f"{name}.rs").exists()) == []


def test_both_sides_are_of_one_grammar_version() -> None:
    versions = {int(found[1]) for path in twins.RUST.glob("*.rs") if (found := twins.VERSION.search(path.read_text()))}
    assert versions == {twins.version()} == {twins.recorded()["grammar_version"]}


@pytest.mark.parametrize("name", ["LONGEST_RECORD", "KEPT_OF_RECORD"])
def test_both_sides_pass_over_the_same_of_a_record_that_is_too_long(name: str) -> None:
    reading = (twins.RUST / "reading.rs").read_text()
    ((number, shift),) = re.findall(rf"^const {name}: usize = (\d+) << (\d+);", reading, re.MULTILINE)
    assert int(number) << int(shift) == getattr(records, name)


@pytest.mark.parametrize("name", DIALECTS)
def test_a_dialect_has_a_twin_of_its_name_with_its_functions(name: str) -> None:
    python, *rust = twins.twins()[name]

    there = {found for path in rust for found in re.findall(r"\bfn (\w+)", path.read_text())}
    ours = {one.name for one in ast.parse(python.read_text()).body if isinstance(one, ast.FunctionDef)}

    assert sorted({one for one in ours if not one.startswith("_")} - there - set(ONLY_PYTHON)) == []


def test_words_are_no_change(tmp_path: Path) -> None:
    left, right = tmp_path / "a.rs", tmp_path / "b.rs"
    left.write_text("//! Words.\nfn cut<'a>(at: &'a [u8]) -> u8 {\n    b\"// no comment\"[0] // a comment\n}\n")
    right.write_text("fn cut<'a>(at: &'a [u8]) -> u8 { b\"// no comment\"[0] }\n#[cfg(test)]\nmod tests {\n}\n")
    assert twins.code(left) == twins.code(right)
    right.write_text("fn cut<'a>(at: &'a [u8]) -> u8 { b\"//no comment\"[0] }\n")
    assert twins.code(left) != twins.code(right)

    left, right = tmp_path / "a.py", tmp_path / "b.py"
    left.write_text('"""Words."""\nCAP = 2  # why\n"""More words."""\n')
    right.write_text("CAP = 2\n")
    assert twins.code(left) == twins.code(right)
    right.write_text("CAP = 3\n")
    assert twins.code(left) != twins.code(right)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        (("native/src/bases.rs",), "bases.py did not"),
        (("ldapdiag/evidence/log/bases.py",), "bases.rs did not"),
        (("native/src/bases.rs", "ldapdiag/evidence/log/bases.py"), "raise GRAMMAR_VERSION"),
    ],
)
def test_a_change_is_reported_with_what_to_do(
    changed: tuple[str, ...], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = twins.recorded()
    record["twins"]["bases"] = {path: "0" if path in changed else it for path, it in twins.digests()["bases"].items()}
    monkeypatch.setattr(twins, "recorded", lambda: record)
    message = next(one for one in twins.complaints() if "bases" in one)
    assert says in message
    assert all(path in message for path in changed)
