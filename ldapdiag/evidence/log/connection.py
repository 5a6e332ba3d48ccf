"""Connection: the state of one connection within one chunk of a log, and what is undecided at the chunk's edges.

In a chunk that does not contain the connection's opening, three things are unknown: the client, the account before the
first BIND, and the operations outstanding at its start. Counts that depend on them are kept here until `joining` joins
the chunks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ldapdiag.evidence.log.idle_times import IdleTimes

if TYPE_CHECKING:
    from ldapdiag.evidence.log.sorting import Sorting
    from ldapdiag.evidence.log.tables import ClientRow, ShapeRow

Account = bytes | int | None
"""A bind DN; b"": anonymous; an op number: the DN of that BIND, requested in an earlier chunk; None: the account that
the connection had at the end of the earlier chunk, anonymous where there is none."""

ANONYMOUS = b""
RESULT_TIMEOUT = 600_000_000_000
"""Nanoseconds after a close in which the results of outstanding operations may still be written."""

IN_PROGRESS = 14
"""saslBindInProgress (RFC 4511, appendix A): a step, neither a success nor a failure."""

UNKNOWN = b"?"
"""A client or an account that is not in the log."""


Pending = tuple[int, int, "ShapeRow | None", bytes, "Sorting | None"]
"""A request without a result yet: its time, its kind, the row of a search (None for a request before --since, which is
not counted), the filter of a search or the DN of a BIND, its SORT and VLV lines. A bare tuple: there are millions."""


class OperationResult(NamedTuple):
    """A result whose request is not in this chunk; or what ends or describes one: an ABANDON, a SORT or VLV line."""

    op: int
    time: int
    kind: int
    err: int
    etime: int | None
    wait: int | None
    entries: int
    notes: bytes
    account: bytes | None
    """The account that a BIND result reports as bound."""
    bound_as: Account
    """The account of the connection when the result was written; operations are attributed to it.

    389-ds may write a search before the result of the BIND that the client waited for.
    """
    sorting: Sorting | None = None
    """Of a SORT or VLV line (kind SORTED)."""


class FirstRequest(NamedTuple):
    """The first request of a chunk, which may end an idle time that began in an earlier one."""

    op: int
    time: int
    epoch: int
    """The number of unmatched results before it."""
    idle_since: int | None
    """The time of the last of them."""


class IdleAtClose(NamedTuple):
    """The idle time at the close of a connection, as far as this chunk determines it."""

    idle_since: int | None
    """None: no result in this chunk."""
    epoch: int
    quiet: bool
    """No operation requested in this chunk was outstanding."""


class Connection:
    """A connection, or the part of it that is in one chunk of a log."""

    __slots__ = (
        "account",
        "bind_dn",
        "client",
        "closed",
        "code",
        "confirmed_dn",
        "continued",
        "failures",
        "first",
        "first_request",
        "idle_at_close",
        "idle_since",
        "idle_times",
        "last_op",
        "opened",
        "operations",
        "pages",
        "pending",
        "requests",
        "row",
        "unattributed",
        "uncertain_pages",
        "unmatched",
    )

    def __init__(self, first: int, opened: int | None = None, client: bytes | None = None) -> None:
        self.first = first
        self.opened = opened
        self.client = client
        self.row: ClientRow | None = None
        """The row that counts this client; None while the client is unknown."""
        self.account: Account = None
        self.confirmed_dn: bytes | None = None
        """The DN that a line before the result of the BIND in progress reports as bound (slapd)."""
        self.bind_dn: bytes | None = None
        """The DN of the BIND in progress.

        A client waits for the result of its BIND, so a result written before that one belongs to this DN.
        """
        self.operations = 0
        self.last_op = -1
        self.requests = 0
        """Requests with consecutive numbers: all but an UNBIND."""
        self.first_request: FirstRequest | None = None
        self.idle_since: int | None = None
        """The time of the last result that left no operation outstanding."""
        self.pending: dict[int, Pending] = {}
        self.unmatched: list[OperationResult] = []
        self.unattributed: dict[tuple[bytes, Account], list[int]] = {}
        """While the client or account is unknown, by shape and account: as in the attribution of a Segment."""
        self.failures: dict[tuple[bytes, int], int] = {}
        """While the client is unknown: failed BINDs by DN and result code."""
        self.idle_times: dict[int, IdleTimes] = {}
        """While the client is unknown, by the epoch in which they ended.

        They count if no operation of an earlier chunk was outstanding then.
        """
        self.continued = 0
        """Searches that are a later page of an earlier search."""
        self.pages: dict[int, bool] = {}
        """Paged searches seen here, by the server's number; True: more pages follow."""
        self.uncertain_pages: set[int] = set()
        """Paged searches whose first page here may be a later one."""
        self.closed: int | None = None
        self.code = b""
        self.idle_at_close: IdleAtClose | None = None

    @property
    def bound_as(self) -> Account:
        """The account to which an operation that ends now is attributed."""
        return self.account if self.bind_dn is None else self.bind_dn

    def end_bind(self, op: int, err: int, reported: bytes | None, requested: bytes | None) -> None:
        """Set the account after the result of a BIND; a failed one leaves it anonymous (RFC 4511, 4.2.1).

        The DN of the result takes precedence over that of a line before it, and this over that of the request.
        """
        if err == IN_PROGRESS:
            return
        confirmed, self.confirmed_dn = self.confirmed_dn, None
        self.bind_dn = None
        if err != 0:
            self.account = ANONYMOUS
        elif reported is not None:
            self.account = reported
        elif confirmed is not None:
            self.account = confirmed
        else:
            self.account = op if requested is None else requested

    def is_expired(self, time: int) -> bool:
        """Return whether it was closed so long ago that no result is expected."""
        return self.closed is not None and time - self.closed > RESULT_TIMEOUT

    @property
    def done(self) -> bool:
        """It is closed, and no result is expected."""
        return self.closed is not None and self.opened is not None and not self.pending and not self.unmatched

    @property
    def complete(self) -> bool:
        """No record of it can follow or be in an earlier chunk: slapd may write an opening after a request."""
        begun = self.operations == 0 if self.first_request is None else self.first_request.op == 0
        return begun and self.done
