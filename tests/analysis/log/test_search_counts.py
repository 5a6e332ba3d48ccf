"""The searches of a log as numbers: those of the ranked searches, and of an earlier time from what has changed."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.analysis.log.search_counts import Counts, changed, restored, search_counts
from ldapdiag.analysis.log.workload import Workload
from ldapdiag.evidence.log.counting import UNSEEN_SEARCH
from ldapdiag.evidence.log.operation_kinds import SEARCH
from ldapdiag.evidence.log.segment import Segment
from ldapdiag.evidence.log.tables import OTHER

SHAPES = [b"(uid=?)", b"(UID=?)", b"(cn=\xff*)", OTHER, UNSEEN_SEARCH[0]]
NAMES = [b"", b"uid=a,dc=x", b"UID=a, dc=x", b"uid=b,dc=x", OTHER, UNSEEN_SEARCH[0]]
NUMBERS = st.integers(0, 5)
KEYS = st.one_of(
    st.tuples(st.sampled_from(SHAPES[:3]), st.sampled_from(NAMES[:4]), st.integers(-1, 3)),
    st.sampled_from([UNSEEN_SEARCH, (OTHER, OTHER, -1)]),
)
SEARCHES = st.lists(st.tuples(KEYS, NUMBERS, NUMBERS, NUMBERS, st.sampled_from([b"", b"A", b"U,P", b"P,A", b"F"])))
SENT = st.lists(st.tuples(st.sampled_from(SHAPES), st.sampled_from(NAMES), st.sampled_from(NAMES), NUMBERS, NUMBERS))
COUNTS = st.dictionaries(st.tuples(*[st.sampled_from("abc")] * 3), st.tuples(NUMBERS, NUMBERS))


@given(SEARCHES, SENT)
def test_they_are_those_of_the_ranked_searches(searches: list, sent: list) -> None:
    segment = Segment()
    for key, requests, etime, entries, notes in searches:
        row = segment.shape(key)
        row.requests += requests
        row.answered += requests
        row.etime += etime
        row.entries += entries
        if notes:
            noted = segment.noted.count(notes, requests)
            row.noted[noted] = row.noted.get(noted, 0) + requests
    for number, (shape, client, account, count, err) in enumerate(sent):
        segment.attribute((SEARCH, shape, client, account, err), [count, number, 1])
    workload = Workload(segment)
    counts = search_counts(segment)
    ranked = {(one.shape, one.base, one.scope): one for one in workload.searches}
    assert {key: tuple(numbers) for key, numbers in counts.searches.items()} == {
        key: (one.answered, one.etime, one.entries, one.unindexed) for key, one in ranked.items()
    }
    assert counts.requesters == {
        (search.shape, one.client, one.account): (one.count, one.etime, one.noted)
        for search in ranked.values()
        for one in search.requesters
    }


@given(st.lists(COUNTS, min_size=1, max_size=5))
def test_an_earlier_time_is_restored(times: list[Counts]) -> None:
    steps = [changed(later, earlier) for earlier, later in pairwise(times)]
    assert restored(times[-1], *reversed(steps)) == times[0]
