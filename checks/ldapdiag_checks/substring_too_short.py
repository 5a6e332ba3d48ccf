"""substring-too-short: searches for fewer characters than the keys of a substring index have."""

from __future__ import annotations

from collections.abc import Iterator

from ldapdiag.analysis.indexes.coverage import IndexCoverage
from ldapdiag.analysis.indexes.unhelped_scans import UnhelpedScans, find_unhelped_scans
from ldapdiag.check import SEARCH_TIME, check
from ldapdiag.cost_thresholds import COST_LIMITS, Cost, CostLimits, severity_of_cost
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.finding import Confidence, Finding, NotJudged, Severity, Verdict, clear_unless
from ldapdiag.servers.indexes.candidates import Cause
from ldapdiag.servers.indexes.search_advice import ask_for_more_characters
from ldapdiag.servers.products import UNTESTED, is_tested


@check(group="indexes", number=SEARCH_TIME)
def judge(coverage: IndexCoverage, *, limits: CostLimits = COST_LIMITS) -> Iterator[Verdict]:
    """Searches for fewer characters than the keys of a substring index have.

    ## What it looks at
    Searches in the access log that examine every entry, whether the attribute has a substring index or not: the
    searched text is shorter than the keys of such an index. 389-ds and DSEE: 2 characters at the beginning or the end,
    3 in between; slapd: 2 at either end, 4 in between, unless configured otherwise; Active Directory: 3 anywhere but at
    the beginning, where an index of whole values serves.

    ## Severity
    By default:

    - high, medium, low: as missing-index, if they take enough time.
    - info: otherwise.

    ## Why it matters
    An index would make every change slower, and these searches would still read the whole database.

    ## What to do
    Let the application wait for another character before it searches (a picker that searches while the user types).
    Shorter keys are configurable, too, and make the index and all its lists larger.

    ## When it is harmless
    Where the search has a size limit and the database answers from its cache: look at the time they take.
    """
    found = () if coverage.indexes is None else find_unhelped_scans(coverage, {Cause.TOO_SHORT})
    for one in found:
        yield _finding(one, coverage, limits)
    if coverage.indexes is None:
        reason = f"no index configuration of {coverage.server}: the length of its keys is unknown"
        yield NotJudged.without(IndexConfiguration, coverage.server, reason)
    elif not found:
        yield clear_unless(
            coverage.unlisted,
            coverage.server,
            "no unindexed search is for fewer characters than the keys of its index have",
        )


def _finding(one: UnhelpedScans, coverage: IndexCoverage, limits: CostLimits) -> Finding:
    return Finding(
        subject=one.subject,
        severity=severity_of_cost(Cost.of(one, coverage.seconds), limits) if one.worth_a_change else Severity.INFO,
        confidence=Confidence.CERTAIN if is_tested(coverage.family) else Confidence.LIKELY,
        title=f"{one.shape} searches for too few characters for an index on {one.attribute}: {one.obstacle.reason}",
        detail=one.summary if is_tested(coverage.family) else f"{one.summary}\n{UNTESTED}",
        observed=one.observed,
        server=one.server,
        hosts=(one.host,),
        remedies=(
            ask_for_more_characters(one.requesters[0].client if one.requesters else one.server, one.obstacle.reason),
        ),
        origins=coverage.origins,
    )
