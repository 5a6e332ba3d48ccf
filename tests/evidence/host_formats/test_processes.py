"""The list of processes that the collection script writes."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.host_formats import processes
from ldapdiag.evidence.processes import Process, ProcessListener
from reading import facts_of

LIST = """ldapdiag-processes 1
clock: 1795160100.50
process: 1171 ns-slapd S 1795160000.25 net:[4026532177]
process: 1 - S - -
thread: 1171 D futex_wait
listener: 1171 0.0.0.0 389
listener: 1171 ::ffff:10.77.1.2 636
configuration: 1171 /etc/dirsrv/slapd-ldap/dse.ldif
"""


def test_each_line_becomes_a_value() -> None:
    (table,) = facts_of(LIST)
    assert table.process(1171) == Process(
        pid=1171,
        program="ns-slapd",
        state="S",
        started=datetime.fromtimestamp(1795160000.25, UTC),
        age_seconds=100.25,
        namespace="net:[4026532177]",
    )
    assert table.process(1) == Process(pid=1, program="-", state="S")
    assert table.process(2) is None
    assert table.listeners == (
        ProcessListener(pid=1171, address="*", port=389),
        ProcessListener(pid=1171, address="10.77.1.2", port=636),
    )
    assert table.configurations == ((1171, "/etc/dirsrv/slapd-ldap/dse.ldif"),)
    assert table.zoned
    assert table.origin.not_understood == 0


def test_a_process_from_the_future_has_no_age() -> None:
    (table,) = facts_of("ldapdiag-processes 1\nclock: 100\nprocess: 7 slapd S 200 -\n")
    assert table.processes[0].age_seconds is None


def test_damaged_lines_are_counted() -> None:
    damaged = "process: 7 a b c\nlistener: 7 :: 99999\n\x00\nprocess: 99999999999 a S 1 -\n"
    (table,) = facts_of(f"ldapdiag-processes 1\nprocess: 7 slapd S 200 -\n{damaged}")
    assert len(table.processes) == 1
    assert table.origin.not_understood == 4


@given(st.text())
def test_no_text_makes_it_raise(text) -> None:
    facts_of(f"ldapdiag-processes 1\n{text}", form=processes.FORMAT)
