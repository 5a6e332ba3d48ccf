"""close-wait-backlog: found at either end, clear, not judged; severities by the numbers of its manual page."""

from __future__ import annotations

from dataclasses import replace

import pytest

import facts
from ldapdiag.evidence.sockets import TcpState
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity
from ldapdiag_checks.close_wait_backlog import judge

CLOSE_WAIT = TcpState.CLOSE_WAIT
STANDING = {"last_acknowledged": 2000}


def judged(*rows, name="ldap", **traits):
    """Judge a site whose server is known by its configuration alone, unless the host is the server."""
    host = facts.host(name, facts.table(rows, name, **traits))
    ldap = () if name == "ldap" else (replace(facts.host("ldap", facts.table(facts.at_server(1))), snapshots=()),)
    return list(judge((host, *ldap), (facts.server(),)))


def waiting(count, client=facts.APP1, **columns):
    return facts.at_server(count, client, first=50000, state=CLOSE_WAIT, **STANDING | columns)


class TestAtTheServer:
    def test_names_the_client_and_the_numbers(self) -> None:
        (found,) = judged(*waiting(12, owner="ns-slapd"))
        assert isinstance(found, Finding)
        assert found.observed == {
            "host": "ldap",
            "end": "server",
            "peer": facts.APP1,
            "connections": 12,
            "owner": "ns-slapd",
        }
        assert found.server == "ldap"
        assert found.title == "ns-slapd on ldap keeps 12 connections that 10.77.2.2 closed"

    def test_has_no_owner_where_the_table_shows_none(self) -> None:
        (found,) = judged(*waiting(12))
        assert found.observed["owner"] is None

    @pytest.mark.parametrize(
        ("closed", "severity"),
        [(9, Severity.INFO), (10, Severity.MEDIUM), (99, Severity.MEDIUM), (100, Severity.HIGH)],
    )
    def test_severity_by_number(self, closed, severity) -> None:
        found, clear = judged(*waiting(closed), *facts.at_server(2000, facts.APP2))
        assert found.severity is severity
        assert isinstance(clear, Clear)

    @pytest.mark.parametrize(
        ("closed", "living", "severity"),
        [
            (9, 81, Severity.LOW),
            (9, 82, Severity.INFO),
            (10, 90, Severity.HIGH),
            (10, 91, Severity.MEDIUM),
            (100, 900, Severity.CRITICAL),
            (100, 901, Severity.HIGH),
        ],
    )
    def test_one_step_worse_from_a_tenth_of_its_connections(self, closed, living, severity) -> None:
        found, _ = judged(*waiting(closed), *facts.at_server(living, facts.APP2))
        assert found.severity is severity

    def test_takes_clients_together_that_have_few_each(self) -> None:
        (found,) = judged(*(row for host in range(1, 31) for row in waiting(4, f"10.9.0.{host}")))
        assert (found.observed["peer"], found.observed["connections"]) == (None, 120)
        assert found.severity is Severity.CRITICAL

    def test_leaves_few_clients_with_few_each_alone(self) -> None:
        found = judged(*waiting(4, "10.9.0.1"), *waiting(5, "10.9.0.2"))
        assert [one.observed["peer"] for one in found] == ["10.9.0.1", "10.9.0.2"]

    def test_tells_those_it_never_accepted(self) -> None:
        (found,) = judged(*waiting(12, inode=0))
        assert "accept-queue-overflow" in found.detail


class TestAtTheClient:
    def test_names_the_server_and_the_program(self) -> None:
        (found,) = judged(*facts.at_client(10, state=CLOSE_WAIT, **STANDING, owner="java"), name="app1")
        assert found.observed == {
            "host": "app1",
            "end": "client",
            "peer": "10.77.1.2:389",
            "connections": 10,
            "owner": "java",
        }
        assert found.server == "ldap"

    def test_is_not_worse_for_being_all_of_its_connections(self) -> None:
        (found,) = judged(*facts.at_client(10, state=CLOSE_WAIT, **STANDING), name="app1")
        assert found.severity is Severity.MEDIUM

    def test_finds_those_to_a_known_server_on_another_port(self) -> None:
        rows = [
            facts.row(f"{facts.APP1}:{port}", f"{facts.LDAP}:13390", CLOSE_WAIT, **STANDING)
            for port in range(40000, 40010)
        ]
        app, ldap = facts.host("app1", facts.table(rows, "app1")), facts.host("ldap", facts.table(facts.at_server(1)))
        known = facts.server(ports=frozenset({13390}))
        (found,) = (one for one in judge((app, ldap), (known,)) if isinstance(one, Finding))
        assert found.observed["peer"] == "10.77.1.2:13390"

    def test_passes_over_what_is_not_ldap(self) -> None:
        (clear,) = judged(facts.row(f"{facts.APP1}:40000", "10.9.9.9:443", CLOSE_WAIT), name="app1")
        assert isinstance(clear, Clear)
        assert clear.subject == "app1"


class TestBothEndsOnOneHost:
    def test_counts_each_socket_at_its_own_end(self) -> None:
        server_end = [
            facts.row("127.0.0.1:389", f"127.0.0.1:{port}", CLOSE_WAIT, **STANDING) for port in range(40000, 40012)
        ]
        client_end = [
            facts.row(f"127.0.0.1:{port}", "127.0.0.1:389", CLOSE_WAIT, **STANDING) for port in range(41000, 41011)
        ]
        found = judged(*server_end, *client_end)
        assert sorted((one.observed["end"], one.observed["connections"]) for one in found) == [
            ("client", 11),
            ("server", 12),
        ]


