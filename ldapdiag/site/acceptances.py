"""Which findings a site has accepted, until when; and the entries that are over soon or match nothing.

    entry matches the finding, and                      the finding
    today is after its last day                         counts, and states that the acceptance is over
    the finding is more severe than `up_to`             counts, and states that it is
    otherwise                                           counts for no gate

An entry never changes a finding that it does not match; of several that match one, the one that accepts it is in force.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from ldapdiag.finding import Acceptance, Finding, Judged, Standing, finding_id
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from datetime import date

    from ldapdiag.site.configuration import AcceptedFinding

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
