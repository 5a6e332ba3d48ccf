"""The catalogue: the installed checks of all packages, through one entry point."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

from ldapdiag.check import Check
from ldapdiag.errors import UsageError

GROUP = "ldapdiag.checks"

AnyCheck = Check[Any]


def installed_checks() -> tuple[AnyCheck, ...]:
    """Return every installed check: the built-in ones first, each package in its own order."""
    points = sorted(entry_points(group=GROUP), key=lambda point: (point.name != "builtin", point.name))
    return tuple(one for point in points for one in point.load())


def chosen(checks: tuple[AnyCheck, ...], ids: list[str]) -> tuple[AnyCheck, ...]:
    """Return the checks with these ids, all of them when none is named."""
    known = {one.id: one for one in checks}
    for wanted in ids:
        if wanted not in known:
            raise UsageError(f"unknown check {wanted!r}; 'ldapdiag checks' lists the {len(known)} checks")
    return tuple(one for one in checks if not ids or one.id in ids)
