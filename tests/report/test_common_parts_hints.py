"""Hints for the products that are there: no other product is named, and nothing general is lost."""

from __future__ import annotations

from itertools import combinations

import pytest

from ldapdiag.analysis.providers import PROVIDERS
from ldapdiag.catalogue import installed_checks
from ldapdiag.evidence.family import Family
from ldapdiag.report.common_parts import HINTED_NAMES as NAMES
from ldapdiag.report.common_parts import hint_for

HINTS = sorted(
    {need.fact.how for check in installed_checks() for need in check.needs} | {kind.how for kind in PROVIDERS}
)


@pytest.mark.parametrize("how", HINTS)
@pytest.mark.parametrize("family", [(), *((one,) for one in Family)])
def test_no_other_product_is_named(how: str, family: tuple[Family, ...]) -> None:
    """True for every fact: a hint that does not follow the grammar fails here."""
    hint = hint_for(how, family)
    assert [name for name in NAMES if NAMES[name] not in family and f"{name}:" in hint] == []


@pytest.mark.parametrize("how", HINTS)
def test_nothing_is_lost_where_every_product_is_there(how: str) -> None:
    assert hint_for(how, list(Family)) == how


class TestParts:
    HOW = "389-ds: dse.ldif; OpenDJ, PingDirectory: config.ldif; OpenDJ, with the server stopped: backendstat; or ask"

    @pytest.mark.parametrize(
        ("families", "hint"),
        [
            ((), "or ask"),
            ((Family.AD,), "or ask"),
            ((Family.DS389,), "dse.ldif; or ask"),
            ((Family.PING,), "config.ldif; or ask"),
            ((Family.OPENDJ,), "config.ldif; with the server stopped: backendstat; or ask"),
            ((Family.DS389, Family.PING), "389-ds: dse.ldif; OpenDJ, PingDirectory: config.ldif; or ask"),
        ],
    )
    def test_of_these_products_and_general_ones_stay(self, families: tuple[Family, ...], hint: str) -> None:
        assert hint_for(self.HOW, families) == hint

    def test_more_families_never_shorten_it(self) -> None:
        for size in range(len(Family)):
            for some in combinations(Family, size):
                assert len(hint_for(self.HOW, [*some, *Family])) >= len(hint_for(self.HOW, some))
