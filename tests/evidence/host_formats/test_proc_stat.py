"""/proc/PID/stat of several processes, with what dates them."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.host_formats import proc_stat
from reading import facts_of


def stat(pid, name, started, flags=4194304):
    before, after = f"1 {pid} {pid} 0 -1 {flags} 102 0 0 0 0 0 0 0 20 0 1 0", "3133440 402 18446744073709551615 0 0"
    return f"{pid} ({name}) S {before} {started} {after}\n"


def test_the_uptime_of_the_same_file_gives_ages() -> None:
    (table,) = facts_of(
        "1000.50 1950.00\n" + stat(7, "ns-slapd", 90050) + stat(8, "a (b) c", 100) + stat(2, "kworker", 5, 0x208040)
    )
    assert [(one.pid, one.program, one.state, one.age_seconds) for one in table.processes] == [
        (7, "ns-slapd", "S", 100.0),
        (8, "a--b--c", "S", 999.5),
    ]


def test_the_boot_of_the_same_file_gives_start_times() -> None:
    (table,) = facts_of("cpu  1 2 3\n" + stat(7, "slapd", 500) + "btime 1795160000\n100\n")
    assert table.processes[0].started == datetime.fromtimestamp(1795160005, UTC)
    assert table.processes[0].age_seconds is None
    assert table.origin.not_understood == 0


def test_alone_it_gives_names_only() -> None:
    (table,) = facts_of(stat(7, "slapd", 500))
    assert (table.processes[0].started, table.processes[0].age_seconds) == (None, None)


@given(st.text())
def test_no_text_makes_it_raise(text) -> None:
    facts_of(stat(7, "slapd", 500) + text, form=proc_stat.FORMAT)
