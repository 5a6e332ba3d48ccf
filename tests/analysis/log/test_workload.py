"""Workload: what is combined, how it is ranked, and to which client and account it is attributed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations import PEOPLE, SECOND, Conversations, founding_story
from ldapdiag.analysis.log.searches import is_unindexed
from ldapdiag.analysis.log.spellings import SpellingCounts, caseless, folded_dn
from ldapdiag.analysis.log.workload import Workload
from ldapdiag.evidence.family import Family
from ldapdiag.servers.close_reasons import CloseKind


def worked(talk):
    return Workload(talk.segment(), Family.DS389)


def test_the_slow_search_of_one_application_comes_first_with_its_requester():
    first, *_ = (work := worked(founding_story())).searches
    assert (first.shape, first.base, first.scope) == (
        "(&(objectClass=person)(displayName=?*))",
        PEOPLE.decode(),
        "sub",
    )
    assert (first.count, first.etime, first.notes, first.unindexed) == (3, 90 * SECOND, {"A": 3}, 3)
    assert (first.slowest.etime, first.slowest.connection, first.slowest.operation) == (30 * SECOND, 1, 1)
    assert first.slowest.subject == "(&(objectClass=person)(displayName=joe*))"
    (asker,) = first.requesters
    assert (asker.client, asker.account) == ("10.10.1.168", "uid=quickr,ou=services,dc=example,dc=com")
    assert first.share > 0.99
    assert work.unindexed == 3


class TestWhatIsOne:
    def test_filters_that_differ_in_the_case_of_names_are_one_in_the_commonest_spelling(self):
        talk = Conversations()
        talk.open(1)
        for filter_ in (b"(displayname=a)", b"(displayName=b)", b"(displayName=c)", b"(DISPLAYNAME=d)"):
            talk.search(1, filter_)
        (search,) = worked(talk).searches
        assert (search.shape, search.count, search.requesters[0].count) == ("(displayName=?)", 4, 4)

    def test_of_equally_common_spellings_the_smallest_is_shown(self):
        talk = Conversations()
        talk.open(1)
        for filter_ in (b"(Cn=a)", b"(cn=b)", b"(CN=c)"):
            talk.search(1, filter_)
        assert [search.shape for search in worked(talk).searches] == ["(CN=?)"]

    def test_bases_that_differ_in_case_and_blanks_are_one(self):
        talk = Conversations()
        talk.open(1)
        for base in (b"OU=People, DC=example , DC=com", PEOPLE, PEOPLE):
            talk.search(1, base=base)
        assert [(search.base, search.count) for search in worked(talk).searches] == [(PEOPLE.decode(), 3)]

    def test_scopes_are_not_one(self):
        talk = Conversations()
        talk.open(1)
        for scope in (0, 1, 2, 3):
            talk.search(1, scope=scope)
        assert {search.scope for search in worked(talk).searches} == {"base", "one", "sub", "subordinate"}

    def test_accounts_are_spelled_the_same_everywhere(self):
        talk = Conversations()
        for number, account in enumerate((b"UID=Joe,dc=x", b"uid=joe,dc=x", b"uid=joe, dc=x", b"uid=joe,dc=x")):
            talk.open(number, account=account)
            talk.search(number)
            talk.bind(number, account.upper(), err=49)
        work = worked(talk)
        (failed,) = work.failed_binds
        assert failed.dn == work.searches[0].requesters[0].account
        assert {one.name for one in work.account_totals} == {failed.dn, "anonymous"}

    @given(st.binary(max_size=60))
    def test_anything_has_a_fold_and_folding_it_again_changes_nothing(self, name):
        assert folded_dn(folded_dn(name)) == folded_dn(name)
        assert caseless(name) == caseless(caseless(name))

    def test_an_escaped_comma_parts_nothing(self):
        assert folded_dn(rb"cn=a\, b,dc=x") != folded_dn(rb"cn=a\,b,dc=x")
        assert folded_dn(b'cn="a , b",dc=x') != folded_dn(b'cn="a,b",dc=x')

    @given(st.lists(st.tuples(st.sampled_from([b"a", b"A", b"aA", b"AA", b"b"]), st.integers(0, 9)), min_size=1))
    def test_the_order_in_which_names_are_counted_does_not_matter(self, seen):
        there, back = SpellingCounts(caseless), SpellingCounts(caseless)
        for name, count in seen:
            there.add(name, count)
        for name, count in reversed(seen):
            back.add(name, count)
        assert [there.respelled(name) for name, _ in seen] == [back.respelled(name) for name, _ in seen]


class TestWho:
    def test_unknown_requesters_are_named_unknown(self):
        talk = Conversations()
        talk.open(1, account=b"")
        talk.search(1)
        talk.operation[7] = 3
        talk.search(7)
        told = {(asker.client, asker.account) for asker in worked(talk).searches[0].requesters}
        assert told == {("10.10.1.168", "anonymous"), ("unknown", "unknown")}

    def test_has_all_of_the_time(self):
        work = worked(founding_story())
        for askers in (work.client_totals, work.account_totals):
            assert sum(one.etime for one in askers) == work.search_etime
        assert [one.name for one in work.client_totals] == ["10.10.1.168", "10.10.1.169", "10.10.1.170"]
        assert [(one.name.partition(",")[0], one.connections) for one in work.account_totals] == [
            ("uid=quickr", 1),
            ("uid=hr-sync", 2),
        ]

    def test_a_name_that_is_no_utf8_is_shown_escaped(self):
        talk = Conversations()
        talk.open(1, account=b"cn=J\xf6rg")
        talk.search(1)
        assert worked(talk).searches[0].requesters[0].account == "cn=J\\xf6rg"


class TestUnindexed:
    @pytest.mark.parametrize(("notes", "told"), [("A", True), ("U", True), ("P,A", True), ("unindexed", True)])
    def test_is_what_the_server_notes(self, notes, told):
        assert is_unindexed(notes) is told

    @pytest.mark.parametrize("notes", ["", "P", "F", "N", "M", "AUTH"])
    def test_is_no_other_note(self, notes):
        assert not is_unindexed(notes)

    def test_later_pages_are_no_searches_of_their_own(self):
        talk = Conversations()
        talk.open(1)
        for notes in (b"P,A", b"U,P", b"U,P"):
            talk.search(1, notes=notes)
        assert worked(talk).unindexed == 1

    def test_a_partly_indexed_one_in_pages_is(self):
        talk = Conversations()
        talk.open(1)
        talk.search(1, notes=b"U,P")
        assert worked(talk).unindexed == 1


class TestCloses:
    def test_have_their_meaning_and_whose_they_are(self):
        talk = Conversations()
        for number, client in enumerate((b"a", b"b", b"b")):
            talk.open(number, client)
            talk.close(number, b"B1")
        (closes,) = worked(talk).closes
        assert (closes.code, closes.count, closes.clients) == ("B1", 3, {"b": 2, "a": 1})
        assert closes.meaning.kind is CloseKind.CLIENT_GONE

    def test_of_several_products_have_the_meaning_that_all_of_them_give(self):
        kinds = {one.code: one.meaning.kind for one in Workload(founding_story().segment()).closes}
        assert kinds == {"U1": CloseKind.CLEAN, "B1": CloseKind.CLIENT_GONE}
