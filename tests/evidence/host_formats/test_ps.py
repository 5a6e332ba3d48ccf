"""Process lists of ps: the columns in any order, start times and ages."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.host_formats import ps
from reading import facts_of

LSTART = """  PID                  STARTED STAT COMMAND
    1 Fri Nov 20 06:03:53 2026 Ss   systemd
 1171 Fri Nov 20 08:00:02 2026 Ssl  ns-slapd
 4711 Fri Nov 20 09:00:02 2026 R+   ps
"""
COMMAND_LINES = """USER         PID    PPID                  STARTED CMD
dirsrv      1171       1 Fri Nov 20 08:00:02 2026 /usr/sbin/ns-slapd -D /etc/dirsrv/slapd-x -w secret
app          880       1 Fri 20 Nov 08:30:02 2026 [worker] -w secret
root        4711     900 Fri Nov 20 09:00:02 2026 ps -eo user,pid,ppid,lstart,cmd
"""
ETIME = """   PID     ELAPSED COMMAND
     1  3-02:24:11 /sbin/init
    12    02:24:11 slapd
    13       00:07 slapd
"""


def ages(text):
    (table,) = facts_of(text)
    return {process.pid: process.age_seconds for process in table.processes}


NETNS = """  PID      NETNS                  STARTED STAT COMMAND
    1          - Mon Nov 23 17:44:50 2026 S<Ll process_api
    2 4026531833 Mon Nov 23 17:44:50 2026 S    kthreadd
 4711 4026531833 Mon Nov 23 18:24:48 2026 R+   ps
"""


def test_the_network_namespace_of_each_process_is_read_and_a_dash_is_unknown() -> None:
    (table,) = facts_of(NETNS)
    assert [one.namespace for one in table.processes] == ["", "net:[4026531833]", "net:[4026531833]"]
    assert table.process(2).age_seconds == 2398


def test_a_list_beyond_the_limit_does_not_show_all_namespaces() -> None:
    header, *rows = NETNS.splitlines(keepends=True)
    (table,) = facts_of(header + "".join(rows[1:]) * (ps.MOST // 2 + 1))
    assert (len(table.processes), table.processes[-1].namespace) == (ps.MOST, "")


def test_the_youngest_ps_dates_a_list_without_a_time_zone() -> None:
    (table,) = facts_of(LSTART)
    server = table.process(1171)
    assert (server.program, server.state, server.age_seconds) == ("ns-slapd", "S", 3600)
    assert server.started == datetime(2026, 11, 20, 8, 0, 2, tzinfo=UTC)
    assert not table.zoned


def test_without_ps_in_the_list_no_age_is_claimed() -> None:
    assert ages("".join(LSTART.splitlines(keepends=True)[:3])) == {1: None, 1171: None}


def test_of_a_command_line_only_the_program_is_kept() -> None:
    (table,) = facts_of(COMMAND_LINES)
    assert [(one.pid, one.program, one.age_seconds) for one in table.processes] == [
        (1171, "ns-slapd", 3600),
        (880, "-worker-", 1800),
        (4711, "ps", 0),
    ]
    assert "secret" not in repr(table)


def test_a_line_break_in_a_command_line_is_counted_and_not_shown() -> None:
    (table,) = facts_of(COMMAND_LINES + "-w secret\n")
    assert table.origin.not_understood == 1
    assert "secret" not in repr(table)


@pytest.mark.parametrize(("pid", "seconds"), [(1, ((3 * 24 + 2) * 60 + 24) * 60 + 11), (12, 8651), (13, 7)])
def test_an_elapsed_time_is_an_age(pid, seconds) -> None:
    assert ages(ETIME)[pid] == seconds


def test_elapsed_seconds_are_an_age() -> None:
    assert ages("PID ELAPSED S COMMAND\n 7 86400 S slapd\n") == {7: 86400}


def test_ps_ef_gives_names_without_times() -> None:
    (table,) = facts_of("UID PID PPID C STIME TTY TIME CMD\nroot 7 1 0 09:24 ? 00:00:01 /usr/sbin/slapd -d 0\n")
    assert [(one.pid, one.program, one.age_seconds) for one in table.processes] == [(7, "slapd", None)]


@given(st.text())
def test_no_text_makes_it_raise(text) -> None:
    facts_of(LSTART + text, form=ps.FORMAT)
