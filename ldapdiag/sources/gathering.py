"""Gathering: everything the operator named, read into one bundle; a failure becomes a gap, never an abort."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.bundle import Bundle, Gap, PassedOver
from ldapdiag.evidence.document import Document, lines_of
from ldapdiag.evidence.sniff import FORMATS, HEAD_BYTES, head_of, recognise
from ldapdiag.sources.capture import CHUNK, Piece, find, unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import BinaryIO


@dataclass(slots=True)
class Basket:
    """What has been gathered so far."""

    facts: list[Any] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    passed_over: list[PassedOver] = field(default_factory=list)
    read: set[tuple[int, int]] = field(default_factory=set)
    """(device, inode) of files read, so that no file counts twice."""


def gather(
    evidence: Iterable[str],
    *,
    ldap_ports: Iterable[int] = (),
    progress: Callable[[str], None] = lambda _: None,
) -> Bundle:
    """Read files and folders into a bundle. `progress` is told each path before it is read."""
    basket = Basket()
    for named in evidence:
        for found in find(named):
            match found:
                case Gap():
                    basket.gaps.append(found)
                case PassedOver():
                    basket.passed_over.append(found)
                case Piece():
                    progress(found.path)
                    _read(found, basket)
    return Bundle(
        facts=tuple(basket.facts),
        gaps=tuple(basket.gaps),
        passed_over=tuple(basket.passed_over),
        ldap_ports=frozenset(ldap_ports),
    )


def _read(piece: Piece, basket: Basket) -> None:
    try:
        with piece.open() as stream:
            if not _seen(stream, basket):
                _read_stream(piece, stream, basket)
    except OSError as error:
        basket.gaps.append(unreadable(piece.path, error))
    except Exception as error:  # noqa: BLE001  a reader's bug must not cost the rest of the evidence
        basket.gaps.append(
            Gap(
                target=piece.path,
                reason=f"the reader crashed ({type(error).__name__}: {error}); this is a bug in ldapdiag",
                how="please report it with the file's first lines",
            )
        )


def _seen(stream: BinaryIO, basket: Basket) -> bool:
    """Tell whether this very file was read before, under another name."""
    status = os.fstat(stream.fileno())
    identity = (status.st_dev, status.st_ino)
    if identity in basket.read:
        return True
    basket.read.add(identity)
    return False


def _read_stream(piece: Piece, stream: BinaryIO, basket: Basket) -> None:
    start = _start(stream)
    if not start:
        basket.passed_over.append(PassedOver(target=piece.path, reason="an empty file"))
        return
    name = piece.path.rpartition("/")[2]
    form = recognise(head_of(name, start, whole=len(start) < HEAD_BYTES))
    if form is None:
        reason = f"is none of the {len(FORMATS)} kinds of evidence I know (first bytes: {start[:4].hex(' ')})"
        if piece.named:
            basket.gaps.append(Gap(target=piece.path, reason=reason, how="see 'ldapdiag diagnose --help'"))
        else:
            basket.passed_over.append(PassedOver(target=piece.path, reason=reason))
        return
    if form.read is None:
        basket.passed_over.append(PassedOver(target=piece.path, reason=form.title))
        return
    document = Document(path=piece.path, folder=piece.folder, source=lines_of(_chunks(start, stream)))
    basket.facts.extend(form.read(document))


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
