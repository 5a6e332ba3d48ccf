"""The model of a site configuration. Nothing in it is merged with anything: what a file omits is None or empty.

The checks as a site has decided: without those it has disabled, the others with its settings. Which findings it has
accepted, until when; and the entries that are over soon or match nothing.

    entry matches the finding, and                      the finding
    today is after its last day                         counts, and states that the acceptance is over
    the finding is more severe than `up_to`             counts, and states that it is
    otherwise                                           counts for no gate

An entry never changes a finding that it does not match; of several that match one, the one that accepts it is in force.
"""

from __future__ import annotations

from dataclasses import field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from ldapdiag.errors import UsageError
from ldapdiag.finding import Acceptance, Finding, Judged, Severity, Standing, finding_id
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import date

    from ldapdiag.check import Check


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteTarget:
    """Evidence with a name, and how it is collected: what @NAME stands for."""

    name: str
    evidence: tuple[str, ...]
    options: Mapping[str, object] = field(default_factory=dict)
    """Collection options by their keys; only those that the file sets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedFinding:
    """One finding, by its id, or all of a check (at one server), that count for no gate until a day."""

    id: str | None = None
    check: str | None = None
    """Exactly one of id and check is set."""
    server: str | None = None
    """With a check only; None: at any server."""
    reason: str
    until: date
    """The last day."""
    up_to: Severity = Severity.HIGH
    """A more severe finding counts."""
    place: int
    """The number of the entry in the file, from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteConfiguration:
    """All that one file contains."""

    path: str
    """The file, as it is shown."""
    sha256: str
    target: str | None = None
    """The name of the target that is meant where no evidence is named."""
    fail_on: str | None = None
    targets: Mapping[str, SiteTarget] = field(default_factory=dict)
    check_settings: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Settings by check id and name; their types and ranges are the check's affair."""
    disabled: Mapping[str, str] = field(default_factory=dict)
    """The reason by check id."""
    accepted: tuple[AcceptedFinding, ...] = ()


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


SOON = timedelta(days=14)
"""Before the end of an acceptance, when a note begins to state it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """The verdicts with what a site has accepted, and what it should look at."""

    judged: tuple[Judged, ...]
    notes: tuple[str, ...] = ()


def decide(
    judged: Iterable[Judged], entries: Sequence[AcceptedFinding], today: date, *, checks: Collection[str]
) -> Decided:
    """Return the verdicts, the findings with their acceptances. `checks` were run: an entry of another has no note."""
    if not entries:
        return Decided(judged=tuple(judged))
    used: set[int] = set()
    decided = tuple(_decided(one, entries, today, used) for one in judged)
    return Decided(judged=decided, notes=tuple(_notes(entries, used, today, checks)))


def _decided(one: Judged, entries: Sequence[AcceptedFinding], today: date, used: set[int]) -> Judged:
    if not isinstance(one.verdict, Finding):
        return one
    finding = one.verdict
    matching = [entry for entry in entries if _matches(entry, one.check, finding)]
    if not matching:
        return one
    used.update(entry.place for entry in matching)
    found = [_acceptance(entry, finding, today) for entry in matching]
    best = min(found, key=lambda each: (list(Standing).index(each.standing), -each.until.toordinal()))
    return replace(one, verdict=replace(finding, acceptance=best))


def _matches(entry: AcceptedFinding, check: str, finding: Finding) -> bool:
    if entry.id is not None:
        return entry.id == finding_id(check, finding)
    return entry.check == check and entry.server in {None, finding.server}


def _acceptance(entry: AcceptedFinding, finding: Finding, today: date) -> Acceptance:
    standing = Standing.IN_FORCE
    if today > entry.until:
        standing = Standing.OVER
    elif finding.severity > entry.up_to:
        standing = Standing.EXCEEDED
    return Acceptance(reason=entry.reason, until=entry.until, up_to=entry.up_to, standing=standing)


def _notes(
    entries: Sequence[AcceptedFinding], used: Collection[int], today: date, checks: Collection[str]
) -> Iterator[str]:
    for entry in entries:
        check = entry.check or (entry.id or "").partition("|")[0]
        if check not in checks:
            continue
        about = f"accepted[{entry.place}], {entry.id or check}{f' at {entry.server}' if entry.server else ''}"
        if entry.place not in used:
            yield f"{about}: it matches no finding; gone, or not judged now"
        elif today <= entry.until <= today + SOON:
            yield f"{about}: it ends on {entry.until}"
