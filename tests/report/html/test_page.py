"""The page: nothing in the evidence becomes markup, whatever it contains, and equal evidence gives equal bytes."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from html.parser import HTMLParser
from itertools import product
from typing import TYPE_CHECKING, Any

import html5lib
import pytest
from hypothesis import given
from hypothesis import strategies as st

import documents
import examples
import storage_documents
from ldapdiag.report.html.page import render
from ldapdiag.report.not_judged import VARIES

if TYPE_CHECKING:
    from collections.abc import Callable

DOCUMENTS = {
    "diagnosis": documents.sick,
    "incident": documents.incident,
    "storage": storage_documents.probed,
    "log": documents.log,
}

HOSTILE = (
    "<script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "</style><style>*{display:none}</style>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    '" style="position:fixed" x="',
    "`onload=alert(1)`",
    "<meta http-equiv=refresh content='0;url=//example.com'>",
    "<base href=//example.com>",
    "<a href=javascript:alert(1)>x</a>",
    "javascript:alert(1)",
    "<svg/onload=alert(1)>",
    "<svg><foreignObject><iframe src=//example.com></iframe></foreignObject></svg>",
    "<!--",
    "-->",
    "]]>",
    "<![CDATA[",
    "{{ 7 * 7 }}",
    "{% include 'x' %}",
    "{# x #}",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;script&#62;",
    "</pre></details></article></main></body></html>",
    "<plaintext>",
    "<template><details open ontoggle=alert(1)>",
    "<form action=//example.com><button>",
    "<link rel=stylesheet href=//example.com>",
    "\u202egnp.exe\u2066",
    "\x00\x1b[2J\x7f\x9b31m",
    "\ufeff\u200b\u2028\u2029",
    "\ud800",
    "url(//example.com)",
    "a" * 1200,
)


CASES = [
    pytest.param(DOCUMENTS[name], payload, id=f"{name}-{HOSTILE.index(payload)}")
    for payload, name in product(HOSTILE, DOCUMENTS)
]


class Markup(HTMLParser):
    """What a page consists of, by the parser of the standard library."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: Counter[str] = Counter()
        self.attributes: Counter[tuple[str, str]] = Counter()
        self.links: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements[tag] += 1
        self.attributes.update((tag, name) for name, _ in attrs)
        self.links |= {value or "" for name, value in attrs if name in {"href", "src", "action", "data", "xlink:href"}}


@cache
def harmless_page(document: Any, ending: str) -> Markup:
    return Markup(render(documents.changed(document(), lambda text: f"{text}{ending}")))


def harmless_ending(payload: str) -> str:
    """Return a text with the same words and numbers: reasons that differ in these alone stand in one row."""
    return re.sub(r"[^\s\d,;():]", "\u00a4", payload) if VARIES.search(payload) else "harmless"


@pytest.mark.parametrize(("document", "payload"), examples.some(CASES, 3))  # each text, and each document
def test_hostile_text_in_every_field_adds_no_element_and_no_attribute(document: Any, payload: str) -> None:
    harmless = harmless_page(document, harmless_ending(payload))
    hostile = Markup(render(documents.changed(document(), lambda text: f"{text}{payload}")))
    assert hostile.elements == harmless.elements
    assert hostile.attributes == harmless.attributes
    assert all(link.startswith("#") for link in hostile.links)


@given(payload=st.text(st.characters(), max_size=60))
@examples.every(5)
def test_no_text_at_all_adds_markup(payload: str) -> None:
    words = "".join(payload.splitlines())
    harmless = Markup(render(documents.changed(documents.log(), lambda text: f"{text}harmless")))
    assert (
        Markup(render(documents.changed(documents.log(), lambda text: f"{text}{words}"))).elements == harmless.elements
    )


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
def test_a_page_is_valid_and_alive_in_nothing(document: Any) -> None:
    page = render(document())
    parser = html5lib.HTMLParser(namespaceHTMLElements=False)
    parser.parse(page)
    assert parser.errors == []
    markup = Markup(page)
    dead = {"script", "iframe", "object", "embed", "form", "input", "button", "link", "img", "base", "foreignobject"}
    assert dead.isdisjoint(markup.elements)
    assert not [name for _, name in markup.attributes if name.startswith("on") or name in {"style", "src", "srcdoc"}]
    assert "//" not in page.replace("http://www.w3.org", "").partition("<body>")[0]


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
def test_equal_evidence_gives_equal_bytes_at_any_time(document: Any) -> None:
    later = document() | {"taken_at": "2031-01-01T00:00:00Z"}
    assert render(document()) == render(later)


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
def test_each_anchor_leads_to_one_element(document: Any) -> None:
    tree = html5lib.parse(render(document()), namespaceHTMLElements=False)
    ids = Counter(one.get("id") for one in tree.iter() if one.get("id"))
    assert set(ids.values()) == {1}
    assert {one.get("href", "")[1:] for one in tree.iter("a")} <= set(ids)


