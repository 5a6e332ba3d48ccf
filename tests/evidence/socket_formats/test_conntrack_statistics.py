"""The counters of conntrack -S: whether packets pass through connection tracking."""

from __future__ import annotations

from ldapdiag.evidence.document import Document
from ldapdiag.evidence.socket_formats.conntrack_statistics import read


def counters(*lines: str):
    document = Document(path="fw/conntrack-S.txt", source=lines)
    return next(iter(read(document)), None), document.missed


def test_those_of_all_processors_are_added(captures) -> None:
    lines = (captures / "sockets" / "conntrack-S.txt").read_text().splitlines()
    found, missed = counters(*lines)
    assert (found.values["invalid"], found.in_use, missed) == (1325 + 56, True, 0)


def test_of_a_host_without_a_rule_all_are_zero() -> None:
    found, missed = counters("cpu=0   \tfound=0 invalid=0 insert=0 ", "hostile")
    assert (found.in_use, missed) == (False, 1)
