"""What a close means: the codes of each product, told in words and by nature."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.family import Family
from ldapdiag.servers.closes import CLOSES, close_of
from ldapdiag.servers.nature import Nature


@pytest.mark.parametrize(
    ("family", "code", "nature"),
    [
        (Family.DS389, "U1", Nature.CLEAN),
        (Family.DS389, "T1", Nature.IDLE),
        (Family.DS389, "A1", Nature.SERVER),
        (Family.DSEE, "A1", Nature.CLIENT_GONE),
        (Family.DS389, "reset", Nature.CLIENT_GONE),
        (Family.OPENLDAP, "", Nature.CLEAN),
        (Family.DS389, "", Nature.UNKNOWN),
        (Family.OPENLDAP, "connection lost", Nature.CLIENT_GONE),
        (Family.OPENDJ, "Client Disconnect", Nature.UNKNOWN),
        (Family.PING, "Client Disconnect", Nature.CLIENT_GONE),
        (Family.AD, "", Nature.UNKNOWN),
        (None, "U1", Nature.CLEAN),
        (None, "A1", Nature.UNKNOWN),
        (None, "Client Disconnect", Nature.UNKNOWN),
        (None, "", Nature.UNKNOWN),
    ],
)
def test_one_word_may_mean_different_things_in_different_products(
    family: Family | None, code: str, nature: Nature
) -> None:
    assert close_of(family, code).nature is nature


@pytest.mark.parametrize("family", [*Family, None])
def test_a_restart_is_told_whatever_the_product(family: Family | None) -> None:
    assert close_of(family, "restart").nature is Nature.RESTART


@given(st.sampled_from([*Family, None]), st.text())
def test_a_log_may_say_anything(family: Family | None, code: str) -> None:
    assert close_of(family, code).words


@pytest.mark.parametrize("family", CLOSES)
def test_each_product_has_a_word_for_a_clean_end_and_one_for_an_idle_one(family: Family) -> None:
    assert {Nature.CLEAN, Nature.IDLE} <= {close.nature for close in CLOSES[family].values()}


def test_words_are_a_part_of_a_sentence() -> None:
    every = [close.words for closes in CLOSES.values() for close in closes.values()]
    assert [words for words in every if words.endswith(".") or len(words) > 90] == []
