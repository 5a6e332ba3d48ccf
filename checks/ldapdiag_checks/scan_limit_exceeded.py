"""scan-limit-exceeded: searches that no index helps because too many entries match."""

from __future__ import annotations

from collections.abc import Iterator

from ldapdiag.analysis.indexes.coverage import IndexCoverage
from ldapdiag.analysis.indexes.unhelped_scans import UnhelpedScans, find_unhelped_scans
from ldapdiag.check import check
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict, severity_of_share
from ldapdiag.servers.candidates import Cause
from ldapdiag.servers.search_advice import narrow_search


@check
def judge(coverage: IndexCoverage) -> Iterator[Verdict]:
    """Searches that no index helps because too many entries match.

    ## What it looks at
    Searches in the access log that examine every entry although each part of their filter has an index, or would
    have one to no effect because too many entries match: a server discards an ID list above its limit (389-ds:
    nsslapd-idlistscanlimit, 4000 before 2.4, and nsIndexIDListScanLimit; DSEE: all-ids-threshold; OpenDJ,
    PingDirectory: index-entry-limit, 4000; slapd keeps a range instead of a list of more than 65535).

    - certain: the log or the server shows how many entries match.
    - likely: otherwise.

    ## Severity
    - high, medium, low: as missing-index, if they take enough time.
    - info: otherwise.

    ## Why it matters
    Another index on the same attribute has no effect here, and a higher limit makes other searches slower: reading
    a list of half the database takes longer than reading the database.

    ## What to do
    Add a selective part to the filter, or search below a smaller base. Raise the limit only where a list slightly
    above it is needed often.

    ## When it is harmless
    (objectClass=person) below the suffix means all persons: it returns what it scans.
    """
    found = () if coverage.indexes is None else find_unhelped_scans(coverage, {Cause.LIMIT, Cause.LIMIT_PERHAPS})
    for one in found:
        yield _finding(one, coverage)
    if coverage.indexes is None:
        reason = f"no index configuration of {coverage.server}: its limits are unknown"
        how = IndexConfiguration.how
        yield NotJudged(subject=coverage.server, reason=reason, missing=(IndexConfiguration.kind,), how=how)
    elif not found:
        yield Clear(subject=coverage.server, reason="no unindexed search is due to the limit of an ID list")


def _finding(one: UnhelpedScans, coverage: IndexCoverage) -> Finding:
    late = "The existing index may have been added after this log was written."
    unless = "" if one.obstacle.cause is Cause.LIMIT else f"\n{late}"
    return Finding(
        subject=one.subject,
        severity=severity_of_share(one.share, one.seconds) if one.worth_a_change else Severity.INFO,
        confidence=Confidence.CERTAIN if one.obstacle.cause is Cause.LIMIT else Confidence.LIKELY,
        title=f"{one.shape} examines every entry, and an index on {one.attribute} does not help: {one.obstacle.reason}",
        detail=f"{one.summary}\nAdding an index on this attribute would not help.{unless}",
        observed=one.observed,
        server=one.server,
        hosts=(one.host,),
        remedies=(narrow_search(one.requesters[0].client if one.requesters else one.server, one.obstacle.text),),
        origins=coverage.origins,
    )
