"""The connection tracking table of a Linux middlebox: conntrack -L in all variants, and /proc/net/nf_conntrack.

    tcp      6 29 ESTABLISHED src=10.77.3.2 dst=10.77.1.2 sport=41946 dport=389 src=10.77.1.2 dst=10.77.3.2 sport=389
     dport=41946 [ASSURED] mark=0 use=1                                       (one line; also with id= or secctx= in it)
    ipv4     2 tcp      6 117 SYN_SENT src=10.77.3.2 dst=10.9.9.9 sport=4194 dport=389 packets=1 bytes=60 [UNREPLIED] …
    tcp      6 src=10.77.3.2 dst=10.77.1.2 sport=41946 dport=389 src=… dport=41946 [OFFLOAD] mark=0 use=2
    conntrack v1.4.7 (conntrack-tools): 0 flow entries have been shown.                      (conntrack -L, on stderr)
    # 0 flow entries; packets without an entry were seen                                  (the collection script)

The number after the protocol's is the time left in seconds. The first tuple is the original direction, the second the
expected reply; they mirror each other unless addresses are translated. Offloaded flows show no state.
An empty table is a table if one of the last two lines shows that it was read. An empty file may also be the result of a
command that was not permitted, so it proves no absence. With `2>&1` the count may stand within a row. A TCP row that
cannot be read may be that of any connection: such a table proves no absence either. Source: conntrack-tools,
libnetfilter_conntrack src/conntrack/snprintf_default.c; Linux net/netfilter/nf_conntrack_standalone.c (ct_seq_show).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import Addresses, Ports
from ldapdiag.evidence.flows import FlowTable
from ldapdiag.evidence.format import Format, Head
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.sockets import Key

FLOW = pattern(r"(?:ipv[46] {1,9}\d{1,3} {1,9})?(\w{1,16}) {1,9}\d{1,3} (?=.{0,60}?\bsrc=)")
"""The start of every line of the table, of any protocol."""
TUPLE = r"src=([^ =]+) dst=([^ =]+) sport=(\d+) dport=(\d+) "
TCP = pattern(rf"(?:ipv[46] +\d+ +)?tcp +6 +(?:(\d+) +)?(?:([A-Z_0-9]+) +)?{TUPLE}(.*?){TUPLE[:-1]}(?: |$)(.*)")
OFFLOADED = pattern(r"\[((?:HW_)?OFFLOAD)\]")
COUNT = pattern(r"conntrack v[\d.]+ \(conntrack-tools\): (\d+) flow entries have been shown")
LAST = pattern(r"# (\d+) flow entries(; packets without an entry were seen)?")
"""The last line of the collection script: the table was read to its end."""
NAMED = pattern(r"(?:proc[-_])?(?:nf_)?conntrack(?:-[Ll])?(?:[-_.]?\d+)?(?:\.txt)?")
"""Names of a file that may be empty."""


def recognises(head: Head) -> bool:
    """Recognise the table by a flow at the beginning of a line; an event (-E) begins with a bracket.

    An empty one is recognised by its count alone, or by the name of an empty file.
    """
    texts = [line for line in head.lines if line.strip()]
    if not texts:
        return NAMED.fullmatch(head.name) is not None
    if len(texts) == 1 and (count := COUNT.match(texts[0]) or LAST.fullmatch(texts[0])):
        return not int(count[1][:9])
    return any(FLOW.match(line) for line in texts)


def _mended(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines, and the count after the row into which `2>&1` wrote it."""
    torn = count = ""
    for line in lines:
        found = COUNT.search(line)
        if found and found.start():
            torn, count = line[: found.start()], line[found.start() :]
            continue
        yield torn + line
        if count:
            yield count
        torn = count = ""
    if torn:
        yield torn
        yield count


def read(document: Document) -> Iterator[FlowTable]:
    """Read the TCP flows; others are ignored."""
    addresses, ports = Addresses(), Ports()
    words: dict[str, str] = {}
    client: list[Key] = []
    server: list[Key] = []
    state: list[str] = []
    seconds_left: list[int | None] = []
    document.rows = lambda: len(client)
    begun = tracks = whole = torn = False
    for line in _mended(document.lines):
        flow = TCP.match(line)
        if flow is None:
            other, last = FLOW.match(line), LAST.fullmatch(line)
            whole = whole or last is not None or COUNT.match(line) is not None
            tracks = tracks or other is not None or bool(last and last[2])
            if line.strip() and not (last or COUNT.match(line)) and (other is None or other[1] == "tcp"):
                document.misread(line)
                torn = torn or other is not None
            continue
        left, word, src, dst, sport, dport, _, reply_src, reply_dst, reply_sport, reply_dport, rest = flow.groups()
        if word is None:
            offloaded = OFFLOADED.search(rest)
            word = offloaded[1] if offloaded else ""
        client.append((addresses[src], ports[sport], addresses[dst], ports[dport]))
        server.append((addresses[reply_src], ports[reply_sport], addresses[reply_dst], ports[reply_dport]))
        state.append(words.setdefault(word, word))
        seconds_left.append(int(left) if left and len(left) < 12 else None)
        tracks = begun = True
    if begun or tracks or whole or not document.seen:
        yield FlowTable(
            origin=document.origin(),
            client=client,
            server=server,
            state=state,
            seconds_left=seconds_left,
            tracks=tracks,
            whole=(begun or tracks or whole) and not torn,
        )


FORMAT = Format(name="conntrack", title="the flows of a middlebox, by conntrack", recognises=recognises, read=read)
