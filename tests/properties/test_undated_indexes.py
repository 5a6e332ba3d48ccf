"""What is said of an index of unknown age, after a log in which it answers only some searches of a kind."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import event, given
from hypothesis import strategies as st

from audits import SUFFIX, UNINDEXED, Audit
from incidents import findings
from ldapdiag.finding import NotJudged

LIMIT = 4000
PEOPLE = b"ou=people," + SUFFIX
ON_SCANS = ("missing-index", "index-not-built", "scan-limit-exceeded", "unindexable-filter")


class Value(NamedTuple):
    """A value of an attribute, by the entries that have it."""

    in_all: int
    below_base: int


def values(most: int) -> st.SearchStrategy[list[Value]]:
    """Return the values that searches ask for; of each a part of the entries is below their base."""
    sizes = st.one_of(st.integers(0, 100), st.integers(0, most))
    one = st.tuples(sizes, st.floats(0, 1)).map(lambda pair: Value(pair[0], round(pair[0] * pair[1])))
    return st.lists(one, min_size=2, max_size=6)


def audited(asked: list[Value], built_at: int, base: bytes) -> Audit:
    """Return a 389-ds that was asked for each value; the index is there from one of the searches on."""
    story = Audit(limit=LIMIT)
    story.has("l", "eq")
    for place, value in enumerate(asked):
        scanned = place < built_at or value.in_all > LIMIT
        entries = value.in_all if base == SUFFIX else value.below_base
        took = 0.1 if scanned else 0.0005
        story.asks(f"(l=place{place})", UNINDEXED * scanned, took=took, entries=entries, base=base, times=2)
    return story


def accusing(story: Audit) -> set[str]:
    """Return the checks that say something of the searches."""
    diagnosis = story.diagnosis()
    return {check for check in ON_SCANS if findings(diagnosis, check)}


@given(values(LIMIT), st.data(), st.sampled_from((SUFFIX, PEOPLE)))
def test_scans_before_an_index_are_no_long_lists(asked: list[Value], data: st.DataObject, base: bytes) -> None:
    """No list is too long. Below a base this is known where few entries are returned, and nothing is judged."""
    built_at = data.draw(st.integers(1, len(asked) - 1))
    story = audited(asked, built_at, base)
    if base == SUFFIX or all(value.below_base <= 100 for value in asked):
        assert accusing(story) == set()
        verdicts = [one.verdict for one in story.diagnosis().judged if one.check == "index-not-built"]
        (silent,) = [one for one in verdicts if isinstance(one, NotJudged)]
        assert "no time stamps" in silent.reason
        assert (silent.how or "").startswith("an access log from ")
    else:
        event("returns many")
        assert accusing(story) <= {"scan-limit-exceeded"}


@given(values(3 * LIMIT), st.sampled_from((SUFFIX, PEOPLE)))
def test_long_lists_that_a_result_shows_are_found(asked: list[Value], base: bytes) -> None:
    """The index is older than the log, and some values have too many entries."""
    long = [value for value in asked if value.in_all > LIMIT]
    told = accusing(audited(asked, 0, base))
    shown = any((value.in_all if base == SUFFIX else value.below_base) > LIMIT for value in long)
    event(f"{bool(long)}, {shown}")
    assert told <= ({"scan-limit-exceeded"} if len(long) < len(asked) else {"scan-limit-exceeded", "index-not-built"})
    if not long:
        assert told == set()
    if shown:
        assert told == {"scan-limit-exceeded"}
