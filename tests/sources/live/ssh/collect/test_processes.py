"""The processes that the collection script lists: this machine's own, without arguments, and hostile names."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ldapdiag.sources.captures.script_output import ScriptSection, events
from ldapdiag.sources.live.ssh.remote import script
from reading import facts_of

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the script is tried out on Linux")

HOSTILE = "import ctypes, sys; ctypes.CDLL(None).prctl(15, b'a) S 1\\n-> x'); print(flush=True); sys.stdin.read()"


def listed(path=None):
    environment = None if path is None else {"PATH": str(path)}
    shown = subprocess.run(
        ["/bin/sh"], input=script(PAUSE=0, NAMESPACES=0).encode(), env=environment, capture_output=True, check=True
    )
    sections = [one for one in events(shown.stdout.splitlines(keepends=True)) if isinstance(one, ScriptSection)]
    (section,) = (one for one in sections if one.file == "processes.txt")
    return section.content


def test_processes_are_listed_with_their_ages_and_without_arguments() -> None:
    begun = time.time()
    with subprocess.Popen(
        [sys.executable, "-c", HOSTILE, "secret-word"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout
        child.stdout.readline()
        content = listed()
        took = time.time() - begun
        assert child.stdin
        child.stdin.close()
    (table,) = facts_of(content)
    assert table.origin.not_understood == 0
    assert b"secret-word" not in content
    hostile, this = table.process(child.pid), table.process(os.getpid())
    assert hostile.program == "a--S-1---x"
    assert hostile.age_seconds <= took + 2 < this.age_seconds + took + 2
    assert this.namespace in {str(Path("/proc/self/ns/net").readlink()), ""}


def test_the_own_commands_of_the_script_are_left_out() -> None:
    (table,) = facts_of(listed())
    assert not {"awk", "cat", "ls", "timeout"} & {one.program for one in table.processes if one.age_seconds == 0}


SERVER = """
import ctypes, socket, sys
ctypes.CDLL(None).prctl(15, b"slapd")
four = socket.create_server(("127.0.0.1", 0))
six = socket.create_server(("::1", 0), family=socket.AF_INET6)
print(four.getsockname()[1], six.getsockname()[1], flush=True)
sys.stdin.read()
"""


def test_a_server_is_listed_with_its_listeners_and_its_configuration() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, "-f", "/run/second/slapd.conf", "-w", "secret-word"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as child:  # fmt: skip
        assert child.stdout
        four, six = map(int, child.stdout.readline().split())
        (table,) = facts_of(listed())
        assert child.stdin
        child.stdin.close()
    assert table.origin.not_understood == 0
    own = [(one.address, one.port) for one in table.listeners if one.pid == child.pid]
    assert sorted(own) == [("127.0.0.1", four), ("::1", six)]
    assert (child.pid, "/run/second/slapd.conf") in table.configurations


def test_a_server_that_has_ended_is_none() -> None:
    program = "import ctypes, os; ctypes.CDLL(None).prctl(15, b'slapd'); print(flush=True); os._exit(0)"
    order = script(PAUSE=0, NAMESPACES=0).encode()
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as child:
        assert child.stdout
        child.stdout.read()
        shown = subprocess.run(["/bin/sh"], input=order, capture_output=True, check=True)
    read = [one for one in events(shown.stdout.splitlines(keepends=True)) if isinstance(one, ScriptSection)]
    assert not [one.asked for one in read if f"/proc/{child.pid}/" in one.asked]
