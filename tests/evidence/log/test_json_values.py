"""Arrays of objects, and lines that are no part of one."""

from __future__ import annotations

import pytest

from ldapdiag.evidence.log.json_values import JSON_ARRAY

EVENT = b'{"client":{"ip":"::1"},"request":{"connId":0},"timestamp":"2026-11-20T08:58:04.076Z"}'


@pytest.mark.parametrize(
    "array", [b"[%b,\n%b,\n%b]\n", b"[\n%b,\n%b,\n%b\n]\n", b"[%b,%b,%b]\n", b"[\n%b\n,%b\n,%b\n]\n"], ids=repr
)
def test_an_array_is_recognised_however_its_lines_end(array: bytes) -> None:
    assert JSON_ARRAY.carries(array % (EVENT, EVENT, EVENT))


def test_objects_within_the_objects_of_a_log_make_no_array() -> None:
    assert not JSON_ARRAY.carries((EVENT + b"\n") * 3)
