"""The checks in their groups as text, and with their settings and manual pages as JSON (schema ldapdiag.checks/1)."""

from __future__ import annotations

import inspect
import json
import textwrap
from typing import TYPE_CHECKING, Any

from ldapdiag.check import GROUPS
from ldapdiag.exempt_accounts import ExemptAccounts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ldapdiag.catalogue import AnyCheck

SCHEMA = "ldapdiag.checks/1"
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
    return "\n".join(parts)


def _wrapped(title: str, room: int, indent: int) -> str:
    return f"\n{'':{indent}}".join(textwrap.wrap(title, room, break_on_hyphens=False))


def as_json(checks: Sequence[AnyCheck]) -> str:
    """Return the checks in the order of a report."""
    return json.dumps({"schema": SCHEMA, "checks": list(map(_plain, checks))}, indent=1, sort_keys=True) + "\n"


def _plain(check: AnyCheck) -> dict[str, Any]:
    return {
        "id": check.id,
        "group": check.group,
        "title": check.title,
        "manual": inspect.cleandoc(check.manual),
        "main_number": check.number.key if check.number else None,
        "evidence": [one.fact.__name__ for one in check.needs],
        "settings": list(_settings(check)),
    }


def _settings(check: AnyCheck) -> Iterator[dict[str, Any]]:
    for one in check.settings:
        values = {"default": one.default, "value": check.configuration.get(one.name, one.default)}
        plain = {key: list(of.accounts) if isinstance(of, ExemptAccounts) else of for key, of in values.items()}
        yield {"name": one.name, "meaning": one.meaning, "unit": one.unit, **plain}
