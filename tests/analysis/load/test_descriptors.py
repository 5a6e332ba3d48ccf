"""The limit of a server's descriptors: the lowest that holds, by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import facts
import histories
from ldapdiag.analysis.load.descriptors import Descriptors, count_descriptors
from ldapdiag.analysis.load.forecast import Problem
from ldapdiag.analysis.load.readings import recorded_readings
from ldapdiag.diagnosis import diagnose
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.history import History
from ldapdiag.evidence.host_facts import DescriptorCount, ProcessLimits
from ldapdiag.evidence.origin import Origin
from ldapdiag.sources.gathering import gather
from ldapdiag_checks.descriptor_headroom import judge as headroom
from traffic import Log

OLD = ServerIdentity(family=Family.DS389, version=(1, 3, 6))


def limited(identity: ServerIdentity = facts.DS389, process: int | None = None, **settings: Any) -> Descriptors:
    limits = ProcessLimits(origin=facts.origin(), open_files_soft=process, open_files_hard=process)
    configuration = Configuration(origin=facts.origin(name="cn-config.ldif"), identity=identity, **settings)
    monitor = facts.monitor(identity, connection_table_size=19936)
    server = facts.server(identity=identity, limits=limits, configuration=configuration, monitor=monitor)
    return count_descriptors(server, facts.host())


def test_the_lowest_holds() -> None:
    assert limited(process=20000, max_descriptors=8192).limit_source == "nsslapd-maxdescriptors"
    assert limited(process=4096, max_descriptors=8192).limit_source == "Max open files of the process"


@pytest.mark.parametrize(("complete", "limit"), [(True, 1024), (False, 20000)])
def test_a_whole_configuration_that_names_none_means_the_versions_default(*, complete: bool, limit: int) -> None:
    assert limited(OLD, process=20000, complete=complete).limit == limit


@pytest.mark.parametrize(("reserved", "limit"), [(None, 20000), (100, 20036)])
def test_else_it_is_the_connection_table_and_what_is_reserved(reserved: int | None, limit: int) -> None:
    assert limited(reserved_descriptors=reserved).limit == limit


OPENDJ = ServerIdentity(family=Family.OPENDJ, version=(4, 10, 1))


def counted(limit: int, **settings: Any) -> Descriptors:
    configuration = Configuration(origin=facts.origin(name="cn-config.ldif"), identity=OPENDJ, **settings)
    limits = ProcessLimits(origin=facts.origin(name="limits"), open_files_soft=limit, open_files_hard=limit)
    server = facts.server(identity=OPENDJ, configuration=configuration, limits=limits)
    return count_descriptors(server, facts.host())


@pytest.mark.parametrize(
    ("most", "limit", "source"),
    [
        (None, 20000, "Max open files of the process"),
        (0, 20000, "Max open files of the process"),
        (5000, 5000, "its configured maximum of connections"),
        (50000, 20000, "Max open files of the process"),
    ],
)
def test_a_limit_on_connections_counts_where_it_is_the_lower_one_and_0_is_none(most, limit, source) -> None:
    found = counted(20000, max_connections=most)
    assert (found.limit, found.limit_source) == (limit, source)
    assert found.counts_only_connections == (source == "its configured maximum of connections")


class TestWhatTheServerKeeps:
    """Measured with 389-ds 2.3.1: limits of 150, 200 and 250 serve 22, 72 and 122 connections."""

    @pytest.mark.parametrize(("limit", "served"), [(150, 22), (200, 72), (250, 122)])
    def test_389_subtracts_its_reserve_twice(self, limit: int, served: int) -> None:
        assert limited(max_descriptors=limit).served == served
        assert limited(max_descriptors=limit, reserved_descriptors=10).served == limit - 20

    def test_others_reserve_none(self) -> None:
        assert limited(facts.OPENLDAP, process=1024).served is None


class TestTheAccessLog:
    """Connections in an access log when descriptors were not counted."""

    @staticmethod
    def count(log: Log, limit: int = 200, **server: Any) -> Descriptors:
        limits = ProcessLimits(origin=facts.origin(), open_files_soft=limit, open_files_hard=limit)
        told = facts.server(identity=facts.OPENLDAP, limits=limits, **server)
        return count_descriptors(told, facts.host(), log.traffic())

    @staticmethod
    def gaining(hours: float, *, before: int = 10, gained: int = 20) -> Log:
        """Return a log that begins with connections open, and gains more."""
        log = Log(number=1000)
        for number in range(before):
            log.searches(number, 5)
        for _ in range(gained):
            log.opens()
        log.now = hours * 3600
        log.searches(0 if before else 1001, 6)
        return log

    def test_the_connections_open_at_its_end_are_a_lower_bound(self) -> None:
        found = self.count(self.gaining(0.1))
        assert (found.used, found.exact) == (30, False)
        assert found.used_source == "at least: the connections open where its access log ends"
        assert self.count(self.gaining(0.1), established=3).used == 3, "a table is of now"

    @staticmethod
    def leaking(hours: float, *, before: int = 100, an_hour: int = 10) -> Log:
        """Return a log in which connections are opened all the time, and never closed."""
        log = Log(number=1000)
        for number in range(before):
            log.searches(number, 5)
        for number in range(round(hours * an_hour)):
            log.opens(when=3600 * (number + 0.3 * (number % 3)) / an_hour + 1)
        return log

    def test_a_leak_is_forecast_with_its_source(self) -> None:
        found = self.count(self.leaking(48), limit=1000)
        assert found.forecast.source == "its access log"
        assert found.forecast.problem is Problem.LEAK
        assert found.earliest_hours_left < 42 < found.forecast.latest  # 420 left, and 10 an hour
        assert found.hours_left == pytest.approx(42, rel=0.1)

    def test_what_the_server_keeps_for_itself_is_no_room(self) -> None:
        reserving = facts.server(
            identity=facts.DS389,
            limits=ProcessLimits(origin=facts.origin(), open_files_soft=1000, open_files_hard=1000),
            descriptors=DescriptorCount(origin=facts.origin(), open=600),
            established=580,
            pids=frozenset({7}),
            owns_ports=True,
        )
        found = count_descriptors(reserving, facts.host(), self.leaking(48).traffic())
        assert (found.served, found.connections) == (872, 580)
        assert found.hours_left == pytest.approx(29.2, rel=0.1)

    def test_clients_that_come_at_once_are_no_growth(self) -> None:
        found = self.count(self.gaining(48.0, before=200, gained=480), limit=1000)
        assert found.hours_left is None
        assert found.forecast.not_because

    @pytest.mark.parametrize(("limit", "closed", "recovered"), [(30, 0, False), (30, 1, True), (31, 0, None)])
    def test_a_peak_at_the_limit_shows_exhaustion(self, limit: int, closed: int, recovered: bool | None) -> None:  # noqa: FBT001  a parameter
        log = self.gaining(2)
        for number in range(closed):
            log.closes(number)
        found = self.count(log, limit)
        if recovered is None:
            assert found.exhaustion_reports == ()
        else:
            assert found.exhaustion_reports == ("30 connections open at once in its access log, of 30 possible",)
            assert found.recovered is recovered

    def test_a_log_that_lost_lines_may_have_lost_closes(self) -> None:
        log = self.gaining(30)
        log.scan.lost(1)
        found = self.count(log, 30)
        assert (found.exhaustion_reports, found.used, found.forecast.source) == ((), None, "")

    def test_a_peak_above_the_limit_shows_nothing(self) -> None:
        assert self.count(self.gaining(2), 29).exhaustion_reports == ()


class TestConnections:
    """Descriptors in use where they were not counted, or where the count is another process's."""

    @staticmethod
    def count(rows: list[facts.Row], **server: Any) -> Descriptors:
        table = facts.table([facts.listening(receive_queue=40, send_queue=128), *rows])
        told = facts.server(identity=facts.OPENLDAP, established=len(rows), **server)
        return count_descriptors(told, facts.host("ldap", table))

    def test_those_that_wait_to_be_accepted_have_none(self) -> None:
        found = self.count(facts.at_server(50, receive_queue=14))
        assert (found.used, found.connections) == (10, 10)
        rows = [*facts.at_server(48, receive_queue=14, inode=7), *facts.at_server(2, inode=0)]
        assert self.count(rows).used == 48

    @pytest.mark.parametrize(("free", "over"), [(0, True), (1, True), (2, False)])
    def test_while_connections_wait_one_free_descriptor_is_none(self, free: int, *, over: bool) -> None:
        """Slapd with tcp wrappers needs a second one for each connection that it accepts."""
        used = DescriptorCount(origin=facts.origin(name="fds.txt"), open=60)
        limits = ProcessLimits(origin=facts.origin(name="limits"), open_files_soft=60 + free, open_files_hard=60 + free)
        found = self.count(facts.at_server(50), descriptors=used, limits=limits)
        assert (found.waiting, found.has_run_out, found.exhausted) == (40, over, over)
        assert replace(found, waiting=0).has_run_out is (free == 0)

    def test_a_count_below_them_is_of_another_process(self) -> None:
        fewer = DescriptorCount(origin=facts.origin(name="fds.txt"), open=9)
        found = self.count(facts.at_server(50), descriptors=fewer)
        assert (found.used, found.exact) == (10, False)
        assert found.misfit.startswith("9 open descriptors in ldap/fds.txt, and 10 connections on the ports of ldap")
        owned = self.count(facts.at_server(50), descriptors=fewer, pids=frozenset({7}))
        assert (owned.used, owned.exact, owned.misfit) == (9, True, ""), "the table is of another time"


