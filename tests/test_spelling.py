"""A misspelt name gets the known one that is most like it; a name of its own gets none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.catalogue import installed_checks
from ldapdiag.spelling import did_you_mean, nearest

CHECKS = [one.id for one in installed_checks()]


@given(st.sampled_from(CHECKS), st.data())
def test_a_check_with_one_letter_wrong_is_found(name: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(3, len(name) - 2))
    assert nearest(name[:place] + name[place + 1 :], CHECKS) == [name]
    assert nearest(f"{name[:place]}x{name[place + 1 :]}", CHECKS) == [name]


@pytest.mark.parametrize("name", ["nope", "", "xyz", "-", "tls-version-too-old-somewhere"])
def test_nothing_is_suggested_for_what_is_unlike(name: str) -> None:
    assert did_you_mean(name, CHECKS) == ""


@pytest.mark.parametrize(
    ("name", "meant"), [("--sev", ["--severity"]), ("--out", ["--output"]), ("--s", []), ("--", [])]
)
def test_a_shortened_option_is_the_one_that_begins_so(name: str, meant: list[str]) -> None:
    assert nearest(name, ["--since", "--severity", "--output", "--shape"]) == meant


def test_the_suggestion_is_a_question() -> None:
    assert did_you_mean("diagnos", ["log", "diagnose"]) == " Did you mean 'diagnose'?"
