"""keepalive-too-slow: the first probe held against what the box on the path remembers."""

from __future__ import annotations

from dataclasses import replace

import pytest

import facts
from ldapdiag.analysis.idle.bounds import IdleBounds, PathBounds
from ldapdiag.analysis.idle.box_timeouts import MiddleboxTimeout
from ldapdiag.evidence.host_facts import KernelSettings
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity
from ldapdiag.servers.hosts.kernel import KEEPALIVE_TIME
from ldapdiag_checks.keepalive_too_slow import judge


def judged(seconds, upper=60, *, keepalive=True):
    lifetime = facts.lifetime(keepalive=keepalive, keepalive_seconds=seconds)
    (verdict,) = judge(lifetime, facts.bounds(upper), facts.server())
    return verdict


@pytest.mark.parametrize(("seconds", "severity"), [(31, Severity.LOW), (59, Severity.LOW), (60, Severity.MEDIUM)])
def test_severity_by_how_late_the_probe_is(seconds, severity) -> None:
    found = judged(seconds)
    assert isinstance(found, Finding)
    assert found.severity is severity
    assert found.observed == {
        "host": "ldap",
        "end": "server",
        "keepalive_seconds": seconds,
        "box_upper_seconds": 60,
        "clients": [],
    }


@pytest.mark.parametrize(("upper", "severity"), [(3600, Severity.LOW), (432_000, Severity.INFO)])
def test_a_setting_that_was_not_seen_to_drop_anything_is_low_at_most(upper, severity) -> None:
    (path,) = facts.bounds(upper).paths
    bounds = IdleBounds(server="ldap", paths=(replace(path, drop_seen=False),))
    (found,) = judge(facts.lifetime(), bounds, facts.server())
    assert (found.severity, found.confidence) == (severity, Confidence.LIKELY)
    assert "set to drop" in found.title


def test_idle_times_of_ghosts_are_an_upper_bound_only() -> None:
    """They were dropped at some time before: earlier probes than that may still be too late."""
    (path,) = facts.bounds(900).paths
    loose = replace(path, middlebox=None, lower_seconds=None, loose=True, drop_seen=False)
    (late,) = judge(facts.lifetime(keepalive_seconds=3600), IdleBounds(server="ldap", paths=(loose,)), facts.server())
    assert late.title.endswith("the middlebox drops its state after at most 900 s")
    assert "No connection was seen" not in late.detail
    for lower, verdict in ((None, NotJudged), (500.0, NotJudged), (700.0, Clear)):
        bounds = IdleBounds(server="ldap", paths=(replace(loose, lower_seconds=lower),))
        (found,) = judge(facts.lifetime(keepalive_seconds=300), bounds, facts.server())
        assert isinstance(found, verdict)


def test_a_setting_that_does_not_explain_the_ghosts_clears_no_keepalive_time() -> None:
    (path,) = facts.bounds(3600).paths
    bounds = IdleBounds(server="ldap", paths=(replace(path, lower_seconds=None, explains_ghosts=False),))
    (found,) = judge(facts.lifetime(keepalive_seconds=300), bounds, facts.server())
    assert isinstance(found, NotJudged)


def test_a_path_that_was_seen_to_drop_is_judged_before_a_shorter_setting() -> None:
    (path,) = facts.bounds(300).paths
    unseen = replace(path, client_network="10.77.3.0/24", upper_seconds=60, drop_seen=False)
    (found,) = judge(facts.lifetime(), IdleBounds(server="ldap", paths=(unseen, path)), facts.server())
    assert (found.severity, found.confidence) == (Severity.MEDIUM, Confidence.CERTAIN)
    assert found.observed["box_upper_seconds"] == 300


def test_without_a_middlebox_on_any_path_it_is_clear() -> None:
    (verdict,) = judge(facts.lifetime(), IdleBounds(server="ldap", paths=(), direct=True), facts.server())
    assert isinstance(verdict, Clear)