class TestRecordedRuns:
    """Of a history; what a run of the connections of one minute counts is histories.run(minute)."""

    @staticmethod
    def growing(source: str = "socket table", hours: int = 72) -> History:
        runs = (
            histories.run(
                60 * hour, histories.server(60 * hour, connections=300 + 10 * hour, connections_source=source)
            )
            for hour in range(hours)
        )
        return History(origin=Origin(path="history.db"), runs=tuple(runs))

    def test_are_a_series_of_their_own(self) -> None:
        server = facts.server(
            identity=facts.OPENLDAP,
            limits=ProcessLimits(origin=facts.origin(), open_files_soft=2000, open_files_hard=2000),
            descriptors=DescriptorCount(origin=facts.origin(), open=1050),
            pids=frozenset({7}),
        )
        found = count_descriptors(server, facts.host(), histories=(self.growing(),))
        assert found.forecast.source == "the runs recorded in history.db"
        assert found.earliest_hours_left <= 95 <= found.forecast.latest
        assert found.hours_left == pytest.approx(95, rel=0.1)

    def test_of_another_server_only_are_named(self) -> None:
        found = count_descriptors(facts.server("ldap:389"), facts.host(), histories=(self.growing(),))
        assert found.forecast.remarks == ("without history.db (it has runs of ldap, and none of ldap:389)",)

    def test_that_counted_in_another_way_are_left_out(self) -> None:
        one, other = self.growing(), self.growing("cn=monitor", hours=20)
        mixed = replace(one, runs=tuple(sorted((*one.runs, *other.runs), key=lambda run: run.taken)))
        sources = {reading.open for reading in recorded_readings(mixed, "ldap", None)}
        assert len(sources) >= 52

    def test_reach_the_diagnosis(self, tmp_path) -> None:
        (tmp_path / "ldap").mkdir()
        (tmp_path / "ldap" / "proc-fd-count.txt").write_text("1050\n")
        (tmp_path / "ldap" / "ss.txt").write_text(
            "State  Recv-Q Send-Q Local Address:Port Peer Address:Port\n"
            "LISTEN 0      128    10.77.1.2:389      0.0.0.0:*\n"
        )
        made = diagnose(gather([str(tmp_path)]), (headroom,), earlier=self.growing())
        found = made.facts.of(Descriptors, "ldap")
        assert found.forecast.source == "the runs recorded in history.db"
