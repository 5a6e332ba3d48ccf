from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.indexes.explanations import IndexExplanations, Outcome, explanation, filter_use
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path


def explained(content: bytes | str) -> IndexExplanations:
    (found,) = [fact for fact in facts_of(content) if isinstance(fact, IndexExplanations)]
    return found


def test_reads_the_answers_of_a_real_server(captures: Path) -> None:
    content = (captures / "opendj" / "indexes" / "debugsearchindex.txt").read_bytes()
    found = explained(content)
    asked = [line.removeprefix("# filter: ") for line in content.decode().splitlines() if line.startswith("# filter")]
    assert len(found.explanations) == len(asked) == 11
    stopped_early = {"(&(uid=user00001)(employeeNumber=100001))": "(&(uid=user00001))"}
    assert [one.filter for one in found.explanations] == [stopped_early.get(one, one) for one in asked]
    assert (found.origin.not_understood, found.origin.notes) == (0, ())


def test_shows_each_part_and_the_whole() -> None:
    found = explanation(
        "filter=(|(cn=*joe*)[INDEX:cn.substring][COUNT:2936](displayName=*joe*)[NOT-INDEXED])[NOT-INDEXED]"
        " scope=sub[NOT-INDEXED] final=[NOT-INDEXED]"
    )
    assert found is not None
    assert [(one.text, one.answer.outcome, one.answer.entries, one.answer.index) for one in found.parts] == [
        ("(cn=*joe*)", Outcome.CANDIDATES, 2936, "cn.substring"),
        ("(displayName=*joe*)", Outcome.NOT_INDEXED, None, ""),
    ]
    assert (found.of_filter.outcome, found.scope, found.final.outcome) == (
        Outcome.NOT_INDEXED,
        "sub",
        Outcome.NOT_INDEXED,
    )


def test_an_index_asked_in_another_s_stead_is_the_one_that_answered() -> None:
    found = explanation("filter=(aci=x)[INDEX:aci.equality][NOT-INDEXED][INDEX:aci.presence][COUNT:0] final=[COUNT:0]")
    assert found is not None
    assert (found.of_filter.outcome, found.of_filter.index, found.scope) == (Outcome.CANDIDATES, "aci.presence", "")


def test_a_scope_with_few_entries_is_told_apart_from_the_filter() -> None:
    found = explanation("filter=(!(uid=a))[NOT-INDEXED] scope=one[COUNT:60] final=[COUNT:60]")
    assert found is not None
    assert (found.of_filter.outcome, found.final.entries) == (Outcome.NOT_INDEXED, 60)
    assert found.of_scope is not None
    assert (found.of_scope.entries, found.parts[0].text) == (60, "(!(uid=a))")


def test_marks_within_a_value_are_the_value_s() -> None:
    found = explanation("filter=(cn=a[COUNT:9]b)[INDEX:cn.equality][COUNT:1] final=[COUNT:1]")
    assert found is not None
    assert (found.filter, found.of_filter.entries) == ("(cn=a[COUNT:9]b)", 1)


@pytest.mark.parametrize("index", ["cn.a)b", '"cn)".\'equality', ")", "cn.(|)x"])
def test_parentheses_and_quotes_in_the_name_of_an_index_are_the_name_s(index: str) -> None:
    found = explanation(f"filter=(cn=a)[COUNT:7][INDEX:{index}] final=[COUNT:7]")
    assert found is not None
    assert (found.filter, found.of_filter.index, found.parts[0].answer.index) == ("(cn=a)", index, index)


VALUES = st.lists(
    st.sampled_from(
        (
            *("filter=", "(cn=a)", "(&", "(!(", ")", "(", "[INDEX:", "[COUNT:", "[COUNT:1]", "[NOT-INDEXED]", "]", "["),
            *("[LIMIT-EXCEEDED:9]", " scope=sub", " final=", '"', "'", "\\", "cn.equality", "7", " hits:2", "-1"),
            *(" maxmatches:-1", " message:", "is disabled for", ":", "\n"),
        )
    )
    | st.text(max_size=3),
    max_size=14,
).map("".join)


@given(VALUES)
def test_any_value_is_read_or_refused(value: str) -> None:
    index = value.replace("[", "").replace("]", "")
    named = f"filter=(cn=a)[COUNT:1][INDEX:{index}] final=[COUNT:1]"
    for text in (value, f"filter={value}", f"filter=(cn=a){value} final=[COUNT:1]", named):
        explanation(text)
        filter_use(text)


@pytest.mark.parametrize(
    ("message", "outcome"),
    [
        ("substring index type is disabled for the displayName attribute", Outcome.NOT_INDEXED),
        ("The filter value exceeded the index entry limit for the /dc=com/cn.x index", Outcome.LIMIT_EXCEEDED),
        ("/dc=com/title.caseIgnoreMatch index is invalid and needs to be rebuilt", Outcome.NOT_BUILT),
        (
            "ds-mr-approx index type is disabled for the cn attributeThe filter value exceeded the index entry limit …",
            Outcome.NOT_INDEXED,
        ),
    ],
)
def test_reads_why_an_assertion_had_no_index(message: str, outcome: Outcome) -> None:
    found = filter_use(f"(cn=*joe*) hits:52 maxmatches:-1 message:{message}")
    assert found is not None
    assert (found.filter, found.hits, found.answer.outcome, found.message) == ("(cn=*joe*)", 52, outcome, message)


def test_reads_every_use_that_a_server_counted(captures: Path) -> None:
    content = (captures / "opendj" / "unbuilt-index" / "cn-monitor-userRoot.ldif").read_bytes()
    found = explained(content)
    assert len(found.uses) == content.count(b"\nfilter-use: ")
    uses = {one.filter: one for one in found.uses}
    assert (uses["(cn<=i)"].hits, uses["(cn<=i)"].answer.entries) == (1, 1515)
    assert uses["(displayName=*)"].answer.outcome is Outcome.LIMIT_EXCEEDED


def test_another_product_s_format_is_noted() -> None:
    facts = facts_of("dn: cn=debugsearch\ndebugsearchindex: 0.040 ms - Beginning index processing for search request\n")
    assert [fact for fact in facts if isinstance(fact, IndexExplanations)] == []


@given(st.text(alphabet="()&|!=*[]:abINDEXCOUT-9 ", max_size=200))
def test_nothing_breaks_it(text: str) -> None:
    for value in (text, f"filter={text} final=[COUNT:1]", f"({text}) hits:1 maxmatches:2 message:"):
        explanation(value)
        filter_use(value)


def test_a_long_value_costs_no_more_than_its_length() -> None:
    assert explanation("filter=" + "((" * 6000 + ")[COUNT:1]" * 200 + " final=") is None
