"""Script sessions: over the real ssh, with hosts that hang, refuse, forge or go silent, within the time limit."""

from __future__ import annotations

import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import examples
from lab.host import wait_for
from ldapdiag.evidence.bundle import Gap
from ldapdiag.evidence.formats import head_of, recognise
from ldapdiag.evidence.sockets import SocketTable
from ldapdiag.sources.budget import Budget
from ldapdiag.sources.files.input import Input
from ldapdiag.sources.live.ssh.child import refusal
from ldapdiag.sources.live.ssh.remote import HostClock, ScriptSession, ssh_command
from ldapdiag.sources.recognition.reading import with_facts

ON_LINUX = pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="this host's own sh is asked, on Linux")


def session(argv, **settings):
    return ScriptSession(
        argv=argv, target="ssh://app1", folder="app1", **{"timeout_seconds": 20, "namespaces": False, **settings}
    )


def sorted_out(answers):
    answers = list(answers)
    return [one for one in answers if isinstance(one, Input)], [one for one in answers if isinstance(one, Gap)]


def names(pieces):
    return [piece.path.rpartition("/")[2] for piece in pieces]


def content(piece):
    with piece.open() as stream:
        return stream.read()


def host(tmp_path, *lines):
    """Return the command of a host of our own making, in Python: `say` prints, `hear` reads an order."""
    program = tmp_path / "host.py"
    program.write_text(
        "import sys, time, os\n"
        "hear = lambda: sys.stdin.readline().strip()\n"
        "nonce = hear().partition('=')[2].strip(\"'\")\n"
        "say = lambda *words: print(*words, flush=True)\n"
        "now = '2026-11-20T13:00:01Z'\n"
        "def section(file, text, status=0, folder='.', asked='what was run'):\n"
        "    say(nonce, 'begin', folder, file, now, asked)\n"
        "    sys.stdout.write(text)\n"
        "    say(nonce, 'end', status, now)\n"
        "def script():\n"
        "    while hear() != 'main': pass\n"
        "first = lambda: say('ldapdiag-collection 1', nonce)\n"
        "waiting = lambda: say(nonce, 'waiting')\n" + "\n".join(lines) + "\n"
    )
    return [sys.executable, "-I", "-S", str(program)]


DONE = ["waiting()", "hear()", "waiting()"]
"""What ends the first order, and answers the one for the rest with nothing."""

WHOLE = ["script()", "first()", "section('host.txt', 'ldapdiag-host 1\\nname: a\\n')", "waiting()"]


class TestCommand:
    def test_it_never_prompts_and_uses_the_ssh_of_the_user(self, monkeypatch) -> None:
        monkeypatch.delenv("LDAPDIAG_SSH", raising=False)
        command = ssh_command("admin", "[2001:db8::1]", 2222, 10)
        assert command[0] == "ssh"
        assert {"BatchMode=yes", "ConnectTimeout=10"} <= set(command)
        assert command[-7:] == ["-p", "2222", "-l", "admin", "--", "2001:db8::1", "sh"]
        monkeypatch.setenv("LDAPDIAG_SSH", "tsh ssh --proxy 'a b'")
        assert ssh_command(None, "app1", None, 0)[:5] == ["tsh", "ssh", "--proxy", "a b", "-T"]
        assert "ConnectTimeout=1" in ssh_command(None, "app1", None, 0)

    @pytest.mark.parametrize(
        ("output", "reason"),
        [
            (
                "admin@app1: Permission denied (publickey).",
                "permission denied (admin@app1: Permission denied (publickey).)",
            ),
            ("ssh: connect to host a port 22: Connection refused", "connection refused"),
            ("ssh: Could not resolve hostname nope: Name or service not known", "cannot resolve its host name"),
            ("Host key verification failed.", "unknown or changed host key"),
            ("ssh: connect to host a port 22: Connection timed out", "no answer to the connection"),
            ("bash: line 1: sh: command not found", "no sh for this user"),
            ("This account is currently not available.", "the command ended without an answer"),
            ("", "the command ended without an answer (exit status 255)"),
        ],
    )
    def test_a_refusal_becomes_a_sentence(self, output: str, reason: str) -> None:
        shown, how = refusal(f"Welcome!\n{output}\n".encode() if output else b"", 255)
        assert shown.startswith(reason)
        assert how


