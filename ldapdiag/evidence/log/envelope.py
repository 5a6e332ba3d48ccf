"""Envelope: a form in which another program keeps the lines of a log, whatever their dialect.

A container runtime, a journal or a syslog daemon puts each line into a line of its own. Decoding yields the lines as
the server wrote them, so that each dialect is read in each envelope, and in one within another.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Protocol

from ldapdiag.lazy_dataclass import NamedTuple, dataclass

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator, Sequence

    Takes = Callable[["Piece | None"], bool]

LONGEST = 16 << 20
"""Bytes of a line of an envelope; a longer one is passed on as it is. Runtimes split lines at 16 or 48 KiB."""

MOST_JOINED = 64 << 20
"""Bytes of parts that wait for the end of their lines."""

MOST_STREAMS = 1000
"""Streams with such parts."""

Writer = tuple[bytes, bytes]
"""Host, pod or container; program and process, as in b"slapd[3989]", or empty."""


class Piece(NamedTuple):
    """What one line of an envelope contains."""

    text: bytes
    writer: Writer | None = None
    """The program that wrote it; None if the envelope does not name it."""
    stream: bytes = b""
    """Parts of a line have the same one: stdout or stderr."""
    is_part: bool = False
    """The line continues in the next piece of the same stream."""


LINES_THAT_SHOW_IT = 40
"""An envelope is around all lines; one is tried after another for each file, so that each more takes time."""


BYTES_THAT_SHOW_IT = 1 << 12
"""Of a record of several lines: what is searched for further on would be searched for in all of a log without it."""

BYTES_WITH_SIGN = 1 << 14
"""The first one, cut at its beginning, and the sign of the next: other logs need not be divided into such records."""


class Decoding(Protocol):
    """Yields the lines in an envelope, whose bytes arrive in any parts."""

    def feed(self, data: bytes) -> bytes:
        """Return the lines that the next data complete."""

    def finish(self) -> bytes:
        """Return the lines that the end of the log completes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """One form of envelope."""

    name: str
    lines: re.Pattern[bytes]
    """Matches the beginning of each of its lines."""
    begins: bytes = b""
    """The first bytes of its lines; empty: any. They are looked at before `lines` is compiled."""
    piece: Callable[[bytes], Piece | None]
    """Returns the content of one line; None for a line of another form."""
    end: bytes = b"\n"
    """What ends each of them."""
    sign: bytes = b""
    """What each of them contains; it is looked for before `lines` is compiled."""
    splits: bool = False
    """It may split a line, so that it is decoded even if a dialect reads its whole lines."""
    decoding: Callable[[Envelope], Decoding] | None = None
    """Decodes what is not in lines, from its beginning alone; None: each line is a piece."""

    def carries(self, head: bytes, first: Sequence[bytes] | None = None) -> bool:
        """Return whether most of these lines are of this form; the first ones show it, if they are known already."""
        if head.find(self.sign, 0, BYTES_WITH_SIGN) < 0:
            return False
        if self.end == b"\n":
            lines = first_lines(head) if first is None else first
            if self.begins and 2 * sum(line[0] in self.begins for line in lines) <= len(lines):
                return False
            return 2 * sum(map(self._matches, lines)) > len(lines)
        found = [self._matches(record[:BYTES_THAT_SHOW_IT]) for record in head.split(self.end)]
        if not found[-1]:
            found.pop()  # what follows the last one
        return 2 * sum(found) > len(found)

    def _matches(self, line: bytes) -> bool:
        return self.lines.match(line) is not None

    def decoder(self, takes: Takes | None = None) -> Decoding:
        """Return a new decoder, which drops the lines that `takes` refuses (None: none); it sees each in its order.

        A line that is not of this form is None for `takes`. What is not in lines has no writers, and is not asked for.
        """
        return self.decoding(self) if self.decoding else Decoder(self, takes)


