"""The gauges of a diagnosis as metrics of Prometheus (OpenMetrics 1.0): a file for the textfile collector, or a scrape.

All are gauges, so that the same text is in the format that Prometheus read before OpenMetrics. What was not judged is
absent, never 0: a 0 would end an alert. Labels are bounded: of clients and accounts the most numerous are listed, the
others are one row, `other`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from ldapdiag.extras import require
from ldapdiag.lazy_dataclass import NamedTuple
from ldapdiag.report.neutral import neutral
from ldapdiag.report.verdicts import is_accepted, of_outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from prometheus_client.metrics_core import Metric

PREFIX = "ldapdiag_"


class DiagnosisCollector:
    """What prometheus_client asks for the metrics of a diagnosis."""

    def __init__(self, report: Mapping[str, Any], *, with_accounts: bool = True) -> None:
        """`report` is a report of `ldapdiag diagnose`, as JSON has it."""
        self.report = report
        self.with_accounts = with_accounts

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics that have a row."""
        from prometheus_client.core import GaugeMetricFamily  # noqa: PLC0415  import late

        for gauge in GAUGES:
            if gauge.name == ACCOUNTS and not self.with_accounts:
                continue
            metric = GaugeMetricFamily(PREFIX + gauge.name, gauge.help, labels=gauge.labels)
            for labels, value in gauge.rows(self.report).items():
                metric.add_metric(labels, value)
            if metric.samples:
                yield metric


def require_library(what: str) -> None:
    """Raise UsageError where prometheus_client is not installed."""
    require("prometheus_client", what, "monitoring")


def render(report: Mapping[str, Any], *, with_accounts: bool = True) -> str:
    """Return the metrics as text."""
    from prometheus_client.core import CollectorRegistry  # noqa: PLC0415  import late: an extra
    from prometheus_client.openmetrics.exposition import generate_latest  # noqa: PLC0415

    registry = CollectorRegistry()
    registry.register(DiagnosisCollector(report, with_accounts=with_accounts))
    return str(generate_latest(registry), "utf-8")  # type: ignore[no-untyped-call]


Row = tuple[tuple[str, ...], float]
"""The values of the labels, and the number."""

MOST = 20
"""Clients or accounts of a server that are listed."""
MOST_TARGETS = 200
"""Targets with gaps that are listed."""
OTHER = "other"
LONGEST_LABEL = 120
"""Characters."""
NO_SEVERITY = "none"
"""Of a check that found nothing."""
HOUR = 3600.0


class Gauge(NamedTuple):
    """A number of a diagnosis, with its rows by label."""

    name: str
    """After `ldapdiag_`."""
    help: str
    labels: tuple[str, ...]
    found: Callable[[Mapping[str, Any]], Iterable[Row]]

    def rows(self, report: Mapping[str, Any]) -> dict[tuple[str, ...], float]:
        """Return the numbers by the values of the labels: names that are cut to the same one are one row."""
        numbers: Counter[tuple[str, ...]] = Counter()
        for labels, number in self.found(report):
            numbers[tuple(map(label, labels))] += number  # type: ignore[assignment]  # a Counter of floats
        return dict(numbers)


def label(text: object) -> str:
    """Return text of the evidence as the value of a label, without what controls a terminal or breaks a line."""
    return neutral(str(text), longest=LONGEST_LABEL)


def _listed(counts: Mapping[str, Mapping[str, float]], totals: Mapping[str, float]) -> Iterator[Row]:
    """Yield the counts of each server by name; those beyond MOST are `other`, with what a total has in addition."""
    for server, by_name in counts.items():
        ranked = sorted(by_name.items(), key=lambda each: (-each[1], each[0]))
        yield from (((server, name), count) for name, count in ranked[:MOST])
        known = sum(by_name.values())
        rest = max(totals.get(server, 0), known) - sum(count for _, count in ranked[:MOST])
        if len(ranked) > MOST or rest > 0:
            yield (server, OTHER), rest


def _of_shares(report: Mapping[str, Any], key: str, name: str) -> dict[str, dict[str, float]]:
    """Return the connections of each server as `connection-share` lists them, by `client` or by `bind_dn`."""
    found = (one for one in report["findings"] if one["check"] == "connection-share")
    return {one["server"]: {each[name]: each["connections"] for each in one["observed"][key]} for one in found}


def _connections(report: Mapping[str, Any]) -> Iterator[Row]:
    by_client = _of_shares(report, "by_client", "client")
    paired: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for one in report["directions"]:
        paired[one["server"] or ""][one["client"]] += one["server_count"]
    totals = {one["name"]: one["numbers"]["connections"] or 0 for one in report["servers"] if one["numbers"]}
    return _listed(by_client | paired, totals)


def _accounts(report: Mapping[str, Any]) -> Iterator[Row]:
    return _listed({server: each for server, each in _of_shares(report, "by_account", "bind_dn").items() if each}, {})


