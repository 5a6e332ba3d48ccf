"""descriptor-headroom: shares, growth and witnesses, each at the boundary of its severity."""

from __future__ import annotations

from dataclasses import replace

import pytest

import facts
from ldapdiag.analysis.load.forecast import LimitForecast, Problem
from ldapdiag.diagnosis import diagnose
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity
from ldapdiag.sources.gathering import gather
from ldapdiag_checks.descriptor_headroom import judge

REACHED = (facts.reached(),)
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


@pytest.mark.parametrize(("connections", "outcome"), [(43, Clear), (44, NotJudged), (72, NotJudged)])
def test_what_its_program_reserves_by_default_leaves_a_server_of_unknown_product_not_judged(
    connections, outcome
) -> None:
    verdict = judged(94, 200, connections=connections, served_by_program=72)
    assert type(verdict) is outcome
    if outcome is NotJudged:
        assert verdict.missing == ("configuration",)
        assert f"serves 72 connections, and {connections} are open" in verdict.reason


def test_names_its_numbers_and_their_source() -> None:
    forecast = facts.forecast(4.0, remarks=("without the snapshots of its sockets (2 readings)",))
    assert judged(960, forecast=forecast, reached=REACHED).observed == {
        "server": "ldap",
        "used": 960,
        "limit": 1000,
        "limit_source": "Max open files of the process",
        "rate_per_hour": 10.0,
        "rate_per_hour_low": 9.0,
        "rate_per_hour_high": 11.0,
        "hours_left": 4.0,
        "hours_left_earliest": 3.6,
        "hours_left_latest": 4.4,
        "forecast_source": "its access log",
        "forecast_readings": 24,
        "forecast_hours": 24.0,
        "forecast_from": None,
        "forecast_remarks": ["without the snapshots of its sockets (2 readings)"],
        "not_forecast": "",
        "problem": None,
        "witnesses": list(WITNESSES),
        "reached": [
            {
                "what": "accepted and closed at once: no descriptor left",
                "count": 15,
                "first": "2026-11-20T09:00:00Z",
                "last": "2026-11-20T09:00:00Z",
                "source": "ldap/slapd.log",
            }
        ],
    }


def test_is_clear_with_the_numbers() -> None:
    clear = judged(599)
    assert (type(clear), clear.reason) == (Clear, "599 of 1,000 descriptors (Max open files of the process)")


class TestTheForecast:
    def test_is_said_of_a_server_with_room_as_well(self) -> None:
        assert judged(100, forecast=facts.forecast(100.0)).reason == (
            "100 of 1,000 descriptors (Max open files of the process); "
            "they run out in 3.8 to 4.6 days (90 % interval; its access log)"
        )
        none = LimitForecast(not_because="its access log has 2 readings; 5 are needed", readings=2)
        assert judged(100, forecast=none).reason.endswith(f"; no forecast: {none.not_because}")

    @pytest.mark.parametrize(
        ("earliest", "median", "severity"),
        [(23.9, 23.9, Severity.CRITICAL), (1.0, 24.0, Severity.HIGH), (24.0, 24.0, None)],
    )
    def test_a_day_decides_the_median_for_critical_and_the_earliest_end_for_high(
        self, earliest, median, severity
    ) -> None:
        verdict = judged(100, forecast=facts.forecast(median, earliest))
        assert getattr(verdict, "severity", None) is severity

    def test_is_shown_as_an_interval_with_its_source(self) -> None:
        found = judged(100, forecast=facts.forecast(4.0, 3.0, 6.0, problem=Problem.LEAK))
        assert found.title.startswith("ldap runs out of descriptors in 3 to 6 h: now 100 of 1,000")
        assert (
            "It gains 10 connections an hour (9 to 11), which leaves 3 to 6 h, median 4 h "
            "(90 % intervals; 24 readings of its access log, 24 hours)." in found.detail
        )
        assert "it is a leak" in found.detail

    def test_is_open_at_its_end_where_growth_may_stop(self) -> None:
        endless = replace(facts.forecast(4.0, 3.0), latest=None)
        assert "in 3 h or more" in judged(100, forecast=endless).title

    def test_of_a_limit_that_is_reached_gives_what_is_full(self) -> None:
        over = facts.forecast(0.0, earliest=0.0, latest=0.0)
        assert over.is_over
        assert judged(1000, forecast=over).title.startswith("ldap has run out of descriptors: 1,000 of 1,000")
        full = judged(930, connections=900, served=896, forecast=over)
        assert full.title == "ldap has no room for a connection: 900 of 896 are open"

    def test_says_why_there_is_none(self) -> None:
        found = judged(
            900,
            forecast=LimitForecast(not_because="its access log has 2 readings; 5 are needed", problem=Problem.LIMIT),
        )
        assert "No forecast: its access log has 2 readings; 5 are needed." in found.detail
        assert "the limit is too low" in found.detail
        assert found.observed["hours_left"] is None


