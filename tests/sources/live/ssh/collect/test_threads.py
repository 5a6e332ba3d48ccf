"""Samples of the threads of a process, as the script takes them of /proc/PID/task/*/syscall."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

from ldapdiag.sources.live.ssh.remote import script
from reading import facts_of

WAITS = "import time; time.sleep(600)"
LOOPS = "while True: pass"


def threads_of(program: str) -> str:
    """Return what the script prints of the threads of a Python program."""
    functions = script().rpartition("\nmain")[0]
    with subprocess.Popen([sys.executable, "-c", f"print(flush=True)\n{program}"], stdout=subprocess.PIPE) as ran:
        try:
            ran.stdout.readline()
            text = f"{functions}\nTIMEOUT=\nthreads_and_samples_of {ran.pid}\n"
            return subprocess.run(["sh"], input=text, capture_output=True, text=True, check=True).stdout
        finally:
            ran.kill()


@pytest.mark.skipif(platform.machine() not in {"x86_64", "aarch64"}, reason="its system calls have other numbers")
@pytest.mark.parametrize(("program", "call", "least"), [(WAITS, "clock_nanosleep", 40), (LOOPS, "running", 20)])
def test_what_a_thread_does_is_seen(program: str, call: str, least: int) -> None:
    """The syncs of a slow disk are in tests/live/test_commit_waits.py."""
    (read,) = facts_of(threads_of(program))
    assert read.samples.looks == 40
    assert dict(read.samples.seen)[call] >= least


def test_of_a_process_that_has_ended_there_are_none() -> None:
    functions = script().rpartition("\nmain")[0]
    text = f"{functions}\nTIMEOUT=\nsamples_of {os.getpid()}9\n"
    shown = subprocess.run(["sh"], input=text, capture_output=True, text=True, check=False)
    assert shown.stdout == ""
