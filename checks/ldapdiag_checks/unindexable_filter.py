"""unindexable-filter: a filter that no index can answer."""

from __future__ import annotations

from collections.abc import Iterator

from ldapdiag.analysis.indexes.coverage import IndexCoverage
from ldapdiag.analysis.indexes.unhelped_scans import UnhelpedScans, find_unhelped_scans, kind_of
from ldapdiag.check import SEARCH_TIME, check
from ldapdiag.cost_thresholds import COST_LIMITS, Cost, CostLimits, severity_of_cost
from ldapdiag.evidence.filter_tree import Assertion, AssertionKind, parse_shape
from ldapdiag.finding import Confidence, Finding, Severity, Verdict, clear_unless
from ldapdiag.servers.indexes.candidates import Cause
from ldapdiag.servers.indexes.search_advice import rewrite_filter
from ldapdiag.servers.products import UNTESTED, is_tested, rewritten
from ldapdiag.wording import counted

MOST_SHAPES = 100
"""Filters that a finding lists."""


@check(group="indexes", number=SEARCH_TIME)
def judge(coverage: IndexCoverage, *, limits: CostLimits = COST_LIMITS) -> Iterator[Verdict]:
    """A filter that no index can answer.

    ## What it looks at
    Searches in the access log that examine every entry below their base, with a filter that no index of any kind
    would answer: a negation alone or beside a part that nearly every entry matches, an extensible match whose rule
    makes no index keys (slapd: any extensible match), presence with an option on slapd (cn;lang-fr=*), an
    approximate match for a value without letters, (objectClass=*) below a large base, an attribute whose values are
    computed (nsRole, class of service; constructed ones of Active Directory), and its bitwise and in-chain rules.
    Where another part of an AND could be indexed, or an index by the matching rule would answer (389-ds:
    nsMatchingRule), missing-index reports that instead. There is one finding per attribute and kind of assertion,
    with the filters that contain it and the sums of their searches.

    - certain: the simulation of the server's candidate selection was compared with that server (389-ds, OpenLDAP,
      OpenDJ), and it has no index for such a filter.
    - likely: no index is known, but the product's code was not tested, or not for this matching rule.

    ## Severity
    By default:

    - high, medium, low: as missing-index, by the worst of these filters, if it takes enough time.
    - info: otherwise.

    ## Why it matters
    More indexes only make changes slower: the scan remains until the application sends another filter.

    ## What to do
    Search for what is wanted rather than for what is not, add a selective part, or search below a smaller base; an
    attribute with the wanted state (accountStatus=active) can be indexed.

    ## When it is harmless
    An export of every entry, at night.
    """
    found = find_unhelped_scans(coverage, {Cause.UNINDEXABLE}, kind_of)
    for one in found:
        yield _finding(one, coverage, limits)
    if not found:
        yield clear_unless(
            coverage.unlisted, coverage.server, "no unindexed search has a filter that no index can answer"
        )


def _finding(one: UnhelpedScans, coverage: IndexCoverage, limits: CostLimits) -> Finding:
    client = one.requesters[0].client if one.requesters else one.server
    doubt, shapes = _doubt(one, coverage), one.by_shape
    part, negated = one.obstacle.text, one.obstacle.negated
    own = rewritten(coverage.family, part, negated=negated)
    filters = shapes[0].shape if len(shapes) == 1 else f"{counted(len(shapes), 'filter')} with {one.name}"
    return Finding(
        subject=one.subject,
        severity=max(_severity(each, coverage, limits) for each in shapes),
        confidence=Confidence.LIKELY if doubt else Confidence.CERTAIN,
        title=f"no index answers {filters}: {one.obstacle.reason}",
        detail="\n".join(filter(None, (one.summary, doubt))),
        observed=one.observed | {"shapes": [each.shape for each in shapes[:MOST_SHAPES]]},
        server=one.server,
        hosts=(one.host,),
        remedies=(rewrite_filter(client, part, negated=negated, own=own),),
        origins=coverage.origins,
    )


def _severity(one: UnhelpedScans, coverage: IndexCoverage, limits: CostLimits) -> Severity:
    """Return the severity of the searches of one shape."""
    return severity_of_cost(Cost.of(one, coverage.seconds), limits) if one.worth_a_change else Severity.INFO


def _doubt(one: UnhelpedScans, coverage: IndexCoverage) -> str:
    """Return why it is not certain that no index helps, as a sentence; empty if it is."""
    part = parse_shape(one.obstacle.text)
    if one.obstacle.inferred and isinstance(part, Assertion) and part.kind is AssertionKind.APPROXIMATE:
        return "Not certain: it is concluded from the value of the slowest search; an index may serve the others."
    if one.obstacle.inferred:
        return f"Not certain: an index by the matching rule of {one.obstacle.text} may be possible; ask the vendor."
    return "" if is_tested(coverage.family) else UNTESTED
