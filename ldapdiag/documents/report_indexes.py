"""The indexes of each server, in the report of `ldapdiag indexes`."""

from __future__ import annotations

from typing import Literal, TypedDict

Cause = Literal[
    "no-index",
    "type-missing",
    "not-built",
    "substring-too-short",
    "limit-exceeded",
    "limit-perhaps",
    "unindexable",
    "unknown-attribute",
    "no-configuration",
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


class UnusedIndexRow(TypedDict):
    """An index that no search of the log used."""

    attribute: str
    backend: str | None
    types: list[str]
    """Index types and matching rules to add."""


class IndexSet(TypedDict):
    """What a command writes for one attribute."""

    attribute: str
    rules: list[str]
    """All that the printed commands write for it: of slapd whole index lines, with the types that the attribute has
    already, and with the other attributes of a line that is split.
    """
    types: list[str]
    """Index types and matching rules to add."""


class PlannedIndex(TypedDict):
    """An index to add; ordered by saving."""

    accounts: list[str]
    after_seconds: Bounds
    attribute: str
    backend: str | None
    clients: list[str]
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
    types: list[str]
    """Index types and matching rules to add."""


class Expected(TypedDict):
    """A predicted time with its bounds."""

    expected: float
    least: float
    most: float | None


class PredictedSearch(TypedDict):
    """A kind of search that the plan makes indexed."""

    after_seconds: Expected
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


class IndexReport(TypedDict):
    """The indexes of one server, in the report of ldapdiag indexes."""

    after_seconds: Bounds
    configured: bool
    cost: int
    cost_at_least: int
    """An order, not a measurement."""
    etime_seconds: float
    exact: bool
    harmless: list[IndexedSearches]
    log_hours: float
    no_index_helps: list[IndexedSearches]
    not_built: list[IndexedSearches]
    """A configured index would help if it were built."""
    not_used: list[UnusedIndexRow]
    not_worth_an_index: list[IndexedSearches]
    plan: list[PlannedIndex]
    predicted: list[PredictedSearch]
    saves: Bounds
    saves_seconds: float
    searches: int
    server: str | None
    shapes: list[ShapeTime]
    unindexed_etime_seconds: float
