"""Whatever bytes come, the answer is a result, or one of two failures that a session reports."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_directory import element, octets, result
from ldapdiag.sources.live.ldap.connecting import QueryFailed
from ldapdiag.sources.live.ldap.entries import MalformedMessage
from ldapdiag.sources.live.ldap.messages import DEEPEST, check_depth, check_envelope, check_result, read_result

NUMBER = element(2, b"\x05")
WHOLE = result(NUMBER, 0x65, 0, "all of it", element(0xA3, octets("ldap://a"), octets("ldap://b")))
CODES = frozenset({0, 10})


def judge(message: bytes) -> None:
    try:
        _, at = check_envelope(message, 5, "searchRequest")
        check_result(message, at, CODES)
    except (QueryFailed, MalformedMessage):
        return


def test_a_result_has_its_text_and_referrals() -> None:
    kind, at = check_envelope(WHOLE, 5, "searchRequest")
    answer = check_result(WHOLE, at, CODES)
    assert (kind, answer.code, answer.text, answer.referrals) == (0x65, 0, "all of it", ("ldap://a", "ldap://b"))


@given(st.binary(max_size=200))
def test_any_bytes_are_judged(data: bytes) -> None:
    judge(data)
    judge(element(0x30, NUMBER, data))
    judge(element(0x30, NUMBER, element(0x65, data)))


@given(st.integers(0, len(WHOLE) - 1), st.integers(0, 255), st.integers(0, len(WHOLE)))
def test_a_damaged_result_is_judged(at: int, byte: int, end: int) -> None:
    judge((WHOLE[:at] + bytes([byte]) + WHOLE[at + 1 :])[:end])


@pytest.mark.parametrize("depth", [1, DEEPEST - 1, DEEPEST, 100])
def test_the_depth_of_elements_is_bounded(depth: int) -> None:
    nested = octets("x")
    for _ in range(depth):
        nested = element(0x30, nested)
    if depth < DEEPEST:
        check_depth(nested)
    else:
        with pytest.raises(MalformedMessage):
            check_depth(nested)


def test_a_text_is_one_short_line() -> None:
    message = result(NUMBER, 0x65, 0, "\x1b[31m a\nb" + "x" * 1000)
    answer = read_result(message, check_envelope(message, 5, "searchRequest")[1])
    assert answer.text.startswith("[31m a bxxx")
    assert len(answer.text) == 200
