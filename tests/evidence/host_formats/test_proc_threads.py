"""The threads of a process, as grep prints them of /proc/PID/task."""

from __future__ import annotations

import pytest

from reading import facts_of

NUMBERS = "0 0 0 0 -1 4194560 4345 0 0 0"
LOCKED = f"""x86_64
/proc/uptime:86403.18 6114.98
/proc/29/stat:29 (slapd) S {NUMBERS} 1 2 0 0 20 0 4 0 8640188 468443136
/proc/29/task/29/stat:29 (slapd) S {NUMBERS} 0 1 0 0 20 0 6 0
/proc/29/task/36/stat:36 (slapd) S {NUMBERS} 1 1
/proc/29/task/37/stat:37 (sla) R (pd) D {NUMBERS} 7 5
/proc/29/task/29/wchan:futex_do_wait
/proc/29/task/36/wchan:futex_do_wait
/proc/29/task/37/wchan:0
/proc/29/task/29/syscall:202 0x7f5ce92b9990 0x109 0x21 0x0 0x0 0xffffffff 0x7ffc3921f0a0 0x7f5cf7301f16
/proc/29/task/36/syscall:202 0x7f5cf7561040 0x0 0x80000022
/proc/29/task/37/syscall:running
"""


def test_a_slapd_blocked_on_a_lock_is_read() -> None:
    (read,) = facts_of(LOCKED)
    assert (read.pid, read.program, read.state, read.ticks, read.uptime_seconds) == (29, "slapd", "S", 3, 86403.18)
    joins, locked, runs = read.threads
    assert (joins.call, joins.lock) == ("futex", "")
    assert (locked.call, locked.lock, locked.waits_in) == ("futex", "0x7f5cf7561040", "futex_do_wait")
    assert (runs.number, runs.state, runs.ticks, runs.call, runs.waits_in) == (37, "D", 12, "", "")
    assert read.origin.not_understood == 0


@pytest.mark.parametrize(("machine", "call"), [("x86_64", "futex"), ("aarch64", "accept"), ("mips", ""), ("", "")])
def test_the_numbers_of_system_calls_are_those_of_the_machine(machine: str, call: str) -> None:
    text = LOCKED.replace("x86_64", machine)
    (read,) = facts_of(text)
    assert read.threads[1].call == call
    assert bool(read.threads[1].lock) == (call == "futex")


def test_what_root_alone_may_read_may_be_missing() -> None:
    (read,) = facts_of("".join(line for line in LOCKED.splitlines(keepends=True) if "/stat:" in line))
    assert {(thread.call, thread.waits_in) for thread in read.threads} == {("", "")}
    assert read.uptime_seconds is None


def test_lines_of_another_kind_are_counted() -> None:
    text = LOCKED + "/proc/29/task/38/stat:no such process\n/proc/29/task/29/wchan:a b\n"
    (read,) = facts_of(text)
    assert read.origin.not_understood == 2
    assert len(read.threads) == 3


def test_several_processes_are_several_facts() -> None:
    assert [one.pid for one in facts_of(LOCKED + LOCKED.replace("/29/", "/31/"))] == [29, 31]


def test_the_lock_of_a_file_is_a_lock() -> None:
    (read,) = facts_of(LOCKED.replace("syscall:202 0x7f5cf7561040 0x0", "syscall:73 0x5 0x2"))
    assert (read.threads[1].call, read.threads[1].lock) == ("flock", "flock 0x5")


SAMPLES = "/proc/29/samples:40 202=40 75=36 running=2 499=1\n"


def test_samples_name_the_calls_that_are_known() -> None:
    (read,) = facts_of(LOCKED + SAMPLES)
    assert read.samples is not None
    assert read.samples.looks == 40
    assert dict(read.samples.seen) == {"futex": 40, "fdatasync": 36, "running": 2}
    assert read.origin.not_understood == 0


@pytest.mark.parametrize("machine", ["mips", ""])
def test_samples_of_an_unknown_machine_are_none(machine: str) -> None:
    (read,) = facts_of(LOCKED.replace("x86_64", machine) + SAMPLES)
    assert read.samples is None


@pytest.mark.parametrize("damage", ["", "40", "40 75", "40 75=x", "1234567 75=1", "40 75=1 ;", "40" + " 75=1" * 65])
def test_damaged_samples_are_counted_and_are_none(damage: str) -> None:
    (read,) = facts_of(f"{LOCKED}/proc/29/samples:{damage}\n")
    assert (read.samples, read.origin.not_understood) == (None, 1)


def test_no_call_was_seen_in_more_looks_than_there_were() -> None:
    (read,) = facts_of(LOCKED + "/proc/29/samples:4 75=900\n")
    assert read.samples.seen == (("fdatasync", 4),)
