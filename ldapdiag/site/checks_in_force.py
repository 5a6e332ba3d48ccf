"""The checks as a site has decided: without those it has disabled, the others with its settings."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from ldapdiag.errors import UsageError
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import date

    from ldapdiag.check import Check
    from ldapdiag.site.configuration import SiteConfiguration


@dataclass(frozen=True, slots=True, kw_only=True)
class ChecksInForce:
    """The checks that are run, and the configuration that decided so."""

    checks: tuple[Check[Any], ...]
    configuration: SiteConfiguration | None = None
    """None: there is no file, or it was not read."""
    disabled: Mapping[str, str] = field(default_factory=dict)
    """The reason by id, of the checks that would have been run."""
    today: date | None = None
    """The day by which acceptances are over; None: none is decided."""


def checks_in_force(
    checks: Sequence[Check[Any]],
    site: SiteConfiguration | None,
    *,
    named: Collection[str] = (),
    today: date | None = None,
) -> ChecksInForce:
    """Return the checks to run. One that the command line names is run although the file disables it.

    Raises UsageError for a setting that a check does not have or take, and if every check is disabled: a report of
    none would read like an all-clear.
    """
    if site is None:
        return ChecksInForce(checks=tuple(checks))
    disabled = {
        check.id: site.disabled[check.id] for check in checks if check.id in site.disabled and check.id not in named
    }
    enabled = tuple(one for one in (_configured(check, site) for check in checks) if one.id not in disabled)
    if not enabled:
        raise UsageError(f"{site.path}: every check of this command is disabled; enable one, or use --config none")
    return ChecksInForce(checks=enabled, configuration=site, disabled=disabled, today=today)


def _configured(check: Check[Any], site: SiteConfiguration) -> Check[Any]:
    values = site.check_settings.get(check.id)
    if not values:
        return check
    try:
        return check.configured(values)
    except UsageError as error:
        raise UsageError(f"{site.path}: checks.{error}") from None
