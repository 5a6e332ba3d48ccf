"""Counters of the kernel, as nstat prints them."""

from __future__ import annotations

from reading import facts_of


class TestNstat:
    TEXT = (
        "#kernel\n"
        "TcpActiveOpens                  24                 0.0\n"
        "TcpExtListenOverflows           5                  0.0\n"
    )

    def test_reads_counters(self) -> None:
        (counters,) = facts_of(self.TEXT + "?\n")
        assert counters.values == {"TcpActiveOpens": 24, "TcpExtListenOverflows": 5}
        assert (counters.origin.lines, counters.origin.not_understood) == (4, 1)
