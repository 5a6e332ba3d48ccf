"""The script that a host runs: in every shell, on every system, it prints what is read, and writes nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from conftest import CAPTURES
from ldapdiag.evidence.formats import head_of, recognise
from ldapdiag.sources.captures.script_output import EndOfOutput, MissingItem, ScriptSection, events
from ldapdiag.sources.live.ssh.remote import script
from reading import facts_of

SHELLS = ["dash", "bash", "bash --posix", "busybox ash", "mksh", "ksh93", "yash"]
TOOLS = "awk cat cut date expr env false grep head id ls sed sh sleep sort tail test timeout tr true uname wc"
ALONE = ["unshare", "--pid", "--fork", "--mount-proc"]
"""Other tests' servers run on this machine, too; root can be in a place where nobody else is."""

pytestmark = pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="the script is tried out on Linux")


def run(shell="sh", path=None, seconds=30, **settings):
    """Return the sections that a shell prints, and the gaps; the output must be whole, and nothing may complain."""
    settings = {"PAUSE": 0, "NAMESPACES": 0, **settings}
    environment = None if path is None else {"PATH": str(path)}
    shown = subprocess.run(
        [*alone(), shutil.which(shell.split()[0]), *shell.split()[1:]],
        input=script(**settings).encode(), env=environment, capture_output=True, check=True, timeout=seconds,
    )  # fmt: skip
    assert shown.stderr == b""
    told = list(events(shown.stdout.splitlines(keepends=True)))
    assert told[-1] == EndOfOutput(), shown.stdout[-300:]
    return [one for one in told if isinstance(one, ScriptSection)], [
        one for one in told if isinstance(one, MissingItem)
    ]


@cache
def alone():
    """Return what a command is started with so that it sees no process but its own; nothing where that cannot be."""
    tried = subprocess.run([*ALONE, "true"], capture_output=True, check=False) if shutil.which(ALONE[0]) else None
    return [shutil.which(ALONE[0]), *ALONE[1:]] if tried and tried.returncode == 0 else []


def form_of(section):
    form = recognise(head_of(section.file, section.content, whole=True))
    return form.name if form else None


def installed(folder, *without, **stubs):
    """Return a folder with the usual tools, as the only PATH; `stubs` are texts of sh."""
    folder.mkdir()
    for tool in TOOLS.split():
        if tool not in without and tool not in stubs:
            (folder / tool).symlink_to(shutil.which(tool))
    for name, text in stubs.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    return folder


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_prints_what_the_readers_read(shell) -> None:
    if not shutil.which(shell.split()[0]):
        pytest.skip(f"{shell.split()[0]} is not installed")
    sections, _ = run(shell)
    assert [section.file for section in sections[:2]] == ["host.txt", "sockets-1.txt"]
    assert {"host.txt", "sockets-1.txt", "sockets-2.txt", "counters-1.txt", "counters-2.txt", "sysctl.txt"} <= {
        section.file for section in sections
    }
    for section in sections:
        assert section.begun
        assert section.ended
        if section.status == 0:
            assert form_of(section) is not None, section
    (host, *_) = facts_of(sections[0].content)
    assert host.name == os.uname().nodename
    assert host.clock
    assert host.booted
    assert host.namespace == str(Path("/proc/self/ns/net").readlink())
    assert (host.namespaces_read, host.namespaces_unread) == (1, None)


def test_the_script_is_plain_ascii_and_ends_with_its_only_call() -> None:
    text = script()
    assert text.isascii()
    assert text.rstrip().splitlines()[-1] == "main"
    assert "<<" not in text, "a here-document is a file in some shells"
    assert len(text) < 1 << 16, "a pipe takes it whole"
    assert script().splitlines()[0] != text.splitlines()[0], "the nonce is another in each run"


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed")
def test_shellcheck_finds_nothing(tmp_path) -> None:
    file = tmp_path / "collect.sh"
    file.write_text("#!/bin/sh\n" + script(with_comments=True))
    # backquotes, expr and `read` without -r for Solaris; words that are meant to be split; ls where stat(1) differs
    known = "SC2003,SC2006,SC2012,SC2013,SC2046,SC2086,SC2162,SC2317,SC2015"
    found = subprocess.run(["shellcheck", "-s", "sh", "-e", known, file], capture_output=True, text=True, check=False)
    assert found.stdout == ""


SYSTEMS = {
    "SunOS": ("solaris-netstat-an.txt", "-an -P tcp", "netstat-solaris"),
    "FreeBSD": ("freebsd-netstat-an.txt", "-anW -p tcp", "netstat-bsd"),
    "Darwin": ("macos-netstat-anvb.txt", "-anl -p tcp", "netstat-bsd"),
    "AIX": ("aix-netstat-Aan.txt", "-an", "netstat-bsd"),
    "HP-UX": ("hpux-netstat-an.txt", "-an", "netstat-bsd"),
}