class TestWithoutAFinding:
    def test_is_clear_for_each_peer(self) -> None:
        clear = judged(*facts.at_server(5), *facts.at_server(3, facts.APP2))
        assert [(type(one), one.subject) for one in clear] == [
            (Clear, "10.77.2.2 -> ldap"),
            (Clear, "10.77.3.2 -> ldap"),
        ]

    def test_is_not_judged_without_a_table(self) -> None:
        (verdict,) = judge((facts.host("fw"),), ())
        assert isinstance(verdict, NotJudged)
        assert verdict.missing == ("socket-table",)
        assert verdict.how

    @pytest.mark.parametrize(
        ("rows", "traits"),
        [
            ([facts.listening()], {}),
            (facts.at_server(5), {"has_header": False}),
            (facts.at_server(5), {"shows_all_programs": False}),
            (facts.at_server(5, state=TcpState.UNKNOWN), {}),
        ],
        ids=["listeners", "selection", "one program", "no states"],
    )
    def test_is_not_judged_by_a_table_that_may_lack_rows(self, rows, traits) -> None:
        verdicts = judged(*rows, **traits)
        assert [type(one) for one in verdicts] == [NotJudged]
        assert verdicts[0].how

    def test_a_selection_can_still_be_found_guilty(self) -> None:
        (found,) = judged(*waiting(10), has_header=False)
        assert isinstance(found, Finding)


class TestAtAProxy:
    PROXY = replace(facts.server("lb"), proxy="haproxy")

    def found(self, rows):
        host = facts.host("lb", facts.table(rows, "lb"))
        (found,) = judge((host,), (self.PROXY,))
        return found

    def test_it_waits_for_its_server(self) -> None:
        found = self.found(waiting(12, owner="haproxy"))
        assert found.title == "haproxy on lb keeps 12 connections that 10.77.2.2 closed, until its server does"
        assert found.severity is Severity.MEDIUM

    def test_it_waits_for_its_clients(self) -> None:
        found = self.found(facts.at_client(12, "10.77.5.1", state=CLOSE_WAIT, **STANDING))
        assert found.title == "The proxy on lb keeps 12 connections that 10.77.1.2:389 closed, until its client does"
        assert "proxy-held-connections" in found.detail


class TestWhatStandsIsSeenToStand:
    """Each connection is in CLOSE-WAIT for a moment: one snapshot of many short ones shows some of them."""

    def at(self, *tables, rows=12, **columns):
        """Judge snapshots of the server: each is the time, the first port, and more columns of its sockets."""
        made = [
            facts.table(
                [
                    *facts.at_server(rows, first=first, state=CLOSE_WAIT, **columns | more),
                    *facts.at_server(80, facts.APP2),
                ],
                taken=taken,
            )
            for taken, first, more in tables
        ]
        verdicts = list(judge((facts.host("ldap", *made),), (facts.server(),)))
        return next(one for one in verdicts if one.subject.startswith(facts.APP1))

    def test_one_table_without_ages_is_not_judged_and_names_what_to_collect(self) -> None:
        verdict = self.at((0, 50000, {}))
        assert isinstance(verdict, NotJudged)
        assert "12 sockets in CLOSE-WAIT in one snapshot without ages" in verdict.reason
        assert "ss -tanoiep" in verdict.how

    def test_fewer_than_ten_without_ages_are_clear(self) -> None:
        assert isinstance(self.at((0, 50000, {}), rows=9), Clear)

    def test_several_clients_of_unknown_age_are_not_judged_together(self) -> None:
        rows = [row for host in range(1, 31) for row in waiting(4, f"10.9.0.{host}", last_acknowledged=None)]
        rows = [replace(row, columns={}) for row in rows]
        (verdict,) = judged(*rows)
        assert isinstance(verdict, NotJudged)
        assert verdict.subject == "several clients -> ldap"

    @pytest.mark.parametrize(("age", "outcome"), [(1999, Clear), (2000, Finding)])
    def test_the_time_since_the_last_segment_shows_it(self, age, outcome) -> None:
        assert isinstance(self.at((0, 50000, {"last_acknowledged": age})), outcome)

    @pytest.mark.parametrize(("seconds", "outcome"), [(1, NotJudged), (2, Finding), (3600, Finding)])
    def test_so_does_an_earlier_snapshot_with_the_same_sockets(self, seconds, outcome) -> None:
        verdict = self.at((0, 50000, {}), (seconds, 50000, {}))
        assert isinstance(verdict, outcome)
        assert outcome is NotJudged or verdict.confidence is Confidence.LIKELY

    @pytest.mark.parametrize(("seconds", "outcome"), [(2, Clear), (3600, NotJudged)])
    def test_other_sockets_before_are_churn_but_not_after_an_hour(self, seconds, outcome) -> None:
        assert isinstance(self.at((0, 50000, {}), (seconds, 51000, {})), outcome)

    @pytest.mark.parametrize("column", ["cookie", "inode"])
    def test_a_port_that_was_used_again_is_another_socket(self, column) -> None:
        assert isinstance(self.at((0, 50000, {column: 1}), (4, 50000, {column: 2})), Clear)
        found = self.at((0, 50000, {column: 1}), (4, 50000, {column: 1}))
        assert (found.confidence, found.observed["connections"]) == (Confidence.CERTAIN, 12)

    def test_those_that_stand_count_beside_those_that_pass(self) -> None:
        rows = [*waiting(11), *facts.at_server(30, first=51000, state=CLOSE_WAIT, last_acknowledged=3)]
        (found,) = judged(*rows)
        assert found.observed["connections"] == 11
