"""Ctrl-C, as a terminal sends it: the run ends soon, tells what it had, and leaves nothing behind anywhere."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from contextlib import contextmanager

import pytest

from lab import boxes, ssh
from lab.applications import Application
from lab.host import wait_for
from lab.topology import Topology

STUCK = '#!/bin/sh\n[ "$1" = -ltn ] || exec sleep 86400\n'
"""An ss that is there and works, and hangs when it is asked for the whole table."""

BOX_SECONDS = 2
DEAD = 6
INTERRUPTED = 130
SOON = 6.0
"""Seconds; stopping takes less than one where the machine is idle."""


class Run:
    """A run of ldapdiag at the desk whose stderr is a terminal, so that it tells what it is doing."""

    def __init__(self, desk, *arguments: str) -> None:
        self.shown = b""
        self.terminal, theirs = os.openpty()
        try:
            self.process = desk.host.start(
                desk.command(*arguments),
                env=desk.environment | {"TERM": "xterm"},
                stdout=subprocess.PIPE,
                stderr=theirs,
            )
        finally:
            os.close(theirs)

    def shows(self, text: bytes) -> None:
        """Wait until it says so."""
        deadline = time.monotonic() + 30
        while text not in self.shown:
            assert time.monotonic() < deadline, self.shown
            if select.select([self.terminal], [], [], 1)[0]:
                try:
                    self.shown += os.read(self.terminal, 4096)
                except OSError:  # Linux: the other end of the terminal is closed
                    raise AssertionError(self.shown) from None

    def interrupt(self) -> None:
        os.kill(self.process.inner, signal.SIGINT)

    def ended(self) -> tuple[int, bytes]:
        """Wait until it has ended, and return its exit code and its output; it must be soon."""
        out, _ = self.process.communicate(timeout=SOON)
        return self.process.returncode, out


@pytest.fixture(scope="module")
def site(laboratory):
    """Return a network where app1 has dead connections to the server, app2 hangs, and app3's ss does."""
    with Topology(apps=3, without={"app3": ["ss"]}) as running:
        laboratory.slapd(running.ldap)
        boxes.silent_drop(running.fw, BOX_SECONDS)
        settings = {"count": DEAD, "rest": BOX_SECONDS + 1, "live": 2}
        Application(running.app1, "leaking", address=running.address("ldap"), **settings).ready()
        wait_for(lambda: not running.app1.ends("FIN-WAIT-1"), "the client does not give its dead ones up")
        ssh.hang(running.app2)
        running.hosts["app3"].run("cat > /usr/bin/ss; chmod 755 /usr/bin/ss", stdin=STUCK)
        yield running


@pytest.fixture(scope="module")
def sitting(site, desk_of):
    return desk_of(site, "ldap", "app1", "app3")


@pytest.fixture
def running(sitting, site):
    """Return what starts a run; after it no host may have a process more than before."""

    @contextmanager
    def started(*arguments: str):
        before = {name: commands(host) for name, host in site.hosts.items()}
        run = Run(sitting, *arguments)
        try:
            yield run
        finally:
            run.process.end()
            os.close(run.terminal)
        for name, host in site.hosts.items():
            wait_for(lambda host=host, name=name: not commands(host) - before[name], f"{name} has more processes")

    return started


def commands(host) -> set[tuple[int, str]]:
    """Return the processes of a host, but for the ones that ask."""
    rows = [line.split(None, 1) for line in host.run(["ps", "-eo", "pid=,args="]).splitlines()]
    return {(int(pid), args) for pid, args in rows if not args.startswith("ps -eo")}


def test_between_two_looks_it_tells_what_it_had(running) -> None:
    """One look at each end proves them dead only if the client's came first; else it tells how many lack."""
    with running("diagnose", "ssh://ldap", "ssh://app1", "--apart", "600", "--format", "json") as run:
        run.shows(b"second snapshot in")
        run.interrupt()
        code, out = run.ended()
    report = json.loads(out)
    assert code == INTERRUPTED
    gap = {"target": "this run", "reason": "was interrupted", "how": "run it again for the missing evidence"}
    assert gap in report["gaps"]
    assert {one["name"] for one in report["hosts"]} == {"ldap", "app1"}
    (seen,) = [one for one in report["verdicts"] if one["check"] == "ghost-connections"]
    if seen["outcome"] == "finding":
        (ghosts,) = [one for one in report["findings"] if one["check"] == "ghost-connections"]
        assert ghosts["observed"]["ghosts"] == DEAD
    else:
        assert seen["outcome"] == "not-judged"
        assert seen["reason"].startswith(f"{DEAD} of ")


