from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.document import Document
from ldapdiag.evidence.index_answers import IndexAnswers, ProbedIndex
from ldapdiag.evidence.indexes.probed_answers import FORMAT, as_text
from reading import facts_of

PROBED = (
    ProbedIndex(backend="userRoot", attribute="uid", samples=8, missing=0),
    ProbedIndex(
        backend="{1}mdb", attribute="sn", samples=4, missing=2, filters=("(sn=@)", "(sn=*@*)", "(sn:caseExactMatch:=@)")
    ),
    ProbedIndex(backend="a b", attribute="2.5.4.4", samples=0, missing=0),
)


def test_what_is_written_is_read() -> None:
    (read,) = facts_of(as_text(PROBED))
    assert isinstance(read, IndexAnswers)
    assert read.indexes == PROBED
    assert read.origin.not_understood == 0


def test_a_damaged_line_is_counted() -> None:
    (read,) = facts_of(as_text(PROBED[:1]) + "index: userRoot sn 1 2\nindex: userRoot\n")
    assert read.indexes == PROBED[:1]
    assert read.origin.not_understood == 2


@given(st.text())
def test_no_text_crashes_it(text: str) -> None:
    assert FORMAT.read is not None
    (read,) = FORMAT.read(Document(path="x", source=text.splitlines()))
    assert all(one.missing <= one.samples for one in read.indexes)
