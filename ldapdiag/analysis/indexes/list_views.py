"""ListViews: the virtual list views in a log (389-ds, DSEE), and the VLV index that each needs.

Without a VLV index the server sorts all entries of the search in memory for each page: a VLV line in the log, and note
U. A VLV index answers one search only: one base, scope and filter, in one order. The log has filter shapes, so only a
filter without values (other than object classes) is known to be one filter.

RefusedView: searches that an access control instruction keeps from the VLV index that would answer them.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.indexes.server_indexes import ServerIndexes
from ldapdiag.analysis.indexes.worth import HOUR, LEAST_MEAN, LEAST_TIME, unlisted_searches
from ldapdiag.analysis.log.searches import LATER_PAGE, SearchGroup, SortCount
from ldapdiag.analysis.log.spellings import ANONYMOUS
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.analysis.providers import provides
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.filter_tree import AssertionKind, assertions, parse_shape
from ldapdiag.evidence.indexes import Backend, IndexConfiguration
from ldapdiag.evidence.indexes.vlv import VlvIndex, VlvSearch
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.indexes.wanted_view import WantedView
from ldapdiag.servers.ldbm.collations import sorts_as_text
from ldapdiag.servers.traits import traits_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

INAPPROPRIATE = 18
"""inappropriateMatching: there is no ordering rule for the attribute to sort by."""


class ViewState(StrEnum):
    """Why the views of one kind are, or are not, answered by an index."""

    INDEXED = "indexed"
    NO_INDEX = "no-index"
    NOT_USED = "not-used"
    """A VLV index fits, and was not used: not built, or built after these searches."""
    VALUES = "filter-has-values"
    """The filter has values, and the log does not show whether always the same ones."""
    NO_ORDER = "no-order"
    """The sort keys cannot be those of an index: a matching rule among them, or too many different sorts."""
    NUMBERS = "numbers-as-text"
    """A sort key is a number that a VLV index would sort as text."""
    UNCONFIGURED = "no-configuration"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListView:
    """The views of one filter shape, base and scope in one order. Times in nanoseconds."""

    group: SearchGroup
    keys: str
    """The sort keys as logged: `-uidNumber cn`."""
    filter: str
    """The filter as logged, if it is always the same; else empty."""
    count: int
    """Results that no VLV index answered."""
    etime: int
    most_sorted: int
    """Entries sorted in memory for one page."""
    by_index: int
    """Results that a VLV index answered."""
    state: ViewState
    backend: Backend | None = None
    search: VlvSearch | None = None
    """The configured VLV search with this base, scope and filter."""
    index: VlvIndex | None = None
    """Its index in this order."""

    @property
    def mean(self) -> int:
        """Return the average time of a page without an index."""
        return self.etime // self.count if self.count else 0

    @property
    def accounts(self) -> tuple[str, ...]:
        """Return the accounts that sent searches of this filter shape, the most expensive first."""
        return tuple(dict.fromkeys(each.account for each in self.group.requesters))


@dataclass(frozen=True, slots=True, kw_only=True)
class ListViews:
    """The virtual list views of one server."""

    kind: ClassVar[str] = "list-views"
    how: ClassVar[str] = IndexConfiguration.how

    server: str
    """The server, by the name of its instance."""
    host: str
    family: Family | None
    views: tuple[ListView, ...]
    """The most expensive first."""
    refused: tuple[RefusedView, ...]
    unordered: tuple[SearchGroup, ...]
    """Of slapd: searches with code 18 that no rule in their filter explains, but a sort by the overlay sssvlv."""
    indexes: ServerIndexes | None
    etime: int
    """Nanoseconds of all searches."""
    unlisted: str
    """As IndexCoverage has it."""
    seconds: float
    """Of log."""
    origins: tuple[str, ...]

    def is_worth_an_index(self, view: ListView) -> bool:
        """Return whether views take enough time: as worth.py has it for scans."""
        return view.mean >= LEAST_MEAN and view.etime >= LEAST_TIME * max(1.0, self.seconds / HOUR)


@provides(ListViews)
def find_list_views(server: Instance, traffic: Traffic, indexes: ServerIndexes | None) -> ListViews:
    """Find the virtual list views in a server's log, and the VLV indexes that fit them."""
    workload = traffic.workload
    family = server.family or workload.family
    groups = [group for group in workload.searches if traits_of(family).logs_list_views and not group.unidentified]
    views = [view for group in groups for view in _views(group, indexes, workload.began)]
    return ListViews(
        server=server.name,
        host=server.host,
        family=family,
        views=tuple(sorted(views, key=lambda view: (-view.etime, view.group.shape, view.group.base, view.keys))),
        refused=tuple(one for group in groups for one in find_refused_views(group, indexes)),
        unordered=tuple(
            group
            for group in workload.searches
            if traits_of(family).sorts_in_memory and group.errors.get(INAPPROPRIATE) and ":=" not in group.shape
        ),
        indexes=indexes,
        etime=workload.search_etime,
        unlisted=unlisted_searches(
            traffic, (group for group in workload.searches if not group.unidentified and group.scope != "base")
        ),
        seconds=traffic.seconds,
        origins=tuple(sorted({*traffic.origins, *(indexes.origins if indexes else ())})),
    )


