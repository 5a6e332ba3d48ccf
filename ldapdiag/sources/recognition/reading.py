"""Reading one piece: recognised by its beginning, handed to its format; what is of no use says why."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.evidence.document import Document, lines_of
from ldapdiag.evidence.formats import HEAD_BYTES, formats, head_of, recognise
from ldapdiag.evidence.server_log_formats.access import LOGS, dialect_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from ldapdiag.evidence.origin import Fact
    from ldapdiag.sources.files.input import Input
    from ldapdiag.sources.recognition.log_discovery import LogsMet

CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Read:
    """What became of a piece: its facts, or why there are none."""

    facts: tuple[Fact, ...] = ()
    useless: str = ""
    """Why nothing in it is of use; empty when something is."""
    unknown: bool = False
    """No format recognises it."""
    known: bool = False
    """A format recognises it that no diagnosis reads."""


def read(piece: Input, stream: BinaryIO, logs: LogsMet | None = None) -> Read:
    """Read a piece from its open stream; `logs` takes what of it is an access log. OSError is the caller's."""
    start = _start(stream)
    if not start:
        return Read(useless="is an empty file")
    name = piece.path.rpartition("/")[2]
    head = head_of(name, start, whole=len(start) < HEAD_BYTES)
    form = recognise(head)
    if form is None:
        reason = f"is none of the {len(list(formats()))} kinds of evidence I know (first bytes: {start[:4].hex(' ')})"
        return Read(useless=reason, unknown=True)
    chunks = _chunks(start, stream)
    dialect = dialect_of(head) if logs is not None and form.name in LOGS else None
    if logs is not None and dialect is not None:
        chunks = logs.meet(piece, dialect, chunks)
        if form.read is None:
            if piece.location is None:
                deque(chunks, maxlen=0)
            return Read()
    if form.read is None:
        return Read(useless=form.title, known=True)
    document = Document(path=piece.path, folder=piece.folder, source=lines_of(chunks), raw=chunks, taken=piece.taken)
    facts = tuple(form.read(document))
    if facts:
        return Read(facts)
    return Read(useless=f"looks like {form.title}, but nothing in its {document.seen} lines is of use")


def facts_of(piece: Input) -> tuple[Fact, ...]:
    """Return the facts of a piece; none of one that cannot be read."""
    try:
        with piece.open() as stream:
            return read(piece, stream).facts
    except Exception:  # noqa: BLE001  gathering reads it again, and tells why it cannot
        return ()


def _start(stream: BinaryIO) -> bytes:
    """Return the first bytes; a pipe may hand them over in pieces."""
    parts = b""
    while len(parts) < HEAD_BYTES and (part := stream.read(HEAD_BYTES - len(parts))):
        parts += part
    return parts


def _chunks(start: bytes, stream: BinaryIO) -> Iterator[bytes]:
    yield start
    while chunk := stream.read(CHUNK):
        yield chunk
