"""One connection as far as one piece of a log tells it, and what waits at the piece's edges.

A piece that does not hold the connection's opening knows neither the client nor, before its first BIND, the account,
nor which operations were outstanding when it began. What depends on them waits here until `joining` puts the pieces
together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ldapdiag.evidence.log.rests import Rests

if TYPE_CHECKING:
    from ldapdiag.evidence.log.tables import ClientRow, ShapeRow

Account = bytes | int | None
"""A bind DN; b"": anonymous; an op number: who that BIND of an earlier piece names; None: who it was in that piece,
and nobody where there is none."""

ANONYMOUS = b""
CLOSED_FOR_GOOD = 600_000_000_000
"""Nanoseconds after a close in which the results of what was outstanding may still be written."""

UNKNOWN = b"?"
"""A client or an account that the log does not tell."""


Pending = tuple[int, int, "ShapeRow | None", bytes]
"""A request that waits for its result: its time, its kind, the row of a search (None for what is not counted any more:
asked before --since), the filter of a search or the DN of a BIND. A bare tuple: there are millions."""


class Answer(NamedTuple):
    """A result whose request is not in this piece."""

    op: int
    time: int
    kind: int
    err: int
    etime: int | None
    wait: int | None
    entries: int
    notes: bytes
    account: bytes | None
    """Who a BIND result says is bound now."""
    who: Account
    """Who was bound when it came; an operation is told for whoever is bound at its end.

    389-ds may write a search before the result of the BIND that it waited for.
    """


class Asked(NamedTuple):
    """The first request of a piece, which may end a rest that began in an earlier one."""

    op: int
    time: int
    epoch: int
    """How many results without request had come before it."""
    rested: int | None
    """When the last of them came."""


class Tail(NamedTuple):
    """The end of a connection: since when it had rested."""

    rested: int | None
    """None: nothing was answered in this piece."""
    epoch: int
    quiet: bool
    """Nothing of this piece was outstanding."""


class Connection:
    """A connection, or the part of it that one piece of a log holds."""

    __slots__ = (
        "account",
        "asked",
        "binding",
        "client",
        "closed",
        "code",
        "continued",
        "failures",
        "first",
        "held",
        "last_op",
        "named",
        "opened",
        "operations",
        "owed",
        "pages",
        "pages_left",
        "pending",
        "requests",
        "rested",
        "rests",
        "row",
        "tail",
    )

    def __init__(self, first: int, opened: int | None = None, client: bytes | None = None) -> None:
        self.first = first
        self.opened = opened
        self.client = client
        self.row: ClientRow | None = None
        """Where the counts of this client are; None while it is unknown."""
        self.account: Account = None
        self.named: bytes | None = None
        """Who the BIND that is under way will have bound, where a line before its result says so."""
        self.binding: bytes | None = None
        """Who the BIND under way names: what is answered before its result was written after it, for a client waits."""
        self.operations = 0
        self.last_op = -1
        self.requests = 0
        """Those that are numbered one after the other: all but an UNBIND."""
        self.asked: Asked | None = None
        self.rested: int | None = None
        """When the last result came that left nothing outstanding."""
        self.pending: dict[int, Pending] = {}
        self.held: list[Answer] = []
        self.owed: dict[tuple[bytes, Account], list[int]] = {}
        """Of an unknown client: searches, nanoseconds, noted ones, by shape and account."""
        self.failures: dict[tuple[bytes, int], int] = {}
        """Of an unknown client: failed BINDs by DN and result code."""
        self.rests: dict[int, Rests] = {}
        """Of an unknown client, by the epoch they ended in: they count if nothing from before was outstanding then."""
        self.continued = 0
        """Searches that are a later page of an earlier one."""
        self.pages: dict[int, bool] = {}
        """Paged searches touched here, by the server's number; True: they go on."""
        self.pages_left: set[int] = set()
        """Those whose first page here may not be the first."""
        self.closed: int | None = None
        self.code = b""
        self.tail: Tail | None = None

    @property
    def who(self) -> Account:
        """Who an operation that ends now is told for."""
        return self.account if self.binding is None else self.binding

    def is_gone(self, time: int) -> bool:
        """Tell whether it was closed so long ago that no result is waited for."""
        return self.closed is not None and time - self.closed > CLOSED_FOR_GOOD

    @property
    def done(self) -> bool:
        """Nothing of it is waited for."""
        return self.closed is not None and self.opened is not None and not self.pending and not self.held

    @property
    def complete(self) -> bool:
        """Nothing of it can still come, nor be in an earlier piece: slapd may write an opening after a request."""
        begun = self.operations == 0 if self.asked is None else self.asked.op == 0
        return begun and self.done
