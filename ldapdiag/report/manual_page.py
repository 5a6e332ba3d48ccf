"""The manual page of a check, laid out as man(1) does: headings at the left edge, paragraphs behind a margin.

The docstring of a check is a subset of Markdown: a title, `## ` headings, paragraphs, `- ` lists, back-quoted words.

The checks in their groups as text, and with their settings and manual pages as JSON (schema ldapdiag.checks/1).
"""

from __future__ import annotations

import inspect
import json
import re
import textwrap
from typing import TYPE_CHECKING, Final

from ldapdiag.check import GROUPS
from ldapdiag.exempt_accounts import ExemptAccounts
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ldapdiag.catalogue import AnyCheck
    from ldapdiag.check import Check, Need
    from ldapdiag.documents.checks import Document, ListedCheck, ListedSetting

MARGIN = " " * 4
WIDEST = 80
BULLET = "- "
QUOTED = pattern(r"`([^`]+)`")


def manual_page(check: Check[...], width: int, *, origin: str = "") -> str:
    """Return the manual page of a check, wrapped to a number of columns, at most 80.

    `origin` is the file that the settings of its configuration are from.
    """
    title, *sections = re.split(r"^## (.+)$", inspect.cleandoc(check.manual), flags=re.MULTILINE)
    lines = [check.id, *_paragraph(title.strip(), min(width, WIDEST))]
    for heading, text in zip(sections[::2], sections[1::2], strict=True):
        lines += ["", heading.upper(), *_text(text, min(width, WIDEST))]
    if check.settings:
        lines += ["", "SETTINGS", *_settings(check, min(width, WIDEST), origin)]
    lines += ["", "EVIDENCE", *_evidence(check.needs, min(width, WIDEST))]
    return "\n".join(lines) + "\n"


def fact_name(need: Need) -> str:
    """Return the name of the evidence that a check needs, and whether it judges without it."""
    kind: str = need.fact.kind
    return kind.replace("-", " ") + (" (optional)" if need.optional and not need.every else "")


def _text(text: str, width: int) -> Iterator[str]:
    """Yield the lines of a section, with an empty line between its paragraphs."""
    for number, block in enumerate(block for block in text.split("\n\n") if block.strip()):
        if number:
            yield ""
        for item in re.split(rf"^(?={BULLET})", block.strip(), flags=re.MULTILINE):
            if item:
                yield from _paragraph(item, width)


def _paragraph(text: str, width: int) -> list[str]:
    """Return a paragraph or the item of a list, wrapped; words and options are never broken."""
    hanging = MARGIN + " " * len(BULLET) if text.startswith(BULLET) else MARGIN
    return textwrap.wrap(
        QUOTED.sub(r"\1", " ".join(text.split())),
        width,
        initial_indent=MARGIN,
        subsequent_indent=hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _settings(check: Check[...], width: int, origin: str) -> Iterator[str]:
    """Yield each setting with the value in force, where that is from, and what it means."""
    for setting in check.settings:
        default = setting.shown(setting.default)
        value, source = default, "by default"
        if setting.name in check.configuration:
            value = setting.shown(check.configuration[setting.name])
            source = f"{origin}: [checks.{check.id}] {setting.name}; by default {default}"
        yield from textwrap.wrap(
            f"{setting.name} = {value} ({source})",
            width,
            initial_indent=MARGIN,
            subsequent_indent=MARGIN * 3,
            break_long_words=False,
            break_on_hyphens=False,
        )
        yield from textwrap.wrap(setting.meaning, width, initial_indent=MARGIN * 2, subsequent_indent=MARGIN * 2)


def _evidence(needs: tuple[Need, ...], width: int) -> Iterator[str]:
    """Yield each kind of evidence that a check reads, and how to collect it."""
    for need in needs:
        yield MARGIN + fact_name(need)
        for part in need.fact.how.split("; "):
            yield from textwrap.wrap(
                part,
                width,
                initial_indent=MARGIN * 2,
                subsequent_indent=MARGIN * 3,
                break_long_words=False,
                break_on_hyphens=False,
            )


SCHEMA: Final = "ldapdiag.checks/1"
NARROWEST = 20
"""Columns that a title has on the narrowest terminal."""


def as_text(checks: Sequence[AnyCheck], columns: int) -> str:
    """Return the groups with a line for each check; on a narrow terminal its title goes on below itself."""
    width = max(len(check.id) for check in checks) + 4
    room = max(columns - width, NARROWEST)
    parts = []
    for group in GROUPS:
        if of_group := [check for check in checks if check.group == group]:
            lines = (f"  {check.id:{width - 2}}{_wrapped(check.title, room, width)}\n" for check in of_group)
            parts.append(f"{group}\n{''.join(lines)}")
    return "\n".join([*parts, "What one looks at, decides and advises: ldapdiag checks NAME\n"])


def _wrapped(title: str, room: int, indent: int) -> str:
    return f"\n{'':{indent}}".join(textwrap.wrap(title, room, break_on_hyphens=False))


def as_json(checks: Sequence[AnyCheck]) -> str:
    """Return the checks in the order of a report."""
    document: Document = {"schema": SCHEMA, "checks": list(map(_plain, checks))}
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def _plain(check: AnyCheck) -> ListedCheck:
    return {
        "id": check.id,
        "group": check.group,
        "title": check.title,
        "manual": inspect.cleandoc(check.manual),
        "main_number": check.number.key if check.number else None,
        "evidence": [need.fact.__name__ for need in check.needs],
        "settings": list(_listed_settings(check)),
    }


def _listed_settings(check: AnyCheck) -> Iterator[ListedSetting]:
    for setting in check.settings:
        yield {
            "name": setting.name,
            "meaning": setting.meaning,
            "unit": setting.unit,
            "default": _plain_value(setting.default),
            "value": _plain_value(check.configuration.get(setting.name, setting.default)),
        }


def _plain_value(value: float | ExemptAccounts) -> float | list[str]:
    return list(value.accounts) if isinstance(value, ExemptAccounts) else value
