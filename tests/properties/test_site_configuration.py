"""Laws of ldapdiag.toml: whatever it contains, it is read as it stands, or refused without its passwords."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ldapdiag.errors import UsageError
from ldapdiag.site.keys import SECTIONS, Key, ValueKind
from ldapdiag.site.reading import read_configuration
from ldapdiag.sources.site_file import find

TODAY = date(2026, 11, 23)
CHECKS = ("ghost-connections", "unused-index")
SECRET = "hunter2-canary"  # noqa: S105  no password of anybody
PAGE = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text()
EXAMPLE = PAGE.partition("```toml\n")[2].partition("```")[0].encode()

scalars = st.one_of(
    st.text(max_size=20),
    st.integers(),
    st.floats(),
    st.booleans(),
    st.just(TODAY),
    st.just(datetime(2026, 11, 23, tzinfo=UTC)),
    st.just(time(1)),
)
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner), max_leaves=5
)
names = st.sampled_from(sorted({key.name for keys in SECTIONS.values() for key in keys})) | st.text(max_size=10)
sections = st.dictionaries(names, anything, max_size=4)
files = st.fixed_dictionaries(
    {"schema": st.just("ldapdiag.config/1")},
    optional={
        "defaults": sections | anything,
        "targets": st.dictionaries(st.text(min_size=1, max_size=5), sections | anything, max_size=2) | anything,
        "checks": st.dictionaries(st.sampled_from(CHECKS) | st.text(), sections | anything, max_size=2) | anything,
        "accepted": st.lists(sections | anything, max_size=2) | anything,
        "other": anything,
    },
)


def refusal(parsed: dict[str, Any]) -> str:
    """Return the error about a file; empty if it is read."""
    try:
        read_configuration(parsed, path="f.toml", sha256="", today=TODAY, checks=CHECKS)
    except UsageError as error:
        return str(error)
    return ""


@given(files)
def test_whatever_a_file_contains_it_is_read_or_refused(parsed: dict[str, Any]) -> None:
    problem = refusal(parsed)
    assert problem == "" or re.match(r"f\.toml: ", problem)


def valid(key: Key) -> st.SearchStrategy[Any]:
    """Return values that a key takes."""
    words = st.text("abcdefgh./:=,", min_size=1, max_size=12).filter(lambda text: not text.startswith(("-", "@")))
    numbers = st.integers(key.least, key.most or key.least)
    return {
        ValueKind.TEXT: st.sampled_from(key.choices) if key.choices else words,
        ValueKind.TEXTS: st.lists(words, min_size=1, max_size=3),
        ValueKind.SECONDS: numbers,
        ValueKind.PORTS: st.lists(numbers, max_size=3),
        ValueKind.BOOLEAN: st.booleans(),
        ValueKind.DATE: st.dates(max_value=date(2027, 1, 1)),
    }[key.kind]


targets = st.fixed_dictionaries({"evidence": valid(SECTIONS["targets.NAME"][0])}, optional={
    key.name: valid(key) for key in SECTIONS["targets.NAME"][1:]
})  # fmt: skip


@given(targets)
def test_every_valid_target_is_read_as_it_stands(target: dict[str, Any]) -> None:
    parsed = {"schema": "ldapdiag.config/1", "targets": {"a": target}}
    found = read_configuration(parsed, path="f", sha256="", today=TODAY, checks=CHECKS).targets["a"]
    assert {"evidence": list(found.evidence), **found.options} == target


@given(
    st.sampled_from(["password", "bindpw_password", "pw", "Passwd", "bind_pw", "secret", "my_secret_key"]),
    st.sampled_from(["", "defaults", "targets", "checks", "checks.ID", "accepted"]),
    targets,
)
def test_a_password_anywhere_is_refused_and_not_shown(key: str, section: str, target: dict[str, Any]) -> None:
    check: dict[str, Any] = {}
    entry = {"id": "unused-index|x", "reason": "r", "until": TODAY}
    parsed: dict[str, Any] = {
        "schema": "ldapdiag.config/1",
        "defaults": {},
        "targets": {"a": target},
        "checks": {"unused-index": check},
        "accepted": [entry],
    }
    place = {"": parsed, "defaults": parsed["defaults"], "targets": target, "accepted": entry, "checks.ID": check}
    place.get(section, parsed["checks"])[key] = SECRET
    problem = refusal(parsed)
    assert problem
    assert SECRET not in problem


@given(st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damage_to_a_file_is_one_line_or_harmless(tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(EXAMPLE)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=5))
    path = tmp_path / "ldapdiag.toml"
    path.write_bytes(content)
    problem = ""
    try:
        found = find(path, (), TODAY).configuration
    except UsageError as error:
        problem = str(error)
    assert problem.startswith(f"{path}: ") if problem else found is not None


@pytest.mark.parametrize(
    "name", ["a" * 1_000_000, "'a'" * 300_000, '"' * 999_999, "a." * 8 + "a ", "- " * 500_000, "a\t" * 500_000]
)
def test_the_search_for_long_names_takes_no_time(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.toml").write_text(name[: (1 << 20) - 9] + "= 1")
    with pytest.raises(UsageError):
        find(tmp_path / "a.toml", (), TODAY)
