"""The connection tracking table of a Linux middlebox in XML: conntrack -L -o xml.

    <?xml version="1.0" encoding="utf-8"?>
    <conntrack>
    <flow><meta direction="original"><layer3 protonum="2" protoname="ipv4"><src>10.77.2.2</src><dst>10.77.1.2</dst>
     </layer3><layer4 protonum="6" protoname="tcp"><sport>60496</sport><dport>389</dport></layer4></meta>
     <meta direction="reply">…</meta><meta direction="independent"><state>ESTABLISHED</state><timeout>431997</timeout>
     <mark>0</mark><use>1</use><id>2080597921</id><assured/></meta></flow>       (one line, or pretty-printed)
    </conntrack>

It is read tag by tag, without an XML parser: there are no entities or document types to expand, only one flow is in
memory at a time, and a damaged flow does not affect the others. Without the closing tag of the list, flows may be
missing. Source: libnetfilter_conntrack, src/conntrack/snprintf_xml.c; conntrack-tools, src/conntrack.c.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import LONGEST_NAME
from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.socket_formats.rows import FlowRows
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.flows import FlowTable
    from ldapdiag.evidence.sockets import Key

TAG = pattern(r"<(/?[A-Za-z?!][\w-]{0,30})([^<>]{0,200})>([^<>]{0,300})")
"""A tag, its attributes, and the text up to the next one."""
DIRECTION = pattern(r'direction="(original|reply|independent)"')
PROTOCOL = pattern(r'protonum="(\d{1,3})"')
FLOW = pattern(r"<flow(?: [^<>]{0,200})?>")
EVENT = pattern(r"<flow type=")
TCP = "6"
ENDS = ("src", "dst", "sport", "dport")
WANTED = frozenset((*ENDS, "state", "timeout"))


def recognises(head: Head) -> bool:
    """Recognise the list by a flow at the beginning of a line, or by its tag; an event (-E) has a type."""
    return any(
        (line.startswith("<conntrack>") or FLOW.match(line.lstrip())) and not EVENT.match(line.lstrip())
        for line in head.lines
    )


def read(document: Document) -> Iterator[FlowTable]:
    """Read the TCP flows; others are ignored."""
    rows, flow = FlowRows(), XmlFlow()
    document.rows = lambda: len(rows.state)
    begun = whole = False
    for line in document.lines:
        rest = TAG.sub("", line)
        misread = bool(rest.strip())
        for tag, attributes, text in TAG.findall(line):
            if tag in {"conntrack", "flow"}:
                misread = misread or flow.open
                begun, whole, flow = True, False, XmlFlow(open=tag == "flow")
            elif tag == "/flow":
                misread = not flow.add_to(rows) or misread
                flow = XmlFlow()
            elif tag == "/conntrack":
                misread, whole, flow = misread or flow.open, True, XmlFlow()
            else:
                flow.take(tag, attributes, text)
        if misread:
            document.misread(line)
    if begun:
        if not whole:
            document.note(f"{document.path} is truncated: a flow that is missing from it proves nothing.")
        yield rows.table(document, tool="conntrack", whole=whole)


class XmlFlow:
    """One flow while its tags are read."""

    def __init__(self, *, open: bool = False) -> None:  # noqa: A002  the state of a tag
        self.open = open
        self.protocol = ""
        self._direction = ""
        self._values: dict[tuple[str, str], str] = {}
        """Texts, by direction and tag."""

    def take(self, tag: str, attributes: str, text: str) -> None:
        """Read a tag, its attributes and the text after it."""
        if tag == "meta" and (direction := DIRECTION.search(attributes)):
            self._direction = direction[1]
        elif tag == "layer4" and (protocol := PROTOCOL.search(attributes)):
            self.protocol = protocol[1]
        elif tag in WANTED and len(text) <= LONGEST_NAME:
            self._values[self._direction, tag] = text.strip()

    def add_to(self, rows: FlowRows) -> bool:
        """Add the flow if it is a TCP flow; return whether it was understood."""
        if not self.open:
            return False
        if self.protocol != TCP:
            return bool(self.protocol)
        original, reply = self._end("original", rows), self._end("reply", rows)
        if original is None or reply is None:
            return False
        left = self._values.get(("independent", "timeout"), "")
        state = self._values.get(("independent", "state"), "")
        rows.add(original, reply, state, int(left) if left.isascii() and left.isdigit() and len(left) < 12 else None)
        return True

    def _end(self, direction: str, rows: FlowRows) -> Key | None:
        texts = [self._values.get((direction, tag)) for tag in ENDS]
        if not all(texts):
            return None
        src, dst, sport, dport = (text or "" for text in texts)
        return rows.key(src, sport, dst, dport)


FORMAT = Format(
    name="conntrack-xml", title="the flows of a middlebox, by conntrack as XML", recognises=recognises, read=read
)
