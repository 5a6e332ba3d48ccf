"""The policy and the palette: what a browser permits on the page, and that its text is readable in both themes."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib.resources import files
from pathlib import Path

import pytest
from jinja2 import UndefinedError

import documents
from ldapdiag.report.html import page as environment
from ldapdiag.report.html.page import render

TEMPLATES = sorted(Path(str(files("ldapdiag.report.html") / "templates")).iterdir())
STYLE = next(path for path in TEMPLATES if path.name == environment.STYLE).read_text()

TEXT = ("ink", "soft", "link", "critical", "high", "medium")
AREAS = ("living", "ghost", "before")
WCAG_TEXT, WCAG_GRAPHICS = 4.5, 3.0
"""Least contrast: WCAG 2.2, 1.4.3 (AA) and 1.4.11."""


def test_the_policy_permits_the_style_of_the_page_and_nothing_else() -> None:
    page = render(documents.incident())
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    head = page.partition("<title>")[0].replace("&#39;", "'")
    assert head.index("Content-Security-Policy") < head.index("charset")
    assert f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'" in head
    assert "unsafe" not in head
    assert '<meta name="referrer" content="no-referrer">' in head


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_template_lets_text_through_unescaped(path: Path) -> None:
    text = path.read_text()
    assert not re.search(r"\|\s*safe|autoescape|Markup|\son\w+=|javascript:|https?://|@import", text)
    assert set(re.findall(r"url\([^)]*\)", text)) <= {"url(#hatch)"}
    markup = re.sub(r"\{[{%#].*?[}%#]\}", "", text, flags=re.DOTALL)
    unquoted = re.search(r"<[^>]*\s[\w-]+=[^\"]", re.sub(r'"[^"]*"', '""', markup))
    assert path.suffix == ".css" or unquoted is None
    assert " style=" not in text


def test_a_value_that_a_page_lacks_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        environment.render_page("diagnosis.html.j2")


def palette(*, dark: bool) -> dict[str, str]:
    light, _, rest = STYLE.partition("prefers-color-scheme: dark")
    colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", light))
    return colours | dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", rest)) if dark else colours


def luminance(colour: str) -> float:
    """Return the relative luminance of WCAG 2.2."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def test_contrast_is_computed_as_wcag_does() -> None:
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("ground", ["page", "raised"])
def test_text_is_readable_and_areas_are_visible_in_both_themes(ground: str, *, dark: bool) -> None:
    colours = palette(dark=dark)
    poor = {
        name: round(contrast(colours[name], colours[ground]), 2)
        for name, least in (*dict.fromkeys(TEXT, WCAG_TEXT).items(), *dict.fromkeys(AREAS, WCAG_GRAPHICS).items())
        if contrast(colours[name], colours[ground]) < least
    }
    assert poor == {}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("severity", ["critical", "high", "medium", "soft"])
def test_the_word_on_a_badge_is_readable(severity: str, *, dark: bool) -> None:
    colours = palette(dark=dark)
    assert contrast(colours["badge"], colours[severity]) >= WCAG_TEXT


def test_both_themes_define_the_same_colours() -> None:
    light, _, rest = STYLE.partition("prefers-color-scheme: dark")
    assert set(re.findall(r"--(\w+):", light)) == set(re.findall(r"--(\w+):", rest))


def test_colours_that_remain_without_the_style_are_those_of_the_light_theme() -> None:
    used = {
        colour for path in TEMPLATES if path.suffix == ".j2" for colour in re.findall(r"#[0-9a-f]{6}", path.read_text())
    }
    assert used <= set(palette(dark=False).values())
