"""The row limit: how many rows of tables, and lines of other evidence, are read; an input beyond it is not used.

A row costs up to 400 bytes of memory however short its text is, so that a limit of bytes alone does not bound memory.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from ldapdiag.evidence.bundle import Gap
from ldapdiag.evidence.flows import FlowTable
from ldapdiag.evidence.sockets import SocketTable
from ldapdiag.wording import number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.origin import Fact
    from ldapdiag.sources.files.layers import Opened

CHUNK = 1 << 20

INPUT_ROWS = 400_000
"""Limit for the rows of the tables in one input."""

RUN_WEIGHT = 1_200_000
"""Limit for the weight of all tables of a run, which stay in memory until they are analysed."""

ADDRESS_WEIGHT = 2
"""What an address at the other end weighs, in rows: it becomes a direction, which several checks judge."""

INPUT_LINES = 5_000_000
"""Limit for the lines of one input that is neither a table nor a log."""

INPUT_TABLES = 1_000
"""Limit for the tables in one input: each is a snapshot, which is compared with others."""

HOW = "take the table with a filter on the LDAP port (ss -tan sport = :389), or name fewer inputs"
NOT_USED = "it is not used, because an incomplete table shows too few connections"


def rows_of(facts: Iterable[Fact]) -> int:
    """Return the rows of the tables among these facts."""
    return sum(len(fact) for fact in facts if isinstance(fact, SocketTable | FlowTable))


class InputLimit:
    """The limit of one input while it is read."""

    def __init__(self, *, is_log: bool) -> None:
        self.is_log = is_log
        """A log is read in constant memory."""
        self.facts: list[Fact] = []
        """Those that the format has finished."""
        self.exceeded = ""
        """Why the remainder was not read, as the end of a sentence."""
        self.sha256 = ""
        """Of all bytes, in hexadecimal digits; empty until they are read to their end."""

    def chunks(self, opened: Opened, document: Callable[[], Document]) -> Iterator[bytes]:
        """Yield the bytes of an input until its end, or until the document that is made of them is too large."""
        checksum = sha256()
        while (chunk := opened.read(CHUNK)) and not self.exceeded:
            checksum.update(chunk)
            yield chunk
            self.exceeded = self._reason(document())
        self.sha256 = "" if chunk else checksum.hexdigest()

    def _reason(self, document: Document) -> str:
        if document.rows is not None:
            rows = document.rows() + rows_of(self.facts)
            if len(self.facts) > INPUT_TABLES:
                return f"contains more than {number(INPUT_TABLES)} tables"
            return f"contains more than {number(INPUT_ROWS)} rows" if rows > INPUT_ROWS else ""
        many = document.seen > INPUT_LINES and not self.is_log
        return f"contains more than {number(INPUT_LINES)} lines" if many else ""


def gap_of(label: str, reason: str) -> Gap:
    """Return the gap of an input that exceeds a limit."""
    return Gap(target=label, reason=f"{reason}; {NOT_USED}", how=HOW, files=1)


def weight_of(facts: Sequence[Fact]) -> int:
    """Return the rows of the tables among these facts, and ADDRESS_WEIGHT for each address at the other end."""
    return rows_of(facts) + ADDRESS_WEIGHT * sum(len(_addresses(fact)) for fact in facts)


def _addresses(fact: Fact) -> set[str]:
    match fact:
        case SocketTable():
            return set(fact.remote_address)
        case FlowTable():
            return {client[0] for client in fact.client}
        case _:
            return set()


class RunTables:
    """The weight of the tables that are kept, against the limit of the run."""

    def __init__(self, most: int = RUN_WEIGHT) -> None:
        self.most = most
        self.kept = 0

    def take(self, label: str, facts: Sequence[Fact]) -> Gap | None:
        """Add the tables among an input's facts; return the gap, and add nothing, if they exceed the limit."""
        weight = weight_of(facts)
        if self.kept + weight > self.most:
            limit = f"{number(self.most)} rows (an address of a client counts as {ADDRESS_WEIGHT} more)"
            return gap_of(label, f"exceeds the limit of all tables of a run, {limit}")
        self.kept += weight
        return None
