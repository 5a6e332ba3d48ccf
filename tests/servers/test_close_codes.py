"""Close codes of each product: their text and kind."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.family import Family
from ldapdiag.servers.close_codes import close_reason
from ldapdiag.servers.close_reasons import CloseKind
from ldapdiag.servers.traits import FOLDERS, traits_of


@pytest.mark.parametrize(
    ("family", "code", "kind"),
    [
        (Family.DS389, "U1", CloseKind.CLEAN),
        (Family.DS389, "T1", CloseKind.IDLE),
        (Family.DS389, "A1", CloseKind.SERVER),
        (Family.DSEE, "A1", CloseKind.CLIENT_GONE),
        (Family.DS389, "reset", CloseKind.CLIENT_GONE),
        (Family.OPENLDAP, "", CloseKind.CLEAN),
        (Family.DS389, "", CloseKind.UNKNOWN),
        (Family.OPENLDAP, "connection lost", CloseKind.CLIENT_GONE),
        (Family.OPENDJ, "Client Disconnect", CloseKind.UNKNOWN),
        (Family.PING, "Client Disconnect", CloseKind.CLIENT_GONE),
        (Family.AD, "", CloseKind.UNKNOWN),
        (None, "U1", CloseKind.CLEAN),
        (None, "A1", CloseKind.UNKNOWN),
        (None, "Client Disconnect", CloseKind.UNKNOWN),
        (None, "", CloseKind.UNKNOWN),
    ],
)
def test_one_word_may_mean_different_things_in_different_products(
    family: Family | None, code: str, kind: CloseKind
) -> None:
    assert close_reason(family, code).kind is kind


@pytest.mark.parametrize("family", [*Family, None])
def test_a_restart_has_a_meaning_in_every_product(family: Family | None) -> None:
    assert close_reason(family, "restart").kind is CloseKind.RESTART


@given(st.sampled_from([*Family, None]), st.text())
def test_any_code_has_a_text(family: Family | None, code: str) -> None:
    assert close_reason(family, code).text


@pytest.mark.parametrize("family", [family for family in FOLDERS if family is not Family.AD])
def test_each_product_has_a_word_for_a_clean_end_and_one_for_an_idle_one(family: Family) -> None:
    assert {CloseKind.CLEAN, CloseKind.IDLE} <= {close.kind for close in traits_of(family).close_reasons.values()}


def test_texts_are_clauses() -> None:
    every = [close.text for family in FOLDERS for close in traits_of(family).close_reasons.values()]
    assert [words for words in every if words.endswith(".") or len(words) > 90] == []
