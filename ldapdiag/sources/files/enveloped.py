"""Lines out of their envelopes (Docker's log, CRI, the journal, syslog): a layer around a file, as compression is."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ldapdiag.evidence.log.envelope import Decoder
from ldapdiag.evidence.log.envelopes import envelopes_of
from ldapdiag.sources.files.input import Carrier
from ldapdiag.sources.files.layers import READ, Breakable

if TYPE_CHECKING:
    from ldapdiag.evidence.log.envelope import Envelope
    from ldapdiag.sources.budget import Budget
    from ldapdiag.sources.files.compressed import Readable
    from ldapdiag.sources.files.input import Input


def without_envelopes(one: Input) -> Input:
    """Return the lines in the envelopes of an input as an input; unchanged if it has none. OSError propagates."""
    whole = one.head if one.is_whole else one.head[: one.head.rfind(b"\n") + 1]
    envelopes = envelopes_of(whole)
    carrier = Carrier(one.file_range, envelopes) if envelopes and one.file_range else None
    for envelope in envelopes:
        one = one.within(partial(Decoded, envelope))
    return replace(one, carrier=carrier) if envelopes else one


class Decoded:
    """The lines in an envelope, as a stream."""

    def __init__(self, envelope: Envelope, stream: Readable, _: Budget) -> None:
        self._stream = stream
        self._decoder = Decoder(envelope)
        self._waiting = memoryview(b"")
        self._is_over = False

    def read(self, size: int) -> bytes:
        """Return some of the next bytes, none at the end."""
        while not self._waiting and not self._is_over:
            part = self._stream.read(READ) or b""
            self._is_over = not part
            self._waiting = memoryview(self._decoder.feed(part) if part else self._decoder.finish())
        data, self._waiting = self._waiting[:size], self._waiting[size:]
        return bytes(data)

    def close(self) -> None:
        """Close the stream below."""
        self._stream.close()

    def trouble(self) -> str:
        """Return why the stream below ended early; empty if it did not."""
        return self._stream.trouble() if isinstance(self._stream, Breakable) else ""
