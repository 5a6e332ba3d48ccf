"""The connections of an F5 BIG-IP: tmsh show sys connection, also with all-properties.

    Sys::Connections
    10.1.10.100:49931  10.1.10.60:80  10.1.20.70:49931  10.1.20.202:80  tcp  5  (tmm: 0)  none  none
    10.1.10.100:49930  10.1.10.60:80  any6.any  any6.any  tcp  5  (tmm: 1)  none                     (not forwarded)
    2001:db8::2.49931  2001:db8::60.389  2001:db8:2::70.49931  2001:db8:2::202.389  tcp  5  (tmm: 0)  none
    Total records returned: 3

    10.1.10.100:49931 - 10.1.10.60:80 - 10.1.20.70:49931 - 10.1.20.202:80                          (all-properties)
    ---------------------------------------------------------------------
      Protocol      tcp
      Idle Time     19
      Idle Timeout  300

The columns are client, virtual server, the F5's own address towards the server, pool member, protocol, seconds idle;
one or two columns of acceleration follow, depending on the version. There is no state: a listed flow is established.
The listing does not show whether packets are translated (fastL4) or connections terminated (a standard virtual server).
As one entry contains both sides, it is read as translation, from which less is concluded. If the trailer counts more
rows than there are, or is missing, the text was truncated.
all-properties shows the idle timeout of each flow, which is the F5's setting.
Source: F5 tmsh reference, sys connection; the columns from public samples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.flows import BoxTimeouts, Relay, ServiceTimeout
from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.socket_formats.rows import FlowRows
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.flows import FlowTable
    from ldapdiag.evidence.sockets import Key

END = r"([0-9A-Za-z:][^\s]{1,80}[.:][\w*-]{1,20})"
ROW = pattern(rf"\s{{0,8}}{END}\s+{END}\s+{END}\s+{END}\s+(\w{{1,16}})\s+(\d{{1,9}})\s+\(tmm: ?\d+\)")
RECORD = pattern(rf"\s{{0,8}}{END} - {END} - {END} - {END}\s*")
PROPERTY = pattern(r"\s+(Protocol|Idle Time(?:out)?)\s+(\S{1,20})\s*")
HEADING = "Sys::Connections"
TRAILER = pattern(r"Total records returned: (\d{1,12})")
LISTED = pattern(rf"{HEADING}|Total records returned: ")
CARRIED = "ESTABLISHED"
MOST_SERVICES = 1024
NOISE = ("...", "---")


def recognises(head: Head) -> bool:
    """Recognise the table by a row, by a record of all-properties, or by its heading or trailer alone."""
    return any(ROW.match(line) or LISTED.match(line) for line in head.lines)


def read(document: Document) -> Iterator[FlowTable | BoxTimeouts]:
    """Read the TCP connections, and with all-properties their idle timeouts."""
    listing = Listing()
    document.rows = lambda: len(listing.rows.state)
    for line in document.lines:
        if not listing.take(line) and line.strip():
            document.misread(line)
    listing.end()
    if not listing.whole:
        document.note(
            f"{document.path} is truncated, so a connection that is missing from it proves nothing: collect all of it "
            "(tmsh show sys connection cs-server-port 389)."
        )
    if listing.begun:
        yield listing.rows.table(document, tool="f5", relay=Relay.NAT, whole=listing.whole)
    if listing.timeouts:
        services = [
            ServiceTimeout(name="Idle Timeout of its connections", seconds=seconds, servers=frozenset(servers))
            for seconds, servers in sorted(listing.timeouts.items())
        ]
        yield BoxTimeouts(origin=document.origin(), services=services)


class Listing:
    """The listing while its lines are read: rows, or records of several lines."""

    def __init__(self) -> None:
        self.rows = FlowRows()
        self.timeouts: dict[int, set[tuple[str, int]]] = {}
        self.begun = False
        self._whole = True
        self._counted = 0
        self._record: tuple[str, ...] | None = None
        self._properties: dict[str, str] = {}

    @property
    def whole(self) -> bool:
        """Return whether no trailer counts more rows than precede it, and no row follows the last trailer."""
        return self._whole and not self._counted

    def take(self, line: str) -> bool:
        """Read a line; return whether it was understood."""
        if row := ROW.match(line):
            self.end()
            self._counted += 1
            *ends, protocol, idle = row.groups()
            self._add(ends, protocol, int(idle))
        elif record := RECORD.fullmatch(line):
            self.end()
            self._counted += 1
            self._record = record.groups()
        elif trailer := TRAILER.match(line):
            self.end()
            self.begun = True
            self._whole = self._whole and int(trailer[1]) <= self._counted
            self._counted = 0
        elif line.startswith(HEADING):
            self.begun = True
        elif self._record is not None:
            if found := PROPERTY.match(line):
                self._properties.setdefault(found[1], found[2])
        else:
            return line.startswith(NOISE)
        return True

    def end(self) -> None:
        """Add the record whose last line was read."""
        if self._record is None:
            return
        properties = self._properties
        idle, timeout = (_number(properties.get(name, "")) for name in ("Idle Time", "Idle Timeout"))
        left = None if timeout is None or idle is None else max(timeout - idle, 0)
        server = self._add(list(self._record), properties.get("Protocol", "tcp"), idle, left)
        if timeout and server is not None and len(self.timeouts) < MOST_SERVICES:
            self.timeouts.setdefault(timeout, set()).add(server[:2])
        self._record, self._properties = None, {}

    def _add(self, texts: list[str], protocol: str, idle: int | None, left: int | None = None) -> Key | None:
        self.begun = True
        if protocol != "tcp":
            return None
        client, virtual, own, member = (_end(text) for text in texts)
        forwarded = not member[0].startswith("any")
        server = self.rows.key(*member, *own) if forwarded else None
        self.rows.add(self.rows.key(*client, *virtual), server, CARRIED if forwarded else "", left, idle)
        return server


def _end(text: str) -> tuple[str, str]:
    """Return address and port of `a.b.c.d:port`, IPv6 `address.port` or `any6.any`, without the route domain."""
    colons = text.count(":")
    address, _, port = text.rpartition(":" if colons == 1 else ".")
    return address.partition("%")[0], port


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


FORMAT = Format(name="f5-connections", title="the connections of an F5 BIG-IP", recognises=recognises, read=read)