def test_settings_of_other_boxes_are_named_and_not_used() -> None:
    other = MiddleboxTimeout(
        middlebox="fw2", lower_seconds=3, upper_seconds=3, source="a timeout of fw2", directions=frozenset()
    )
    bounds = IdleBounds(server="ldap", paths=(), elsewhere=(other,))
    (verdict,) = judge(facts.lifetime(), bounds, facts.server())
    assert isinstance(verdict, NotJudged)
    assert "a timeout of fw2 (3 s)" in verdict.reason


def test_keepalive_that_is_off_is_medium() -> None:
    assert judged(None, keepalive=False).severity is Severity.MEDIUM


def test_a_probe_at_half_time_is_clear() -> None:
    assert isinstance(judged(30), Clear)


def test_an_unknown_box_is_not_judged() -> None:
    verdict = judged(300, None)
    assert isinstance(verdict, NotJudged)
    assert verdict.how


def test_a_proxy_closes_both_ends_whatever_probes_do() -> None:
    path = PathBounds(
        client_network="10.77.5.0/24",
        lower_seconds=60,
        upper_seconds=60,
        source="haproxy",
        middlebox="lb",
        shortest_setting=60,
        closes_both_ends=True,
    )
    (verdict,) = judge(facts.lifetime(), IdleBounds(server="ldap", paths=(path,)), facts.server())
    assert isinstance(verdict, NotJudged)
    assert "lb is set to close both ends after 60 s" in verdict.reason


def test_an_unknown_keepalive_is_not_judged() -> None:
    verdict = judged(None, keepalive=None)
    assert (type(verdict), verdict.missing) == (NotJudged, ("configuration",))


def with_clients(*directions, kernels=(), upper=60):
    """Return the verdict on a server whose probes come after 7200 s, with these clients on the path."""
    lifetime = facts.lifetime(keepalive=True, keepalive_seconds=7200)
    (verdict,) = judge(lifetime, facts.bounds(upper), facts.server(), facts.pairing(*directions), kernels)
    return verdict


IN_TIME = {"server_count": 2, "matched": 2, "idle_seconds": (10.0, 900.0), "all_probed": 29.0}


def test_probes_of_the_clients_are_enough() -> None:
    assert isinstance(with_clients(facts.direction(**IN_TIME)), Clear)


@pytest.mark.parametrize(
    "different",
    [
        {"idle_seconds": (10.0, 30.0)},  # no connection was idle for long enough to show it
        {"all_probed": 31.0},  # later than half of the timeout
        {"all_probed": None, "probed": 20.0},  # some sockets send none, or it is not shown
        {"server_count": 3, "ghosts": 1},  # one connection is not live
    ],
)
def test_what_does_not_show_probes_of_the_clients_in_time_clears_nothing(different) -> None:
    found = with_clients(facts.direction(**IN_TIME | different))
    assert isinstance(found, Finding)
    assert found.observed["clients"] == [{"client": "app1", "kernel_seconds": None, "in_time": False}]
    assert "app1 was not seen to send probes in time." in found.detail


def test_one_client_that_sends_none_is_enough_for_a_finding() -> None:
    late = facts.direction("10.77.2.3", client_hosts=("app9",), server_count=1, matched=1, idle_seconds=(900.0,))
    found = with_clients(facts.direction(**IN_TIME), late)
    assert isinstance(found, Finding)
    assert "At the other end, app9 was not seen to send probes in time; app1 sends probes in time." in found.detail


def test_the_kernels_time_is_shown_and_clears_nothing() -> None:
    """The application may set a time of its own."""
    kernel = KernelSettings(origin=facts.origin("app1"), values={KEEPALIVE_TIME: "20"})
    found = with_clients(facts.direction(server_count=1, matched=1), kernels=(kernel,))
    assert isinstance(found, Finding)
    assert found.observed["clients"] == [{"client": "app1", "kernel_seconds": 20, "in_time": False}]
    assert "(its kernel's time is 20 s)" in found.detail
