"""Connection: the state of one connection of a log.

Of one whose opening is not in the log, or comes late, two things are unknown: the client, and the account before the
first BIND. Counts that depend on them are kept here until a line shows them, or the connection ends.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from ldapdiag.evidence.log.idle_times import IdleTimes
from ldapdiag.lazy_dataclass import NamedTuple

if TYPE_CHECKING:
    from ldapdiag.evidence.log.operation_row import OperationRow
    from ldapdiag.evidence.log.sorting import Sorting

Account = bytes | int | None
"""A bind DN; b"": anonymous; an op number: the DN of that BIND, whose request is not in the log; None: the account that
the connection had before the log began, anonymous where its opening is written late."""

ANONYMOUS = b""
RESULT_TIMEOUT = 600_000_000_000
"""Nanoseconds after a close in which the results of outstanding operations may still be written."""

STARTTLS = b"1.3.6.1.4.1.1466.20037"
"""The extended operation after whose success TLS begins (RFC 4511, 4.14.1)."""

SIMPLE = b"simple"
"""The mechanism of a simple BIND (RFC 4511, 4.2); others are SASL's, as GSSAPI."""
PLAIN = b"PLAIN"
"""The mechanism of SASL that sends the password as it is (RFC 4616)."""
SASL = b"SASL"
"""One that the log does not name, or only later."""

IN_PROGRESS = 14
"""saslBindInProgress (RFC 4511, appendix A): a step, neither a success nor a failure."""

UNKNOWN = b"?"
"""A client or an account that is not in the log."""


Pending = tuple[int, int, "OperationRow | None", bytes, "Sorting | None"]
"""A request without a result yet: its time, its kind, its row (None for a request before --since, which is not
counted), the filter of a search or the DN of the entry, its SORT and VLV lines. A bare tuple: there are millions."""

Subject = tuple[int, bytes]
"""What operations are counted by, beside client and account: their kind, and the filter shape or the target."""


class OperationResult(NamedTuple):
    """The fields of a result. Times and durations in nanoseconds; None: not in the log."""

    op: int
    time: int
    kind: int
    err: int
    etime: int | None = None
    wait: int | None = None
    optime: int | None = None
    entries: int = 0
    notes: bytes = b""
    account: bytes | None = None
    """The account that a BIND result reports as bound."""
    bound_as: Account = None
    """The account of the connection when the result was written; operations are attributed to it.

    389-ds may write a search before the result of the BIND that the client waited for.
    """


class IdleAtClose(NamedTuple):
    """The idle time at the close of a connection."""

    idle_since: int | None
    """None: no result."""
    quiet: bool
    """No operation was outstanding."""


class PendingRequests(dict[int | tuple[int, int], Pending]):
    """Pending requests by operation number.

    Of requests with one number, as a client can forge them, a result ends the last. The others are kept by (number,
    their place).
    """

    __slots__ = ()

    def add(self, op: int, pending: Pending) -> None:
        """Add a request."""
        if (before := self.pop(op, None)) is not None:
            self[op, self._repeated(op)] = before
        self[op] = pending

    def take(self, op: int) -> Pending | None:
        """Remove and return the last request with this number."""
        taken = self.pop(op, None)
        if taken is not None and self and (op, 0) in self:
            self[op] = self.pop((op, self._repeated(op) - 1))
        return taken

    def _repeated(self, op: int) -> int:
        return next(place for place in count() if (op, place) not in self)