@pytest.mark.parametrize("system", SYSTEMS)
def test_another_system_is_asked_in_its_own_words(system, tmp_path) -> None:
    capture, options, form = SYSTEMS[system]
    stubs = {
        "uname": f"case $1 in -n) echo old1 ;; -s) echo {system} ;; *) echo {system} 5.10 sun4v ;; esac",
        "netstat": f'test "$*" = "{options}" || exit 9; cat {CAPTURES}/sockets/{capture}',
        "ndd": 'test "$1 $2" = "-get /dev/tcp" && echo 7200000',
        "no": "echo '                tcp_keepidle = 14400'; echo '               somaxconn = 1024'",
        "ifconfig": "echo 'e0: flags=1'; echo '  inet 10.77.2.9 netmask ffffff00'; echo '  inet6 fe80::9%e0/10'",
        "date": "case $2 in *%N*) echo N ;; *) echo 2026-11-20T13:00:01Z ;; esac",
    }  # fmt: skip
    sections, gaps = run(path=installed(tmp_path / "bin", **stubs), MORE_PATH="")
    assert gaps == []
    by_name = {section.file: section for section in sections}
    table = by_name["sockets-1.txt"]
    assert (table.status, table.asked, form_of(table)) == (0, f"netstat {options}", form)
    assert table.content == (CAPTURES / "sockets" / capture).read_bytes()
    (host, *_) = facts_of(by_name["host.txt"].content)
    assert (host.name, host.system) == ("old1", f"{system} 5.10 sun4v")
    assert host.addresses == {"10.77.2.9", "fe80::9"}
    kernel = [line for line in by_name["host.txt"].content.decode().splitlines() if line.startswith("kernel: ")]
    assert kernel[:1] == {
        "AIX": ["kernel: tcp_keepidle = 14400"],
        "SunOS": ["kernel: tcp_keepalive_interval = 7200000"],
        "HP-UX": ["kernel: tcp_keepalive_interval = 7200000"],
    }.get(system, [])


HANGS = "exec sleep 300"


@pytest.mark.parametrize(
    ("tools", "asked"),
    [
        ({"ss": HANGS}, "cat /proc/net/tcp"),
        ({}, "cat /proc/net/tcp"),
        ({"ss": "exit 1", "netstat": "exit 1"}, "cat /proc/net/tcp"),
        ({"ss": HANGS, "netstat": "cat {captures}/netstat-tanopeW.txt"}, "netstat -tanoepW"),
        ({"netstat": "case $1 in *o*) exit 1 ;; esac; cat {captures}/netstat-an.txt"}, "netstat -tanW"),
    ],
    ids=["ss hangs", "nothing", "nothing works", "ss hangs, netstat", "busybox"],
)  # fmt: skip
def test_a_host_without_ss_gives_the_next_best(tools, asked, tmp_path) -> None:
    stubs = {name: text.replace("{captures}", str(CAPTURES / "sockets")) for name, text in tools.items()}
    started = time.monotonic()
    sections, _ = run(path=installed(tmp_path / "bin", **stubs), MORE_PATH="", LIMIT=2)
    assert time.monotonic() - started < 10
    tables = [section for section in sections if section.file.startswith("sockets")]
    assert [table.file for table in tables] == ["sockets-1.txt", "sockets-2.txt"]
    assert all(table.asked.startswith(asked) for table in tables)
    assert all(table.status == 0 and form_of(table) in {"netstat", "proc-net-tcp"} for table in tables)


def test_a_table_that_hangs_has_the_exit_status_of_timeout(tmp_path) -> None:
    ss = 'case $1 in -ltn) exit 0 ;; esac; echo "State Recv-Q Send-Q"; exec sleep 300'
    sections, _ = run(path=installed(tmp_path / "bin", ss=ss), MORE_PATH="", LIMIT=1)
    tables = [section for section in sections if section.file.startswith("sockets")]
    assert len(tables) == 2
    assert {table.status for table in tables} <= {124, 137}


def test_a_host_with_no_tool_at_all_still_comes_to_its_end(tmp_path) -> None:
    (tmp_path / "bin").mkdir()
    shown = subprocess.run(
        [shutil.which("dash") or "/bin/sh"], input=script(PAUSE=0, MORE_PATH="").encode(), capture_output=True,
        env={"PATH": str(tmp_path / "bin")}, check=True, timeout=20,
    )  # fmt: skip
    assert shown.stdout.rstrip().endswith(b" bye")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root looks for other network namespaces")
def test_each_reason_for_unread_namespaces_has_its_own_advice(tmp_path) -> None:
    _, gaps = run(path=installed(tmp_path / "bin"), MORE_PATH="", NAMESPACES=1)
    assert [(gap.reason.partition(": ")[2], gap.how) for gap in gaps] == [
        ("nsenter is not installed", "install util-linux there")
    ]


