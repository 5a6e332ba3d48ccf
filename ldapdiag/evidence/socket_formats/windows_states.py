r"""The TCP state names of Windows in all its languages, compared by their ASCII letters.

A name is in the code page of the console: `ABHÖREN` in UTF-16, in UTF-8, as `ABH\x99REN` (CP850, not valid UTF-8), as
`ABH™REN` (the same byte read as CP1252) or as `ABH?REN`. So each run of letters that are not ASCII is replaced by one
`?`, both here and in the text.
"""

from __future__ import annotations

import re

from ldapdiag.evidence.socket_formats.rows import STATES
from ldapdiag.evidence.sockets import TcpState

NOT_ASCII = re.compile(r"(?:\\x[0-9a-f]{2}|[^\x00-\x7f]|\?)+")
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