class Connection:
    """A connection, as far as the log is read."""

    __slots__ = (
        "account",
        "bind_dn",
        "clear_binds",
        "client",
        "closed",
        "code",
        "confirmed_dn",
        "continued",
        "early",
        "first",
        "first_op",
        "idle_at_close",
        "idle_since",
        "idle_times",
        "is_before_period",
        "last_op",
        "named_account",
        "named_client",
        "opened",
        "operations",
        "pages",
        "pending",
        "previous_op",
        "requests",
        "secured",
        "unattributed",
    )

    def __init__(self, first: int, opened: int | None = None, client: bytes | None = None) -> None:
        self.first = first
        self.opened = opened
        self.client = client
        self.named_client: bytes | None = None
        """The client that other lines than an opening or a PROXY header name; UNKNOWN if they differ."""
        self.named_account: bytes | None = None
        """The account that other lines than a BIND name before the first BIND; UNKNOWN if they differ."""
        self.is_before_period = False
        """It was opened among records before the period that are being read."""
        self.account: Account = None
        self.confirmed_dn: bytes | None = None
        """The DN that a line before the result of the BIND in progress reports as bound (slapd)."""
        self.bind_dn: bytes | None = None
        """The DN of the BIND in progress.

        A client waits for the result of its BIND, so a result written before that one belongs to this DN.
        """
        self.operations = 0
        self.last_op = -1
        """The highest number of a request."""
        self.previous_op = -1
        """The number of the last request; a client may use numbers again."""
        self.requests = 0
        """Requests with consecutive numbers: all but an UNBIND."""
        self.first_op: int | None = None
        """The number of the first request."""
        self.idle_since: int | None = None
        """The time of the last result that left no operation outstanding."""
        self.pending = PendingRequests()
        self.early: list[tuple[OperationResult, bool]] = []
        """Results without a request, which may be written later; False: written after the close."""
        self.unattributed: dict[tuple[Subject, Account, int], list[int]] = {}
        """While the client or account is unknown, by subject, account and result code: as Segment.attribution."""
        self.secured = False
        """By TLS, from the beginning or by StartTLS."""
        self.clear_binds: dict[bytes, int] = {}
        """BINDs with a password before the connection was secured, by DN."""
        self.idle_times: dict[Account, IdleTimes] = {}
        """While the client or account is unknown, by account."""
        self.continued = 0
        """Searches that are a later page of an earlier search."""
        self.pages: dict[int, bool] = {}
        """Paged searches, by the server's number; True: more pages follow."""
        self.closed: int | None = None
        self.code = b""
        self.idle_at_close: IdleAtClose | None = None

    @property
    def bound_as(self) -> Account:
        """The account to which an operation that ends now is attributed."""
        return self.account if self.bind_dn is None else self.bind_dn

    def name(self, client: bytes | None, account: bytes | None) -> None:
        """Keep the client and the account that a line names; the connection's end shows whether they are needed."""
        self.named_client = _agreed(self.named_client, client)
        if self.bound_as is None:
            self.named_account = _agreed(self.named_account, account)

    @property
    def client_at_end(self) -> bytes:
        """The client to count it under, now that no opening or PROXY header can follow."""
        return self.client or self.named_client or UNKNOWN

    @property
    def unbound(self) -> bytes:
        """The account before its first BIND, now that no opening can follow."""
        if self.opened is not None:
            return ANONYMOUS
        return UNKNOWN if self.named_account is None else self.named_account

    @property
    def idle_at_end(self) -> int | None:
        """Return since when it is idle at its close, or at the end of the log; None if it is not, or not known."""
        if self.idle_at_close is not None:
            since, quiet = self.idle_at_close.idle_since, self.idle_at_close.quiet
        else:
            since, quiet = self.idle_since, not self.pending
        if since is None and self.last_op < 0:
            since = self.opened
        return since if quiet else None

    def last_use(self, until: int | None) -> int:
        """Return when it was last used: by its last result, or with operations outstanding until its end.

        `until`: when a restart of the server, or the end of the log, ended it. A close alone is no use: an idle timeout
        closes connections of clients that are gone.
        """
        if (idle_since := self.idle_at_end) is not None:
            return idle_since
        if self.closed is not None:
            return self.closed
        return self.first if until is None or not self.pending else until

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

    def end_extended(self, err: int, oid: bytes) -> None:
        """Take the connection as secured after a StartTLS that succeeded."""
        if err == 0 and oid == STARTTLS:
            self.secured = True

    def is_expired(self, time: int) -> bool:
        """Return whether it was closed so long ago that no result is expected."""
        return self.closed is not None and time - self.closed > RESULT_TIMEOUT

    @property
    def done(self) -> bool:
        """It is closed, and no result is expected."""
        return self.closed is not None and self.opened is not None and not (self.pending or self.early)


def _agreed(one: bytes | None, other: bytes | None) -> bytes | None:
    """Return the name on which two agree; UNKNOWN if they differ, as behind a proxy; None: no name."""
    if one is None or other is None:
        return other if one is None else one
    return one if one == other else UNKNOWN
