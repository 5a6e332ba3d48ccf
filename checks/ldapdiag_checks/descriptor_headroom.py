"""descriptor-headroom: how many descriptors the server has left.

The sentences about a forecast, and about a limit that was reached before. Each number names its source.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.hosts.servers import HOW_TO_SEPARATE
from ldapdiag.analysis.load.descriptors import Descriptors
from ldapdiag.analysis.load.forecast import LimitForecast, Problem, in_words
from ldapdiag.analysis.load.growth import DAY_HOURS, KNOWN_DAYS
from ldapdiag.check import MainNumber, check
from ldapdiag.check_setting import Threshold
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.host_facts import DescriptorCount, ProcessLimits
from ldapdiag.evidence.log.stamps import EPOCH
from ldapdiag.finding import NO_COMMAND, Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.remedy import Remedy
from ldapdiag.wording import counted, rounded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.analysis.load.descriptors import LimitReached

LEAST_LIMIT = 8192
SOON = 1 / 60
"""Hours: what is left is shorter than a report takes to be read, so it is a state and no time."""

MOST_EACH = 2
"""Descriptors one connection may take: since 389-ds 3.2 (commit e14e23e0f) it has a timerfd beside its socket."""


WHY = (
    f"{NO_COMMAND}a higher limit is filled by the leak, too, or cannot be set; ghost-connections frees those of dead "
    "connections, and connection-share names the owners of the others."
)


@check(group="server", number=MainNumber("used", "descriptors in use"))
def judge(
    descriptors: Descriptors,
    server: Instance,
    *,
    critical_percent: Annotated[float, Threshold("%", "so much or more used is critical", most=100)] = 95.0,
    high_percent: Annotated[float, Threshold("%", "so much or more used is high", most=100)] = 80.0,
    medium_percent: Annotated[float, Threshold("%", "so much or more used is medium", most=100)] = 60.0,
    hours_left: Annotated[
        float, Threshold("h", "less left is critical by the median of the forecast, high by its earliest end")
    ] = 24.0,
) -> Iterator[Verdict]:
    """Descriptors the server has left.

    ## What it looks at
    The open descriptors of the server's process, and the lowest limit in force: that of the process, the server's
    own setting, the published one, or a built-in one. Without a descriptor count, connections are counted instead
    (likely, and a lower bound); each may need two descriptors. 389-ds keeps twice its reserved descriptors for
    itself, so its connections are also compared with the remaining places; where only its program is known, and they
    may be used up, nothing is judged.

    When they run out is forecast from the connections that were open at five times or more: in snapshots of its
    sockets over a minute or more, at the end of each interval of its access log, or in the recorded runs of a history
    (--record). Of several series the longest counts, unless a later one forecasts an earlier end. Only the time since
    the last restart counts, without the refill of pools. The interval contains the truth in about 9 of 10 cases;
    docs/how-it-decides.md says how that was measured ("When the descriptors run out"). Growth of less than 30
    connections, or that does not exceed its fluctuation, is not forecast.

    That the limit was reached before is shown by lines in the server's log, and by an access log with as many open
    connections as the limit allows. Connections in the accept queue of a server without free descriptors are
    counted here.

    ## Severity
    By default:

    - critical: 95 % or more used; or exhaustion in a log without recovery; or less than 24 h left by the median of
      the forecast: it is more likely than not that they run out within a day.
    - high: 80 % or more; or less than 24 h left by the earliest end of the forecast: that is possible,
      and worth a look today rather than an alarm at night.
    - medium: 60 % or more; or exhaustion in a log, with recovery.

    ## Why it matters
    Without a free descriptor the server accepts no new connection, some products close it at once, and the server
    may be unable to open its own files. Connected clients notice nothing: the incident looks like a network fault.

    ## What to do
    Find the owners before you raise the limit: connection-share names account and client, ghost-connections the
    dead connections. Growth that would also fill twice the limit within a week is a leak: a higher limit only
    postpones the end, so its commands are printed only while 95 % or more are used. A count that is near the limit and
    does not grow needs a higher limit.

    ## When it is harmless
    A server with a fixed number of clients may run at 60 % for years; one that grows may not.
    """
    used, limit = descriptors.used, descriptors.limit
    severity = severity_of(
        descriptors,
        critical=critical_percent / 100,
        high=high_percent / 100,
        medium=medium_percent / 100,
        hours_left=hours_left,
    )
    if severity is not None:
        yield _finding(descriptors, server, severity, hours_left)
    elif used is None or limit is None:
        lacking = DescriptorCount if used is None else ProcessLimits
        missing = "the number of open descriptors" if used is None else "the descriptor limit"
        reason = f"{missing} of {server.name} is not in the evidence"
        if used is None and server.established is not None and not server.owns_ports:
            ports = ", ".join(map(str, sorted(server.ports)))
            reason = f"no table shows which process listens on the ports {ports} of {server.name}: they may be several"
        how = lacking.how
        if lacking.kind in server.ambiguous:
            reason = f"each {lacking.kind} on {server.host} fits several of its directory servers"
            how = HOW_TO_SEPARATE
        yield NotJudged.without(lacking, server.name, reason, how=how)
    elif descriptors.misfit:
        missing_kinds = (DescriptorCount.kind, ProcessLimits.kind)
        yield NotJudged(subject=server.name, reason=descriptors.misfit, missing=missing_kinds, how=HOW_TO_SEPARATE)
    elif not descriptors.exact and MOST_EACH * used >= medium_percent / 100 * limit:
        reason = (
            f"{used:,} connections of {limit:,} ({descriptors.limit_source}), each of which may take two descriptors"
        )
        yield NotJudged.without(DescriptorCount, server.name, reason)
    elif (served := descriptors.served_by_program) and 100 * (descriptors.connections or 0) >= medium_percent * served:
        reason = (
            f"{used:,} of {limit:,} descriptors are open, and the product is not known: with the default reserve of "
            f"its program it serves {counted(served, 'connection')}, and {descriptors.connections:,} are open"
        )
        yield NotJudged.without(Configuration, server.name, reason)
    else:
        yield Clear(subject=server.name, reason=_numbers(descriptors) + forecast_clause(descriptors.forecast))


def severity_of(
    descriptors: Descriptors, *, critical: float, high: float, medium: float, hours_left: float
) -> Severity | None:
    """Return how bad it is, by shares of the limit and hours; None when enough are free, or nothing is known."""
    share, left, earliest = descriptors.share or 0.0, descriptors.hours_left, descriptors.earliest_hours_left
    exhausted = bool(descriptors.exhaustion_reports)
    if share >= critical or (exhausted and not descriptors.recovered) or (left is not None and left < hours_left):
        return Severity.CRITICAL
    if share >= high or (earliest is not None and earliest < hours_left):
        return Severity.HIGH
    return Severity.MEDIUM if share >= medium or exhausted else None


def _finding(descriptors: Descriptors, server: Instance, severity: Severity, hours_left: float) -> Finding:
    remedies = _remedies(descriptors, server)
    return Finding(
        subject=server.name,
        severity=severity,
        confidence=Confidence.CERTAIN if descriptors.exact or descriptors.exhaustion_reports else Confidence.LIKELY,
        title=_title(descriptors, hours_left),
        detail="\n".join([*_sentences(descriptors), *([] if remedies else [WHY])]),
        observed={
            "server": server.name,
            "used": descriptors.used,
            "limit": descriptors.limit,
            "limit_source": descriptors.limit_source,
            **_forecast_observed(descriptors.forecast),
            "witnesses": list(descriptors.exhaustion_reports),
            "reached": [
                {
                    "what": sign.meaning,
                    "count": sign.count,
                    "first": _iso(sign.first),
                    "last": _iso(sign.last),
                    "source": sign.source,
                }
                for sign in descriptors.reached
            ],
        },
        server=server.name,
        hosts=(server.host,),
        remedies=remedies,
        origins=descriptors.origins,
    )


def _forecast_observed(forecast: LimitForecast) -> dict[str, object]:
    """Return the numbers of the forecast, as docs/contract.md has them."""
    return forecast.numbers | {
        "forecast_source": forecast.source,
        "forecast_readings": forecast.readings,
        "forecast_hours": forecast.hours,
        "forecast_from": _iso(forecast.since),
        "forecast_remarks": list(forecast.remarks),
        "not_forecast": forecast.not_because,
        "problem": forecast.problem and str(forecast.problem),
    }


def _iso(time: datetime | None) -> str | None:
    return None if time is None else f"{time:%Y-%m-%dT%H:%M:%SZ}"


def _numbers(descriptors: Descriptors) -> str:
    """Return what is used of what, as in `335 of 20,000 descriptors (Max open files of the process)`."""
    source = f"descriptors ({descriptors.limit_source})" if descriptors.limit is not None else "of descriptors"
    return f"{_count(descriptors)} {source}"


def _count(descriptors: Descriptors) -> str:
    least = "" if descriptors.exact else "at least "
    used = "an unknown number" if descriptors.used is None else f"{least}{descriptors.used:,}"
    if descriptors.limit is None:
        return f"{used} of an unknown limit"
    return f"{used} of {descriptors.limit:,}"


def _title(descriptors: Descriptors, hours_left: float) -> str:
    host, left, numbers = descriptors.server, descriptors.hours_left, _numbers(descriptors)
    if descriptors.has_run_out or (descriptors.exhausted and descriptors.waiting):
        waits = f", {_waiting(descriptors)}" if descriptors.waiting else ""
        if descriptors.served and (descriptors.connections or 0) >= descriptors.served:
            full = f"{descriptors.connections:,} of {descriptors.served:,} are open"
            return f"{host} has no room for a connection: {full}{waits}"
        return f"{host} has run out of descriptors: {_count(descriptors)} in use{waits}"
    if descriptors.exhaustion_reports:
        again = " and has recovered" if descriptors.recovered else ""
        return f"{host} has run out of descriptors{again}: now {numbers}"
    earliest = descriptors.earliest_hours_left
    if left is not None and left < SOON:
        return f"{host} is running out of descriptors: {_count(descriptors)} in use"
    if left is not None and earliest is not None and earliest < hours_left:
        return f"{host} runs out of descriptors in {hours_between(descriptors.forecast)}: now {numbers}"
    return f"{host} uses {numbers}"


def _waiting(descriptors: Descriptors) -> str:
    verb = "waits" if descriptors.waiting == 1 else "wait"
    return f"{counted(descriptors.waiting, 'connection')} {verb} to be accepted"


def _sentences(descriptors: Descriptors) -> Iterator[str]:
    if descriptors.exhausted:
        yield (
            "It serves no new client until a descriptor is free. To free some now: close the dead connections "
            "(ghost-connections), let the largest client close its own (connection-share), or restart the server, "
            f"which closes all{_advice(descriptors)}."
        )
    elif descriptors.waiting and descriptors.accepts_few:
        yield f"{_waiting(descriptors)}, each for a free descriptor."
    if descriptors.exhaustion_reports:
        yield f"Its logs: {'; '.join(descriptors.exhaustion_reports)}."
        yield from reached_sentences(descriptors.reached)
    if descriptors.exhausted and descriptors.limit is not None:
        yield f"The limit of {descriptors.limit:,} is: {descriptors.limit_source}."
    if not descriptors.exact and descriptors.used is not None:
        yield f"Used is {descriptors.used_source}; the process has files open, too."
    if descriptors.served is not None and (descriptors.connections or 0) * 5 >= descriptors.served * 4:
        yield (
            f"The server reserves some: {descriptors.connections:,} of the {descriptors.served:,} connections that "
            "this limit allows are open."
        )
    if not (descriptors.has_run_out and descriptors.forecast.not_because):
        yield from forecast_sentences(descriptors.forecast)
    if not descriptors.exhausted:
        yield f"connection-share names the accounts and clients, ghost-connections the dead ones{_advice(descriptors)}."


def _advice(descriptors: Descriptors) -> str:
    match descriptors.forecast.problem:
        case Problem.LIMIT:
            return "; if all are in use, the limit is too low"
        case Problem.FILLING:
            return ""
        case _:
            return "; if they leak, any limit fills again"


def _remedies(descriptors: Descriptors, server: Instance) -> tuple[Remedy, ...]:
    """Return how to raise the limit, unless it is the highest the server can take.

    Against a leak it only gains time: it is printed where the server cannot wait for the cure.
    """
    product, limit = server.product, descriptors.limit or 0
    is_leak = descriptors.forecast.problem is Problem.LEAK
    if product is None or (is_leak and not descriptors.accepts_few):
        return ()
    wanted, cap = max(LEAST_LIMIT, 2 * limit), product.defaults.descriptor_cap.at(server.version)
    if cap is not None and limit >= cap:
        return ()
    current = server.configuration.max_descriptors if server.configuration else None
    raised = product.remedies.raise_descriptor_limit(
        server.address, current, min(wanted, cap or wanted), server.version
    )
    if is_leak:
        gained = hours_to_gain(descriptors.forecast, min(wanted, cap or wanted) - limit)
        raised = replace(raised, risk=f"The leak fills the new limit as well, in {gained} more. {raised.risk}")
    return (server.address.adapt(raised),)


PROBLEMS = {
    Problem.LEAK: "At this rate any limit fills: it is a leak, and a higher limit only postpones the end.",
    Problem.LIMIT: "It is near the limit and does not grow: if its connections are in use, the limit is too low.",
    Problem.FILLING: "This growth ends by itself: it is neither a leak nor a limit that is too low.",
}

SHORT_LEAK = (
    "If it continues at this rate, any limit fills: it is a leak, unless clients that come at this hour and go later "
    "explain it. A higher limit postpones the end of a leak only."
)

UNITS = (("days", 24.0, 72.0), ("h", 1.0, 2.0), ("minutes", 1 / 60, 0.05))
"""Each with its length in hours, and the hours from which it is used."""


def hours_between(forecast: LimitForecast) -> str:
    """Return when it ends, as in `3.1 to 7.4 h`."""
    earliest = forecast.earliest or 0.0
    unit, hours = _unit(earliest if forecast.latest is None else forecast.latest)
    if forecast.latest is None:
        return f"{rounded(earliest / hours)} {unit} or more"
    return f"{rounded(earliest / hours)} to {rounded(forecast.latest / hours)} {unit}"


def _unit(hours: float) -> tuple[str, float]:
    """Return a unit for times up to so many hours, and how many hours it has."""
    for unit, length, least in UNITS:
        if hours >= least:
            return unit, length
    return "s", 1 / 3600


def hours_to_gain(forecast: LimitForecast, more: int) -> str:
    """Return in which time so many connections come at the forecast's rate, as in `3.1 to 7.4 h`."""
    low, _, high = forecast.rates or (0.0, 0.0, 0.0)
    if low <= 0:
        return "an unknown time"
    unit, hours = _unit(more / low)
    return f"{rounded(more / high / hours)} to {rounded(more / low / hours)} {unit}"


