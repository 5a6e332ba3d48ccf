"""What a server reports on its use of indexes (event 1644), and what follows for the searches and their filters.

    DNT_index:209369:N; member     visited 209,369, returned 1      a walk: no index was used
    idx_l:9000:N; none             visited 9,000, returned 1        an index was used, and is not selective
    idx_mail:1:N; none             visited 1, returned 1            nothing to improve, however long it takes

Such a report comes before any simulation: this shows why an index was not used, and which one would be.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.filter_tree import AssertionKind, Not, assertions
from ldapdiag.servers.indexes.candidates import Cause, Change
from ldapdiag.wording import counted, number

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from ldapdiag.analysis.log.searches import ReportedIndexes, SearchGroup, Visits
    from ldapdiag.evidence.filter_tree import Assertion, Node
    from ldapdiag.evidence.indexes import IndexConfiguration
    from ldapdiag.servers.indexes.candidates import Leaf
    from ldapdiag.servers.traits import Traits

FEW_VISITED = 1000
"""Entries that one search may visit: the default of Windows' threshold for inefficient searches."""
MOST_RETURNED = 0.5
"""The share of the entries visited from which on those returned explain them."""
ANSWERED = frozenset({Cause.NONE, Cause.LIMIT_PERHAPS})


IS_USED = (
    "the server used an index of {}, and the schema in the evidence has none: that is older, or of another forest, so "
    "export it again"
)
OUTSIDE_CATALOG = "the global catalog has it of its own domain alone (isMemberOfPartialAttributeSet)"


def lacks_in_catalog(assertion: Assertion, group: SearchGroup, configuration: IndexConfiguration) -> bool:
    """Return whether searches of a whole forest, below its root, are for an attribute that the global catalog lacks."""
    return not group.base and group.scope == "sub" and assertion.attribute in configuration.outside_catalog


def examines_many(group: SearchGroup) -> bool | None:
    """Return whether some of the searches visit far more entries than they return; None: there is no report."""
    return bool(list(_examining(group))) if group.reported else None


def examined_each(group: SearchGroup) -> float | None:
    """Return how many entries one of these searches visits on average; None: there is no report."""
    found = [visits for _, visits in _examining(group)] or list(group.reported.values())
    results = sum(one.results for one in found)
    return sum(one.visited for one in found) / results if results else None


def visits_clause(group: SearchGroup) -> str:
    """Return what each of these searches visits and returns, after a comma; empty: there is no report."""
    if (visited := examined_each(group)) is None:
        return ""
    returned = round(group.entries / group.answered) if group.answered else 0
    return f", each visits {counted(round(visited), 'entry', 'entries')} and returns {number(returned)}"


def _examining(group: SearchGroup) -> Iterator[tuple[ReportedIndexes, Visits]]:
    for use, visits in group.reported.items():
        if visits.visited > FEW_VISITED * visits.results and visits.entries < MOST_RETURNED * visits.visited:
            yield use, visits


