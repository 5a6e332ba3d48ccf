"""The HTML report in a browser: nothing is requested or executed, it fits every width, and axe finds no violation."""

from __future__ import annotations

import re
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import documents
import storage_documents
from lab.laboratory import required
from ldapdiag.report.html.page import render

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.long

PATIENCE = 180_000
"""Milliseconds: a limit that only ends a test which hangs."""
WIDTHS = (320, 400, 1280)
ALIVE = "document.title='alive'"
IMPOSED = f'<script>{ALIVE}</script><style>h1{{display:none}}</style><img src=x onerror="{ALIVE}">'


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Yield Debian's Chromium, offline; where it is missing, the laboratory tier fails."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  import late: it brings a runtime of its own

    path = shutil.which("chromium")
    if path is None:
        assert not required(), "chromium not installed (as root, `sh setup.sh servers` does it)"
        pytest.skip("no chromium here")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"], timeout=PATIENCE)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the files of six reports, and of one whose markup was tampered with."""
    folder = tmp_path_factory.mktemp("pages")
    sources = {
        "incident": documents.incident(),
        "sick": documents.sick(),
        "storage": storage_documents.probed(),
        "log": documents.log(),
        "long log": documents.long_log(),
        "long diagnosis": documents.long_diagnosis(),
    }
    texts = {name: render(document) for name, document in sources.items()}
    texts["tampered"] = texts["incident"].replace("<h1>", f'{IMPOSED}<h1 style="display:none">')
    for name, text in texts.items():
        (folder / f"{name}.html").write_text(text)
    return {name: folder / f"{name}.html" for name in texts}


@contextmanager
def opened(browser: Browser, path: Path, width: int = 1280, **traits: Any) -> Iterator[tuple[Page, list[str]]]:
    """Open a file offline, and collect the addresses of its requests."""
    context = browser.new_context(viewport={"width": width, "height": 800}, offline=True, **traits)
    context.set_default_timeout(PATIENCE)
    page, requests = context.new_page(), []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    yield page, requests
    context.close()


@pytest.mark.parametrize("name", ["incident", "sick", "storage", "log", "long log", "long diagnosis"])
def test_nothing_is_requested_and_nothing_is_wider_than_the_window(browser: Browser, pages: Any, name: str) -> None:
    with opened(browser, pages[name]) as (page, requests):
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert page.evaluate("document.documentElement.scrollWidth") <= WIDTHS[-1]
        assert requests == [pages[name].as_uri()]


@pytest.mark.parametrize("name", ["long log", "long diagnosis"])
def test_lines_of_the_most_intervals_are_drawn(browser: Browser, pages: Any, name: str) -> None:
    with opened(browser, pages[name]) as (page, _):
        lengths = page.evaluate(
            "[...document.querySelectorAll('polyline, polygon')].map(one => [one.getTotalLength(), one.points.length])"
        )
        assert len(lengths) >= 5
        assert all(length > 0 and points >= 2 for length, points in lengths)
        assert max(points for _, points in lengths) >= documents.INTERVALS / 2
        messages: list[str] = []
        page.on("console", lambda message: messages.append(message.text))
        page.reload()
        assert [one for one in messages if "attribute" in one] == [], "a mark that the browser does not understand"


def test_what_gets_into_the_markup_is_refused_by_the_policy(browser: Browser, pages: Any) -> None:
    with opened(browser, pages["tampered"]) as (page, _):
        messages: list[str] = []
        finished: list[str] = []
        page.on("requestfinished", lambda request: finished.append(request.url))
        page.on("console", lambda message: messages.append(message.text))
        page.reload()
        assert page.title().startswith("critical: ")
        assert page.evaluate("getComputedStyle(document.querySelector('h1')).display") == "block"
        assert page.evaluate("getComputedStyle(document.body).marginTop") == "0px", "the page's own style is refused"
        assert len([one for one in messages if "Content Security Policy" in one]) >= 3
        assert set(finished) == {pages["tampered"].as_uri()}


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (400, "light"), (400, "dark")])
def test_axe_finds_no_violation(browser: Browser, pages: Any, width: int, scheme: Any) -> None:
    from axe_playwright_python.sync_playwright import Axe  # noqa: PLC0415  import late, with playwright

    for name in ("incident", "log") if width == 1280 and scheme == "light" else ("incident",):
        with opened(browser, pages[name], width, color_scheme=scheme, bypass_csp=True) as (page, _):
            page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
            found = Axe().run(page).response["violations"]
            assert [(one["id"], one["nodes"][0]["html"][:200]) for one in found] == []


def test_colours_follow_the_theme_that_is_asked_for(browser: Browser, pages: Any) -> None:
    grounds = {}
    for scheme in ("light", "dark"):
        with opened(browser, pages["incident"], color_scheme=scheme) as (page, _):
            grounds[scheme] = page.evaluate("getComputedStyle(document.body).backgroundColor")
            fills = page.evaluate("[...document.querySelectorAll('rect.live')].map(one => getComputedStyle(one).fill)")
            assert len(set(fills)) == 1
    assert grounds == {"light": "rgb(255, 255, 255)", "dark": "rgb(13, 17, 23)"}


@pytest.mark.parametrize("name", ["incident", "sick", "storage", "log", "long diagnosis"])
def test_on_paper_a_table_is_a_table_as_wide_as_the_paper(browser: Browser, pages: Any, name: str) -> None:
    with opened(browser, pages[name], 688) as (page, _):
        page.emulate_media(media="print")
        assert page.evaluate("document.documentElement.scrollWidth") <= 688
        shown = page.evaluate("[...document.querySelectorAll('table')].map(one => getComputedStyle(one).display)")
        assert set(shown) == {"table"}


def test_on_paper_every_folded_part_is_open_and_nothing_is_cut(browser: Browser, pages: Any) -> None:
    with opened(browser, pages["incident"], 688, color_scheme="dark") as (page, _):  # A4 less the margins, at 96 dpi
        page.emulate_media(media="print")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        folded = page.evaluate(
            "[...document.querySelectorAll('details:not(.screen) > :not(summary)')]"
            ".filter(one => one.checkVisibility({contentVisibilityAuto: true}) && one.offsetHeight).length"
        )
        assert folded == page.locator("details:not(.screen) > :not(summary)").count() > 20
        assert page.evaluate("document.documentElement.scrollWidth") <= 688
        pdf = page.pdf(prefer_css_page_size=True)
    assert pdf.startswith(b"%PDF")
    assert 5 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 20


def test_tab_reaches_every_fold_and_every_link(browser: Browser, pages: Any) -> None:
    with opened(browser, pages["incident"]) as (page, _):
        expected = page.evaluate(
            "[...document.querySelectorAll('a[href], summary')].filter(one => one.checkVisibility()).length"
        )
        reached = set()
        for _ in range(expected + 1):
            page.keyboard.press("Tab")
            reached.add(
                page.evaluate("[...document.querySelectorAll('a[href], summary')].indexOf(document.activeElement)")
            )
        assert len(reached - {-1}) == expected


def test_without_its_style_the_page_keeps_order_lengths_and_colours(browser: Browser, pages: Any) -> None:
    text = pages["incident"].read_text()
    bare = pages["incident"].with_name("bare.html")
    bare.write_text(re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL))
    with opened(browser, bare) as (page, _):
        widths = page.evaluate(
            "[...document.querySelectorAll('rect.ghost')].map(one => [one.getBoundingClientRect().width, "
            "getComputedStyle(one).fill])"
        )
        assert widths[0][0] > 300
        assert widths[0][1] == "rgb(179, 89, 0)"