def forecast_sentences(forecast: LimitForecast) -> Iterator[str]:
    """Yield when the limit is reached, from what that is known, and what it means; or why it is not forecast."""
    if forecast.not_because:
        yield f"No forecast: {forecast.not_because}."
    elif forecast.rates is not None and forecast.median is not None:
        low, rate, high = forecast.rates
        unit, hours = _unit(forecast.median)
        series = f"{counted(forecast.readings, 'reading')} of {forecast.source}, {in_words(forecast.hours)}"
        left = f"which leaves {hours_between(forecast)}, median {rounded(forecast.median / hours)} {unit}"
        yield (
            f"It gains {rounded(rate)} connections an hour ({rounded(low)} to {rounded(high)}), "
            f"{'and is at the limit' if forecast.is_over else left} (90 % intervals; {series}{_until(forecast)})."
        )
    for remark in forecast.remarks:
        yield f"Forecast: {remark}."
    if forecast.problem is not None:
        is_short = forecast.problem is Problem.LEAK and forecast.hours < KNOWN_DAYS * DAY_HOURS
        yield SHORT_LEAK if is_short else PROBLEMS[forecast.problem]


def forecast_clause(forecast: LimitForecast) -> str:
    """Return the forecast for a line about a server with enough room; empty where nothing shows two times."""
    if forecast.readings < 2 and not forecast.remarks:
        return ""
    if forecast.not_because:
        remarks = "".join(f"; {remark}" for remark in forecast.remarks if forecast.readings < 2)
        return f"; no forecast: {forecast.not_because}{remarks}"
    return f"; they run out in {hours_between(forecast)} (90 % interval; {forecast.source}{_until(forecast)})"


def _until(forecast: LimitForecast) -> str:
    return "" if forecast.since is None else f" until {forecast.since:%Y-%m-%d %H:%M:%S} UTC"


def reached_sentences(reached: Sequence[LimitReached]) -> Iterator[str]:
    """Yield when the limit was reached, where the evidence has times."""
    timed = [sign for sign in reached if sign.first is not None]
    if timed:
        first = min(sign.first or EPOCH for sign in timed)
        last = max(sign.last or EPOCH for sign in timed)
        until = "" if last == first else f", last at {last:%Y-%m-%d %H:%M:%S}"
        sources = ", ".join(dict.fromkeys(sign.source for sign in timed))
        yield f"The limit was first reached at {first:%Y-%m-%d %H:%M:%S}{until} UTC ({sources})."