class TestWitnesses:
    @pytest.mark.parametrize(("recovered", "severity"), [(False, Severity.CRITICAL), (True, Severity.MEDIUM)])
    def test_decide_by_whether_the_server_recovered(self, recovered, severity) -> None:
        found = judged(reached=REACHED, recovered=recovered)
        assert found.severity is severity
        assert WITNESSES[0] in found.detail
        assert "The limit was first reached at 2026-11-20 09:00:00 UTC (ldap/slapd.log)." in found.detail

    def test_suffice_without_any_number(self) -> None:
        found = judged(None, None, limit_source="unknown", exact=False, reached=REACHED)
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
        assert (type(clear), clear.reason) == (
            Clear,
            "at least 299 of 1,000 descriptors (Max open files of the process)",
        )

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

    @pytest.mark.parametrize(("used", "printed"), [(900, False), (949, False), (950, True), (1000, True)])
    def test_of_a_leak_only_where_the_server_cannot_wait(self, used: int, *, printed: bool) -> None:
        growth = facts.forecast(4.0, problem=Problem.LEAK, rates=(90.0, 100.0, 110.0))
        remedies = judged(used, forecast=growth).remedies
        assert len(remedies) == printed
        assert all("fills the new limit as well, in 2.7 to 3.3 days more" in remedy.risk for remedy in remedies)
        assert judged(used, forecast=facts.forecast(4.0)).remedies

    def test_is_openldaps_own(self) -> None:
        (remedy,) = judged(960, server=facts.server(identity=facts.OPENLDAP)).remedies
        assert "slapd.service" in remedy.text


def test_a_real_slapd_at_its_last_descriptor(corpus) -> None:
    bundle = gather([str(corpus / "5c-fd-exhaustion-openldap")])
    (found,) = diagnose(bundle, (judge,)).findings
    assert (found.severity, found.observed["used"], found.observed["limit"]) == (Severity.CRITICAL, 128, 128)
    assert found.observed["witnesses"] == list(WITNESSES)


def test_connections_in_the_accept_queue_wait_for_a_descriptor() -> None:
    found = judged(96, 100, waiting=25)
    assert "25 connections wait to be accepted, each for a free descriptor" in found.detail


@pytest.mark.parametrize(
    ("facts_now", "title"),
    [
        ({"used": 259, "waiting": 43}, "has run out of descriptors: 259 of 260 in use, 43 connections wait"),
        ({"used": 260}, "has run out of descriptors: 260 of 260 in use"),
        ({"used": 260, "reached": REACHED, "recovered": True}, "has run out of descriptors: 260 of 260"),
        ({"used": 259}, "is running out of descriptors: 259 of 260 in use"),
        ({"used": 257, "waiting": 43}, "is running out of descriptors: 257 of 260 in use"),
        (
            {"used": 150, "connections": 72, "served": 72, "waiting": 3},
            "has no room for a connection: 72 of 72 are open, 3 connections wait",
        ),
    ],
)
def test_what_has_run_out_is_a_state_whatever_the_forecast(facts_now, title) -> None:
    found = judged(**{"limit": 260, "forecast": facts.forecast(1 / 3600, 0.0)} | facts_now)
    assert found.severity is Severity.CRITICAL
    assert found.title.startswith(f"ldap {title}")
    assert " in 0 to" not in found.title
