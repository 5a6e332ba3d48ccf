"""The columns that macOS prints after the state: bytes with -b, buffers and the program with -v.

    (state)        rxbytes      txbytes  rhiwat  shiwat          process:pid    state  options           gencnt
    ESTABLISHED       6100         3165  131072  132104  ns-slapd helper:389   00102 00000008 0000000000228b27

    (state)     rhiwat shiwat    pid   epid  state    options
    LISTEN      131072 131072  46116      0 0x0100 0x00000106

Source: Apple network_cmds netstat.tproj/inet.c (protopr).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.socket_formats.rows import LONGEST_OWNER, count_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.evidence.socket_formats.rows import Rows

PROCESS = re.compile(r"(.{0,64}?):(\d{1,10})(?=\s|$)")
"""The name of a program may contain blanks, brackets and colons."""
MOST_COLUMNS = 16


class MacosColumns:
    """The columns after the state, by their names in the header."""

    def __init__(self, columns: Sequence[str] = ()) -> None:
        self.columns = tuple(columns[:MOST_COLUMNS])
        self._at = {name: at for at, name in reversed(list(enumerate(self.columns)))}
        self._programs: dict[str, str] = {}

    def take(self, rest: str, rows: Rows) -> None:
        """Add the values of these columns to the last row."""
        process = self._at.get("process:pid")
        texts = rest.split(None, len(self.columns) if process is None else process)
        if (at := self._at.get("rxbytes")) is not None and len(texts) > at + 1:
            rows.set("bytes_received", count_of(texts[at]))
            rows.set("bytes_sent", count_of(texts[at + 1]))
        if (at := self._at.get("pid")) is not None and len(texts) > at:
            rows.set("pid", count_of(texts[at]))
        if process is not None and len(texts) > process and (found := PROCESS.match(texts[process])):
            name = found[1][:LONGEST_OWNER]
            rows.set("owner", self._programs.setdefault(name, name))
            rows.set("pid", int(found[2]))
