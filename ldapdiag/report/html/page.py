"""The page of a report object: a diagnosis, perhaps with an index plan, the contents of access logs, or a history.

The door to Jinja2: templates of this package, every value escaped, and the policy for the browser.

The values of the page of a history, from the report object of `ldapdiag history`.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup, escape

from ldapdiag import __version__, wording
from ldapdiag.report.charts.over_time import over_time
from ldapdiag.report.history.rows import LASTING, RUNS, lasting_rows, period, remarks, run_rows, series, title
from ldapdiag.report.html.diagnosis import diagnosis_values
from ldapdiag.report.html.figures import MOST, area, ends, figure, of_log, segments, shown_value
from ldapdiag.report.html.values import PageTable, page_tables, percent, points, table, tick
from ldapdiag.report.log.caveats import limits
from ldapdiag.report.log.caveats import remarks as log_remarks
from ldapdiag.report.log.fleet_text import fleet_sentences
from ldapdiag.report.log.operations_text import load_sentences
from ldapdiag.report.log.tables import READ, SECTIONS, at_once, unusual
from ldapdiag.report.neutral import neutral
from ldapdiag.wording import counted, duration, number, shown_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

REMARKS = 40


def log_values(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the template of access logs prints."""
    return {
        "kind": "access log",
        "version": __version__,
        "scanner": document["scanner"],
        "names": ", ".join(stream["name"] for stream in document["streams"][:4]),
        "period": _period(document),
        "title": _title(document),
        "sentences": list(_sentences(document)),
        "numbers": list(_numbers(document)),
        "charts": of_log(document),
        "sections": [
            (anchor, name, tables) for anchor, name, each in SECTIONS if (tables := page_tables(document, each))
        ],
        "remarks": log_remarks(document)[:REMARKS],
        "evidence_tables": page_tables(document, READ),
    }


def _period(document: Mapping[str, Any]) -> str:
    if not document["first_time"]:
        return ""
    return f"{shown_time(document['first_time'])} to {shown_time(document['last_time'])}"


def _title(document: Mapping[str, Any]) -> str:
    """Return what the log contains, in one sentence."""
    searches = document["searches"]
    if not searches["total"]:
        if noticed := sum(notice["count"] for notice in document["noticed"]):
            return f"{counted(noticed, 'unindexed search', 'unindexed searches')} in the errors log"
        return f"{counted(sum(document['operations'].values()), 'operation')}, no search among them"
    title = f"{counted(searches['total'], 'search')} took {duration(searches['etime_seconds'])}"
    if not any(shape["answered"] for shape in searches["shapes"]):
        return f"{counted(searches['total'], 'search')}, none with a result: how long they took is not known"
    if not searches["unindexed"]:
        return f"{title}; none is logged as unindexed"
    return f"{title}; {number(searches['unindexed'])} of {number(searches['total'])} were unindexed"


def _sentences(document: Mapping[str, Any]) -> Iterator[str]:
    yield from limits(document)
    for what in unusual(document["searches"]):
        yield f"Of the searches, {what}."
    shapes = document["searches"]["shapes"]
    if shapes and (first := shapes[0])["etime_seconds"]:
        yield f"{100 * first['share']:.0f} % of the search time is that of {first['shape']}."
    yield from load_sentences(document)
    if document["fleet"]:
        yield from fleet_sentences(document)


def _numbers(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    connections = document["connections"]
    yield "lines", number(document["lines"])
    yield "operations", number(sum(document["operations"].values()))
    yield "connections opened", number(connections["opened"])
    yield f"connections {at_once(document)}, at most", number(connections["peak"])
    yield "failed BINDs", number(sum(bind["count"] for bind in document["failed_binds"]))
    yield "time in the longest search", duration(_longest(document))


def _longest(document: Mapping[str, Any]) -> float:
    return max(
        (shape["worst"]["etime_seconds"] for shape in document["searches"]["shapes"] if shape["worst"]), default=0.0
    )


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


CONTENTS = {"ldapdiag.log": log_values, "ldapdiag.history": history_values}
"""By schema; all others are diagnoses."""


def render(document: Mapping[str, Any], made: str = "") -> str:
    """Return a report as one HTML file: equal evidence gives equal bytes but for `made`, when and by which command."""
    if values := CONTENTS.get(document["schema"].partition("/")[0]):
        return render_page("log.html.j2", **values(document), made=made)
    return render_page("diagnosis.html.j2", **diagnosis_values(document), made=made)


STYLE = "style.css"
LONGEST = 2000
"""Characters of one value; only text from outside is longer."""
LONGEST_COMMAND = 1 << 20


def render_page(template: str, **values: Any) -> str:  # noqa: ANN401  the values of a template
    """Return a page: one file without script, whose policy permits its own style and nothing else."""
    environment = _environment()
    style = f"\n{_texts()[STYLE]}"
    page = environment.get_template(template).render(**values, style=Markup(style), policy=policy(style))  # noqa: S704  our own file
    return f"{page.rstrip()}\n"


def policy(style: str) -> str:
    """Return the content security policy of a page with this text in its style element.

    A hash instead of 'unsafe-inline': a style element or attribute that got into the page has no effect, nor has a
    script. No policy stops `<meta http-equiv=refresh>`: autoescape does.
    """
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


@cache
def _environment() -> Environment:
    environment = Environment(
        autoescape=True,  # not select_autoescape, which looks at the names of files
        loader=DictLoader({name: text for name, text in _texts().items() if name != STYLE}),
        undefined=StrictUndefined,
        finalize=_neutral,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "command": _command,
        "counted": _counted,
        "number": wording.number,
        "percent": percent,
        "points": _points,
        "tick": tick,
        "shown": shown_value,
        "segments": segments,
        "area": area,
        "ends": ends,
    }
    return environment


@cache
def _texts() -> dict[str, str]:
    """Return the templates and the style of this package by name."""
    folder = files("ldapdiag.report.html") / "templates"
    return {one.name: one.read_text(encoding="utf-8") for one in folder.iterdir()}


def _neutral(value: Any) -> Any:  # noqa: ANN401  what a template prints
    """Return text without control and bidirectional characters, which escaping leaves; nothing for None."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return neutral(value, lines=True, longest=LONGEST)
    return "" if value is None else value


def _command(text: str) -> Markup:
    """Return commands and lists of ports, escaped as any value, but not cut."""
    return escape(neutral(text, lines=True, longest=LONGEST_COMMAND))


def _points(places: Iterable[tuple[float, float]]) -> Markup:
    """Return coordinates, which are not cut as text is: of a list that ends in half a point a browser draws nothing."""
    return escape(points(places))


def _counted(number: int, noun: str) -> str:
    return wording.counted(number, noun)
