"""What the threads of a server do, from two readings."""

from __future__ import annotations

from typing import Any

import facts
from ldapdiag.analysis.load.thread_activity import ThreadActivity, thread_activity
from ldapdiag.evidence.threads import ProcessThreads, Thread


def reading(*threads: Thread, up: float = 100.0, **told: Any) -> ProcessThreads:
    ticks = sum(thread.ticks for thread in threads)
    known = {"pid": 29, "program": "slapd", "state": "S", "ticks": ticks} | told
    origin = facts.origin(name=f"threads-29-{up:.0f}.txt")
    return ProcessThreads(origin=origin, uptime_seconds=up, threads=threads, **known)


def waits(number: int, call: str = "futex", **told: Any) -> Thread:
    return Thread(number=number, **{"state": "S", "ticks": 5, "call": call} | told)


def activity(*readings: ProcessThreads) -> ThreadActivity:
    found = thread_activity(readings)
    assert found is not None
    return found


IDLE = (waits(29), waits(33, "epoll_wait"), waits(36))


def test_an_idle_server_waits_and_nothing_more() -> None:
    found = activity(reading(*IDLE), reading(*IDLE, up=105))
    assert (found.stopped, found.running, found.on_disk, found.locked, found.transferring) == (False, 0, 0, 0, 0)
    assert found.waits == (("futex", 2), ("epoll_wait", 1))


def test_a_process_is_stopped_by_a_signal_in_the_latest_reading_or_by_a_debugger_in_both() -> None:
    assert activity(reading(*IDLE), reading(*IDLE, state="T", up=105)).stopped
    assert not activity(reading(*IDLE, state="T"), reading(*IDLE, up=105)).stopped
    assert activity(reading(*IDLE, state="t"), reading(*IDLE, state="t", up=105)).stopped
    assert activity(reading(*IDLE, state="T"), reading(*IDLE, state="T", up=105)).stopped
    assert not activity(reading(*IDLE, state="t"), reading(*IDLE, up=105)).stopped, "a debugger, for a moment"
    assert not activity(reading(*IDLE), reading(*IDLE, state="t", up=105)).stopped


def test_a_looping_thread_uses_the_processor() -> None:
    before, after = waits(40, "", state="R", ticks=100), waits(40, "", state="R", ticks=100 + 200)
    found = activity(reading(*IDLE, before), reading(*IDLE, after, up=105))
    assert (found.running, found.processor_seconds, found.seconds) == (1, 2.0, 5.0)
    briefly = waits(40, "", state="R", ticks=101)
    assert activity(reading(*IDLE, before), reading(*IDLE, briefly, up=105)).running == 0


def test_threads_at_the_same_lock_in_both_readings_are_locked() -> None:
    locked = [waits(number, lock="0x40") for number in range(50, 54)]
    found = activity(reading(*IDLE, *locked), reading(*IDLE, *locked, up=105))
    assert (found.locked, found.locks) == (4, 1)
    other = [waits(number, lock="0x80") for number in range(50, 54)]
    assert activity(reading(*IDLE, *locked), reading(*IDLE, *other, up=105)).locked == 0


def test_a_disk_counts_where_the_thread_did_not_move() -> None:
    disk, moved = waits(60, "read", state="D"), waits(60, "read", state="D", ticks=6)
    assert activity(reading(disk), reading(disk, up=105)).on_disk == 1
    assert activity(reading(disk), reading(moved, up=105)).on_disk == 0


def test_the_last_two_readings_are_compared_whatever_their_order() -> None:
    found = activity(reading(*IDLE, up=110), reading(*IDLE, up=100), reading(*IDLE, up=105))
    assert (found.readings, found.seconds) == (3, 5.0)
    assert thread_activity([]) is None


def test_a_frozen_control_group_stops_all_threads() -> None:
    trapped = [waits(number, waits_in="get_signal") for number in (29, 33)]
    assert activity(reading(*trapped), reading(*trapped, up=105)).stopped
    frozen = [waits(29, state="D"), waits(33, "epoll_wait", state="D")]
    assert activity(reading(*frozen), reading(*frozen, up=105)).stopped
    disk = [waits(29), waits(33, "read", state="D")]
    assert not activity(reading(*disk), reading(*disk, up=105)).stopped


def test_a_process_whose_every_thread_waits_for_a_futex_listens_to_none() -> None:
    blocked = [waits(29), waits(30)]
    assert activity(reading(*blocked), reading(*blocked, up=105)).locked == 2
    assert activity(reading(*IDLE), reading(*IDLE, up=105)).locked == 0
