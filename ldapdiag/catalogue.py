"""The catalogue: the installed checks of all packages, through entry points.

A package lists all its checks in `ldapdiag.checks`, and those that `ldapdiag indexes` or `ldapdiag storage` runs also
in `ldapdiag.index_checks` or `ldapdiag.storage_checks`, so that these commands need not import the others.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from ldapdiag.check import Check
from ldapdiag.check_names import check_places
from ldapdiag.errors import LdapdiagError, UsageError
from ldapdiag.evidence.report_kind import ReportKind
from ldapdiag.extras import install_command

if TYPE_CHECKING:
    from collections.abc import Collection
    from importlib.metadata import EntryPoint

GROUPS = {
    ReportKind.ALL: "ldapdiag.checks",
    ReportKind.INDEXES: "ldapdiag.index_checks",
    ReportKind.STORAGE: "ldapdiag.storage_checks",
}

AnyCheck = Check[Any]


def installed_checks(kind: ReportKind = ReportKind.ALL) -> tuple[AnyCheck, ...]:
    """Return the installed checks of a report: the built-in ones first, each package in its own order.

    Raises LdapdiagError if there is none: a report of no check would read like an all-clear.
    """
    group = GROUPS[kind]
    points = sorted(entry_points(group=group), key=lambda point: (point.name != "builtin", point.name))
    found: dict[str, AnyCheck] = {}
    for point in points:
        loaded = _loaded(point)
        if twice := [one.id for one in loaded if one.id in found]:
            loaded = (_crashing(point.name, f"the package {_package(point)} has a second check {twice[0]}"),)
        found |= {one.id: one for one in loaded}
    if not found:
        # An editable installation lists the checks of the time when it was made.
        how = f"install ldapdiag again: {install_command()}"
        raise LdapdiagError(f"no check is installed: no package lists one in {group}; {how}")
    return tuple(found.values())


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist else point.value


def _loaded(point: EntryPoint) -> tuple[AnyCheck, ...]:
    """Return the checks of a package; of another one that cannot be imported, a check that crashes and says so."""
    try:
        loaded = tuple(point.load())
        strange = [one for one in loaded if not isinstance(one, Check)]
    except (Exception, SystemExit) as error:
        if point.name == "builtin":
            raise
        reason = f"the checks of the package {_package(point)} cannot be imported"
        return (_crashing(point.name, f"{reason}: {type(error).__name__}: {error}"),)
    if strange:
        return (_crashing(point.name, f"the package {_package(point)} lists {strange[0]!r:.80}, which is no check"),)
    return loaded


def _crashing(name: str, reason: str) -> AnyCheck:
    def judge() -> Any:  # noqa: ANN401  it returns nothing
        """Stand for checks of another package, which cannot be imported."""
        raise ImportError(reason)

    judge.__module__ = f"{name}.{name}"
    return Check(judge)


def checks_named(ids: Collection[str], kind: ReportKind = ReportKind.ALL) -> tuple[AnyCheck, ...]:
    """Return the installed checks with these ids, in the order of the catalogue; all of a report when none is named.

    Only these are imported, where the source of the catalogue shows their modules.
    """
    places = check_places() if ids else {}
    if not ids or not places.keys() >= {*ids}:
        return chosen(installed_checks(kind), ids)
    return tuple(getattr(import_module(module), name) for one, (module, name) in places.items() if one in ids)


def chosen(checks: tuple[AnyCheck, ...], ids: Collection[str]) -> tuple[AnyCheck, ...]:
    """Return the checks with these ids, all of them when none is named."""
    known = {check.id: check for check in checks}
    for wanted in ids:
        if wanted not in known:
            from ldapdiag.spelling import did_you_mean  # noqa: PLC0415  import late: only a misspelt ID needs it

            listed = f"'ldapdiag checks' lists the {len(known)} checks"
            raise UsageError(f"unknown check {wanted!r}; {listed}.{did_you_mean(wanted, known)}".removesuffix("."))
    return tuple(check for check in checks if not ids or check.id in ids)
