"""The indexes of each server, in the report of `ldapdiag indexes`."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from ldapdiag.documents.common import RemedyRow

Cause = Literal[
    "no-index",
    "type-missing",
    "not-built",
    "younger-than-log",
    "substring-too-short",
    "limit-exceeded",
    "limit-perhaps",
    "unindexable",
    "unknown-attribute",
    "no-configuration",
    "perhaps-pages",
    "not-exported",
    "indexed",
]
"""Why no index answers a search."""


class Bounds(TypedDict):
    """Bounds of a time; null: no upper one is known."""

    least: float
    most: float | None


class WantedIndex(TypedDict):
    """An index that would help."""

    backend: str | None
    attribute: str
    type: str
    rule: str | None
    """A matching rule, or null."""


class IndexedSearches(TypedDict):
    """Searches of one filter shape, base and scope."""

    accounts: list[str]
    backends: list[str]
    """The databases that it examines."""
    base: str
    cause: Cause | None
    clients: list[str]
    etime_seconds: float
    noted: int | None
    """By the server as unindexed, wholly or in part."""
    part: str | None
    reason: str | None
    scope: str
    searches: int
    shape: str
    wants: list[list[WantedIndex]]


class UnjudgedSearches(TypedDict):
    """Searches of which the evidence does not show whether an index helps, beside all searches of the log."""

    etime_seconds: float
    """At most."""
    of_etime_seconds: float
    of_searches: int
    searches: int
    """Their filter or request is not in the log, or not one of RFC 4515; they are outside every suffix, perhaps pages,
    older than an index, or beyond the costliest kinds; or the configuration or schema in the evidence does not decide.
    """


class UnusedIndexRow(TypedDict):
    """An index that no search of the log used."""

    attribute: str
    backend: str | None
    log_seconds: float
    """Of log, in which it was not used."""
    types: list[str]


class IndexSet(TypedDict):
    """What a command writes for one attribute."""

    attribute: str
    rules: list[str]
    """All that the printed commands write for it: of slapd whole index lines, with the types that the attribute has
    already, and with the other attributes of a line that is split.
    """
    types: list[str]
    """Index types and matching rules to add."""


class RequesterRow(TypedDict):
    """Who sends a search."""

    account: str
    client: str


class PlannedIndex(TypedDict):
    """An index to add; those without which searches fail first, then by saving."""

    accounts: list[str]
    after_seconds: Bounds
    attribute: str
    backend: str | None
    clients: list[str]
    requesters: list[RequesterRow]
    """The clients, each with an account."""
    saves: Bounds
    saves_seconds: float
    searches: int
    sets: list[IndexSet]
    """All that the commands write for it: of slapd whole index lines, with the types that the attribute has already."""
    shapes: list[str]
    slows: list[str]
    """Searches that use these indexes and take longer then: ranges on slapd."""
    sure: bool
    """False: it helps if few entries match."""
    then_each: str
    """How long one of its searches takes with the index, in words."""
    types: list[str]
    """Index types and matching rules to add."""


class Expected(TypedDict):
    """A predicted time with its bounds."""

    expected: float
    least: float
    most: float | None


class PredictedSearch(TypedDict):
    """A kind of search that the plan makes indexed."""

    after_seconds: Expected | None
    """Null: all of them are refused, and how long they take with the index is not known."""
    base: str
    lengths: str | None
    """Of substrings, one digit each."""
    mean_seconds: float
    """Before."""
    scope: str
    searches: int
    shape: str


class ShapeTime(TypedDict):
    """The time of all searches of a filter shape, as logged and as predicted with the plan."""

    etime_seconds: float
    searches: int
    shape: str
    with_plan_seconds: Expected | None


class NotJudged(TypedDict):
    """The searches that are not judged one by one: of kinds (filter shape, base, scope) beyond the costliest."""

    etime_seconds: float
    judged_kinds: int
    kinds: int
    """Not judged, with a row of their own in the log's counts."""
    others: bool
    """There are still other kinds, which the log counts together."""
    searches: int
    unindexed_etime_seconds: Bounds
    """How much of their time is without an index; what the log does not show is between these."""


class IndexReport(TypedDict):
    """The indexes of one server, in the report of ldapdiag indexes."""

    after_seconds: Bounds
    backends: list[str]
    """The databases of the index configuration."""
    configured: bool
    """The index configuration was read."""
    cost: int
    cost_at_least: int
    """An order, not a measurement."""
    etime_seconds: float
    exact: bool
    harmless: list[IndexedSearches]
    indexed_later: list[IndexedSearches]
    """An index answers them that was added, changed or built after the log began, or perhaps: not judged."""
    indexed_since: str | None
    """The last of these times, or the end of the log: a log from then on shows whether the indexes answer."""
    log_seconds: float
    """From the first operation to the last."""
    no_index_helps: list[IndexedSearches]
    not_built: list[IndexedSearches]
    """A configured index would help if it were built."""
    not_judged: NotRequired[NotJudged]
    """Where there are too many kinds of search; they are in the sums, and not in the plan."""
    not_used: list[UnusedIndexRow]
    not_worth_an_index: list[IndexedSearches]
    outside_suffixes: int
    """Searches outside every suffix of the index configuration, which are not judged."""
    perhaps_pages: list[IndexedSearches]
    """Their results may be pages of larger ones, which the log does not note: not judged."""
    plan: list[PlannedIndex]
    predicted: list[PredictedSearch]
    remedies: list[RemedyRow]
    """The commands that add the indexes of the plan."""
    saves: Bounds
    saves_seconds: float
    searches: int
    server: str | None
    shapes: list[ShapeTime]
    summary: str
    """What the plan saves, and how good it is."""
    undecided_etime_seconds: NotRequired[float]
    """Of slow searches of which neither the log nor an index configuration shows whether they use an index."""
    unindexed_etime_seconds: float
    """At least: `not_judged` says how much of what is not judged is in it; that of undecided ones is not."""
    unjudged: UnjudgedSearches
    """What is not judged of all searches."""