def test_a_host_that_hangs_does_not_hold_it_up(running) -> None:
    with running("diagnose", "ssh://ldap", "ssh://app2", "--timeout", "600", "--format", "json") as run:
        run.shows(b"ssh://ldap")
        run.interrupt()
        code, out = run.ended()
    report = json.loads(out)
    assert code == INTERRUPTED
    assert [one["name"] for one in report["hosts"]] == ["ldap"]
    assert {gap["target"] for gap in report["gaps"]} == {"ssh://app2", "this run"}


def test_a_command_that_hangs_on_a_host_ends_there_too(running, site) -> None:
    with running("diagnose", "ssh://ldap", "ssh://app3", "--format", "json") as run:
        wait_for(lambda: any(args == "sleep 86400" for _, args in commands(site.hosts["app3"])), "ss is not asked")
        run.shows(b"ssh://ldap")
        run.interrupt()
        code, out = run.ended()
    assert code == INTERRUPTED
    assert "interrupted before the collection was complete" in {gap["reason"] for gap in json.loads(out)["gaps"]}


def test_before_anybody_has_answered_there_is_no_report(running, site) -> None:
    with running("diagnose", "ssh://app2", "--timeout", "600") as run:
        wait_for(lambda: site.desk.ends("ESTAB", port=22), "ssh has not come to app2")
        run.interrupt()
        run.shows(b"was interrupted")
        code, out = run.ended()
    assert (code, out) == (INTERRUPTED, b"")


def names(folder) -> list[str]:
    return [one.name for one in folder.iterdir()]


class TestCapture:
    def test_what_was_had_is_saved(self, running, sitting, tmp_path) -> None:
        capture = tmp_path / "capture.tar.zst"
        with running("collect", "ssh://ldap", "ssh://app1", "--apart", "600", "--output", str(capture)) as run:
            run.shows(b"second snapshot in")
            run.interrupt()
            code, _ = run.ended()
        assert code == INTERRUPTED
        assert names(tmp_path) == [capture.name]
        said = sitting.diagnose(str(capture))
        assert {one["name"] for one in said.report["hosts"]} == {"ldap", "app1"}
        assert said.gaps["this run"] == "was interrupted"

    def test_where_nothing_was_had_nothing_is_written(self, running, site, tmp_path) -> None:
        with running("collect", "ssh://app2", "--timeout", "600", "--output", str(tmp_path / "capture")) as run:
            wait_for(lambda: site.desk.ends("ESTAB", port=22), "ssh has not come to app2")
            run.interrupt()
            code, _ = run.ended()
        assert code == INTERRUPTED
        assert names(tmp_path) == []

    @pytest.mark.parametrize("shape", ["capture", "capture.tar.gz"])
    def test_a_second_time_ends_it_at_once_and_leaves_nothing_half_written(
        self, running, sitting, tmp_path, shape
    ) -> None:
        capture = tmp_path / shape
        with running("collect", "ssh://ldap", "ssh://app1", "--apart", "600", "--output", str(capture)) as run:
            run.shows(b"second snapshot in")
            run.interrupt()
            run.shows(b"Ctrl-C again")
            run.interrupt()
            code, _ = run.ended()
        assert code == INTERRUPTED
        if names(tmp_path):  # it was through with writing already
            assert names(tmp_path) == [shape]
            said = sitting.diagnose(str(capture))
            assert {one["name"] for one in said.report["hosts"]} == {"ldap", "app1"}
            assert not any("is damaged" in reason or "not in it" in reason for reason in said.gaps.values())

    def test_a_second_time_while_a_host_hangs_writes_nothing(self, running, tmp_path) -> None:
        capture = tmp_path / "capture"
        with running("collect", "ssh://ldap", "ssh://app3", "--output", str(capture)) as run:
            run.shows(b"ssh://ldap")
            run.interrupt()
            run.shows(b"Ctrl-C again")
            run.interrupt()
            code, _ = run.ended()
        assert (code, names(tmp_path)) == (INTERRUPTED, [])
