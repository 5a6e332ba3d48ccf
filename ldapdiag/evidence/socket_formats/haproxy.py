"""The sessions of HAProxy, 1.3 and later: `show sess` and `show sess all` of its control socket.

    0x55eed01ef920: proto=tcpv4 src=10.77.2.2:39716 fe=ldap_in be=ldap_out srv=ds1 ts=00 epoch=0 age=22s calls=3 …
     rq[f=848000h,i=0,an=00h,rx=59m39s,wx=,ax=] rp[…] scf=[8,0h,fd=12] scb=[8,1h,fd=13] exp=59m39s rc=0 c_exp=
                                                                          (one line; s0=[…] s1=[…] before 2.6)
    0x55eed01ef920: [20/Nov/2026:11:55:38.954231] id=0 proto=tcpv4 source=10.77.2.2:39716
      flags=0x4a, conn_retries=0, conn_exp=<NEVER> …
      frontend=ldap_in (id=2 mode=tcp), listener=? (id=1) addr=10.77.2.1:389
      backend=ldap_out (id=3 mode=tcp) addr=10.77.1.1:56754                        (the proxy's own end of the leg)
      server=ds1 (id=1) addr=10.77.1.2:389
      task=0x55eed031add0 (state=0x00 nice=0 calls=3 rate=0 exp=59m39s tmask=0x1 age=22s)
      scf=0x55eed02cec30 flags=0x00000000 state=EST …                              (si[0]=, csf= before 2.6)
      scb=0x55eed0254970 flags=0x00000001 state=EST …

Versions differ in what they print and where, so words are recognised by key, not by position. A record extends to the
next session's address, because mail wraps lines. `show sess`, and `show sess all` of 1.4 and before, contain neither
the client's destination nor the server-side leg. The server-side leg is established if its state code equals that of
the client-side leg (7 in old versions, 8 since 2.1). Sessions of the control socket itself (over a unix socket, or of
the frontend GLOBAL) are not connections of clients; but every complete list contains the session that requested it,
mostly as the last one, so a list without it was truncated or filtered. `exp=` is the time left. IPv6 addresses have no
brackets. Source: HAProxy src/stream.c (stats_dump_full_strm_to_buffer, cli_io_handler_dump_sess).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import ANY, UNKNOWN_PORT
from ldapdiag.evidence.flows import SHOW_SESS_ALL, Relay
from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.socket_formats.rows import FlowRows
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.flows import FlowTable
    from ldapdiag.evidence.sockets import Key

SESSION = pattern(r"0x[0-9a-f]{4,16}: (?:\[[^\]]{5,40}\] )?(?:id=\d+ )?proto=(\w{1,20})")
CODE = pattern(r"(?:s0|s1|scf|scb)=\[(\d+),")
STATE = pattern(r"state=([A-Z]+)")
SPAN = pattern(r"(?:\d{1,9}[dhms]){1,4}")
PART = pattern(r"(\d+)([dhms])")
SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
TCP = frozenset({"tcpv4", "tcpv6"})
LEGS = ("frontend", "backend", "server")
SERVER_SIDE = ("scb=", "csb=", "si[1]=")
MOST_WORDS = 4096
"""Words of one record that are read; a session of 3.0 has a few hundred."""


def recognises(head: Head) -> bool:
    """Recognise the list by a session at the beginning of a line."""
    return any(SESSION.match(line) for line in head.lines)


def read(document: Document) -> Iterator[FlowTable]:
    """Read the sessions of clients; those of the control socket are ignored."""
    rows = FlowRows()
    document.rows = lambda: len(rows.state)
    session: Session | None = None
    begun = whole = False
    for line in document.lines:
        found = SESSION.match(line)
        if found is not None:
            whole = _end(document, rows, session) or whole
            session, begun = Session(line, found[1]), True
        if session is not None:
            session.take(line)
        elif line.strip():
            document.misread(line)
    whole = _end(document, rows, session) or whole
    if not begun:
        return
    if not whole:
        document.note(
            f"{document.path} does not contain the control session that requested it, so it was truncated or filtered, "
            f"and a missing session proves nothing: {SHOW_SESS_ALL}"
        )
    if rows.server and not any(rows.server):
        document.note(
            f"{document.path} lacks HAProxy's ports towards the servers, so no connection can be joined by it: "
            f"{SHOW_SESS_ALL}"
        )
    yield rows.table(document, tool="haproxy", relay=Relay.PROXY, whole=whole)


def seconds_of(text: str) -> float | None:
    """Return the seconds of a HAProxy time, as `1h29m`; None for <NEVER> and all other texts."""
    return sum(int(number) * SECONDS[unit] for number, unit in PART.findall(text)) if SPAN.fullmatch(text) else None


class Session:
    """One session while its words are read."""

    def __init__(self, line: str, protocol: str) -> None:
        self.line = line
        """The first line, shown as a sample if the session is not understood."""
        self.is_tcp = protocol in TCP
        self._source = ""
        self._frontend = ""
        self._leg = ""
        self._ends: dict[str, str] = {}
        self._left: float | None = None
        self._codes: list[str] = []
        self._state = ""
        self._server_side = False
        self._words = 0

    def take(self, line: str) -> None:
        """Read the words of a line."""
        if not self.is_tcp or self._words > MOST_WORDS:
            return
        for word in line.split():
            self._words += 1
            self._take_word(word)

    def _take_word(self, word: str) -> None:
        key, _, value = word.partition("=")
        if key in {"src", "source"}:
            self._source = self._source or value
        elif key in LEGS or key == "task":
            self._leg = key
            self._frontend = self._frontend or (value if key == "frontend" else "")
        elif key == "fe":
            self._frontend = value
        elif key == "addr" and self._leg in LEGS:
            self._ends.setdefault(self._leg, value)
        elif key == "exp" and self._left is None:
            self._left = seconds_of(value.rstrip(",)"))
        elif word.startswith(SERVER_SIDE) or word.startswith(("scf=", "csf=", "si[0]=")):
            self._server_side = word.startswith(SERVER_SIDE)
        if (state := STATE.match(word.lstrip("("))) and self._server_side and not self._state:
            self._state = state[1]
        if code := CODE.match(word):
            self._codes.append(code[1])

    @property
    def is_control(self) -> bool:
        """Return whether this is a session of the control socket."""
        return not self.is_tcp or self._frontend == "GLOBAL"

    def add_to(self, rows: FlowRows) -> bool:
        """Add the session if it is a client's; return whether it was understood."""
        if self.is_control:
            return True
        address, _, port = self._source.rpartition(":")
        if not address:
            return False
        virtual, _, virtual_port = self._ends.get("frontend", "").rpartition(":")
        destination = (virtual, virtual_port) if virtual else (ANY, "?")
        client = rows.key(address, port, *destination)
        if client[1] == UNKNOWN_PORT:
            return False
        rows.add(client, self._server(rows), self._server_state(), self._left)
        return True

    def _server(self, rows: FlowRows) -> Key | None:
        own, _, own_port = self._ends.get("backend", "").rpartition(":")
        server, _, port = self._ends.get("server", "").rpartition(":")
        return rows.key(server, port, own, own_port) if own and server else None

    def _server_state(self) -> str:
        """Return the state of the server-side leg, with ESTABLISHED as in other flow tables."""
        if self._state:
            return "ESTABLISHED" if self._state == "EST" else self._state
        if len(self._codes) >= 2:
            return "ESTABLISHED" if self._codes[0] == self._codes[1] else ""
        return "ESTABLISHED" if "backend" in self._ends else ""


def _end(document: Document, rows: FlowRows, session: Session | None) -> bool:
    """Add a session whose last line was read; return whether it is a session of the control socket."""
    if session is None:
        return False
    if not session.add_to(rows):
        document.misread(session.line)
    return session.is_control


FORMAT = Format(name="haproxy-sessions", title="the sessions of HAProxy", recognises=recognises, read=read)
