r"""Objects of JSON over several lines, or several in a line: one line each, in whatever array they are.

    [{"eventName":"DJ-LDAP",...},{"eventName":"DJ-LDAP",...}]      jq --slurp, and exports of log stores
    [
        {
            "__REALTIME_TIMESTAMP" : "1700000000000000",           journalctl -o json-pretty, jq
            "MESSAGE" : "conn=1 op=2 UNBIND"

A string of JSON has no line feed (RFC 8259, section 7), so a quotation mark that is missing costs one line. An object
whose brace is missing ends where the next one begins in the column of the first.
"""

from __future__ import annotations

from ldapdiag.evidence.log.envelope import Envelope, Piece
from ldapdiag.lazy_pattern import pattern

BRACE = pattern(rb'(?>(?:[^"{}\n]+|"(?>(?:[^"\\\n]|\\[^\n])*)"?|\n(?![ \t]*\{))*)((?:\n[ \t]*)?[{}])')
"""The next brace outside strings; where it begins a line, with the line feed and the blanks before it."""
LINE_FEED = pattern(rb"[ \t\r]*+\n[ \t]*+")
LONGEST_OBJECT = 1 << 20
"""Bytes; a longer one is passed on as it is."""
BETWEEN = b" \t\r\n,[]\x1e"
"""Bytes that may stand between objects."""


class Objects:
    """Decodes text that arrives in any parts; memory is bounded."""

    def __init__(self, _: Envelope) -> None:
        self._rest = b"\n"
        """What follows the last whole object; before the first, what a line begins with."""
        self._column = b""
        """The line feed and the blanks before the first object that begins a line."""

    def feed(self, data: bytes) -> bytes:
        """Return the objects that the next data complete, and what stands between them, in a line each."""
        text = self._rest + data
        lines: list[bytes] = []
        begin = end = depth = at = 0
        while found := BRACE.match(text, at):
            at = found.end()
            if found[1] == b"}" and depth:
                depth -= 1
                if not depth:
                    lines += [text[end:begin].strip(BETWEEN), text[begin:at]]
                    end = at
            elif found[1].endswith(b"{"):
                column = found[1][:-1]
                if depth and column and column == self._column:  # the last one has no end
                    lines.append(text[end : found.start(1)].strip(BETWEEN))
                    end, depth = found.start(1), 0
                if not depth:
                    self._column = self._column or column
                    begin = at - 1
                depth += 1
        self._rest = text[end:]
        if len(self._rest) > LONGEST_OBJECT:
            lines.append(self._rest)
            self._rest = b""
        return _joined(lines)

    def finish(self) -> bytes:
        """Return what the end of the text has cut off."""
        rest, self._rest = self._rest, b""
        return _joined([rest.strip(BETWEEN)])


def _joined(lines: list[bytes]) -> bytes:
    return b"".join(LINE_FEED.sub(b" ", line) + b"\n" for line in lines if line)


def _no_line(_: bytes) -> Piece | None:
    """Return None: a line of the text is no object."""
    return None


JSON_ARRAY = Envelope(
    name="json-array",
    lines=pattern(
        rb"[ \t]*(?:\[?[ \t\r]*$|\[\{[^\n]*\}[ \t]*[,\]]|\{[^\n]*\}[ \t]*[,\]][ \t\r]*$|\][ \t\r]*$|,[ \t]*\{)"
    ),
    piece=_no_line,
    splits=True,
    decoding=Objects,
)
"""Each object is in a line, with what separates it from the next."""
JSON_VALUES = Envelope(
    name="json-values",
    lines=pattern(
        rb"[ \t\x1e]*(?!\{[^\n]*\}[ \t\r]*$)"
        rb'(?:\[(?=[ \t\r]*(?:[\[{"]|$))|[\]{},"]|(?:-?\d[\d.eE+-]*|true|false|null),?[ \t\r]*$)'
    ),
    piece=_no_line,
    decoding=Objects,
)
"""Each line is a part of one, or there are several in it."""
