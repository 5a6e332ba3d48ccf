"""The gauges of a diagnosis as metrics of Prometheus (OpenMetrics 1.0): a file for the textfile collector, or a scrape.

All are gauges, so that the same text is in the format that Prometheus read before OpenMetrics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.extras import require
from ldapdiag.report.monitoring.gauges import ACCOUNTS, GAUGES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
