"""The servers compared in the document of `ldapdiag log --by server`."""

from __future__ import annotations

from typing import TypedDict

from ldapdiag.documents.common import Period


class MostUsedBy(TypedDict):
    """A client with many connections to a server."""

    client: str
    opened: int


class ServerClock(TypedDict):
    """A clock that differs from those of the other servers, by when common clients begin and end to use it."""

    ahead_seconds: float
    """Negative: behind."""
    uncertainty_seconds: float
    uses: int
    """Beginnings and ends that were compared."""
    clients: int
    has_zone: bool
    """Its time stamps have a time zone; false: the log may be in another one."""
    shifted: bool
    """The end of the log agrees, so that its times are shifted; false: it is not judged."""
    half: bool
    """Half of the servers differ so from the other half: which are right is not known."""


class Server(TypedDict):
    """A server: numbers of the whole log, and shares of the load in the time that all logs have in common."""

    name: str
    connections: int
    operations: int
    search_seconds: float
    peak: int
    unindexed_share: float | None
    error_share: float | None
    connection_share: float | None
    """For each second that its log covers; null: it is not compared, or there are under 100 connections."""
    operation_share: float | None
    time_share: float | None
    idle: bool | None
    """Hardly an operation from the beginning to the end: less than 2 % of an even share."""
    silences: list[list[str]]
    """[from, to] without an answer, unlikely at its own rate, while others go on; by the clock of the others."""
    usual_per_second: list[float]
    """Answers per second in the hour around each silence."""
    shortest_silence_seconds: float | None
    """At its mean rate, shorter silences are not unlikely, so that they are not reported; null: none would be."""
    begins_late_seconds: float
    """Its log begins so much later than half of the logs, where its rate makes so long a silence unlikely; else 0."""
    ends_early_seconds: float
    """The same of its end."""
    not_compared: str | None
    """Why its load and the moves of its clients are not compared; null: they are."""
    clock: ServerClock | None
    """Null: nothing shows that it differs."""
    clients: list[MostUsedBy]
    """The three clients that opened most connections to it."""


class DifferingSearch(TypedDict):
    """A search that is slower on one server than on others, with 100 results or more on each."""

    server: str
    shape: str
    base: str
    bases: int
    """How many bases the search has; `base` is one of them."""
    scope: str
    answered: int
    unindexed: int
    lacks_index: bool
    """Half or more are noted unindexed, at most 1 % on `others`; else the median is 4 times theirs, and 1 ms longer."""
    median_seconds: float
    others: list[str]
    others_median_seconds: float
    wait_seconds: float | None
    """The median of its waits for a worker thread, within the time; null: the log does not have them."""
    others_wait_seconds: float | None


class ClientOfOneServer(TypedDict):
    """A client of 50 connections or more, nearly all to one server."""

    client: str
    server: str
    connections: int
    share: float


class MovedClients(Period):
    """Clients that went from one server to another."""

    clients: list[str]
    begin: str
    """The earliest last use of the one."""
    end: str
    """The latest first use of the other."""
    silent: bool
    """The one has no record then."""


class Fleet(TypedDict):
    """The servers compared (`--by server`)."""

    servers: list[Server]
    compared_from: str | None
    compared_to: str | None
    even_share: float | None
    differing_searches: list[DifferingSearch]
    clients_of_one_server: list[ClientOfOneServer]
    moved_clients: list[MovedClients] | None
    """Null: not judged."""
    servers_by_version: dict[str, list[str]]
    """Empty where all are equal."""
    servers_without_records: list[str]