@ON_LINUX
class TestThisHost:
    def test_every_input_is_recognised_and_timed_by_the_local_clock(self) -> None:
        with session(["sh"]) as here:
            before = datetime.now(UTC)
            pieces, _ = sorted_out(here.collect())
            between = datetime.now(UTC)
            again, gaps = sorted_out(here.snapshot())
            after = datetime.now(UTC)
        assert names(pieces)[:2] == ["host.txt", "sockets-1.txt"]
        assert "sysctl.txt" in names(pieces)
        others = ("conntrack-", "threads-")  # of this machine's firewall, and of servers that other tests run on it
        assert [name for name in names(again) if not name.startswith(others)] == ["sockets-2.txt", "counters-2.txt"]
        assert not [gap for gap in gaps if "/task/" not in gap.reason]  # one of those threads may have ended
        for piece in [*pieces, *again]:
            if ", of process " in piece.asked:
                continue  # a server of another test, whose configuration may be half written
            assert recognise(head_of(piece.path.rpartition("/")[2], content(piece), whole=True)), piece
            assert piece.folder == "app1"
            assert piece.asked.endswith(" on app1")
        assert all(before <= piece.taken.start <= piece.taken.end <= between for piece in pieces)
        assert all(between <= piece.taken.start <= piece.taken.end <= after for piece in again)
        table = next(fact for fact in with_facts(pieces[1]).facts if isinstance(fact, SocketTable))
        assert table.origin.taken == pieces[1].taken

    def test_tables_are_read_again_and_again_and_over_another_session_after_the_end(self) -> None:
        with session(["sh"]) as here:
            for end in (False, False, True, False):
                pieces, gaps = sorted_out(here.tables())
                read = {name.split("-")[0] for name in names(pieces)}
                assert read - {"conntrack"} == {"host.txt", "sockets"}
                assert not gaps
                assert here._count <= len(pieces)  # limits are those of one answer
                if end:
                    here.close()

    def test_the_clock_of_one_machine_is_its_own(self) -> None:
        with session(["sh"]) as here:
            list(here.collect())
            offset = here.clock_offset
        assert offset is not None
        assert abs(offset.seconds) <= offset.uncertainty_seconds + 0.01
        assert offset.uncertainty_seconds < 2

    def test_without_sockets_there_is_no_socket_table(self) -> None:
        with session(["sh"], sockets=False) as here:
            pieces, _ = sorted_out(here.collect())
        assert not [name for name in names(pieces) if name.startswith("sockets")]

    def test_nothing_is_left_of_it(self) -> None:
        with session(["sh"]) as here:
            list(here.collect())
            number = here._child._process.pid
            assert Path(f"/proc/{number}").exists()
        assert not Path(f"/proc/{number}").exists()
        assert list(here.snapshot()) == []
        here.close()


