"""What the load of corpus cases 1, 2 and 3 sent and received, against the lengths and the largest results of its rows.

The load script wrote down each filter that ldap3 sent, its result code and how many entries came (loads.py). How long
the pieces of a filter are is counted here from what it sent, by a parser of its own (filter_tree.py).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache
from typing import TYPE_CHECKING

import pytest

from conftest import CORPUS
from ldapdiag.evidence.filter_tree import assertions, parse
from ldapdiag.evidence.log.dialects import recognise, scan_stream
from ldapdiag.evidence.log.substrings import has_substrings
from scenarios.log.test_truth_workload import LOGS, SHARED, Case

if TYPE_CHECKING:
    from pathlib import Path

    from ldapdiag.evidence.log.tables import ShapeRow
    from log.loads import What

pytestmark = pytest.mark.skipif(
    not CORPUS.is_dir(), reason="the shared corpus is not beside this checkout (it is in CI)"
)

SCOPES = {0: "base", 1: "one", 2: "sub"}
LIMITED = {3, 4, 11}
STOPPED = {*LIMITED, 50, 53}
PAGED = ("P1-", "P2-")
"""ldap3 counts the entries of all pages; a server logs each page."""


@cache
def rows(log: Path) -> dict[What, ShapeRow]:
    data = log.read_bytes()
    dialect = recognise(data[:65_536])
    assert dialect
    segment = scan_stream(dialect, data)
    return {
        (shape.decode(), base.decode(), SCOPES.get(scope, "")): row
        for (shape, base, scope), row in segment.shapes.items()
    }


def of_ldap3(case: Case):
    """Yield the searches of rows in which there are no others."""
    elsewhere = {one.what for one in (*case.load._raw(), *case.load._of_holder())} | SHARED | case.asked.keys()
    for op in case.load.ops:
        if op["op"] == "SRCH" and (what := case.load.what(op, case.shapes)) not in elsewhere:
            yield what, op


def lengths_of(sent: str) -> str:
    tree = parse(sent)
    assert tree
    return "".join(str(min(length or 0, 9)) for one in assertions(tree) for length in one.pieces)


@pytest.mark.parametrize(("case", "log"), LOGS)
def test_searches_are_told_by_the_lengths_of_what_was_sent(case: Case, log: Path) -> None:
    sent: defaultdict[What, Counter[str]] = defaultdict(Counter)
    most: Counter[tuple[What, str]] = Counter()
    for what, op in of_ldap3(case):
        if has_substrings(what[0].encode()):
            told = ("!" if op["rc"] in STOPPED else "") + lengths_of(op["filter"])
            sent[what][told] += 1
            most[what, told] = max(most[what, told], op["n"])

    logged = {what: rows(log)[what].substring_lengths for what in sent}

    assert len(sent) > 6
    assert len({told for counts in sent.values() for told in counts}) > 5
    assert {what: {told.decode(): cell[0] for told, cell in pieces.items()} for what, pieces in logged.items()} == sent
    assert most == {(what, told.decode()): cell[3] for what, pieces in logged.items() for told, cell in pieces.items()}


@pytest.mark.parametrize(("case", "log"), LOGS)
def test_of_a_complete_result_and_of_a_limited_one_the_largest_is_told(case: Case, log: Path) -> None:
    complete: dict[What, int] = {}
    limited: dict[What, int] = {}
    paged = {what for what, op in of_ldap3(case) if op["tag"].startswith(PAGED)}
    for what, op in of_ldap3(case):
        kept = complete if op["rc"] == 0 else limited if op["rc"] in LIMITED else None
        if kept is not None and what not in paged:
            kept[what] = max(kept.get(what, 0), op["n"])

    whats = complete.keys() | limited.keys()
    assert len(complete) > 10
    assert len(limited) > 3
    assert {what: rows(log)[what].most_entries for what in whats} == {what: complete.get(what, -1) for what in whats}
    assert {what: rows(log)[what].most_limited for what in whats} == {what: limited.get(what, -1) for what in whats}
