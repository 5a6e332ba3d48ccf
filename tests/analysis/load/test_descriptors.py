"""The limit of a server's descriptors: the lowest that holds, by name."""

from __future__ import annotations

from typing import Any

import pytest

import facts
from ldapdiag.analysis.load.descriptors import Descriptors, count_descriptors
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.host_facts import DescriptorCount, ProcessLimits
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

    @pytest.mark.parametrize(("hours", "rate"), [(48.0, 10.0), (24.0, 20.0), (23.9, None), (1.0, None)])
    def test_growth_over_a_day_and_more_is_a_rate(self, hours: float, rate: float | None) -> None:
        found = self.count(self.gaining(hours, before=200, gained=480))
        assert found.rate_per_hour == pytest.approx(rate)
        assert found.rate_source == ("over its access log" if rate else "")

    def test_a_server_that_started_within_the_log_has_no_rate(self) -> None:
        assert self.count(self.gaining(30, before=0)).rate_per_hour is None
        assert self.count(self.gaining(30, before=6)).rate_per_hour is None
        assert self.count(self.gaining(30, before=7)).rate_per_hour is not None
        log = self.gaining(30)
        log.number = 0
        log.opens(when=30.1 * 3600)
        assert self.count(log).rate_per_hour is None

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
        assert (found.exhaustion_reports, found.used, found.rate_per_hour) == ((), None, None)

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

    def test_a_count_below_them_is_of_another_process(self) -> None:
        fewer = DescriptorCount(origin=facts.origin(name="fds.txt"), open=9)
        found = self.count(facts.at_server(50), descriptors=fewer)
        assert (found.used, found.exact) == (10, False)
        assert found.misfit.startswith("9 open descriptors in ldap/fds.txt, and 10 connections on the ports of ldap")
        owned = self.count(facts.at_server(50), descriptors=fewer, pids=frozenset({7}))
        assert (owned.used, owned.exact, owned.misfit) == (9, True, ""), "the table is of another time"
