"""missing-vlv-index: virtual list views that sort every entry in memory for each page.

Remedies for virtual list views: a VLV index where the product has one, else advice for the application.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.list_views import INAPPROPRIATE, ListView, ListViews, RefusedView, ViewState, wanted_view
from ldapdiag.check import MainNumber, check
from ldapdiag.cost_thresholds import COST_LIMITS, Cost, CostLimits, severity_of_cost
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict, clear_unless
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where
from ldapdiag.servers.products import product_of
from ldapdiag.servers.traits import traits_of
from ldapdiag.wording import counted, percent, rounded
from ldapdiag.wording import seconds as in_seconds

if TYPE_CHECKING:
    from ldapdiag.evidence.indexes import Backend
    from ldapdiag.servers.commands.server_address import ServerAddress
    from ldapdiag.servers.indexes.wanted_view import WantedView
    from ldapdiag.servers.product import ListViewRemedies

MOST = 10
"""Clients and accounts named."""
REASONS = {
    ViewState.VALUES: "its filter has values, and a VLV index answers one filter only; the log does not show whether "
    "the values are always the same",
    ViewState.NO_ORDER: "its sort keys are not plain attributes, so no VLV index has this order",
    ViewState.NUMBERS: "a sort key is a number without an ordering rule in the known schema: a VLV index sorts it as "
    "text (999 after 20000), so the pages would have other entries than now",
    ViewState.UNCONFIGURED: "the index configuration of this base is not known",
}
HOW = {
    ViewState.VALUES: "the owner of the application: whether the filter is always the same; if it is, add a VLV search "
    "with it, else narrow the filter: an index of a selective part leaves fewer entries to sort",
    ViewState.NO_ORDER: "the owner of the application: sort by attributes without a matching rule",
    ViewState.NUMBERS: "the server's schema (cn=schema as LDIF), if it names an ordering rule; else the owner of the "
    "application: sort by another attribute, or narrow the filter",
    ViewState.UNCONFIGURED: IndexConfiguration.how,
}


@check(
    group="indexes",
    number=MainNumber(
        "etime_seconds",
        "search time",
        "spent",
        of="searches",
        up_to="high",
        otherwise=MainNumber("searches", "refused searches", "logged"),
    ),
)
def judge(
    views: ListViews,
    *,
    limits: CostLimits = COST_LIMITS,
) -> Iterator[Verdict]:
    """Virtual list views that sort every entry in memory for each page.

    ## What it looks at
    Searches with the control for virtual list views (address books, administration consoles) in the access log of
    389-ds: a SORT and a VLV line, and notes=U where no VLV index was used. Their base, scope, filter and sort keys with
    directions are compared with the vlvSearch and vlvIndex entries of the configuration as the server does: all of them
    must be equal. They count if a page takes 5 ms or more on average, and all of them 0.1 s for each hour of log.

    - certain: the whole index configuration is known, and no VLV index fits.
    - likely: only a part of it is known, or a VLV index fits and was not used: it is not built, or was built after
      these searches. One that was added after the log began is not judged by searches from before.

    Searches that end with err=50, and whose base, scope and filter are those of a VLV search, are reported as well:
    their accounts may not read its entry.

    ## Severity
    By default:

    - high, medium, low: as missing-index, by the time of the views; and high if they are refused.

    ## Why it matters
    For one page of ten entries the server reads and sorts every entry that the filter matches, again for each page. An
    index of an attribute does not change that: it has no order for such a view. A plain sort (without pages) is done in
    memory in any case; a narrower filter leaves fewer entries to sort. OpenLDAP has no VLV index: its overlay sssvlv
    sorts all candidates in memory for each request. There, page instead (1.2.840.113556.1.4.319), narrow base and
    filter, and limit the rest: sssvlv-max, sssvlv-maxkeys, sssvlv-maxperconn (result codes 51 and 53; 18: the sort
    attribute has no ordering rule).

    ## What to do
    Add the VLV index with an access control instruction for its accounts, and build it: without the instruction slow
    searches become refused ones. One index answers one base, scope, filter and order; it answers plain searches with
    that base, scope and filter as well.

    Numbers without an ordering rule in the schema are sorted as text by a VLV index (999 after 20000) and by number
    without one: such an index would change the pages, and none is proposed.

    ## When it is harmless
    A list that an administrator opens once a day.
    """
    if not traits_of(views.family).logs_list_views:
        yield from _of_other_products(views)
        return
    found = [view for view in views.views if view.count and views.is_worth_an_index(view)]
    for refused in views.refused:
        yield _refused(refused, views)
    for view in found:
        yield _judged(view, views, limits)
    if not found and not views.refused:
        by_index = sum(view.by_index for view in views.views)
        answered = f"; VLV indexes answered {counted(by_index, 'search', 'searches')}" if by_index else ""
        reason = f"no virtual list view takes much time without a VLV index{answered}"
        yield clear_unless(views.unlisted, views.server, reason)


def _of_other_products(views: ListViews) -> Iterator[Verdict]:
    """Yield what is known without SORT and VLV lines; slapd has no VLV indexes."""
    for group in views.unordered:
        yield NotJudged(
            subject=f"{group.shape} below {group.base} ({group.scope}) at {views.server}",
            reason=f"{counted(group.errors[INAPPROPRIATE], 'search', 'searches')} ended with code 18, probably because "
            "the attribute to sort by has no ordering rule; the log does not show it",
            how="the owner of the application: which attribute it sorts by. The overlay sssvlv sorts by attributes "
            "with an ORDERING rule in the schema; no index helps it",
        )
    if not views.unordered:
        product = views.family.product if views.family else "the product"
        sorts_in_memory = traits_of(views.family).sorts_in_memory
        sorts = "; its overlay sssvlv sorts in memory, without an index" if sorts_in_memory else ""
        reason = f"the access log of {product} has no virtual list views{sorts}"
        yield clear_unless(views.unlisted, views.server, reason)


def _subject(view: ListView, views: ListViews) -> str:
    group = view.group
    return f"{group.shape} below {group.base} ({group.scope}) sorted by {view.keys} at {views.server}"


def _judged(view: ListView, views: ListViews, limits: CostLimits) -> Verdict:
    if view.state in REASONS:
        took = f"{counted(view.count, 'virtual list view')}, {in_seconds(view.etime / SECOND)} in total: "
        missing = (IndexConfiguration.kind,) if view.state is ViewState.UNCONFIGURED else ()
        return NotJudged(
            subject=_subject(view, views), reason=took + REASONS[view.state], missing=missing, how=HOW[view.state]
        )
    if view.state is ViewState.INDEXED:
        return Clear(
            subject=_subject(view, views), reason="a VLV index fits, and was used, or added after the log began"
        )
    return _finding(view, views, limits)


def _finding(view: ListView, views: ListViews, limits: CostLimits) -> Finding:
    share, seconds = view.etime / views.etime if views.etime else 0.0, view.etime / SECOND
    known = views.indexes is not None and views.indexes.configuration.whole
    missing = view.state is ViewState.NO_INDEX
    lacks = "no VLV index answers" if missing else "the VLV index is not used for"
    return Finding(
        subject=_subject(view, views),
        severity=severity_of_cost(Cost(share, seconds, view.count, views.seconds), limits),
        confidence=Confidence.CERTAIN if known and missing else Confidence.LIKELY,
        title=f"{lacks} {view.filter} below {view.group.base} sorted by {view.keys}: "
        f"{counted(view.count, 'virtual list view')}, {in_seconds(seconds)} in total "
        f"({percent(share)} of the search time)",
        detail="\n".join(_sentences(view)),
        observed={
            "server": views.server,
            "backend": view.backend.name if view.backend else None,
            "shape": view.group.shape,
            "base": view.group.base,
            "scope": view.group.scope,
            "filter": view.filter,
            "sort": view.keys,
            "state": str(view.state),
            "searches": view.count,
            "sorted_entries": view.most_sorted,
            "etime_seconds": round(seconds, 9),
            "share": round(share, 6),
            "clients": list(dict.fromkeys(each.client for each in view.group.requesters))[:MOST],
            "accounts": list(view.accounts)[:MOST],
        },
        server=views.server,
        hosts=(views.host,),
        remedies=_remedies(view, views),
        origins=views.origins,
    )


def _sentences(view: ListView) -> Iterator[str]:
    entries = counted(view.most_sorted, "entry", "entries")
    yield f"On average a page takes {rounded(view.mean / SECOND)} s; up to {entries} were sorted for one."
    if view.index is not None:
        yield f"The VLV index {view.index.name} fits: it is not built, or was built after these searches."
    elif view.search is not None:
        orders = ", ".join(index.sort for index in view.search.indexes) or "none"
        yield f"The VLV search {view.search.name} has these entries in other orders: {orders}."
    for each in view.group.requesters[:3]:
        yield f"{each.account} from {each.client}: {counted(each.count, 'time')}, {in_seconds(each.etime / SECOND)}."


def _remedies(view: ListView, views: ListViews) -> tuple[Remedy, ...]:
    if view.backend is None or views.indexes is None:
        return ()
    family = views.indexes.configuration.identity.family
    return (add_vlv_index(views.indexes.address, view.backend, wanted_view(view), family),)


def _refused(one: RefusedView, views: ListViews) -> Finding:
    group = one.group
    indexes = views.indexes
    family = indexes.configuration.identity.family if indexes is not None else None
    remedies = allow_reading(indexes.address, wanted_view(one), family) if indexes is not None and family else ()
    return Finding(
        subject=f"{group.shape} below {group.base} ({group.scope}) refused at {views.server}",
        severity=Severity.HIGH,
        confidence=Confidence.LIKELY,
        title=f"{views.server} refuses {counted(one.count, 'search', 'searches')} {group.shape} below {group.base} "
        f"(err=50): their accounts may not read the entry of the VLV search {one.search.name}",
        detail="A virtual list view with a VLV index needs the right to read the entry of its VLV search. The log "
        "shows no VLV line for a refused search, so another reason for err=50 is possible.",
        observed={
            "server": views.server,
            "backend": one.backend.name,
            "shape": group.shape,
            "base": group.base,
            "scope": group.scope,
            "state": "refused",
            "searches": one.count,
            "clients": list(dict.fromkeys(each.client for each in group.requesters))[:MOST],
            "accounts": list(dict.fromkeys(each.account for each in group.requesters))[:MOST],
        },
        server=views.server,
        hosts=(views.host,),
        remedies=remedies,
        origins=views.origins,
    )


def add_vlv_index(server: ServerAddress, backend: Backend, wanted: WantedView, family: Family) -> Remedy:
    """Add and build a VLV index, with the access that its accounts need."""
    if (module := _module(family)) is not None:
        return server.adapt(module.add_vlv_index(server, backend, wanted))
    return Remedy(
        title=f"Add a VLV index of {wanted.filter} below {wanted.base} sorted by {wanted.keys}",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.ADVICE,
        text=(
            f"Add an entry of the class vlvSearch below the entry of {backend.name}, with vlvBase, vlvScope, vlvFilter "
            "and an aci that lets the accounts read it; below it one of the class vlvIndex with vlvSort: "
            f"{wanted.keys}. Then build it with dsadm reindex -l while the server is stopped. "
            "This follows the manual and was not tested."
        ),
        changes="Virtual list views of this base, scope, filter and order read one page, and sort nothing.",
        risk="Accounts that may not read the entry of the VLV search are refused (err=50) once the index is used.",
        undo="",
        verify="Its RESULT in the access log has no notes=U.",
        family=family,
        needs=Needs.REINDEX,
    )


def allow_reading(server: ServerAddress, wanted: WantedView, family: Family) -> tuple[Remedy, ...]:
    """Let accounts use the indexes of a configured VLV search; nothing for a product whose commands were not tested."""
    module = _module(family)
    return () if module is None else (server.adapt(module.allow_reading(server, wanted)),)


def _module(family: Family) -> ListViewRemedies | None:
    product = product_of(family)
    return product.list_view_remedies if product else None
