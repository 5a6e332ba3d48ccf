"""Every corpus case: the bracket of the middlebox's idle timeout contains the one that was set."""

from __future__ import annotations

from itertools import combinations, product
from typing import TYPE_CHECKING

import pytest

import examples
from incidents import CASES, DURING, EXHAUSTION, GHOSTS, INCIDENTS, LEAK, SNAT, TIMEOUT, diagnosed
from ldapdiag.analysis.idle.bounds import IdleBounds

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ldapdiag.analysis.idle.bounds import PathBounds

TRUTHS = {GHOSTS: 30, LEAK: 432_000, SNAT: 30, TIMEOUT: 30}
"""nf_conntrack_tcp_timeout_established, as whoever captured the case had set it (its README)."""
MAY_LACK = ("app1", "app2", "fw")
SUBSETS = [left_out for count in range(3) for left_out in combinations(MAY_LACK, count)]


def paths(evidence: Sequence[Path]) -> list[PathBounds]:
    return [path for bounds in diagnosed(*evidence).facts.every(IdleBounds) for path in bounds.paths]


def hosts(case: Path, *left_out: str) -> list[Path]:
    return [one for one in sorted(case.iterdir()) if one.name in {"ldap", *MAY_LACK} - set(left_out)]


@pytest.mark.parametrize(("case", "left_out"), examples.some([*product(TRUTHS, SUBSETS)], 3))
def test_it_contains_the_timeout_that_was_set(corpus: Path, case: str, left_out: tuple[str, ...]) -> None:
    for path in paths(hosts(corpus / case, *left_out)):
        assert (path.lower_seconds or 0) <= TRUTHS[case], path
        assert path.upper_seconds is None or path.upper_seconds >= TRUTHS[case], path


def test_it_is_exact_where_the_firewall_was_read_and_dropped_connections(corpus: Path) -> None:
    for case in (GHOSTS, SNAT, TIMEOUT):
        assert (30, 30) in {(path.lower_seconds, path.upper_seconds) for path in paths(hosts(corpus / case))}


@pytest.mark.parametrize("case", sorted({*CASES, DURING, EXHAUSTION} - set(TRUTHS)))
def test_where_no_timeout_is_known_none_below_the_kernels_is_claimed(case: str) -> None:
    """6e is healthy, 5c has no middlebox; what is captured while 5a goes on has no firewall among it."""
    below = [path for path in paths([INCIDENTS / case]) if (path.upper_seconds or 432_000) < 30]
    assert below == []
