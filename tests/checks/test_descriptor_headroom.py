"""descriptor-headroom: shares, growth and witnesses, each at the boundary of its severity."""

from __future__ import annotations

import pytest

import facts
from ldapdiag.diagnosis import diagnose
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity
from ldapdiag.sources.gathering import gather
from ldapdiag_checks.descriptor_headroom import judge

WITNESSES = ("accepted and closed at once: no descriptor left (15 times)",)


def judged(used=100, limit=1000, *, server=None, **more):
    (verdict,) = judge(facts.descriptors(used, limit, **more), server or facts.server())
    return verdict


@pytest.mark.parametrize(
    ("used", "severity"),
    [
        (600, Severity.MEDIUM),
        (799, Severity.MEDIUM),
        (800, Severity.HIGH),
        (949, Severity.HIGH),
        (950, Severity.CRITICAL),
    ],
)
def test_severity_by_share(used, severity) -> None:
    found = judged(used)
    assert isinstance(found, Finding)
    assert (found.severity, found.confidence) == (severity, Confidence.CERTAIN)


@pytest.mark.parametrize(("connections", "severity"), [(40, None), (58, "HIGH"), (72, "CRITICAL")])
def test_what_the_server_keeps_for_itself_is_no_room(connections, severity) -> None:
    """389-ds 2.3.1 with a limit of 200 was measured to serve 72 connections."""
    verdict = judged(94, 200, connections=connections, served=72)
    assert getattr(getattr(verdict, "severity", None), "name", None) == severity
    if severity:
        assert f"{connections} of the 72" in verdict.detail
        assert (verdict.observed["used"], verdict.observed["limit"]) == (94, 200)


def test_tells_its_numbers() -> None:
    assert judged(960, rate_per_hour=10.0, exhaustion_reports=WITNESSES).observed == {
        "server": "ldap",
        "used": 960,
        "limit": 1000,
        "limit_source": "Max open files of the process",
        "rate_per_hour": 10.0,
        "hours_left": 4.0,
        "witnesses": list(WITNESSES),
    }


def test_is_clear_with_the_numbers() -> None:
    clear = judged(599)
    assert (type(clear), clear.reason) == (Clear, "599 of 1,000 (Max open files of the process)")


class TestGrowth:
    @pytest.mark.parametrize(("rate", "kind"), [(37.6, Finding), (37.5, Clear), (-50.0, Clear)])
    def test_less_than_a_day_left_is_critical(self, rate, kind) -> None:
        verdict = judged(100, rate_per_hour=rate)  # 900 left: 24 h at 37.5 an hour
        assert type(verdict) is kind
        assert kind is Clear or verdict.severity is Severity.CRITICAL


class TestWitnesses:
    @pytest.mark.parametrize(("recovered", "severity"), [(False, Severity.CRITICAL), (True, Severity.MEDIUM)])
    def test_decide_by_whether_the_server_recovered(self, recovered, severity) -> None:
        found = judged(exhaustion_reports=WITNESSES, recovered=recovered)
        assert found.severity is severity
        assert WITNESSES[0] in found.detail

    def test_suffice_without_any_number(self) -> None:
        found = judged(None, None, limit_source="unknown", exact=False, exhaustion_reports=WITNESSES)
        assert found.severity is Severity.CRITICAL
        assert "an unknown number of an unknown limit" in found.title


class TestWithoutANumber:
    @pytest.mark.parametrize(
        ("used", "limit", "missing"), [(None, 1000, "descriptor-count"), (100, None, "process-limits")]
    )
    def test_is_not_judged(self, used, limit, missing) -> None:
        verdict = judged(used, limit)
        assert (type(verdict), verdict.missing) == (NotJudged, (missing,))
        assert verdict.how


class TestConnectionsInPlaceOfDescriptors:
    def test_are_clear_where_twice_as_many_are(self) -> None:
        clear = judged(299, exact=False)
        assert (type(clear), clear.reason) == (Clear, "at least 299 of 1,000 (Max open files of the process)")

    def test_are_not_judged_where_twice_as_many_are_not(self) -> None:
        verdict = judged(300, exact=False)
        assert (type(verdict), verdict.missing) == (NotJudged, ("descriptor-count",))

    def test_are_found_where_they_alone_are_too_many(self) -> None:
        found = judged(800, exact=False)
        assert (found.severity, found.confidence) == (Severity.HIGH, Confidence.LIKELY)


class TestTheRemedy:
    def test_raises_the_limit_and_never_stands_alone(self) -> None:
        settings = Configuration(origin=facts.origin(), identity=facts.DS389, max_descriptors=1000)
        found = judged(960, server=facts.server(configuration=settings))
        (remedy,) = found.remedies
        assert "nsslapd-maxdescriptors: 8192" in remedy.text
        assert "nsslapd-maxdescriptors: 1000" in remedy.undo
        assert "connection-share" in found.detail
        assert "ghost-connections" in found.detail

    def test_doubles_a_high_limit_up_to_what_is_built_in(self) -> None:
        assert "60,000" in judged(29000, 30000).remedies[0].title
        assert "64,000" in judged(39000, 40000).remedies[0].title

    def test_is_none_at_the_built_in_cap_or_for_an_unknown_product(self) -> None:
        assert judged(63000, 64000).remedies == ()
        assert judged(960, server=facts.server(identity=None)).remedies == ()

    def test_is_openldaps_own(self) -> None:
        (remedy,) = judged(960, server=facts.server(identity=facts.OPENLDAP)).remedies
        assert "slapd.service" in remedy.text


def test_a_real_slapd_at_its_last_descriptor(corpus) -> None:
    bundle = gather([str(corpus / "5c-fd-exhaustion-openldap")])
    (found,) = diagnose(bundle, (judge,)).findings
    assert (found.severity, found.observed["used"], found.observed["limit"]) == (Severity.CRITICAL, 128, 128)
    assert found.observed["witnesses"] == list(WITNESSES)


def test_connections_in_the_accept_queue_wait_for_a_descriptor() -> None:
    queue = facts.host("ldap", facts.table([facts.listening(receive_queue=25, send_queue=128)]))
    (found,) = judge(facts.descriptors(used=100, limit=100), facts.server(), queue)
    assert "25 connections wait to be accepted, each for a free descriptor" in found.detail
