r"""The table of Windows netstat, in any language and code page: -a, -n, -o, -b and -q in any combination.

    Active Connections

      Proto  Local Address          Foreign Address        State           PID
      TCP    0.0.0.0:389            0.0.0.0:0              LISTENING       688
     [lsass.exe]
      TCP    10.77.1.2:389          10.77.2.2:58862        HERGESTELLT     688
      NTDS
     [lsass.exe]
      TCP    [fe80::1%12]:389       [fe80::2%12]:50123     TIME_WAIT       0
     Can not obtain ownership information
      UDP    0.0.0.0:389            *:*                                    688

Below a row, -b prints the service and the program, or that it cannot. A LISTENING row has a peer with port 0: the
wildcard, or without -n the host's own name. TIME_WAIT sockets have PID 0. Without -a there are no listeners; TIME_WAIT
is always included. There are no queues, timers or ages.
Source: samples of Windows XP to 11; learn.microsoft.com, windows-server/administration/windows-commands/netstat.

The TCP state names of Windows in all its languages, compared by their ASCII letters.

A name is in the code page of the console: `ABHÖREN` in UTF-16, in UTF-8, as `ABH\x99REN` (CP850, not valid UTF-8), as
`ABH™REN` (the same byte read as CP1252) or as `ABH?REN`. So each run of letters that are not ASCII is replaced by one
`?`, both here and in the text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import ANY, ANY_PORT, Addresses, Ports
from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.socket_formats.rows import LONGEST_OWNER, STATES, Rows, count_of
from ldapdiag.evidence.sockets import SocketTable, TcpState
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document

ROW = pattern(
    r"\s{0,16}(?:TCP\s+\S{1,300}:[\w-]{1,40}\s+\S{1,300}:[\w*-]{1,40}\s+[^\s\d]|UDP\s+\S{1,300}:[\w-]{1,40}\s+\*:\*)"
)
HEADER = pattern(r"\s{0,16}Proto  (?:Local A|Lokale A|Adresse l|Direcci|Indirizzo|Endere|Lokaal a)")
"""The header in the most frequent languages; rows are recognised in any language."""
TITLES = frozenset({"Active Connections", "Aktive Verbindungen"})
COLUMNS = pattern(r" {2,}")
LONGEST_HEADING = 200
BELOW = pattern(r"[ \t]{1,16}(?:\[(.{1,255})\]|(?:[A-Za-z]:\\)?[^\s:]+(?:[ \t][^\s:]+){0,16})\s*")
"""A line of -b below a row: a program in brackets, or a service, a library, or a sentence in any language."""
PROGRAM = pattern(r"\[([^\[\]:]{1,255})\]\s*")
PROMPT = pattern(r"(?:PS )?[A-Za-z]:\\[^>]{0,255}>")
MOST_WORDS = 5
"""Limit on unknown state names in the notes."""


def recognises(head: Head) -> bool:
    """Recognise Windows by rows in which the addresses follow TCP or UDP directly, or by its header."""
    return any(ROW.match(line) or HEADER.match(line) for line in head.lines)


def read(document: Document) -> Iterator[SocketTable]:
    """Read the TCP rows; a repeated header (an interval, or a loop) begins another table."""
    snapshot = NetstatWindowsSnapshot(Addresses(), Ports(), WindowsStates())
    document.rows = lambda: len(snapshot.rows)
    for line in document.lines:
        fields = line.split(None, 4)
        if not fields:
            continue
        if fields[0] == "TCP":
            if not snapshot.take(fields, document):
                document.misread(line)
        elif fields[0] == "UDP":
            snapshot.previous = "udp"
        elif _is_heading(line):
            if snapshot.rows:
                yield snapshot.table(document)
                snapshot = NetstatWindowsSnapshot(snapshot.addresses, snapshot.ports, snapshot.words)
            snapshot.has_header = True
        elif not (snapshot.take_below(line) or snapshot.is_title(line) or PROMPT.match(line)):
            document.misread(line)
    if snapshot.rows:
        yield snapshot.table(document)


def _is_heading(line: str) -> bool:
    """Return whether a line is a heading: a known title, or at least three columns of words without digits."""
    text = line.strip()
    if text in TITLES:
        return True
    if len(text) > LONGEST_HEADING or ":" in text:
        return False
    text = in_ascii(text)
    return not any(map(str.isdigit, text)) and len(COLUMNS.split(text)) in {4, 5, 6}


class NetstatWindowsSnapshot:
    """One snapshot of a host's sockets while it is read."""

    def __init__(self, addresses: Addresses, ports: Ports, words: WindowsStates) -> None:
        self.rows = Rows()
        self.addresses = addresses
        self.ports = ports
        self.words = words
        self.owners: dict[str, str] = {}
        self.has_header = False
        self.previous = ""
        """The kind of the previous row, to which a line of -b belongs: tcp, udp or empty."""
        self.unknown: set[str] = set()

    def take(self, fields: list[str], document: Document) -> bool:
        """Add a row; return whether the fields are a TCP row."""
        self.previous = ""
        if len(fields) < 4:
            return False
        local, _, local_port = fields[1].rpartition(":")
        remote, _, remote_port = fields[2].rpartition(":")
        word = fields[3]
        pid, more = self._rest(fields[4]) if len(fields) > 4 else ("", "")
        if not local or not remote or word.isdigit():
            return False
        state = self.words[f"{word} {more}" if more else word]
        if state is None:
            state = self._state_by_peer(word, remote, remote_port, document)
        if state is TcpState.LISTEN:
            remote, remote_port = ANY, "*"
        self.rows.add(
            (
                self.addresses[local],
                self.ports[local_port],
                self.addresses[remote],
                self.ports[remote_port],
                state,
                0,
                0,
            )
        )
        if pid and pid != "0":
            self.rows.set("pid", count_of(pid))
        self.previous = "tcp"
        return True

    def _rest(self, text: str) -> tuple[str, str]:
        """Return the PID, and before it the remaining words of a state of several words (IN ASCOLTO)."""
        text = text.rstrip()
        if text.isdigit():
            return text, ""
        words = text[:LONGEST_HEADING].split()
        at = next((number for number, word in enumerate(words) if word.isdigit()), len(words))
        return (words[at] if at < len(words) else ""), " ".join(words[:at])

    def _state_by_peer(self, word: str, remote: str, remote_port: str, document: Document) -> TcpState:
        """Return the state of a row with an unknown state name: without a peer it is a listener."""
        if self.addresses[remote] == ANY and self.ports[remote_port] == ANY_PORT:
            return TcpState.LISTEN
        if word not in self.unknown and len(self.unknown) < MOST_WORDS:
            self.unknown.add(word)
            document.note(f"{document.path} has an unknown state: {word[:40]!r}. Its rows have no state.")
        return TcpState.UNKNOWN

    def take_below(self, line: str) -> bool:
        """Read a line of -b, which follows a row; return whether it is one."""
        found = (PROGRAM.fullmatch(line) or BELOW.fullmatch(line)) if self.previous else None
        if found is None:
            return False
        if self.previous == "tcp" and found[1]:
            owner = found[1][:LONGEST_OWNER]
            self.rows.set("owner", self.owners.setdefault(owner, owner))
        return True

    def is_title(self, line: str) -> bool:
        """Return whether a line may be the title in an unknown language: words before the first row."""
        text = in_ascii(line.strip())
        return (
            not self.rows
            and not self.previous
            and len(text) <= LONGEST_HEADING
            and not any(char in ":\\" for char in text)
        ) and not any(map(str.isdigit, text))

    def table(self, document: Document) -> SocketTable:
        """Return the finished table."""
        shows_all = self.has_header or TcpState.TIME_WAIT in self.rows.states()
        return self.rows.table(
            document,
            tool="netstat.exe",
            queues=False,
            shows_time_wait=True if shows_all else None,
            has_header=self.has_header,
        )


