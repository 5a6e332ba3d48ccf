"""Gathering: everything the operator named, read into one bundle; a failure becomes a gap, never an abort."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from io import UnsupportedOperation
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.bundle import Bundle, Gap, PassedOver
from ldapdiag.evidence.document import Document, lines_of
from ldapdiag.evidence.sniff import FORMATS, HEAD_BYTES, head_of, recognise
from ldapdiag.sources.capture import CHUNK, Piece, find, legible, unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import BinaryIO


NAMES_SHOWN = 3
"""Unknown files of a folder that its gap names."""


@dataclass(slots=True)
class Basket:
    """What has been gathered so far."""

    facts: list[Any] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    passed_over: list[PassedOver] = field(default_factory=list)
    read: set[tuple[int, int]] = field(default_factory=set)
    """(device, inode) of files read, so that no file counts twice."""
    unknown: list[str] = field(default_factory=list)
    """The files of the folder just read that are no evidence we know."""


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
        _tell_unknown(named, basket)
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
        basket.gaps.append(unreadable(piece.told, error))
    except Exception as error:  # noqa: BLE001  a reader's bug must not cost the rest of the evidence
        basket.gaps.append(
            Gap(
                target=piece.told,
                reason=f"the reader crashed ({type(error).__name__}: {error}); this is a bug in ldapdiag",
                how="please report it with the file's first lines",
            )
        )


def _seen(stream: BinaryIO, basket: Basket) -> bool:
    """Tell whether this very file was read before, under another name."""
    try:
        status = os.fstat(stream.fileno())
    except UnsupportedOperation:  # it is in memory
        return False
    identity = (status.st_dev, status.st_ino)
    if identity in basket.read:
        return True
    basket.read.add(identity)
    return False


def _read_stream(piece: Piece, stream: BinaryIO, basket: Basket) -> None:
    start = _start(stream)
    if not start:
        _pass_over(piece, "is an empty file", basket)
        return
    name = piece.path.rpartition("/")[2]
    form = recognise(head_of(name, start, whole=len(start) < HEAD_BYTES))
    if form is None:
        reason = f"is none of the {len(FORMATS)} kinds of evidence I know (first bytes: {start[:4].hex(' ')})"
        _pass_over(piece, reason, basket)
        if not piece.named:
            basket.unknown.append(name)
        return
    if form.read is None:
        basket.passed_over.append(PassedOver(target=piece.told, reason=form.title))
        return
    chunks = _chunks(start, stream)
    document = Document(path=piece.path, folder=piece.folder, source=lines_of(chunks), raw=chunks, taken=piece.taken)
    facts = list(form.read(document))
    basket.facts.extend(facts)
    if not facts:
        _pass_over(piece, f"looks like {form.title}, but nothing in its {document.seen} lines is of use", basket)


def _pass_over(piece: Piece, reason: str, basket: Basket) -> None:
    """Keep why a file is of no use: a gap when the operator named it, a line in the list when it lay in a folder."""
    if piece.named:
        basket.gaps.append(Gap(target=piece.told, reason=reason, how="see 'ldapdiag diagnose --help' for what is read"))
    else:
        basket.passed_over.append(PassedOver(target=piece.told, reason=reason))


def _tell_unknown(named: str, basket: Basket) -> None:
    """Add one gap for all the files of a folder that are no evidence we know: some were meant to be read."""
    names = basket.unknown
    basket.unknown = []
    if not names:
        return
    more = ", …" if len(names) > NAMES_SHOWN else ""
    files = "1 file in it is" if len(names) == 1 else f"{len(names)} files in it are"
    basket.gaps.append(
        Gap(
            target=legible(named),
            reason=f"{files} none of the {len(FORMATS)} kinds of evidence I know "
            f"({', '.join(names[:NAMES_SHOWN])}{more})",
            how="-v lists them",
        )
    )


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
