"""What the checks of indexes observed."""

from __future__ import annotations

from typing import Literal, TypedDict

from ldapdiag.documents.report_indexes import IndexSet


class HarmfulIndex(TypedDict):
    """`harmful-index`: an index that makes changes or searches very slow, or answers wrong."""

    attribute: str | None
    backend: str | None
    reason: str | None
    server: str | None
    types: list[str] | None


class IndexDrift(TypedDict):
    """`index-drift`: servers of the same data with different indexes.

    Per suffix and attribute.
    """

    attribute: str | None
    servers: dict[str, list[str]] | None
    types: list[str] | None


class IndexNotBuilt(TypedDict):
    """`index-not-built`: an index that is configured but not used because it is not built.

    Per server and filter shape.
    """

    accounts: list[str] | None
    attribute: str | None
    bases: list[str] | None
    clients: list[str] | None
    etime_seconds: float | None
    first_share: float | None
    growing: bool | None
    last_share: float | None
    limit: int | None
    """`account`: an index answers the searches, and a limit of the account is below its ID list; `attribute` is empty
    then, and all numbers are those of the refused searches; else null.
    """
    part: str | None
    """Of the filter that is the obstacle."""
    reason: str | None
    refused: int | None
    """Searches that failed."""
    refused_accounts: list[str] | None
    searches: int | None
    server: str | None
    shape: str | None
    share: float | None
    """Of all search time, 0 to 1."""
    since: str | None
    until: str | None


class ScanLimitExceeded(IndexNotBuilt):
    """`scan-limit-exceeded`: searches that no index helps because too many entries match.

    Per server and filter shape.
    """


class SubstringTooShort(IndexNotBuilt):
    """`substring-too-short`: searches for fewer characters than the keys of a substring index have.

    Per server and filter shape.
    """


class UnindexableFilter(IndexNotBuilt):
    """`unindexable-filter`: a filter that no index can answer.

    Per server, attribute and kind of assertion. `shape` is the most expensive filter; of several, the trend is null.
    """

    shapes: list[str] | None
    """The filters, the most expensive first, 100 at most."""


class BoundsLeft(TypedDict):
    """Bounds of the time that is left."""

    least: float | None
    most: float | None


class MissingIndex(TypedDict):
    """`missing-index`: an attribute without the index that expensive searches need.

    Per server, database and attribute.
    """

    accounts: list[str] | None
    after_seconds: BoundsLeft | None
    """What is left of it, {least, most}."""
    attribute: str | None
    backend: str | None
    base: str | None
    """Of the filter with the most search time."""
    clients: list[str] | None
    etime_seconds: float | None
    """Of these searches, without refused ones; of one that needs several attributes indexed, an equal part."""
    first_share: float | None
    growing: bool | None
    last_share: float | None
    refused: int | None
    """Of the searches, those that failed for lack of the index; they save no time."""
    refused_accounts: list[str] | None
    """Those with searches that ended with code 3, 11, 50 or 53; at most 10 of each."""
    saves_seconds: float | None
    """Of it, probably."""
    searches: int | None
    server: str | None
    sets: list[IndexSet] | None
    """All that its command writes."""
    shapes: list[str] | None
    share: float | None
    """Saved of all search time, 0 to 1."""
    since: str | None
    types: list[str] | None
    until: str | None


class MissingServerIndex(TypedDict):
    """`missing-server-index`: an attribute without the index that the server's own searches need.

    Per server, database and attribute.
    """

    attribute: str | None
    backend: str | None
    entries: int | None
    """Of the database; null: unknown."""
    plugins: list[str] | None
    """That search for it."""
    server: str | None
    types: list[str] | None


class MissingVlvIndex(TypedDict):
    """`missing-vlv-index`: virtual list views that sort every entry in memory for each page.

    Per server, filter shape, base, scope and sort keys.
    """

    accounts: list[str] | None
    backend: str | None
    base: str | None
    clients: list[str] | None
    etime_seconds: float | None
    filter: str | None
    scope: str | None
    searches: int | None
    server: str | None
    shape: str | None
    share: float | None
    sort: str | None
    """Keys, `-` for the reverse order."""
    sorted_entries: int | None
    """The most, for one page."""
    state: Literal["no-index", "not-used", "refused"] | None


class UnknownAttribute(TypedDict):
    """`unknown-attribute`: searches for an attribute that the server's schema does not have.

    Per server, filter shape and attribute.
    """

    accounts: list[str] | None
    attribute: str | None
    """Empty: one of those in the filter, not known which."""
    clients: list[str] | None
    etime_seconds: float | None
    reason: str | None
    searches: int | None
    server: str | None
    shape: str | None


class UnusedIndex(TypedDict):
    """`unused-index`: an index that no search in the log uses."""

    attribute: str | None
    backend: str | None
    log_hours: float | None
    server: str | None
    types: list[str] | None


class WrongAnswersPossible(TypedDict):
    """`wrong-answers-possible`: an index that may lack entries, so that searches silently return too few.

    Per server, database and attribute.
    """

    attribute: str | None
    backend: str | None
    changed: str | None
    """Time of the last change of its entry."""
    missing: int | None
    """Of these, not found by their own value."""
    reason: str | None
    rules: list[str] | None
    samples: int | None
    """Entries of a probe; null: none was made."""
    server: str | None
    state: (
        Literal["wrong", "never-built", "recreated", "absent", "interrupted", "changed", "text-order", "unused"] | None
    )
    types: list[str] | None