def without_views(group: SearchGroup) -> SearchGroup | None:
    """Return the searches of a group that are no virtual list views with a constant filter; None: there are none.

    Those that no VLV index can be made for need an index of their filter as other searches do.
    """
    if not _constant_filter(group):
        return group
    sorts = [(count.vlv, _share(count, count.vlv)) for keys, count in group.sorts.items() if _is_order(keys)]
    views, etime = sum(each for each, _ in sorts), sum(each for _, each in sorts)
    if not views:
        return group
    if views >= group.answered:
        return None
    noted = max(0, group.notes.get("U", 0) - sum(count.unindexed for count in group.sorts.values() if count.vlv))
    notes = {**group.notes, "U": noted}
    return replace(
        group,
        count=max(0, group.count - views),
        answered=group.answered - views,
        etime=max(0, group.etime - etime),
        notes={note: count for note, count in notes.items() if count or note == LATER_PAGE},
        stops={(code, notes): stop for (code, notes), stop in group.stops.items() if notes != "U"},
        sorts={keys: count for keys, count in group.sorts.items() if not (count.vlv and _is_order(keys))},
    )


def _views(group: SearchGroup, indexes: ServerIndexes | None, began: datetime | None) -> Iterator[ListView]:
    for keys, count in group.sorts.items():
        if count.vlv:
            unserved = count.vlv - count.by_index
            view = ListView(
                group=group,
                keys=keys,
                filter=_constant_filter(group),
                count=unserved,
                etime=_share(count, unserved),
                most_sorted=count.most_candidates,
                by_index=count.by_index,
                state=ViewState.INDEXED if not unserved else ViewState.UNCONFIGURED,
            )
            yield _compared(view, indexes, began) if unserved and indexes is not None else view


def _share(count: SortCount, results: int) -> int:
    """Return the time of some results without a VLV index, all of which take equally long."""
    without_index = count.count - count.by_index
    return (count.etime - count.by_index_etime) * results // without_index if without_index else 0


def _compared(view: ListView, indexes: ServerIndexes, began: datetime | None) -> ListView:
    """Return a view with the VLV index that fits it, or with the reason why none does."""
    backend = next(iter(indexes.backends(view.group.base, below=False)), None)
    if backend is None:
        return view
    search = next((one for one in backend.vlv_searches if _answers(one, view)), None)
    index = search.ordered(view.keys) if search is not None else None
    state = ViewState.NO_INDEX
    if index is not None:
        is_younger = began is not None and index.created is not None and index.created >= began
        state = ViewState.INDEXED if index.enabled or view.by_index or is_younger else ViewState.NOT_USED
    elif not _is_order(view.keys):
        state = ViewState.NO_ORDER
    elif any(sorts_as_text(key.removeprefix("-"), None, indexes.schema) for key in view.keys.split()):
        state = ViewState.NUMBERS
    elif not view.filter:
        state = ViewState.VALUES
    return replace(view, state=state, backend=backend, search=search, index=index)


def _answers(search: VlvSearch, view: ListView) -> bool:
    """Return whether the indexes of a VLV search answer a view; one with values may answer some requests."""
    return bool(view.filter) and search.answers(view.group.base, view.group.scope, view.filter)


def _is_order(keys: str) -> bool:
    """Return whether sort keys can be those of an index; those with a matching rule (`cn;2.5.13.3`) cannot."""
    return bool(keys.strip()) and all(one.removeprefix("-").replace("-", "").isalnum() for one in keys.split())


def _constant_filter(group: SearchGroup) -> str:
    """Return the filter of a group as logged if its shape and base have no hidden value; else an empty string."""
    tree = parse_shape(group.shape)
    logged = group.slowest.subject if group.slowest is not None else ""
    if tree is None or logged.lower() != group.shape.lower() or "=?" in group.base:
        return ""
    constant = (
        assertion.kind is AssertionKind.PRESENCE or assertion.value is not None for assertion in assertions(tree)
    )
    return logged if all(constant) else ""


def wanted_view(view: ListView | RefusedView) -> WantedView:
    """Return what an index for a view has to hold."""
    group = view.group
    logged = group.slowest.subject if group.slowest is not None else ""
    return WantedView(
        base=group.base,
        scope=group.scope,
        filter=logged,
        keys=view.keys if isinstance(view, ListView) else "cn",
        anonymous=ANONYMOUS in {each.account for each in group.requesters},
        search=view.search,
    )


REFUSED = 50
"""insufficientAccessRights: what an account gets that may not read the entry of a VLV search in use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedView:
    """Searches that fail because their accounts may not read the entry of the VLV search with their filter."""

    group: SearchGroup
    backend: Backend
    search: VlvSearch
    count: int


def find_refused_views(group: SearchGroup, indexes: ServerIndexes | None) -> Iterator[RefusedView]:
    """Yield the searches with err=50 that a VLV index in use answers: such a search has no VLV line."""
    failed = group.errors.get(REFUSED, 0)
    backends = indexes.backends(group.base, below=False) if indexes is not None and failed else ()
    for backend in backends:
        for search in backend.vlv_searches:
            in_use = any(index.enabled is not False for index in search.indexes)
            if in_use and group.slowest is not None and search.answers(group.base, group.scope, group.slowest.subject):
                yield RefusedView(group=group, backend=backend, search=search, count=failed)
