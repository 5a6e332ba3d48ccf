"""keepalive-too-slow: the first probe held against what the box on the path remembers."""

from __future__ import annotations

from dataclasses import replace

import pytest

import facts
from ldapdiag.analysis.idle.bounds import IdleBounds, PathBounds
from ldapdiag.analysis.idle.box_timeouts import MiddleboxTimeout
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity
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
        closes_both_ends=True,
    )
    (verdict,) = judge(facts.lifetime(), IdleBounds(server="ldap", paths=(path,)), facts.server())
    assert isinstance(verdict, NotJudged)
    assert "lb closes both ends after 60 s" in verdict.reason


def test_an_unknown_keepalive_is_not_judged() -> None:
    verdict = judged(None, keepalive=None)
    assert (type(verdict), verdict.missing) == (NotJudged, ("configuration",))
