"""unused-index: an index that no search in the log uses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from ldapdiag.analysis.indexes.coverage import IndexCoverage
from ldapdiag.analysis.indexes.unused_indexes import DAY, UnusedIndex, UnusedIndexes
from ldapdiag.analysis.indexes.worth import HOUR
from ldapdiag.check import check
from ldapdiag.check_setting import Threshold
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.remedy import Remedy
from ldapdiag.servers.index_remedies import drop_indexes
from ldapdiag.servers.traits import traits_of

NAMED = 3
"""Kinds of searches in one sentence."""


@check(group="indexes")
def judge(
    usage: UnusedIndexes,
    coverage: IndexCoverage,
    *,
    low_days: Annotated[
        float, Threshold("days", "a log of so long or longer makes the finding low, and prints the command")
    ] = 30.0,
) -> Iterator[Verdict]:
    """An index that no search in the log uses.

    ## What it looks at
    Every configured index, against every search of the access log: it counts as used as soon as a search asks for
    its attribute in a way that it could answer, whether the server looked it up or not. Excluded are the server's
    own indexes and those that it searches internally, which no log shows: referential integrity, uniqueness,
    memberOf, replication, mappings of accounts and certificates, sets in access rules, and others that the
    configuration names. Where the configuration does not name all of them (dynlist searches by URLs in entries, an
    unknown overlay), the finding states it, and has no command.

    Not judged is a log of expensive searches alone (event 1644 of Active Directory). A log of less than a day is not
    judged: applications repeat their searches daily. For an index that was added or changed since the log began, only
    the log since then counts (createTimestamp, modifyTimestamp).

    possible: the log covers less than 30 days (a job may run once a month), or the configuration does not name all
    internal searches.

    ## Severity
    By default:

    - low: the log covers 30 days or more, and the configuration names all internal searches.
    - info: otherwise.

    ## Why it matters
    Each change of the attribute has to update the index; a substring index costs most.

    ## What to do
    Keep it until a month of logs of every server that clients may use confirms this. Then remove it on one server
    first.

    ## When it is harmless
    When the attribute rarely changes.
    """
    hours = coverage.seconds / HOUR
    if usage.reason:
        few = traits_of(coverage.family).logs_above is not None
        short = "an access log of a day, better of a month" if coverage.seconds < DAY and not few else None
        how = IndexConfiguration.how if coverage.indexes is None else short
        yield NotJudged(subject=coverage.server, reason=usage.reason, how=how)
        return
    for one in usage.unused:
        is_long = one.seconds / HOUR >= 24 * low_days and not usage.hidden
        yield _finding(one, coverage, usage.hidden, is_long=is_long)
    for one in usage.young:
        reason = "no search used it, but it was added or changed less than a day before the end of the log"
        yield NotJudged(subject=_subject(one, coverage), reason=reason, how="a log of a day since then")
    for name in usage.unsearched:
        yield NotJudged(subject=f"{name} at {coverage.server}", reason="no search in the log is in this database")
    if not usage.unused and usage.is_searched:
        other = "other " if usage.young or usage.unsearched else ""
        yield Clear(subject=coverage.server, reason=f"every {other}index was used in {_span(hours)} of log")


def _span(hours: float) -> str:
    return f"{hours:.1f} h" if hours >= 1 else f"{60 * hours:.0f} min"


def _subject(one: UnusedIndex, coverage: IndexCoverage) -> str:
    return f"{one.attribute} of {one.backend.name} at {coverage.server}"


def _finding(one: UnusedIndex, coverage: IndexCoverage, hidden: tuple[str, ...], *, is_long: bool) -> Finding:
    hours, types = one.seconds / HOUR, ",".join(one.types)
    remedies: tuple[Remedy, ...] = ()
    if is_long and coverage.indexes is not None:
        remedies = drop_indexes(coverage.indexes.place(one.backend), one.changes)
    return Finding(
        subject=_subject(one, coverage),
        key=f"{coverage.server}|{one.backend.name}|{one.attribute.lower()}",
        severity=Severity.LOW if is_long else Severity.INFO,
        confidence=Confidence.LIKELY if is_long else Confidence.POSSIBLE,
        title=f"no search used the index {one.attribute} {types} of {one.backend.name} in {_span(hours)} of log",
        detail="\n".join(_reservations(hidden, is_long=is_long)),
        observed={
            "server": coverage.server,
            "backend": one.backend.name,
            "attribute": one.attribute,
            "types": list(one.types),
            "log_hours": round(hours, 3),
        },
        server=coverage.server,
        hosts=(coverage.host,),
        remedies=remedies,
        origins=coverage.origins,
    )


def _reservations(hidden: tuple[str, ...], *, is_long: bool) -> Iterator[str]:
    """Yield the sentences on what may still use the index."""
    yield "Internal searches and the clients of other servers are not in this log."
    if hidden:
        more = f", and {len(hidden) - NAMED:,} more" if len(hidden) > NAMED else ""
        yield f"Not known are all internal searches: {'; '.join(hidden[:NAMED])}{more}. Keep it until they are."
    elif not is_long:
        yield "Keep it until a month of logs confirms this."
