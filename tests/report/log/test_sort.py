"""--sort: the same rows in another order, the largest first."""

from __future__ import annotations

import pytest

from conversations import SECOND, Conversations, read_log
from ldapdiag.report.log import as_json
from ldapdiag.report.log.sort import Sort


def load():
    talk = Conversations()
    talk.open(1)
    for _ in range(200):
        talk.search(1, b"(often=x)", SECOND // 1000)
    for _ in range(10):
        talk.search(1, b"(long=x)", 2 * SECOND)
    for _ in range(199):
        talk.search(1, b"(rarely=x)", SECOND // 500)
    talk.search(1, b"(rarely=x)", 5 * SECOND)
    talk.close(1)
    return read_log(talk.segment())


@pytest.mark.parametrize(
    ("sort", "first"),
    [(Sort.TIME, "(long=?)"), (Sort.P99, "(long=?)"), (Sort.COUNT, "(rarely=?)"), (Sort.WORST, "(rarely=?)")],
)
def test_has_the_largest_first(sort, first):
    read = load()
    shapes = as_json.document(read, sort)["searches"]["shapes"]
    assert shapes[0]["shape"] == first
    assert sorted(map(str, shapes)) == sorted(map(str, as_json.document(read)["searches"]["shapes"]))
