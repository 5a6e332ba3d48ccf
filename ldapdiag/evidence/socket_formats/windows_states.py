r"""State words of Windows in the languages it is told in, found by what is ASCII in them.

A word arrives in whatever code page the console had: `ABHÖREN` as UTF-16, as UTF-8, as `ABH\x99REN` (CP850, which is
no UTF-8), as `ABH™REN` (the same byte taken for CP1252) or as `ABH?REN`. So each run of letters that are not ASCII is
one `?` here, in the table and in the text.
"""

from __future__ import annotations

import re

from ldapdiag.evidence.socket_formats.rows import STATES
from ldapdiag.evidence.sockets import TcpState

NOT_ASCII = re.compile(r"(?:\\x[0-9a-f]{2}|[^\x00-\x7f]|\?)+")
LONGEST_WORD = 64

# German: captured (Windows XP, CP850; Windows 7 and 10 in public issues), all but SYN_EMPFANGEN. The others as the
# test samples of other readers of netstat write them; French, Spanish, Italian and Portuguese Windows print the
# English words in the captures that are public. A word that is in no line here is judged by the row's peer.
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
    """Return a text with each run of what is not ASCII as one question mark."""
    return text if text.isascii() and "\\x" not in text else NOT_ASCII.sub("?", text)


class WindowsStates(dict[str, TcpState | None]):
    """The state words of one document, each looked up once; None for a word we do not know."""

    def __missing__(self, words: str) -> TcpState | None:
        shown = in_ascii(words[:LONGEST_WORD]).upper()
        state = WORDS.get(shown.replace(" ", "_"))
        if state is None:
            state = WORDS.get(shown.partition(" ")[0])  # -t puts the offload state behind it
        if len(words) <= LONGEST_WORD:
            self[words] = state
        return state