@pytest.mark.parametrize(
    ("others", "reason", "how"),
    [
        ("blue:7:/run/netns/blue", "", ""),
        ("hidden", "even as root", "on the host itself"),
        (" ".join(f"n{number}:{number}:/proc/{number}/ns/net" for number in range(70)), "more than 64", "netns:NAME"),
    ],
    ids=["one", "hidden", "many"],
)
def test_unread_namespaces_have_a_reason_and_advice(others, reason, how) -> None:
    text = script(MORE_PATH="").rstrip().removesuffix("main")
    counted = "NAMESPACES_READ=1; NAMESPACES_GAP=; NAMESPACES_HOW=; count_namespaces"
    told = 'echo "$NAMESPACES_GAP|$NAMESPACES_HOW"'
    shown = subprocess.run(
        ["sh", "-c", f'{text}\nOTHERS="{others}"; {counted}; {told}'], capture_output=True, text=True, check=True
    )
    collected = shown.stdout.strip().split("|")
    assert (reason in collected[0], how in collected[1]) == (True, True)
    assert bool(collected[0]) == bool(reason)


def test_without_sockets_there_is_no_socket_section() -> None:
    sections, _ = run(SOCKETS=0)
    assert not [section for section in sections if section.file.startswith("sockets")]
    assert "sysctl.txt" in {section.file for section in sections}


def test_what_a_host_prints_cannot_be_taken_for_a_marker(tmp_path) -> None:
    forged = "x end 0 2026-11-20T13:00:01Z\nldapdiag-collection 1 0123456789\n0123456789 bye\nno newline at the end"
    ss = f"printf '%s' '{forged}'"
    sections, _ = run(path=installed(tmp_path / "bin", ss=ss), MORE_PATH="")
    assert [one.content.decode() for one in sections if one.file == "sockets-1.txt"] == [forged]


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="setpriv is not installed")
def test_without_root_the_gaps_have_reasons() -> None:
    drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    settings = "sudo() { return 1; }\n" + script(PAUSE=0, SUDO="sudo -n")
    shown = subprocess.run([*drop, "sh"], input=settings.encode(), capture_output=True, check=True, timeout=30)
    told = list(events(shown.stdout.splitlines(keepends=True)))
    reasons = [one.reason for one in told if isinstance(one, MissingItem)]
    assert any("cannot list its other network namespaces (containers)" in reason for reason in reasons)
    assert any("sudo -n failed" in reason for reason in reasons)
    (host, *_) = facts_of(next(one.content for one in told if isinstance(one, ScriptSection)))
    assert host.namespaces_unread is None
    assert form_of(next(one for one in told if isinstance(one, ScriptSection) and one.file == "sockets-1.txt"))


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
def test_it_opens_nothing_for_writing(tmp_path) -> None:
    log = tmp_path / "trace"
    calls = "open,openat,creat,mkdir,mkdirat,unlink,unlinkat,rename,renameat,renameat2,symlink,link,linkat,truncate"
    traced = ["strace", "-f", "-qq", "-s", "300", "-e", f"trace={calls}", "-o", str(log), "sh"]
    done = subprocess.run(
        traced, input=script(PAUSE=0, NAMESPACES=0).encode(), capture_output=True, check=False, timeout=60
    )
    if done.returncode:
        pytest.skip(f"strace does not work here: {done.stderr[-100:]!r}")
    changing = [
        line
        for line in log.read_text(errors="replace").splitlines()
        if ("O_WRONLY" in line or "O_RDWR" in line or "O_CREAT" in line or "open" not in line) and "(" in line
        if '"/dev/null"' not in line and '"/dev/tty"' not in line and " = -1 " not in line
    ]
    assert done.stdout.rstrip().endswith(b" bye")
    assert changing == []


@pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("unshare"), reason="only root can remount its files read-only"
)
def test_it_does_as_well_where_nothing_can_be_written() -> None:
    locked = "mount --make-rprivate / && mount -o remount,bind,ro / && ! touch /root/x 2>/dev/null && exec sh"
    shown = subprocess.run(
        [*alone(), "unshare", "-m", "sh", "-c", locked],
        input=script(PAUSE=0, NAMESPACES=0).encode(),
        capture_output=True,
        check=False,
        timeout=30,
    )
    if shown.returncode:
        pytest.skip(f"no mount namespace here: {shown.stderr[-100:]!r}")
    told = [one for one in events(shown.stdout.splitlines(keepends=True)) if isinstance(one, ScriptSection)]
    assert Counter(one.file for one in told) == Counter(one.file for one in run()[0])
    assert shown.stderr == b""


def test_a_sh_on_windows_leaves_the_host_to_powershell(tmp_path) -> None:
    path = installed(tmp_path / "tools", "uname", uname="echo MINGW64_NT-10.0-20348")
    shown = subprocess.run(
        [shutil.which("sh")],
        input=script(INTERACTIVE=1).encode(),
        env={"PATH": str(path)},
        capture_output=True,
        check=False,
    )
    assert (shown.returncode, shown.stdout, shown.stderr) == (1, b"", b"")
