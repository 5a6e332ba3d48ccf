"""keepalive-too-slow: the first probe held against what the box on the path remembers."""

from __future__ import annotations

import pytest

import facts
from ldapdiag.analysis.idle.bounds import IdleBounds, PathBounds
from ldapdiag.finding import Clear, Finding, NotJudged, Severity
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
