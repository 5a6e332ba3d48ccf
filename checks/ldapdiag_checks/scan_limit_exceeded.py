"""scan-limit-exceeded: searches that no index helps because too many entries match.

Look-through limits of single accounts: how many candidates the server examines for one search of theirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.account_limits import limit_sentences, limits_of
from ldapdiag.analysis.indexes.coverage import IndexCoverage
from ldapdiag.analysis.indexes.unhelped_scans import (
    MOST_LISTED,
    AccountLimit,
    UnhelpedScans,
    find_account_limits,
    find_unhelped_scans,
)
from ldapdiag.check import SEARCH_TIME, check
from ldapdiag.cost_thresholds import COST_LIMITS, Cost, CostLimits, severity_of_cost
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.finding import Confidence, Finding, NotJudged, Severity, Verdict, clear_unless
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where, alternative, is_distinguished_name, ldif_line
from ldapdiag.servers.commands.ldap_tools import modify, shown
from ldapdiag.servers.index_remedies import raise_scan_limit
from ldapdiag.servers.indexes.candidates import Cause
from ldapdiag.servers.indexes.search_advice import narrow_search
from ldapdiag.servers.traits import traits_of
from ldapdiag.wording import counted, number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ldapdiag.servers.commands.server_address import ServerAddress
    from ldapdiag.servers.indexes.applied_limits import AppliedLimits


@check(group="indexes", number=SEARCH_TIME)
def judge(coverage: IndexCoverage, *, limits: CostLimits = COST_LIMITS) -> Iterator[Verdict]:
    """Searches that no index helps because too many entries match.

    ## What it looks at
    Searches in the access log that examine every entry although each part of their filter has an index, or would
    have one to no effect because too many entries match: a server discards an ID list above its limit (389-ds:
    nsslapd-idlistscanlimit, 4000 before 2.4, and nsIndexIDListScanLimit; DSEE: all-ids-threshold; OpenDJ,
    PingDirectory: index-entry-limit, 4000; slapd keeps a range instead of a list of more than 65535).

    Also indexed searches that were refused (code 11, without a note of an unindexed search) because their ID list is
    longer than the look-through limit of the account or the server (JSON: `limit` account); others get the result.

    Of slapd's configuration, the rule of `limits` that applies to the account is shown; one of a group, or of a regular
    expression that is not compared here, is not judged. size.unchecked=disabled refuses every search of an account.

    - certain: the log or the server shows how many entries match, or the configuration the limit of each account.
    - likely: otherwise; limits of accounts are not in the log.

    ## Severity
    By default:

    - high, medium, low: as missing-index, if they take enough time.
    - medium: refused by the limit of an account.
    - info: otherwise.

    ## Why it matters
    Another index on the same attribute has no effect here, and a higher limit makes other searches slower: reading
    a list of half the database takes longer than reading the database.

    ## What to do
    Add a selective part to the filter, or search below a smaller base. Raise the limit of the one index (389-ds:
    nsIndexIDListScanLimit, without a build; slapd: idlexp, with a build while it is stopped) only where a list slightly
    above it is needed often, and that of an account where its searches have an index.

    ## When it is harmless
    (objectClass=person) below the suffix means all persons: it returns what it scans.
    """
    found = () if coverage.indexes is None else find_unhelped_scans(coverage, {Cause.LIMIT, Cause.LIMIT_PERHAPS})
    for one in found:
        yield _finding(one, coverage, limits)
    if coverage.indexes is None:
        reason = f"no index configuration of {coverage.server}: its limits are unknown"
        yield NotJudged.without(IndexConfiguration, coverage.server, reason)
    refusals = find_account_limits(coverage)
    for limit in refusals:
        yield _of_account(limit, coverage)
    if coverage.indexes is not None and not found and not refusals:
        yield clear_unless(coverage.unlisted, coverage.server, "no unindexed search is due to the limit of an ID list")


def _finding(one: UnhelpedScans, coverage: IndexCoverage, limits: CostLimits) -> Finding:
    late = "The existing index may have been added after this log was written."
    unless = "" if one.obstacle.cause is Cause.LIMIT else f"\n{late}"
    return Finding(
        subject=one.subject,
        severity=severity_of_cost(Cost.of(one, coverage.seconds), limits) if one.worth_a_change else Severity.INFO,
        confidence=Confidence.CERTAIN if one.obstacle.cause is Cause.LIMIT else Confidence.LIKELY,
        title=f"{one.shape} examines every entry, and an index on {one.attribute} does not help: {one.obstacle.reason}",
        detail=f"{one.summary}\nAdding an index on this attribute would not help.{unless}",
        observed=one.observed,
        server=one.server,
        hosts=(one.host,),
        remedies=(
            narrow_search(one.requesters[0].client if one.requesters else one.server, one.obstacle.text),
            *map(alternative, _limits(one, coverage)),
        ),
        origins=coverage.origins,
    )


def _limits(one: UnhelpedScans, coverage: IndexCoverage) -> tuple[Remedy, ...]:
    """Return the remedy that raises the limit, where all entries that match were counted."""
    first, indexes = one.searches[0], coverage.indexes
    if indexes is None or not first.backends:
        return ()
    entries = first.group.most_entries
    return raise_scan_limit(
        indexes.address, first.backends[0], first.filter, entries, indexes.configuration, indexes.schema
    )


def _of_account(limit: AccountLimit, coverage: IndexCoverage) -> Finding:
    address = coverage.indexes.address if coverage.indexes else None
    accounts, group = limit.accounts, limit.searches[0].group
    known = f"\nThe largest complete result has {counted(limit.most_complete, 'entry', 'entries')}."
    limits = limits_of(limit.searches, accounts)
    reason = ANY_SEARCH if limit.any_search else "its ID list is longer than the look-through limit of the account"
    why = (
        "By its configuration, the server refuses every search of these accounts. Another index does not change this."
        if limit.any_search
        else "Without a note of an unindexed search, the server had a list of candidates, which is longer than a limit "
        "of the account or of the server. Another index does not change this."
    )
    by = f"Refused with code 11: searches by {', '.join(accounts[:3]) or 'unknown accounts'}."
    refused = f"{by} {why}{known if limit.most_complete > 0 else ''}"
    return Finding(
        subject=f"{limit.shape} at {coverage.server} by limited accounts",
        severity=Severity.MEDIUM,
        confidence=_confidence(limits, accounts),
        title=f"{limit.shape}{'' if limit.any_search else ' has an index, but'}: "
        f"{counted(limit.refused, 'search', 'searches')} failed: {reason}",
        detail="\n".join([refused, *limit_sentences(limits)[:MOST_SENTENCES]]),
        observed={
            "server": coverage.server,
            "attribute": "",
            "shape": limit.shape,
            "part": limit.shape,
            "bases": sorted({search.group.base for search in limit.searches})[:MOST_LISTED],
            "searches": limit.refused,
            "refused": limit.refused,
            "refused_accounts": list(accounts)[:MOST_LISTED],
            "limit": "account",
            "etime_seconds": round(limit.etime / SECOND, 9),
            "share": round(limit.etime / coverage.etime, 6) if coverage.etime else 0.0,
            "reason": reason,
            "clients": list(dict.fromkeys(each.client for each in group.requesters if each.refused))[:MOST_LISTED],
            "accounts": list(accounts)[:MOST_LISTED],
        },
        server=coverage.server,
        hosts=(coverage.host,),
        remedies=(raise_look_through_limit(address, coverage.family, accounts, limit.most_complete, limits),),
        origins=coverage.origins,
    )


def _confidence(limits: Mapping[str, tuple[AppliedLimits, ...]], accounts: Sequence[str]) -> Confidence:
    """Return whether the configuration shows a limit for each account, and no other can be in force."""
    shown = all(account in limits and all(_is_shown(one) for one in limits[account]) for account in accounts)
    return Confidence.CERTAIN if accounts and shown else Confidence.LIKELY


def _is_shown(limits: AppliedLimits) -> bool:
    """Return whether nothing but the number of candidates can be the cause of a refusal."""
    return limits.certain and limits.candidates is not None and (not limits.refuses_pages or limits.candidates == 0)


ANY_SEARCH = "the limits of the account allow it no search"
MOST_SENTENCES = 5
HEADROOM = 2
"""The proposed limit is so many times the largest complete result."""
RISK = "One search of such an account may examine that many entries, and take as long. The change is replicated."


def raise_look_through_limit(
    server: ServerAddress | None,
    family: Family | None,
    accounts: Sequence[str],
    entries: int,
    limits: Mapping[str, tuple[AppliedLimits, ...]],
) -> Remedy:
    """Raise the limit of accounts above `entries`, the largest complete result (0: unknown); else advice."""
    attribute = traits_of(family).account_scan_limit
    dns = [dn for dn in dict.fromkeys(accounts) if is_distinguished_name(dn)]
    if server is None or not attribute or not dns or entries <= 0:
        return _advice(server, family, attribute, entries, limits)
    value = entries * HEADROOM
    lines = [_modification(dn, f"replace: {attribute}\n{attribute}: {value}") for dn in dns]
    values = "\n".join(shown(server, attribute, entry=dn) for dn in dns)
    remedy = Remedy(
        title=f"Raise the look-through limit of {counted(len(dns), 'account')} to {number(value)}",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=modify(server, *"\n\n".join(lines).split("\n")),
        changes="From their next bind on, these searches return their result. The largest complete result in the log "
        f"has {number(entries)} entries.",
        risk=RISK,
        undo=f"# Restore the values that these commands showed before the change:\n{values}",
        verify=values,
        family=family,
        needs=Needs.REBIND,
    )
    return server.adapt(remedy)


def _modification(dn: str, change: str) -> str:
    return f"{ldif_line('dn', dn)}\nchangetype: modify\n{change}"


def _advice(
    server: ServerAddress | None,
    family: Family | None,
    attribute: str,
    entries: int,
    limits: Mapping[str, tuple[AppliedLimits, ...]],
) -> Remedy:
    """Advise which limit to raise."""
    own = traits_of(family).account_scan_limit_place
    rules = dict.fromkeys(f"{one.own_rule}NUMBER" for each in limits.values() for one in each if one.own_rule)
    own += f". With the other limits that apply now: {'; '.join([*rules][:3])}" * bool(rules)
    where = own or f"{attribute or 'the look-through limit'} of the entry it binds as"
    enough = f" (at least {number(entries)})" if entries > 0 else "; how many, a search without limits shows"
    return Remedy(
        title="Raise the limit of the account, or narrow the search",
        target=server.name if server else "the server",
        where=Where.SERVER,
        kind=RemedyKind.ADVICE,
        text=f"The limit must exceed the number of candidates of the search{enough}: {where}. Or search for fewer "
        "entries: below a smaller base, or with a further part in the filter.",
        changes="These searches return their result.",
        risk=RISK,
        undo="Restore the former value.",
        verify="The search's RESULT in the access log has err=0.",
        family=family,
    )
