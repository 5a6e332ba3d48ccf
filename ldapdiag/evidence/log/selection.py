"""Selection: which operations of a log are counted, by client, account, connection, filter shape, time and result code.

An operation is selected when its result is counted: only then are all of these known.

ShownOperation: a slow operation with its records, as they are in the log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.log.connection import UNKNOWN
from ldapdiag.evidence.log.operation_kinds import SEARCH
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from ldapdiag.evidence.log.connection import Account, Connection, Subject

Slowest = tuple[int, int, int, int]
"""Nanoseconds, -time, -connection, -op: of two equal durations the earlier compares greater."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Conditions that an operation must meet; None: any."""

    client: Callable[[bytes], bool] | None = None
    account: Callable[[bytes], bool] | None = None
    shape: Callable[[bytes], bool] | None = None
    """Of a search."""
    connections: frozenset[int] | None = None
    codes: frozenset[int] | None = None
    least_etime: int = 0
    """Nanoseconds."""
    most_shown: int = 0
    """The number of slowest operations to keep, so that their lines can be shown."""

    def takes(
        self, connection: Connection, number: int, subject: Subject, account: Account, err: int, etime: int
    ) -> bool:
        """Return whether an operation is selected."""
        kind, text = subject
        return (
            etime >= self.least_etime
            and (self.codes is None or err in self.codes)
            and (self.connections is None or number in self.connections)
            and (self.shape is None or (kind == SEARCH and self.shape(text)))
            and (self.client is None or self.client(connection.client_at_end))
            and (self.account is None or self.account(account_of(connection, account)))
        )


def account_of(connection: Connection, account: Account) -> bytes:
    """Return the account of an operation, as far as the log shows it until now."""
    if account is None:
        return connection.unbound
    return account if isinstance(account, bytes) else UNKNOWN


LONGEST_SHOWN = 2048
"""Bytes kept of a record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginalLine:
    """A record of a log."""

    file: str
    number: int
    """Of its first line in the (decompressed) file, from 1."""
    text: bytes
    """At most LONGEST_SHOWN bytes, and an ellipsis where it is longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownOperation:
    """An operation with its records: of its request, as far as it is near the result, and of its result."""

    etime: int
    """Nanoseconds."""
    time: int
    """Of its result, nanoseconds since 1970."""
    connection: int
    operation: int
    lines: tuple[OriginalLine, ...]
