"""How long a build takes: an interval by the number of entries, which contains what was measured."""

from __future__ import annotations

import re

import pytest

from ldapdiag.evidence.indexes import Backend
from ldapdiag.servers.ds389.index_remedies import build_time


def backend(entries: int | None) -> Backend:
    return Backend(name="userRoot", suffixes=("dc=x",), definitions=(), entries=entries)


@pytest.mark.parametrize(
    ("entries", "types", "measured"),
    [
        (60_005, [["eq"]], 4.1),
        (60_005, [["eq"]], 3.4),
        (20_005, [["eq"], ["eq"], ["eq"]], 1.0),
        (20_005, [["eq", "sub"]], 20_005 / 6_500),
        (20_005, [["sub"]], 20_005 / 4_100),
    ],
)
def test_what_was_measured_is_within(entries, types, measured) -> None:
    found = re.search(r"takes ([\d,]+) to ([\d,]+) s", build_time(backend(entries), types))
    assert found
    least, most = (int(one.replace(",", "")) for one in found.groups())
    assert least <= measured <= most


def test_without_the_number_of_entries_no_time_is_stated() -> None:
    told = build_time(backend(None), [["eq"]])
    assert "does not contain the number of entries" in told
    assert not re.search(r"\d s\b", told)
    assert build_time(backend(5), []) == ""
