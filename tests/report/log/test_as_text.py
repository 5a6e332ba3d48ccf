"""The report of an access log for people: one screen, the slow searches first, right at every width."""

from __future__ import annotations

from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

import examples
from conversations import SECOND, Conversations, founding_story, read_log
from ldapdiag.evidence.bundle import Gap, PassedOver
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.log.connection import OperationResult
from ldapdiag.evidence.log.operation_kinds import SEARCH
from ldapdiag.evidence.log.scan import Scan
from ldapdiag.evidence.log.tables import Caps
from ldapdiag.report.log import as_json
from ldapdiag.report.log.as_text import LogScreen, print_log
from ldapdiag.report.log.sort import By, Sort
from ldapdiag.report.page import Page

WIDTHS = (40, 60, 80, 100, 120)


def shown(read, *, width=100, top=10, by=By.SHAPE, sort=Sort.TIME):
    stream = StringIO()
    LogScreen(Page(stream, width), as_json.document(read, sort), top, by, sort).show()
    return stream.getvalue().splitlines()


def story(**more):
    return read_log(founding_story().segment(), **more)


def text(read, **how):
    return "\n".join(shown(read, **how))


def ordinary():
    """Many filters, clients, accounts, ends: more than a screen shows."""
    talk = Conversations()
    codes = (b"U1", b"U1", b"B1", b"T1", b"B2", b"reset")
    for number in range(60):
        talk.open(number, b"10.0.0.%d" % (number % 20), b"uid=app%d,ou=services,dc=example,dc=com" % (number % 9))
        for attribute in range(number % 30):
            talk.search(number, b"(&(objectClass=person)(attribute%d=x))" % attribute, attribute * SECOND // 9, b"A")
        talk.bind(number, b"uid=stale%d,dc=example,dc=com" % number, err=49)
        talk.close(number, codes[number % 6])
    return read_log(talk.segment())


class TestTheFoundingStory:
    def test_is_the_first_row_of_the_first_table(self):
        lines = shown(story())
        assert lines[4] == "searches    103 in 90.1 s · 3 unindexed · A = fully unindexed (notes=A) · bars: search time"
        header, row, below = lines[5:8]
        assert header.split() == ["share", "time", "count", "worst", "filter,", "search", "time", "over", "the", "log"]
        assert row.split() == [
            "99",
            "%",
            "━" * 8,
            "90",
            "s",
            "3",
            "30",
            "s",
            "A",
            "(&(objectClass=person)(displayName=?*))",
        ]
        assert below.strip() == "sub ou=people,dc=example,dc=com · uid=quickr (10.10.1.168)"

    @pytest.mark.parametrize("width", WIDTHS)
    def test_names_attribute_client_and_account_at_every_width(self, width):
        output = "".join(line.strip() for line in shown(story(), width=width))
        for needed in ("displayName", "10.10.1.168", "uid=quickr"):
            assert needed in output

    def test_leads_by_client_when_asked(self):
        lines = shown(story(), by=By.CLIENT)
        assert lines[5].split() == ["share", "time", "searches", "connections", "client"]
        assert lines[6].split()[-1] == "10.10.1.168"
        assert not any(line.startswith("clients") for line in lines)

    def test_leads_by_account_when_asked(self):
        assert shown(story(), by=By.ACCOUNT)[6].endswith("uid=quickr,ou=services,dc=example,dc=com")

    @pytest.mark.parametrize(("sort", "first"), [(Sort.TIME, "10.0.0.1"), (Sort.COUNT, "10.0.0.2")])
    def test_leads_by_the_clients_with_the_largest_number(self, sort, first):
        talk = Conversations()
        for number, (count, took) in enumerate(((1, 5 * SECOND), (9, SECOND // 10)), 1):
            talk.open(number, b"10.0.0.%d" % number, b"")
            for _ in range(count):
                talk.search(number, b"(cn=x)", took)
        lines = shown(read_log(talk.segment()), by=By.CLIENT, sort=sort)
        assert lines[6].split()[-1] == first


class TestTooMany:
    def of_eight(self, **caps):
        talk = Conversations()
        talk.scan = Scan(caps=Caps(**caps))
        for number in range(1, 9):
            talk.open(number, b"10.0.0.%d" % number, b"uid=u%d" % number)
            talk.search(number, b"(cn=x)", number * SECOND)
            talk.close(number)
        return read_log(talk.segment())

    def test_to_list_is_no_unknown_client(self):
        assert "uid=u8 (10.0.0.8) 22 %, others not listed" in text(self.of_eight(attribution=3))
        nobody = text(self.of_eight(attribution=1))
        assert "too many clients and accounts to list" in nobody
        assert "unknown" not in nobody

    def test_clients_show_no_connections_that_are_counted_elsewhere(self):
        read = self.of_eight(clients=3)
        rows = [line.split() for line in shown(read, by=By.CLIENT)[6:13]]
        assert [row[-2:] for row in rows[:3]] == [["1", "10.0.0.8"], ["1", "10.0.0.7"], ["1", "10.0.0.6"]]
        assert [row[-4:] for row in rows[3:5]] == [["5", "s", "1", "10.0.0.5"], ["4", "s", "1", "10.0.0.4"]]
        assert "other, with the connections of each client that has no number here" in text(read, by=By.CLIENT)


class TestOneScreen:
    def test_holds_an_ordinary_log(self):
        assert len(shown(ordinary(), width=100)) <= 42

    @pytest.mark.parametrize("width", WIDTHS)
    @pytest.mark.parametrize("by", By)
    def test_is_never_wider_than_the_terminal(self, width, by):
        assert [line for line in shown(ordinary(), width=width, by=by) if cell_len(line) > width] == []

    @pytest.mark.parametrize("width", WIDTHS)
    def test_has_no_line_that_ends_in_blanks(self, width):
        assert [line for line in shown(ordinary(), width=width) if line != line.rstrip()] == []

    def test_shows_as_many_rows_as_asked_and_counts_the_rest(self):
        output = text(ordinary(), top=2)
        assert output.count("(&(objectClass=person)(attribute") == 2
        assert "and 27 more kinds of search" in output

    def test_goes_to_a_pipe_without_colour(self):
        stream = StringIO()
        print_log(as_json.document(story()), stream)
        assert "\x1b" not in stream.getvalue()
        assert "uid=quickr" in stream.getvalue()

    def test_has_the_longest_bar_for_the_costliest_and_none_for_nothing(self):
        talk = Conversations()
        talk.open(1)
        for filter_, etime in ((b"(a=1)", 8 * SECOND), (b"(b=1)", 2 * SECOND), (b"(c=1)", 0)):
            talk.search(1, filter_, etime)
        assert [line.count("━") for line in shown(read_log(talk.segment())) if "=?)" in line] == [8, 2, 0]


class TestOtherSections:
    def test_says_why_connections_ended_and_whose_they_were(self):
        output = shown(story())
        at = next(place for place, line in enumerate(output) if line.startswith("closes"))
        assert output[at] == "closes      2 U1: the client sent UNBIND"
        assert output[at + 1].strip() == (
            "1 B1: the client closed it without UNBIND, or sent data that is not LDAP (10.10.1.168)"
        )

    @pytest.mark.parametrize(
        ("clients", "whose"),
        [("aaa", " (a)"), ("aab", " (2 from a)"), ("abc", " (3 clients)"), ("abcd", " (4 clients)")],
    )
    def test_says_whose_the_ends_were_where_that_tells_something(self, clients, whose):
        talk = Conversations()
        for number, client in enumerate(clients):
            talk.open(number, client.encode())
            talk.close(number, b"T1")
        closes = f"closes      {len(clients)} T1: idle for longer than nsslapd-idletimeout{whose}"
        assert closes in shown(read_log(talk.segment()))

    def test_says_so_of_searches_whose_requests_are_not_in_the_log(self):
        talk = Conversations()
        talk.open(1)
        talk.scan.result(1, OperationResult(5, talk.now + 9 * SECOND, SEARCH, 0, SECOND))
        assert "requests not in the log" in text(read_log(talk.segment()))

    def test_names_the_product_and_its_version(self):
        talk = founding_story()
        talk.scan.header(b"ds1:389 (/etc/dirsrv/slapd-ds1)", b"389-Directory/2.3.1 B2025.016.1616")
        assert shown(read_log(talk.segment()))[0].startswith("389 Directory Server 2.3.1 · slapd-ds1/access · 1 line")
        talk = founding_story()
        talk.scan.header(b"", b"2.5.13+dfsg-5")
        first = shown(read_log(talk.segment(), Family.OPENLDAP))[0]
        assert first.startswith("OpenLDAP 2.5.13+dfsg-5 · ")

    def test_failed_binds_are_told(self):
        talk = founding_story()
        talk.open(9, b"10.9.9.9", b"")
        talk.bind(9, b"uid=cron,ou=services,dc=example,dc=com", err=49)
        talk.bind(9, b"uid=cron,ou=services,dc=example,dc=com", err=49)
        assert "binds       2 failed: 2 as uid=cron from 10.9.9.9 · 5 without TLS" in shown(read_log(talk.segment()))

    def test_waits_are_told_where_they_matter(self):
        talk = founding_story()
        talk.open(9)
        talk.search(9, etime=60 * SECOND, wait=40 * SECOND)
        assert "waits       26 % of the time was spent waiting for a worker thread; longest wait 40 s" in text(
            read_log(talk.segment())
        )
        assert "waits" not in text(story())

    def test_two_accounts_with_one_first_part_are_told_in_full(self):
        talk = Conversations()
        for number, account in enumerate((b"uid=app,ou=a,dc=x", b"uid=app,ou=b,dc=x")):
            talk.open(number, account=account)
            talk.search(number, etime=SECOND)
        assert "uid=app,ou=a,dc=x (10.10.1.168) 50 %, 1 more" in text(read_log(talk.segment()))

    def test_an_empty_period_is_named(self):
        output = text(read_log(Conversations().segment(), since=SECOND, until=86_400 * SECOND))
        assert "no records since 1970-01-01 00:00:01 until 1970-01-02 00:00:00 UTC" in output
        assert "searches    none" in output


class TestCaveats:
    def test_lines_not_understood_are_counted_with_the_first_of_them(self):
        talk = founding_story()
        talk.scan.misread(b"garbage \xff")
        assert "not read    1 of 1 lines not understood; first: garbage \\xff" in text(read_log(talk.segment()))

    def test_lost_lines_are_told(self):
        talk = founding_story()
        talk.scan.lost(1200)
        assert "lost        the log reports 1,200 lost lines" in text(read_log(talk.segment()))

    def test_a_cap_is_named(self):
        segment = founding_story().segment()
        segment.shapes.full = True
        assert "full        too many different filters: " in text(read_log(segment))

    def test_a_log_that_begins_in_mid_life_says_what_was_open(self):
        talk = founding_story()
        talk.operation[77] = 5
        talk.search(77)
        talk.close(77)
        assert "connections 1 open before the log begins · 3 opened · 4 closed" in text(read_log(talk.segment()))

    def test_a_clock_of_seconds_is_told(self):
        talk = Conversations()
        talk.scan.resolution(SECOND)
        talk.open(1, account=b"")
        talk.search(1, etime=0)
        assert "whole seconds" in text(read_log(talk.segment()))
        assert "whole seconds" not in text(story())

    def test_an_interrupted_reading_is_told(self):
        assert "stopped     reading was interrupted" in text(story(stopped=True))

    def test_what_tells_the_same_what_is_lacking_and_what_was_not_read_as_written_is_told(self):
        output = text(
            story(
                copies=tuple(PassedOver(target=f"copy{n}", reason="has the same records as access") for n in range(5)),
                gaps=(Gap(target="access.9", reason="cannot read it"),),
                notes=("access.8 is truncated",),
            )
        )
        assert "left out    copy0 has the same records as access" in output
        assert "and 3 more" in output
        assert "gaps        access.9: cannot read it" in output
        assert "remarks     access.8 is truncated" in output


HOSTILE = "\x1b]0;owned\x07[bold]\u202e\r\n"


@examples.every(12)
@given(st.text(max_size=200).map(str.encode), st.sampled_from(WIDTHS), st.sampled_from(By))
def test_nothing_a_client_sends_reaches_the_terminal_as_it_is(sent, width, by):
    sent += HOSTILE.encode()
    talk = Conversations()
    talk.open(1, account=b"uid=" + sent)
    talk.search(1, b"(cn=%b)" % sent, SECOND, sent, base=b"ou=" + sent)
    talk.search(1, b"(%b=x)" % sent, SECOND)
    talk.bind(1, sent, err=49)
    talk.close(1, sent)
    talk.scan.header(sent, sent)
    talk.scan.misread(sent)
    lines = shown(read_log(talk.segment()), width=width, by=by)
    assert not any(character in line for line in lines for character in "\x1b\x07\u202e\r")
    assert [line for line in lines if cell_len(line) > width] == []


class TestTheTotalOfAFilter:
    def tenants(self, many=40, took=SECOND):
        talk = Conversations()
        talk.open(1, b"10.0.0.1", b"cn=app")
        for tenant in range(many):
            talk.search(1, b"(description=x)", took, b"A", base=b"ou=\x1b[31mt%d,dc=example" % tenant)
        talk.search(1, b"(uid=x)", SECOND)
        return read_log(talk.segment())

    def test_is_below_the_rows_where_no_base_has_most_of_the_time(self):
        said = text(self.tenants())
        assert "(description=?) below 40 bases together: 40 searches, 40 s, 98 %" in said
        assert "\x1b" not in said

    def test_is_not_printed_where_one_row_has_most_of_it(self):
        assert "together" not in text(self.tenants(1))
        assert "together" not in text(story())
