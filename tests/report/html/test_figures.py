"""Figures: what the SVG shows, read back from the page, is what the JSON has, and every value axis begins at zero."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import html5lib
import pytest

import documents
from ldapdiag.report.charts.of_finding import both_ends
from ldapdiag.report.html.page import render

if TYPE_CHECKING:
    from collections.abc import Iterator
    from xml.etree.ElementTree import Element

CLOSE = 0.002
"""Of the width of an axis."""


def figures(document: dict[str, Any], form: str) -> list[Element]:
    tree = html5lib.parse(render(document), namespaceHTMLElements=False)
    return [one for one in tree.iter("figure") if form in (one.get("class") or "").split()]


def of_class(element: Element, tag: str, name: str) -> list[Element]:
    return [
        one for one in element.iter(f"{{http://www.w3.org/2000/svg}}{tag}") if name in (one.get("class") or "").split()
    ]


def svgs(element: Element) -> list[Element]:
    return list(element.iter("{http://www.w3.org/2000/svg}svg"))


def percent(text: str | None) -> float:
    assert text is not None
    assert text.endswith("%") or text == "0"
    return float(text.removesuffix("%")) / 100


def scale(svg: Element) -> float:
    """Return the value at the end of an axis by its ticks, which must lie where their labels say, from zero on."""
    texts = list(svg.iter("{http://www.w3.org/2000/svg}text"))
    ticks = [(percent(one.get("x")), float((one.text or "").replace(",", ""))) for one in texts]
    assert ticks[0] == (0.0, 0.0)
    end = ticks[-1][1] / ticks[-1][0]
    assert all(place == pytest.approx(value / end, abs=CLOSE) for place, value in ticks)
    return end


def bars(figure: Element) -> Iterator[tuple[str, dict[str, float], str]]:
    """Yield the name, the parts and the number of each bar, by the axis below them."""
    *rows, axis = [one for one in figure.iter("div") if one.get("class") == "bar"]
    end = scale(svgs(axis)[0])
    for row in rows:
        blocks = [
            one
            for one in svgs(row)[0]
            if one.tag.endswith("rect") and one.get("class") and "thin" not in one.get("class", "")
        ]
        begins = [percent(one.get("x")) for one in blocks]
        ends = [percent(one.get("x")) + percent(one.get("width")) for one in blocks]
        assert [0.0, *ends[:-1]][: len(begins)] == pytest.approx(begins, abs=CLOSE)
        parts = {one.get("class") or "": percent(one.get("width")) * end for one in blocks}
        name, value = ("".join(one.itertext()) for one in row.findall("span"))
        yield name, parts, value


def test_bars_of_both_ends_are_the_connections_of_the_json() -> None:
    document = documents.incident()
    (figure,) = [one for one in figures(document, "bars") if "each end" in "".join(one.itertext())]
    shown = list(bars(figure))
    expected = []
    for one in document["directions"]:
        expected += [
            (one["server_count"], {"live": one["held"], "ghost": one["ghosts"]}),
            (one["client_count"], {"live": one["held"], "ghost": one["stranded"]}),
        ]
    assert len(shown) == len(expected) == 4
    top = max(count for count, _ in expected)
    for (_, parts, value), (count, counts) in zip(shown, expected, strict=True):
        assert value == f"{count:,}"
        assert parts == pytest.approx({kind: part for kind, part in counts.items() if part}, abs=CLOSE * top)


def test_bars_of_shares_are_the_connections_of_the_json() -> None:
    document = documents.incident()
    (finding,) = [one for one in document["findings"] if one["check"] == "connection-share"]
    (figure,) = [one for one in figures(document, "bars") if "by account" in "".join(one.itertext())]
    shown = {name: parts["count"] for name, parts, _ in bars(figure)}
    expected = {one["bind_dn"]: one["connections"] for one in finding["observed"]["by_account"]}
    assert shown == pytest.approx(expected, abs=CLOSE * max(expected.values()))


def test_strips_are_the_idle_ages_of_the_json_and_marks_lie_at_the_timeouts() -> None:
    document = documents.incident()
    (finding,) = [one for one in document["findings"] if one["check"] == "idle-timeout"]
    ages = finding["observed"]["idle_ages"]
    (figure,) = figures(document, "strips")
    labels, live, ghosts, axis = [one for one in svgs(figure) if (one.get("class") or "") in {"labels", "row", "scale"}]
    end = scale(axis)
    for row, kind, key in ((live, "live", "live"), (ghosts, "ghost", "ghosts")):
        top = max(ages[key])
        shown = {
            percent(one.get("x")) * end: float(one.get("height", "0")) / 48 * top for one in of_class(row, "rect", kind)
        }
        counts = zip(pairwise(ages["edges_seconds"]), ages[key], strict=True)
        expected = {begin: count for (begin, _), count in counts if count}
        assert sorted(shown) == pytest.approx(sorted(expected), abs=CLOSE * end)
        assert [shown[one] for one in sorted(shown)] == pytest.approx(
            [expected[one] for one in sorted(expected)], rel=0.01
        )
        assert all(
            float(one.get("y", "0")) + float(one.get("height", "0")) == pytest.approx(64, abs=0.02)
            for one in of_class(row, "rect", kind)
        )
    marks = [percent(one.get("x1")) * end for one in of_class(labels, "line", "mark")]
    timeouts = [ages["upper_seconds"], finding["observed"]["recommended_seconds"]]
    assert marks == pytest.approx(timeouts, abs=CLOSE * end)


def test_lines_over_time_are_the_timeline_of_the_log() -> None:
    document = documents.log()
    timeline = document["timeline"]
    shown = figures(document, "time")
    keys = ("search_seconds", "operations", "open")
    assert shown
    for figure, key in zip(shown, [key for key in keys if any(timeline[key])], strict=True):
        side = next(one for one in svgs(figure) if one.get("class") == "side")
        texts = [(float(one.get("y", "0")), float((one.text or "").replace(",", ""))) for one in side]
        assert texts[0] == (212.0, 0.0)
        top = texts[-1][1] / (212 - texts[-1][0]) * 200
        (line,) = of_class(figure, "polyline", "line")
        places = [tuple(map(float, point.split(","))) for point in (line.get("points") or "").split()]
        values = [(200 - y) / 200 * top for _, y in places]
        assert values == pytest.approx(timeline[key], abs=CLOSE * top)
        steps = [after - before for (before, _), (after, _) in pairwise(places)]
        assert steps == pytest.approx([steps[0]] * len(steps), abs=0.01)


@pytest.mark.parametrize("document", [documents.incident, documents.sick, documents.log])
def test_each_figure_has_its_numbers_in_words_and_in_a_table(document: Any) -> None:
    tree = html5lib.parse(render(document()), namespaceHTMLElements=False)
    shown = list(tree.iter("figure"))
    assert shown
    for figure in shown:
        (plot,) = [one for one in figure.iter("div") if one.get("role") == "img"]
        assert any(character.isdigit() for character in plot.get("aria-label", ""))
        assert all(
            svg.get("aria-hidden") == "true"
            for svg in plot.iter("{http://www.w3.org/2000/svg}svg")
            if svg.get("viewBox") is None
        )
        assert len(list(figure.iter("tr"))) > 1


@pytest.mark.parametrize(
    ("value", "shown"),
    [(8.5728e-05, "under 0.0001"), (0.0, "0"), (0.225898166, "0.2259"), (2.0, "2"), (12_345.6, "12,346"), (7, "7")],
)
def test_the_numbers_of_a_table_have_no_exponent_and_no_digits_that_nobody_reads(value: float, shown: str) -> None:
    document = documents.log()
    timeline = document["timeline"]
    values = [value, 1.5, *[1.5] * (len(timeline["search_seconds"]) - 2)]
    (figure, *_) = figures(document | {"timeline": timeline | {"search_seconds": values}}, "time")
    (row, *_) = [one for one in figure.iter("tr") if one.find("td") is not None]
    assert [one.text for one in row.iter("td")] == [shown]


NUMBER = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"
GRAMMAR = {
    **dict.fromkeys(("x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "dx", "width", "height"), rf"{NUMBER}%?"),
    **dict.fromkeys(("font-size", "stroke-width", "fill-opacity"), NUMBER),
    **dict.fromkeys(("fill", "stroke"), r"#[0-9a-f]{6}|none|url\(#hatch\)"),
    "points": rf"{NUMBER},{NUMBER}(?: {NUMBER},{NUMBER})*",
    "viewBox": rf"{NUMBER}(?: {NUMBER}){{3}}",
    "stroke-dasharray": rf"{NUMBER} {NUMBER}",
    "text-anchor": "start|middle|end",
    "class": r"[a-z-]+(?: [a-z-]+)*",
    "aria-hidden": "true",
    "focusable": "false",
    "overflow": "visible",
    "preserveAspectRatio": "none",
    "vector-effect": "non-scaling-stroke",
}
"""What a browser accepts in each attribute of a mark; it draws nothing of a mark with another value."""


@pytest.mark.parametrize(
    ("document", "lines"),
    [(documents.long_log, 3), (documents.long_diagnosis, 3), (documents.incident, 0), (documents.sick, 0)],
)
def test_a_browser_understands_every_attribute_of_every_chart(document: Any, lines: int) -> None:
    tree = html5lib.parse(render(document()), namespaceHTMLElements=False)
    marks = [one for figure in tree.iter("figure") for one in figure.iter() if one.tag.startswith("{")]
    assert len(marks) > 50
    wrong = {
        f"{one.tag}: {name}={value[-60:]}"
        for one in marks
        for name, value in one.attrib.items()
        if not re.fullmatch(GRAMMAR[name], value)
    }
    assert wrong == set()
    assert sum(one.tag.endswith("polyline") for one in marks) >= lines
    if lines:
        known = sum(len((one.get("points") or "").split()) for one in marks if one.get("class") == "line")
        assert known in {3 * documents.INTERVALS, documents.INTERVALS - 1}, "each value that is known is drawn"


def test_a_picture_of_the_incident_shows_that_one_end_lacks_most() -> None:
    chart = both_ends(documents.incident()["directions"])
    assert chart is not None
    assert "268 ghosts" in chart.sentence