def _half_dead(check: str, key: str) -> Callable[[Mapping[str, Any]], Iterable[Row]]:
    """Return a function that counts the dead connections of each client, where the check judged all its directions.

    A finding without one is about connections that may be dead: their number is not known, so it is no 0. Nor is that
    of severed connections where no flow table of the path was read, though no packet is unanswered.
    """

    def rows(report: Mapping[str, Any]) -> Iterator[Row]:
        clear = {one["subject"] for one in of_outcome(report, "clear") if one["check"] == check}
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        unclear = set()
        for one in report["directions"]:
            place = one["server"] or "", one["client"]
            counts[place[0]][place[1]] += one[key]
            is_untracked = key == "severed" and not one["middleboxes"]
            if is_untracked or f"{one['client']} -> {one['endpoint']}" not in clear:
                unclear.add(place)
        beyond = {one["server"] or "": one[key] for one in report["directions_beyond"] if one[key]}
        shown: dict[str, dict[str, int]] = {server: {} for server in beyond} | {
            server: {name: count for name, count in each.items() if count or (server, name) not in unclear}
            for server, each in counts.items()
        }
        totals = {server: sum(shown[server].values()) + count for server, count in beyond.items()}
        return _listed({server: each for server, each in shown.items() if each or server in totals}, totals)

    return rows


def _number(key: str) -> Callable[[Mapping[str, Any]], Iterable[Row]]:
    """Return a function that yields a number of each server, where it is known."""

    def rows(report: Mapping[str, Any]) -> Iterator[Row]:
        for one in report["servers"]:
            if one["numbers"] and one["numbers"][key] is not None:
                yield (one["name"],), one["numbers"][key]

    return rows


def _headroom(report: Mapping[str, Any]) -> Iterator[Row]:
    for one in report["series"]:
        if one["name"] != "connections":
            continue
        last = one["values"][-1] if one["values"] else None
        if last is not None and one["limit"] is not None and last >= one["limit"]:
            yield (one["server"],), 0.0
        elif one["forecast"] and one["forecast"]["hours_left"] is not None:
            yield (one["server"],), one["forecast"]["hours_left"] * HOUR


def _findings(report: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the findings, and a 0 for each check that judged and found nothing: there an alert ends."""
    for one in report["findings"]:
        hosts = one["hosts"]
        place = one["server"] or (hosts[0] if len(hosts) == 1 else "")
        yield (place, one["check"], one["severity"], str(is_accepted(one)).lower()), 1
    outcomes: dict[tuple[str, str], set[str]] = defaultdict(set)
    for one in report["verdicts"]:
        outcomes[one["about"] or "", one["check"]].add(one["outcome"])
    yield from (((*place, NO_SEVERITY, "false"), 0) for place, every in outcomes.items() if every == {"clear"})


def _verdicts(report: Mapping[str, Any]) -> Iterator[Row]:
    outcomes = Counter(one["outcome"] for one in report["verdicts"])
    yield from (((outcome,), outcomes[outcome]) for outcome in ("finding", "clear", "not-judged", "crashed"))


def _gaps(report: Mapping[str, Any]) -> Iterator[Row]:
    targets = Counter(one["target"] for one in report["gaps"])
    yield from (((target,), count) for target, count in targets.most_common(MOST_TARGETS))


def _taken(report: Mapping[str, Any]) -> Iterator[Row]:
    from datetime import datetime  # noqa: PLC0415  import late

    made = datetime.fromisoformat(report["taken_at"]).timestamp()
    taken = [datetime.fromisoformat(one["taken_at"]).timestamp() for one in report["evidence"] if one["taken_at"]]
    yield (), min(max(taken, default=made), made)  # a clock that is ahead must not hide that nothing comes any more


def _build(report: Mapping[str, Any]) -> Iterator[Row]:
    yield (report["tool"]["version"],), 1


GAUGES = (
    Gauge(
        "connections", "Connections established at the server, by client address.", ("server", "client"), _connections
    ),
    Gauge(
        "ghost_connections",
        "Connections established at the server that no longer exist at the client; absent where not judged.",
        ("server", "client"),
        _half_dead("ghost-connections", "ghosts"),
    ),
    Gauge(
        "stranded_connections",
        "Connections established at the client that no longer exist at the server; absent where not judged.",
        ("server", "client"),
        _half_dead("stranded-connections", "stranded"),
    ),
    Gauge(
        "severed_connections",
        "Connections established at both ends that a middlebox dropped; absent where not judged.",
        ("server", "client"),
        _half_dead("severed-connections", "severed"),
    ),
    Gauge("account_connections", "Connections in the server's monitor, by account.", ("server", "account"), _accounts),
    Gauge("file_descriptors_open", "Descriptors in use.", ("server",), _number("descriptors_used")),
    Gauge("file_descriptors_limit", "Descriptors that may be in use.", ("server",), _number("descriptors_limit")),
    Gauge(
        "descriptor_headroom_seconds",
        "Time until the descriptors run out; absent while the connections do not grow.",
        ("server",),
        _headroom,
    ),
    Gauge(
        "findings",
        "Findings by server or host; 0 with the severity none: nothing found there; absent: it could not be judged.",
        ("server", "check", "severity", "accepted"),
        _findings,
    ),
    Gauge("verdicts", "What the checks said, by outcome.", ("outcome",), _verdicts),
    Gauge("collection_gaps", "What was not read of the evidence, by target.", ("target",), _gaps),
    Gauge("collection_timestamp_seconds", "When the evidence was collected.", (), _taken),
    Gauge("build_info", "1, with the version of ldapdiag.", ("version",), _build),
)
ACCOUNTS = "account_connections"
"""The gauge whose labels name accounts."""