def test_the_incident_is_small() -> None:
    assert len(render(documents.incident()).encode()) < 1 << 20


def many(number: int, **observed: Any) -> dict[str, Any]:
    """Return the report on a site with so many findings, spread over all checks, each with its remedies."""
    sick = documents.sick()
    findings = [one | {"id": f"{one['id']}|{copy}"} for copy in range(number) for one in sick["findings"]][:number]
    verdicts = [one for _ in range(number // len(sick["verdicts"]) + 1) for one in sick["verdicts"]]
    return sick | {"findings": findings, "verdicts": verdicts} | observed


def large(document: dict[str, Any]) -> dict[str, Any]:
    """Return a report with ten thousand findings in which every other table is as long as it may be, too."""
    values = {"server": "s", "name": "connections", "unit": "connections", "source": "its access log"}
    times = {"step_seconds": 60, "from": "2026-11-20T08:00:00Z", "values": list(range(240))}
    series = [values | times | {"limit": None, "forecast": None} for _ in range(50)]
    source = document["evidence"][0]
    return document | {
        "series": document["series"] + series,
        "evidence": [source | {"origin": f"host{number}/ss.txt"} for number in range(5000)],
        "hosts": [document["hosts"][0] | {"name": f"host{number}"} for number in range(1000)],
        "gaps": [{"target": f"ssh://host{number}", "reason": "refused", "how": "try"} for number in range(1000)],
        "passed_over": [{"target": f"file{number}", "reason": "none"} for number in range(1000)],
    }


def alike(check: str) -> dict[str, Any]:
    """Return the report on ten thousand findings of one check."""
    sick = documents.sick()
    one = next(finding for finding in sick["findings"] if finding["check"] == check)
    return sick | {"findings": [one | {"id": f"{one['id']}|{number}"} for number in range(10_000)]}


@pytest.mark.parametrize(
    "make",
    examples.some(
        [
            pytest.param(lambda: large(many(10_000)), id="with long tables"),
            pytest.param(lambda: many(10_000), id="of all checks"),
            pytest.param(lambda: large(alike("ghost-connections")), id="ghosts"),
            pytest.param(lambda: large(alike("idle-timeout")), id="timeouts"),
        ],
        4,
    ),
)
def test_ten_thousand_findings_are_at_most_20000_nodes(make: Callable[[], dict[str, Any]]) -> None:
    document = make()
    page = render(document)
    tree = html5lib.parse(page, namespaceHTMLElements=False)
    assert sum(1 + bool(one.text) + bool(one.tail) for one in tree.iter()) <= 20_000
    assert len(page.encode()) < 4 << 20
    text = " ".join("".join(tree.itertext()).split())
    assert all(check in text for check in {one["check"] for one in document["findings"][50:]})
    shown = sum(1 for one in tree.iter("article")) + len(
        re.findall(r"<tr role=\"row\"><th role=\"rowheader\" scope=\"row\">\w+</th><td role=\"cell\">", page)
    )
    more = sum(int(one.replace(",", "")) for one in re.findall(r"([\d,]+) more findings of this check", text))
    assert shown + more == 10_000


def test_long_tables_are_cut_and_give_the_number_of_the_rest() -> None:
    gaps = [{"target": f"ssh://host{number}", "reason": "refused", "how": "try"} for number in range(1234)]
    page = render(documents.sick() | {"gaps": gaps})
    assert "ssh://host99<" in page
    assert "ssh://host100<" not in page
    assert "1,134 more gaps are in the JSON report" in page
