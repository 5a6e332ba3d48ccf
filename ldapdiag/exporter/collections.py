"""Collections: the last report that an exporter has, and how its collections went.

One collection runs at a time. A scrape never waits for it, and never starts one: it is answered with the last report,
whose age is in `collection_timestamp_seconds`.
"""

from __future__ import annotations

import gc
import time
from threading import Event, Lock
from typing import TYPE_CHECKING, Any

from ldapdiag.report.monitoring.gauges import PREFIX, DiagnosisCollector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from prometheus_client.metrics_core import Metric


class Collections:
    """The collections of an exporter, for prometheus_client to ask."""

    def __init__(
        self, collect: Callable[[], Mapping[str, Any]], failed: Callable[[Exception], None], *, with_accounts: bool
    ) -> None:
        """`collect` returns a report, or raises; `failed` receives the reason."""
        self._collect = collect
        self._failed = failed
        self._with_accounts = with_accounts
        self._lock = Lock()
        self._report: Mapping[str, Any] | None = None
        self._runs = 0
        self._failures = 0
        self._seconds: float | None = None

    def run(self, every: float, stop: Event) -> None:
        """Collect until `stop` is set, with `every` seconds from the end of one to the begin of the next."""
        while not stop.is_set():
            self.collect_once()
            stop.wait(every)

    def collect_once(self) -> None:
        """Collect; a failure keeps the last report."""
        begun = time.monotonic()
        try:
            report = self._collect()
        except Exception as error:  # noqa: BLE001  whatever it is, the next collection may succeed
            report = None
            self._failed(error)
        with self._lock:
            self._runs += 1
            self._failures += report is None
            self._seconds = time.monotonic() - begun
            self._report = report or self._report
        gc.collect()  # the program postpones it, for runs of seconds: here 0.3 MB of each collection would stay

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics of the last report, and of the collections."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily  # noqa: PLC0415  import late

        with self._lock:
            report, runs, failures, seconds = self._report, self._runs, self._failures, self._seconds
        if report is not None:
            yield from DiagnosisCollector(report, with_accounts=self._with_accounts).collect()
        yield CounterMetricFamily(f"{PREFIX}collections", "Collections that have ended.", value=runs)
        yield CounterMetricFamily(f"{PREFIX}collection_failures", "Of these, those that failed.", value=failures)
        if seconds is not None:
            yield GaugeMetricFamily(
                f"{PREFIX}collection_duration_seconds", "How long the last collection took.", value=seconds
            )
