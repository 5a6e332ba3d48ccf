from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes_389 import DATABASES, read
from ldapdiag.evidence.indexes import dsconf_list
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path

FORM = dsconf_list.FORMAT
ITEM = {
    "type": "entry",
    "dn": f"cn=uid,cn=index,cn=userroot,{DATABASES}",
    "attrs": {"cn": ["uid"], "nsindextype": ["eq"], "nssystemindex": ["false"]},
}


def listed(*items: object, indent: int | None = None) -> str:
    return json.dumps({"type": "list", "items": list(items)}, indent=indent)


@pytest.mark.parametrize("indent", [None, 4])
def test_is_recognised_in_one_line_and_in_many(indent: int | None) -> None:
    found = read(listed(ITEM, indent=indent))
    (backend,) = found.backends
    assert (backend.name, backend.definitions[0].types, found.whole) == ("userroot", {"eq"}, False)


def test_another_list_is_not_taken_for_it() -> None:
    suffixes = {"type": "entry", "dn": f"cn=userroot,{DATABASES}", "attrs": {}}
    with pytest.raises(AssertionError, match="nothing recognises"):
        facts_of(listed(suffixes, indent=4))


def test_a_cut_list_says_nothing(captures: Path) -> None:
    text = (captures / "389ds" / "indexes" / "dsconf-backend-index-list.json").read_text()
    assert len(read(text).backends[0].definitions) == 31
    assert facts_of(text[: len(text) // 2]) == []


def test_a_longer_one_than_can_be_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dsconf_list, "MOST_CHARACTERS", 100)
    assert facts_of(listed(ITEM, indent=4)) == []


def test_what_is_no_entry_is_passed_over() -> None:
    found = read(listed(ITEM, 7, {"dn": []}, {"dn": "x", "attrs": []}, {"dn": "", "attrs": {"cn": 7, "x": [None]}}))
    assert "An item that is not an entry was ignored." in found.origin.notes
    assert found.origin.not_understood == 0


ANYTHING = st.recursive(
    st.none() | st.text(max_size=5) | st.integers(),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(st.sampled_from(["dn", "attrs", "cn", "items"]), part),
    max_leaves=8,
)


@given(
    ANYTHING | st.lists(ANYTHING | st.just(ITEM)).map(lambda items: {"type": "list", "items": items}), st.integers(0, 9)
)
def test_hostile_text_is_counted_never_raised(result: object, cut: int) -> None:
    text = json.dumps(result)
    for fact in facts_of(text[: len(text) - cut], form=FORM):
        assert fact.origin.lines == fact.origin.understood + fact.origin.not_understood


def test_brackets_without_end_are_no_list() -> None:
    assert facts_of('{"type": "list", "items": ' + "[" * 100_000, form=FORM) == []
