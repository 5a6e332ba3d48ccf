"""Series of a diagnosis as plain values: what access logs, snapshots and recorded runs of each server show over time.

At most 240 values each, so that a report stays small whatever the length of a log.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from ldapdiag.analysis.load.descriptors import Descriptors
from ldapdiag.analysis.load.readings import LOG, sampled_connections
from ldapdiag.analysis.log.time_axis import time_axis
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.evidence.log.stamps import SECOND, moment
from ldapdiag.report.log.quantities import seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ldapdiag.analysis.load.forecast import LimitForecast
    from ldapdiag.analysis.load.readings import Reading
    from ldapdiag.diagnosis import Facts

MOST_SERVERS = 50
MOST_SOURCES = 4
"""Other series of connections of one server than that of its access log."""


def series(facts: Facts, *, of_logs_alone: bool = False) -> list[dict[str, Any]]:
    """Return the series of each server; of a command that judges no connections, those of its access log alone."""
    known = () if of_logs_alone else facts.every(Descriptors)
    descriptors = {one.server: one for one in known}
    traffic = {one.server: one for one in facts.every(Traffic)}
    servers = sorted(descriptors.keys() | traffic.keys())[:MOST_SERVERS]
    return [one for server in servers for one in _of_server(server, traffic.get(server), descriptors.get(server))]


def _of_server(server: str, traffic: Traffic | None, descriptors: Descriptors | None) -> Iterator[dict[str, Any]]:
    axis = None if traffic is None else time_axis(traffic.segment)
    if traffic is not None and axis is not None:
        intervals = axis.intervals
        place = {"server": server, "source": LOG, "step_seconds": axis.step, "from": moment(axis.at(0), SECOND)}
        nothing = {"limit": None, "forecast": None}
        yield place | nothing | _values("operations", "operations", [interval.answered for interval in intervals])
        yield (
            place | nothing | _values("search_seconds", "s", [seconds(interval.search_etime) for interval in intervals])
        )
        if not traffic.segment.lost:  # a log with lost lines may lack closes
            limits = _limits(descriptors, LOG)
            yield place | limits | _values("connections", "connections", list(axis.open))
    if descriptors is None:
        return
    others = (one for one in of_readings(server, descriptors.readings) if one["source"] != LOG)
    yield from (one | _limits(descriptors, one["source"]) for one in islice(others, MOST_SOURCES))


def of_readings(server: str, readings: Iterable[Reading], name: str = "connections") -> Iterator[dict[str, Any]]:
    """Yield connections of a server, or those of them that `name` counts, a row for each source of the readings."""
    for one in sampled_connections(readings):
        place = {"server": server, "source": one.source, "step_seconds": one.step}
        begin = {"from": moment(one.first * one.step * SECOND, SECOND), "limit": None, "forecast": None}
        yield place | begin | _values(name, "connections", list(one.values))


def _values(name: str, unit: str, values: list[Any]) -> dict[str, Any]:
    return {"name": name, "unit": unit, "values": values}


def _limits(descriptors: Descriptors | None, source: str) -> dict[str, Any]:
    """Return how many connections of this source the limit allows, and the forecast if it is made from this source."""
    if descriptors is None or descriptors.forecast.source != source:
        return {"limit": None, "forecast": None}
    return {"limit": descriptors.forecast.room, "forecast": _forecast(descriptors.forecast)}


def _forecast(forecast: LimitForecast) -> dict[str, Any] | None:
    """Return a forecast of growth, by the keys that a finding of descriptor-headroom has."""
    return forecast.numbers if forecast.rates and forecast.rates[0] > 0 else None