FORMAT = Format(name="netstat-windows", title="a socket table of Windows netstat", recognises=recognises, read=read)


NOT_ASCII = pattern(r"(?:\\x[0-9a-f]{2}|[^\x00-\x7f]|\?)+")
LONGEST_WORD = 64

# German: captured (Windows XP, CP850; Windows 7 and 10 in public issues), except SYN_EMPFANGEN. The others are from the
# test samples of other netstat parsers; in public captures, French, Spanish, Italian and Portuguese Windows print the
# English names. A row with any other name gets its state by its peer.
LOCALISED = {
    TcpState.LISTEN: "ABH?REN ABHOEREN ABHREN LUISTEREN NAS?UCHIWANIE ESCUCHANDO ESCUTANDO IN_ASCOLTO ?COUTE ECOUTE",
    TcpState.ESTABLISHED: "HERGESTELLT STABILITO STABILITA ESTABLECIDO ESTABELECIDA ESTABELECIDO TOT_STAND_GEB ?TABLI "
    "ETABLI",
    TcpState.TIME_WAIT: "WARTEND",
    TcpState.CLOSE_WAIT: "SCHLIESSEN_WARTEN",
    TcpState.SYN_SENT: "SYN_GESENDET",
    TcpState.SYN_RECEIVED: "SYN_EMPFANGEN",
    TcpState.FIN_WAIT_1: "FIN_WARTEN_1",
    TcpState.FIN_WAIT_2: "FIN_WARTEN_2",
    TcpState.CLOSING: "SCHLIESSEND",
    TcpState.CLOSED: "BOUND DELETE_TCB",
}
"""BOUND (netstat -q) is a socket with a port and no peer, which ss calls UNCONN."""

WORDS = STATES | {word: state for state, words in LOCALISED.items() for word in words.split()}


def in_ascii(text: str) -> str:
    """Return a text with each run of non-ASCII characters replaced by one question mark."""
    return text if text.isascii() and "\\x" not in text else NOT_ASCII.sub("?", text)


class WindowsStates(dict[str, TcpState | None]):
    """The state names of one document, each looked up once; None: unknown."""

    def __missing__(self, words: str) -> TcpState | None:
        shown = in_ascii(words[:LONGEST_WORD]).upper()
        state = WORDS.get(shown.replace(" ", "_"))
        if state is None:
            state = WORDS.get(shown.partition(" ")[0])  # with -t the offload state follows
        if len(words) <= LONGEST_WORD:
            self[words] = state
        return state