def first_lines(head: bytes) -> Sequence[bytes]:
    """Return the first lines of a head that are not blank."""
    return [line for line in head.split(b"\n", LINES_THAT_SHOW_IT)[:LINES_THAT_SHOW_IT] if line.strip()]


class Decoder:
    """Decodes the lines of an envelope that arrive in any parts; memory is bounded."""

    def __init__(self, envelope: Envelope, takes: Takes | None = None) -> None:
        self._piece = envelope.piece
        self._takes = takes
        self._end = envelope.end
        self._rest: deque[bytes] = deque()
        """The beginning of a line whose end has not arrived."""
        self._rest_bytes = 0
        self._is_raw = False
        """The remainder of an overlong line is passed on as it is."""
        self._takes_raw = True
        self._parts: dict[tuple[Writer | None, bytes], list[bytes]] = {}
        self._parts_bytes = 0

    def feed(self, data: bytes) -> bytes:
        """Return the lines that the next data complete."""
        if self._rest and len(self._end) > 1:  # its end may be divided
            data = self._rest.pop() + data
        rest = data.rpartition(self._end)[2] if len(self._end) == 1 else data.split(self._end)[-1]  # they may overlap
        end = len(data) - len(rest)
        if not end:
            return self._keep(data)
        first = b"".join((*self._rest, data[:end]))
        self._rest, self._rest_bytes = deque(), 0
        return b"".join(self._decoded(first)) + self._keep(data[end:])

    def finish(self) -> bytes:
        """Return the lines that the end of the log completes."""
        rest = b"".join(self._rest)
        self._rest, self._rest_bytes = deque(), 0
        last = b"".join(self._decoded(rest + self._end)) if rest.strip() else rest
        return last + b"".join(self._flushed())

    def _keep(self, data: bytes) -> bytes:
        if not data:
            return b""
        if self._is_raw:
            return data if self._takes_raw else b""
        self._rest.append(data)
        self._rest_bytes = sum(map(len, self._rest))
        if self._rest_bytes <= LONGEST:
            return b""
        whole = b"".join(self._rest)
        self._is_raw, self._takes_raw = True, self._takes is None or self._takes(self._piece(whole))
        self._rest, self._rest_bytes = deque(), 0
        return whole if self._takes_raw else b""

    def _decoded(self, data: bytes) -> Iterator[bytes]:
        lines = data.split(self._end)
        lines.pop()
        if self._is_raw and lines:
            rest = lines.pop(0) + b"\n"
            yield rest if self._takes_raw else b""
            self._is_raw = False
        takes = self._takes
        for line in lines:
            piece = self._piece(line) if line.strip() else None
            if takes is not None and not takes(piece):
                continue
            if piece is None:
                yield line.replace(b"\n", b" ") + b"\n"
            else:
                yield from self._joined(piece)

    def _joined(self, piece: Piece) -> Iterator[bytes]:
        """Yield the line that a piece completes, in one line: a client's line feed must not begin another."""
        text = piece.text.removesuffix(b"\n").removesuffix(b"\r").replace(b"\n", b"\\n")
        key = piece.writer, piece.stream
        if piece.is_part:
            self._parts.setdefault(key, []).append(text)
            self._parts_bytes += len(text)
            if self._parts_bytes > MOST_JOINED or len(self._parts) > MOST_STREAMS:
                yield from self._flushed()
            return
        if parts := self._parts.pop(key, None):
            before = b"".join(parts)
            self._parts_bytes -= len(before)
            text = before + text
        yield text + b"\n"

    def _flushed(self) -> Iterator[bytes]:
        """Yield the lines whose last parts are missing."""
        waiting, self._parts, self._parts_bytes = self._parts, {}, 0
        for parts in waiting.values():
            yield b"".join((*parts, b"\n"))


def decoded(envelope: Envelope, data: bytes) -> bytes:
    """Return the lines in some whole lines of an envelope."""
    decoder = envelope.decoder()
    return decoder.feed(data) + decoder.finish()