def as_reported(
    leaf: Leaf, scan: tuple[SearchGroup, Node], simulated: Callable[[Assertion], Leaf], types: Collection[str],
    traits: Traits,
) -> Leaf:  # fmt: skip
    """Return the prediction for one assertion of searches that visit many entries, by what the server reports of them.

    An index that is configured and was not used is not there (not built, deferred, not replicated) if the server names
    its attribute among those that prevented a better plan; else it expected too many entries of it. `types`: the
    indexes of the attribute.
    """
    group, filter_ = scan
    if not group.reported:
        return leaf
    uses = [use for use, _ in _examining(group)]
    walked = any(not traits.walks.isdisjoint(map(str.lower, use.indexes)) for use in uses)
    preventing = frozenset(name for use in uses for name in use.preventing)
    usual = traits.index_types.get(AssertionKind.EQUALITY)
    needed = leaf.change is not None or leaf.assertion.attribute in preventing
    if walked and needed and (used := _used_by_others(leaf.assertion.attribute, group, traits)):
        return replace(leaf, cause=Cause.YOUNGER, change=None, why=used, unproven=True)
    one_level = traits.one_level_type if group.scope == "one" else ""
    if leaf.change is not None:
        wanted = one_level if leaf.change.type == usual else ""
        is_used = leaf.change.type == usual and _names(leaf.assertion.attribute, uses, traits)
        return _used(leaf, group) if is_used else _lacking(leaf, leaf.change.attribute, wanted, preventing)
    if leaf.cause not in ANSWERED or not uses:
        return leaf
    is_configured = not {*traits.index_types.values(), traits.one_level_type}.isdisjoint(types)  # a link table is not
    if walked and is_configured and leaf.assertion.attribute in preventing - _of_other_parts(filter_, simulated):
        names = " ".join(sorted({name for use in uses for name in use.indexes}))
        name = leaf.assertion.name
        why = f"its index is configured, and the server used {names} and names {name} as what prevents a better choice"
        return replace(leaf, cause=Cause.NOT_BUILT, why=why, unproven=True)
    medial = leaf.assertion.kind is AssertionKind.SUBSTRING and leaf.assertion.initial == 0
    if walked and one_level and not medial and leaf.cause is Cause.NONE and usual in types and one_level not in types:
        return replace(leaf, cause=Cause.TYPE_MISSING, change=Change(leaf.assertion.name, one_level))
    if walked and any(simulated(each).change is not None for each in assertions(filter_)):
        return leaf  # another part has no index, which explains a walk for all of an OR
    return replace(leaf, cause=Cause.LIMIT, why=_why_many(group, walked=walked))


def _names(attribute: str, uses: Collection[ReportedIndexes], traits: Traits) -> bool:
    """Return whether the server names the index of an attribute among those that it used."""
    name = f"{traits.logged_index}{attribute}"
    return bool(traits.logged_index) and any(name in map(str.lower, use.indexes) for use in uses)


def _used(leaf: Leaf, group: SearchGroup) -> Leaf:
    """Return the prediction where the server used an index that the schema in the evidence lacks, or where none is."""
    if leaf.cause is Cause.UNCONFIGURED:
        return replace(leaf, cause=Cause.LIMIT, change=None, why=_why_many(group, walked=False))
    return replace(leaf, cause=Cause.NOT_EXPORTED, change=None, why=IS_USED.format(leaf.assertion.name))


def _lacking(leaf: Leaf, attribute: str, wanted: str, preventing: Collection[str]) -> Leaf:
    """Return the prediction where an index is lacking, with the type that is `wanted` in place of the usual one."""
    if leaf.cause is Cause.UNCONFIGURED and preventing and leaf.assertion.attribute not in preventing:
        return replace(leaf, cause=Cause.LIMIT_PERHAPS, change=None)
    return replace(leaf, change=Change(attribute, wanted)) if wanted else leaf


def _used_by_others(attribute: str, group: SearchGroup, traits: Traits) -> str:
    """Return that some of the searches, which visit few entries, use an index of an attribute; empty: none do."""
    many = dict(_examining(group))
    name = f"{traits.logged_index}{attribute}"
    others = [one for use, one in group.reported.items() if use not in many and name in map(str.lower, use.indexes)]
    if not others or not traits.logged_index:
        return ""
    walks, few = (number(sum(one.results for one in some)) for some in (many.values(), others))
    searches = "searches visit many entries without an index, and"
    return f"{walks} of these {searches} {few} use {name}: it was probably built after the former"


def _why_many(group: SearchGroup, *, walked: bool) -> str:
    visited = number(round(examined_each(group) or 0))
    chosen = "the server expected too many entries of its index" if walked else "its index was used"
    if not any(use.indexes for use in group.reported):
        chosen = "it has an index, which was not used or has too many entries (old events do not show which)"
    return (
        f"{chosen}, and each search visits {visited} entries to return {number(round(group.entries / group.answered))}"
    )


def _of_other_parts(filter_: Node, simulated: Callable[[Assertion], Leaf]) -> set[str]:
    """Return the attributes of the parts of a filter that prevent an index by themselves: negated, or without one."""
    negated = {each.attribute for node in _negations(filter_) for each in assertions(node)}
    return negated | {each.attribute for each in assertions(filter_) if simulated(each).cause not in ANSWERED}


def _negations(node: Node) -> Iterator[Node]:
    if isinstance(node, Not):
        yield node
    else:
        for member in getattr(node, "members", ()):
            yield from _negations(member)