class TestFailures:
    def test_a_command_that_does_not_exist(self) -> None:
        pieces, (gap,) = sorted_out(session(["/nowhere/ssh"]).collect())
        assert (pieces, gap.target) == ([], "ssh://app1")
        assert gap.reason == "cannot run /nowhere/ssh: no such file or directory"

    def test_a_refusal_names_a_command_to_try(self, tmp_path) -> None:
        fake = tmp_path / "ssh"
        fake.write_text("#!/bin/sh\necho 'a@app1: Permission denied (publickey).' >&2\nexit 255\n")
        fake.chmod(0o755)
        (gap,) = session([str(fake)], test_command="ssh -o BatchMode=yes app1 true").collect()
        assert gap.reason.startswith("permission denied (")
        assert gap.how.endswith("; try: ssh -o BatchMode=yes app1 true")

    def test_a_silent_host_ends_at_the_time_limit(self) -> None:
        started = time.monotonic()
        with session(["sleep", "300"], timeout_seconds=0.5) as silent:
            (gap,) = silent.collect()
            assert list(silent.snapshot()) == []
        assert gap.reason == "no answer in 0.5 s to the connection"
        assert time.monotonic() - started < 2

    def test_one_that_will_not_end_is_killed_with_all_it_started(self, tmp_path) -> None:
        pids = tmp_path / "pids"
        stubborn = f"trap '' TERM HUP PIPE; sleep 300 & echo $! $$ >{pids}; while :; do sleep 1; done"
        with session(["sh", "-c", stubborn], timeout_seconds=0.5) as silent:
            list(silent.collect())
        for pid in pids.read_text().split():
            wait_for(lambda pid=pid: gone(pid), f"{pid} is still there")

    @ON_LINUX
    def test_on_a_host_nothing_runs_on_after_the_time_limit(self, tmp_path) -> None:
        """No signal of ours reaches it there, as it is in another session; and it has no timeout(1)."""
        pids = tmp_path / "pids"
        for name, text in {"timeout": "exit 1", "ss": f"echo $$ >>{pids}; exec sleep 300"}.items():
            (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
            (tmp_path / name).chmod(0o755)
        sshd = f"exec 3<&0; PATH={tmp_path}:$PATH setsid sh <&3 & wait"
        with session(["sh", "-c", sshd], timeout_seconds=3) as remote:
            list(remote.collect())
        for pid in pids.read_text().split():
            wait_for(lambda pid=pid: gone(pid), f"{pid} is still there")

    def test_ctrl_c_ends_it_at_once(self) -> None:
        stop = threading.Event()
        with session(["sleep", "300"], stop=stop) as silent:
            timer = threading.Timer(0.2, stop.set)
            timer.start()
            started = time.monotonic()
            (gap,) = silent.collect()
        timer.join()
        assert gap.reason == "interrupted before the collection was complete"
        assert time.monotonic() - started < 2

    def test_the_sections_before_a_break_are_kept(self, tmp_path) -> None:
        argv = host(
            tmp_path,
            *WHOLE,
            "hear()",
            "section('sockets-1.txt', 'a table\\n')",
            "say(nonce, 'begin . x.txt', now, 'y')",
            "print('half', file=sys.stderr)",
        )
        with session(argv) as broken:
            pieces, (gap,) = sorted_out(broken.collect())
        assert names(pieces) == ["host.txt", "sockets-1.txt"]
        assert gap.reason == "the connection ended during the collection: half"


def gone(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


class TestWhatAHostMaySay:
    def test_a_banner_before_the_first_line_is_passed_over(self, tmp_path) -> None:
        argv = host(
            tmp_path,
            "say('Welcome\\nldapdiag-collection 1 0123456789\\n0123456789 waiting')",
            *WHOLE,
            "hear()",
            *DONE,
        )
        with session(argv) as polite:
            pieces, gaps = sorted_out(polite.collect())
        assert (names(pieces), gaps) == (["host.txt"], [])

    def test_a_failed_command_is_a_gap_and_no_table(self, tmp_path) -> None:
        argv = host(
            tmp_path,
            *WHOLE,
            "hear()",
            "section('sockets-1.txt', 'State\\n', 124)",
            "section('x.txt', 'x\\n', 1, 'ns:blue')",
            *DONE,
        )
        with session(argv) as failing:
            pieces, gaps = sorted_out(failing.collect())
        assert names(pieces) == ["host.txt"]
        assert [(gap.target, gap.reason) for gap in gaps] == [
            ("ssh://app1", "`what was run` did not finish in time"),
            ("ssh://app1 (namespace blue)", "`what was run` failed (exit 1)"),
        ]

    def test_a_slapd_without_a_monitor_database_is_a_gap_that_names_it(self, tmp_path) -> None:
        asked = "ldapsearch -Y EXTERNAL -b cn=Monitor"
        argv = host(tmp_path, *WHOLE, "hear()", f"section('x.ldif', '', 32, asked={asked!r})", *DONE)
        with session(argv) as failing:
            _, (gap,) = sorted_out(failing.collect())
        assert gap.reason == f"`{asked}` found no such entry"
        assert "monitor database" in gap.how

    def test_other_namespaces_have_folders_of_their_own(self, tmp_path) -> None:
        argv = host(tmp_path, *WHOLE, "hear()", "section('sockets-1.txt', 'x', folder='ns:blue')", *DONE)
        with session(argv) as several:
            pieces, _ = sorted_out(several.collect())
        assert [(piece.path, content(piece)) for piece in pieces[1:]] == [("app1-blue/sockets-1.txt", b"x")]

    def test_its_gaps_come_with_their_advice(self, tmp_path) -> None:
        argv = host(
            tmp_path,
            *WHOLE,
            "hear()",
            "say(nonce, 'gap . it is so | do this')",
            "say(nonce, 'gap . no advice')",
            *DONE,
        )
        with session(argv) as lacking:
            _, gaps = sorted_out(lacking.collect())
        assert [(gap.reason, gap.how) for gap in gaps] == [("it is so", "do this"), ("no advice", None)]

    def test_a_slow_answer_is_late_and_not_lost(self, tmp_path) -> None:
        argv = host(
            tmp_path, *WHOLE,
            "hear(); section('sockets-1.txt', 'one'); waiting()",
            "hear(); time.sleep(1.5); section('sysctl.txt', 'slow'); waiting()",
            "hear(); section('sockets-2.txt', 'two'); waiting()",
        )  # fmt: skip
        with session(argv, timeout_seconds=1) as slow:
            pieces, (gap,) = sorted_out(slow.collect())
            again, gaps = sorted_out(slow.snapshot())
        assert names(pieces) == ["host.txt", "sockets-1.txt"]
        assert gap.reason in {"no answer in 1 s", "not all was collected in 1 s"}, "by how late it started"
        assert (names(again), gaps) == (["sysctl.txt", "sockets-2.txt"], [])
        late, second = again
        assert late.taken.end - late.taken.start >= timedelta(seconds=1.2), (
            "it was asked for when the first order was given"
        )
        assert second.taken.start > late.taken.start

    def test_a_host_that_sends_and_is_not_ready_needs_a_longer_limit(self, tmp_path) -> None:
        """Ten servers on a busy host, for example: nothing hangs there."""
        argv = host(
            tmp_path, "script()", "first()",
            "while True: section('sysctl.txt', 'slow'); time.sleep(0.1)",
        )  # fmt: skip
        with session(argv, timeout_seconds=2) as slow:
            *_, gap = slow.collect()
        assert (gap.reason, gap.how) == ("not all was collected in 2 s", "raise --timeout")

    def test_noise_without_end_fills_no_memory_and_takes_no_longer(self, tmp_path) -> None:
        argv = host(tmp_path, "script()", "data = 'x' * 65536", "while True: sys.stdout.write(data)")
        started = time.monotonic()
        with session(argv, timeout_seconds=1) as noisy:
            (gap,) = noisy.collect()
            assert len(noisy._banner) + len(noisy._line) < 1 << 20
        assert gap.reason == "no answer in 1 s to the connection"
        assert time.monotonic() - started < 4

    @pytest.mark.parametrize(
        "stream",
        examples.some(
            [
                pytest.param("sys.stdout.write('x' * 60 + '\\n')", id="lines"),
                pytest.param("section('f', 'x')", id="sections"),
                pytest.param("sys.stdout.write(nonce + ' gap . no room | do this\\n')", id="gaps"),
                pytest.param(
                    "sys.stdout.write(nonce + ' begin . f ' + now + '\\n' + 'x' * 60 + '\\n')", id="unfinished"
                ),
                pytest.param("sys.stdout.write('x'); sys.stdout.flush(); time.sleep(0.02)", id="bytes"),
                pytest.param("sys.stderr.write('x' * 60)", id="errors"),
            ],
            3,
        ),
    )
    def test_a_stream_without_end_ends_at_the_time_limit(self, tmp_path, monkeypatch, stream) -> None:
        """The limit holds for each order, whatever arrives in time; what is kept of it is limited, too."""
        monkeypatch.setattr("ldapdiag.sources.live.ssh.remote.MAX_ITEMS", 20)
        started = time.monotonic()
        with session(host(tmp_path, "script()", "first()", f"while True: {stream}"), timeout_seconds=1) as endless:
            answers = [*endless.collect(), *endless.snapshot()]
        reasons = {one.reason for one in answers if isinstance(one, Gap)}
        assert reasons & {"no answer in 1 s", "not all was collected in 1 s"}
        assert len(answers) <= 23
        assert time.monotonic() - started < 30

    def test_more_sections_than_the_limit_are_a_gap(self, tmp_path, monkeypatch) -> None:
        monkeypatch.setattr("ldapdiag.sources.live.ssh.remote.MAX_ITEMS", 3)
        argv = host(tmp_path, *WHOLE, "hear()", "for number in range(9): section(f'f{number}', 'x')", *DONE)
        with session(argv) as many:
            pieces, (gap,) = sorted_out(many.collect())
        assert names(pieces) == ["host.txt", "f0", "f1"]
        assert gap.reason == "the host sent more than 3 files and remarks; the others are not used"

    def test_what_all_hosts_say_together_is_bounded(self, tmp_path) -> None:
        argv = host(tmp_path, *WHOLE, "hear()", "section('sockets-1.txt', 'x' * 3000)", *DONE)
        budget = Budget(4000)
        with session(argv, budget=budget) as one, session(argv, budget=budget) as other:
            assert sorted_out(one.collect())[1] == []
            pieces, (gap,) = sorted_out(other.collect())
        assert names(pieces) == ["host.txt"]
        assert gap.reason == "the output of `what was run` exceeds the limit of 1 GiB per run"
        assert "--print-script" in gap.how

    def test_a_marker_after_a_very_long_line_is_seen(self, tmp_path) -> None:
        argv = host(tmp_path, *WHOLE, "hear()", "section('long.txt', 'x' * 300_000)", *DONE)
        with session(argv) as long:
            pieces, gaps = sorted_out(long.collect())
        assert ([len(content(piece)) for piece in pieces[1:]], gaps) == ([300_000], [])


def test_a_clock_is_narrowed_by_each_moment_and_begins_anew_when_it_is_set() -> None:
    clock, noon = HostClock(), datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
    assert clock.offset is None
    for tenth in range(10):  # a clock that is 5.25 s ahead, told in whole seconds, asked for at ten moments of a second
        asked = noon + timedelta(seconds=tenth / 10)
        told = (asked + timedelta(seconds=5.25)).replace(microsecond=0)
        clock.add(told, asked, asked + timedelta(milliseconds=10))
    assert clock.offset is not None
    assert abs(clock.offset.seconds - 5.25) <= clock.offset.uncertainty_seconds <= 0.1
    clock.add(noon, noon, noon)
    assert clock.offset.seconds == 0.5
