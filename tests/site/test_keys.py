from __future__ import annotations

import re
import tomllib
from datetime import date
from pathlib import Path

import pytest

from ldapdiag.catalogue import installed_checks
from ldapdiag.site.keys import SECTIONS
from ldapdiag.site.reading import read_configuration

PAGE = (Path(__file__).parent.parent.parent / "docs" / "configuration.md").read_text()
HEADINGS = {
    name: f"### `[{'[' * (name == 'accepted')}{name}{']' * (name == 'accepted')}]`" for name in SECTIONS if name
}


@pytest.mark.parametrize("section", HEADINGS)
def test_the_page_has_a_row_for_each_key_and_no_other(section: str) -> None:
    part = PAGE.partition(HEADINGS[section])[2].partition("\n###")[0]
    assert re.findall(r"^\| `(\w+)` \|", part, re.MULTILINE) == [key.name for key in SECTIONS[section]]


def test_the_page_states_the_values_of_each_key_with_a_choice() -> None:
    lacking = [
        value for keys in SECTIONS.values() for key in keys for value in key.choices if f'`"{value}"`' not in PAGE
    ]
    assert lacking == []


def test_the_file_of_the_page_is_valid() -> None:
    text = PAGE.partition("```toml\n")[2].partition("```")[0]
    ids = [one.id for one in installed_checks()]
    found = read_configuration(tomllib.loads(text), path="f", sha256="", today=date(2026, 11, 23), checks=ids)
    assert (found.target, len(found.accepted), list(found.disabled)) == ("prod", 2, ["unused-index"])
