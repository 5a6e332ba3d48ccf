"""Traffic: all access logs of a server combined, none of them changed."""

from __future__ import annotations

import pytest

import facts
from ldapdiag.analysis.log.traffic import Traffic, combine_logs
from ldapdiag.evidence.bundle import Missing
from ldapdiag.evidence.family import Family
from traffic import SECOND, Log


def visited(count: int, *, when: float = 0.0) -> Log:
    log = Log(now=when)
    log.visits(count)
    return log


def added(*logs: Log, families: tuple[Family, ...] = ()) -> Traffic:
    told = families or (Family.DS389,) * len(logs)
    read = tuple(log.fact(family=family) for log, family in zip(logs, told, strict=True))
    traffic = combine_logs(facts.server(access_logs=read))
    assert isinstance(traffic, Traffic)
    return traffic


def test_several_logs_of_a_server_are_one_and_stay_as_they_are() -> None:
    one, other = visited(3).fact(), visited(5, when=100).fact()
    for _ in range(2):
        traffic = combine_logs(facts.server(access_logs=(one, other)))
        assert isinstance(traffic, Traffic)
        assert (traffic.segment.opened, one.segment.opened, other.segment.opened) == (8, 3, 5)
        assert traffic.segment.clients[facts.APP1.encode()].opened == 8
        assert one.segment.clients[facts.APP1.encode()].opened == 3
        assert traffic.seconds == 104.001
        assert traffic.origins == ("ldap/access", "ldap/access")


def test_close_codes_are_of_one_product_or_of_none() -> None:
    assert added(visited(1)).workload.family is Family.DS389
    assert added(visited(1), visited(1), families=(Family.DS389, Family.OPENLDAP)).workload.family is None


def test_without_a_log_the_report_shows_how_to_get_one() -> None:
    missing = combine_logs(facts.server())
    assert isinstance(missing, Missing)
    assert missing.lacks == ("access-log",)
    assert "/var/log/dirsrv" in (missing.how or "")


def test_an_empty_log_has_no_span() -> None:
    assert added(Log()).seconds == 0


def test_waits_are_counted_from_an_edge_on() -> None:
    log = Log()
    number = log.opens()
    for op, wait in enumerate((0, 0.09, 0.13, 0.2, 40)):
        log.searches(number, op, wait=wait)
    traffic = log.traffic()
    assert (traffic.timed_waits, traffic.waited_at_least(10**8)) == (5, 3)


@pytest.mark.parametrize(("resolution", "longest"), [(1, 30), (SECOND, 29)])
def test_idle_times_by_a_clock_of_whole_seconds_may_be_a_second_shorter(resolution: int, longest: int) -> None:
    log = Log()
    log.scan.resolution(resolution)
    number = log.opens()
    log.searches(number, 0, took=0)
    log.now += 30
    log.searches(number, 1, took=0)
    assert log.traffic().longest_idle_seconds() == {facts.APP1: longest}
