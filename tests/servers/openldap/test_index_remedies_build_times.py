"""How long a build takes, and slapd is away for it: intervals by the number of entries."""

from __future__ import annotations

import pytest

from ldapdiag.evidence.indexes import Backend
from ldapdiag.servers.indexes.candidates import Change
from ldapdiag.servers.openldap.index_remedies import how_long_online, how_long_stopped, stopped_seconds

EQ, SUB = Change("mail", "eq"), Change("cn", "sub")


@pytest.mark.parametrize(
    ("entries", "changes", "seconds"),
    [
        (0, [EQ], (1, 10)),
        (60_000, [EQ], (1, 12)),
        (60_000, [SUB], (1, 40)),
        (60_000, [SUB, Change("CN", "eq")], (1, 40)),
        (1_000_000, [EQ, SUB], (13, 530)),
    ],
)
def test_seconds(entries, changes, seconds) -> None:
    assert stopped_seconds(entries, changes) == seconds


def test_sentences_name_the_entries_or_that_they_are_not_known() -> None:
    counted = Backend(name="{1}mdb", suffixes=("o=x",), definitions=(), entries=60_000)
    unknown = Backend(name="{1}mdb", suffixes=("o=x",), definitions=())
    assert "No search is answered for 1 to 12 s" in how_long_stopped(counted, [EQ])
    assert "does not contain the number of entries" in how_long_stopped(unknown, [EQ])
    assert "no search is answered for 1 to 10 s" in how_long_stopped(unknown, [])
    assert "takes 30 to 600 s (60,000 entries" in how_long_online(counted)
    assert how_long_online(unknown) == "The online indexer reads 100 to 2,000 entries per second."
