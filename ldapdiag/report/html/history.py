"""The values of the page of a history, from the report object of `ldapdiag history`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag import __version__
from ldapdiag.report.charts.over_time import over_time
from ldapdiag.report.history.rows import LASTING, RUNS, lasting_rows, period, remarks, run_rows, series, title
from ldapdiag.report.html.figures import MOST, figure
from ldapdiag.report.html.tables import PageTable, table
from ldapdiag.wording import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


def history_values(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the template of access logs prints."""
    servers = document["servers"]
    charts = [chart for name in servers for chart in over_time(list(series(document, name)))]
    sections = ((f"server-{place}", name, _tables(document, name)) for place, name in enumerate(servers, 1))
    return {
        "kind": "history",
        "version": __version__,
        "scanner": "",
        "names": document["file"],
        "period": period(document),
        "title": title(document),
        "sentences": [],
        "numbers": [("runs", number(len(document["runs"]))), ("servers", number(len(servers)))],
        "charts": [figure(chart) for chart in charts[:MOST]],
        "sections": [(anchor, name, _filled(tables)) for anchor, name, tables in sections],
        "remarks": remarks(document),
        "evidence_tables": _filled([table("Findings about no single server", LASTING, lasting_rows(document, None))]),
    }


def _tables(document: Mapping[str, Any], server: str) -> Iterator[PageTable]:
    yield table(
        "Findings of the last run, and since when every run has had them", LASTING, lasting_rows(document, server)
    )
    yield table("Runs, the latest first", RUNS, run_rows(document, server), what="runs are")


def _filled(tables: Iterable[PageTable]) -> list[PageTable]:
    return [one for one in tables if one.rows]
