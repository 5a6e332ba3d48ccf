"""Series over time: from access logs and readings, with the limit and the forecast of their source."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import facts
from ldapdiag.analysis.load import forecast as growth
from ldapdiag.analysis.load.descriptors import Descriptors
from ldapdiag.analysis.load.readings import LOG, SNAPSHOTS, Reading
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.diagnosis import Facts
from ldapdiag.report.series import series
from traffic import Log

IN_USE = growth.InUse(count=400)
RATES = {"rate_per_hour": 10.0, "rate_per_hour_low": 9.0, "rate_per_hour_high": 11.0}


def known(*all_of: Descriptors | Traffic) -> Facts:
    joined = Facts()
    joined._joined |= {Descriptors, Traffic}
    for one in all_of:
        joined.add(one)
    return joined


def logged() -> Traffic:
    log = Log()
    for _ in range(3):
        number = log.opens()
        log.searches(number, 1, took=0.5)
        log.now += 60
    return log.traffic()


def test_of_an_access_log_are_operations_search_time_and_open_connections() -> None:
    by_name = {one["name"]: one for one in series(known(logged()))}
    assert sorted(by_name) == ["connections", "operations", "search_seconds"]
    assert [one["unit"] for one in by_name.values()] == ["operations", "s", "connections"]
    assert sum(by_name["operations"]["values"]) == 3
    assert sum(by_name["search_seconds"]["values"]) == 1.5
    assert by_name["connections"]["values"][-1] == 3
    assert all(one["limit"] is None and one["forecast"] is None for one in by_name.values())
    assert {len(one["values"]) for one in by_name.values()} == {len(by_name["operations"]["values"])}


def readings(source: str) -> tuple[Reading, ...]:
    return tuple(Reading(facts.START + timedelta(minutes=place), 100 + place, source) for place in range(6))


def test_the_limit_is_the_connections_with_which_the_descriptors_run_out() -> None:
    """Of 1,000 descriptors 400 are in use, with 105 connections: 600 more may come."""
    readings_ = readings(SNAPSHOTS)
    forecast = replace(facts.forecast(60.0, source=SNAPSHOTS), room=growth.forecast(readings_, 1000, IN_USE).room)
    descriptors = facts.descriptors(used=400, limit=1000, readings=readings_, forecast=forecast)
    (one,) = series(known(descriptors))
    assert (one["source"], one["step_seconds"], one["from"]) == (SNAPSHOTS, 5, "2026-11-20T09:00:00Z")
    assert one["values"][::12] == [100, 101, 102, 103, 104, 105]
    assert one["values"].count(None) == len(one["values"]) - 6
    assert one["limit"] == 705
    assert one["forecast"].items() >= RATES.items()
    assert one["forecast"]["hours_left"] == 60.0


def test_the_limit_is_shown_with_the_source_of_the_forecast_alone() -> None:
    several = (*readings(SNAPSHOTS), *readings("the runs recorded in h.sqlite"))
    descriptors = facts.descriptors(
        used=400, limit=1000, readings=several, forecast=facts.forecast(60.0, source=SNAPSHOTS, room=705)
    )
    limits = {one["source"]: one["limit"] for one in series(known(descriptors))}
    assert limits == {SNAPSHOTS: 705, "the runs recorded in h.sqlite": None}


def test_the_readings_of_a_log_are_not_listed_twice() -> None:
    descriptors = facts.descriptors(used=400, limit=1000, readings=readings(LOG), forecast=facts.forecast(60.0))
    assert series(known(descriptors)) == []


def test_is_bounded_and_plain() -> None:
    many = tuple(Reading(facts.START + timedelta(seconds=7 * place), place, SNAPSHOTS) for place in range(20_000))
    forecast = facts.forecast(60.0, source=SNAPSHOTS)
    one = facts.descriptors(used=400, limit=1000, readings=many, forecast=forecast)
    everyone = [replace(one, server=f"ds{number}") for number in range(60)]
    shown = series(known(*everyone))
    assert len(shown) == 50
    assert max(len(one["values"]) for one in shown) <= 240
    json.dumps(shown)
