"""A state word is known in whatever bytes the console wrote it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.document import lines_of
from ldapdiag.evidence.socket_formats.netstat_windows import LOCALISED, WindowsStates, in_ascii
from ldapdiag.evidence.sockets import TcpState


@pytest.mark.parametrize(
    ("word", "encoding"),
    [
        *(("ABHÖREN", encoding) for encoding in ("utf-8", "utf-16", "cp850", "cp437", "cp1252")),
        *(("NASŁUCHIWANIE", encoding) for encoding in ("utf-8", "utf-16", "cp852", "cp1250")),
        *(("ÉCOUTE", encoding) for encoding in ("utf-8", "utf-16", "cp850", "cp437", "cp1252")),
    ],
)
def test_a_word_that_is_not_ascii_is_known_in_every_code_page(word, encoding):
    (line,) = lines_of([word.encode(encoding)])
    assert in_ascii(line) == in_ascii(word)
    assert WindowsStates()[line] is TcpState.LISTEN


@pytest.mark.parametrize("word", ["ABHÖREN", r"ABH\x99REN", "ABH™REN", "ABH?REN", "ABHREN", "ABHOEREN", "abhören"])
def test_the_german_listener_is_known_however_it_was_mangled(word):
    assert WindowsStates()[word] is TcpState.LISTEN


@pytest.mark.parametrize(
    ("words", "state"),
    [
        ("IN ASCOLTO", TcpState.LISTEN),
        ("ESTABLISHED InHost", TcpState.ESTABLISHED),
        ("HERGESTELLT", TcpState.ESTABLISHED),
        ("WARTEND", TcpState.TIME_WAIT),
        ("SCHLIESSEN_WARTEN", TcpState.CLOSE_WAIT),
        ("FIN_WARTEN_2", TcpState.FIN_WAIT_2),
        ("SYN_GESENDET", TcpState.SYN_SENT),
        ("SYN_RECEIVED", TcpState.SYN_RECEIVED),
        ("BOUND", TcpState.CLOSED),
        ("OCZEKIWANIE", None),
    ],
)
def test_a_word_has_one_state(words, state):
    assert WindowsStates()[words] is state


def test_no_word_means_two_states():
    words = [word for line in LOCALISED.values() for word in line.split()]
    assert len(words) == len(set(words))


@given(st.text(max_size=100))
def test_any_text_is_ascii_afterwards(text):
    assert in_ascii(text).isascii()
