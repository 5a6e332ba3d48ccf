"""A room for real servers: namespaces of our own, so that port 389, the kernel's settings and /etc are ours alone."""

from __future__ import annotations

import ctypes
import os
import pty
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

PASSWORD = "password"  # noqa: S105  of servers that live for one test run
PROMPT = b"Enter LDAP Password: "
PATIENCE = 60.0

SYSTEMCTL = """#!/bin/sh
# Stands in for systemd: a restart ends the server, and starts it under the limit its drop-in names.
[ "$1" = restart ] || exit 0
kill "$(cat {pid_file})"; while kill -0 "$(cat {pid_file})" 2>/dev/null; do sleep 0.1; done
limit=$(cat /etc/systemd/system/{unit}.d/*.conf 2>/dev/null | sed -n s/LimitNOFILE=//p)
[ -z "$limit" ] || ulimit -n "$limit"
rm -f {pid_file}
setsid {start} < /dev/null > /dev/null 2>&1
for i in $(seq 100); do [ -s {pid_file} ] && ss -Hltn | grep -q ':389 ' && exit 0; sleep 0.1; done
exit 1
"""


class Room:
    """Network and mount namespaces, entered by commands and by sockets."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tools = folder / "bin"
        self.opened: list[socket.socket] = []
        self.tools.mkdir()
        self.process = subprocess.Popen(["unshare", "-n", "-m", "sleep", "900"])
        while Path(f"/proc/{self.process.pid}/comm").read_text().strip() != "sleep":  # unshare becomes it when done
            time.sleep(0.01)
        self.run("ip link set lo up")
        for place in ("/etc/systemd/system", "/etc/sysctl.d", "/run/slapd"):
            Path(place).mkdir(parents=True, exist_ok=True)
            self.run(f"mount -t tmpfs none {place}")

    def command(self, text: str) -> list[str]:
        enter = ["nsenter", "-t", str(self.process.pid), "-n", "-m"]
        return [*enter, "env", f"PATH={self.tools}:{os.environ['PATH']}", "LANG=C", "sh", "-e", "-c", text]

    def run(self, text: str) -> str:
        """Run a command that asks nothing."""
        done = subprocess.run(self.command(text), capture_output=True, text=True, check=False, timeout=PATIENCE)
        assert done.returncode == 0, f"{text}\n{done.stdout}{done.stderr}"
        return done.stdout

    def paste(self, text: str) -> str:
        """Paste a text into a terminal, typing the password wherever it is asked for."""
        child, terminal = pty.fork()
        if child == 0:
            os.execvp("nsenter", self.command(text))  # noqa: S606  the text is meant for a shell
        shown, answered, deadline = b"", 0, time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if not select.select([terminal], [], [], 1)[0]:
                continue
            try:
                chunk = os.read(terminal, 4096)
            except OSError:  # Linux: the other end of the terminal is closed
                break
            shown += chunk
            while shown.count(PROMPT) > answered:
                answered += 1
                os.write(terminal, f"{PASSWORD}\n".encode())
        else:
            os.kill(child, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.close(terminal)
        assert status == 0, f"{text}\n{shown.decode()}"
        return shown.decode().replace("\r\n", "\n")

    def connect(self, name: str = "", port: int = 389) -> socket.socket:
        """Open a connection from inside the room and bind."""
        namespace = f"/proc/{self.process.pid}/ns/net"
        before = len(self.opened)

        def enter() -> None:  # in a thread of its own, for setns moves the thread that calls it
            with Path(namespace).open() as file:
                assert ctypes.CDLL(None, use_errno=True).setns(file.fileno(), 0) == 0
            self.opened.append(socket.create_connection(("127.0.0.1", port), timeout=5))

        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
        assert len(self.opened) > before, "nobody listens in the room"
        connection = self.opened[-1]
        connection.sendall(bind_request(name, PASSWORD if name else ""))
        assert connection.recv(100)[7:10] == b"\x0a\x01\x00", f"bind as {name!r} was refused"
        return connection

    def hang_up(self) -> None:
        """Close what `connect` opened."""
        while self.opened:
            self.opened.pop().close()

    def server(self, unit: str, pid_file: Path, start: str) -> None:
        """Make `systemctl restart` start this server."""
        stand_in = self.tools / "systemctl"
        stand_in.write_text(SYSTEMCTL.format(unit=unit, pid_file=pid_file, start=start))
        stand_in.chmod(0o755)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def bind_request(name: str, password: str) -> bytes:
    """Return a simple bind, RFC 4511 section 4.2; the names here are short."""

    def element(tag: int, content: bytes) -> bytes:
        assert len(content) < 128
        return bytes([tag, len(content)]) + content

    request = element(2, b"\x03") + element(4, name.encode()) + element(0x80, password.encode())
    return element(0x30, element(2, b"\x01") + element(0x60, request))


def stop(pid_file: Path) -> None:
    """End the server that wrote this file, and only that one."""
    if not pid_file.exists():
        return
    process = Path("/proc") / pid_file.read_text().strip()
    if not process.exists() or (process / "comm").read_text().strip() not in ("ns-slapd", "slapd"):
        return
    os.kill(int(process.name), signal.SIGTERM)
    for _ in range(200):
        if not process.exists():
            return
        time.sleep(0.05)
    os.kill(int(process.name), signal.SIGKILL)


@contextmanager
def a_room() -> Iterator[Room]:
    """Make a room, or skip with the reason."""
    missing = [
        tool for tool in ("unshare", "nsenter", "ip", "ss", "sysctl", "ldapmodify") if shutil.which(tool) is None
    ]
    if os.geteuid() != 0 or missing:
        pytest.skip(f"needs root and {', '.join(missing) or 'namespaces'}")
    if subprocess.run(["unshare", "-n", "-m", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this machine lets nobody make namespaces")
    folder = Path(tempfile.mkdtemp(prefix="ldapdiag-room-"))
    folder.chmod(0o755)  # ns-slapd reads its configuration as a user of its own
    room = Room(folder)
    try:
        yield room
    finally:
        room.close()
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def room():
    with a_room() as empty:
        yield empty


@pytest.fixture(autouse=True)
def _hang_up(request):
    """Close what a test opened, before the server that it asked ends."""
    yield
    for name in ("ds389", "slapd", "room"):
        if name in request.fixturenames:
            request.getfixturevalue(name).hang_up()


DEFAULTS_INF = Path("/usr/share/dirsrv/inf/defaults.inf")
MOVED = ("/etc/dirsrv/slapd", "/etc/tmpfiles.d", "/run/", "/var/")


@pytest.fixture(scope="module")
def ds389():
    """Make and start an instance below one folder (lib389 honours PREFIX), in a room of its own."""
    if shutil.which("ns-slapd") is None or shutil.which("dscreate") is None:
        pytest.skip("389 Directory Server is not installed")
    with a_room() as room, started_389(room):
        yield room


@contextmanager
def started_389(room: Room) -> Iterator[None]:
    prefix = room.folder / "ds389"
    for part in ("share/dirsrv/inf", "etc/dirsrv", "etc/default", "etc/tmpfiles.d", "var/log/dirsrv", "var/lib/dirsrv",
                 "run/dirsrv", "run/lock/dirsrv", "tmp"):  # fmt: skip
        (prefix / part).mkdir(parents=True)
    lines = DEFAULTS_INF.read_text().replace("with_systemd = 1", "with_systemd = 0")
    for place in MOVED:
        lines = lines.replace(f"= {place}", f"= {prefix}{place}")
    lines = lines.replace("= /dev/shm/", f"= {prefix}/run/shm-")
    moved = {"initconfig_dir": prefix / "etc/default", "tmp_dir": prefix / "tmp"}
    (prefix / "share/dirsrv/inf/defaults.inf").write_text(
        "".join(
            f"{line.split(' = ')[0]} = {moved[line.split(' = ')[0]]}\n" if line.split(" = ")[0] in moved else line
            for line in lines.splitlines(keepends=True)
        )
    )
    subprocess.run(
        ["chown", "-R", "dirsrv:dirsrv", *(prefix / part for part in ("run", "var", "etc", "tmp"))], check=True
    )
    (prefix / "live.inf").write_text(
        "[general]\nconfig_version = 2\nfull_machine_name = localhost\nstrict_host_checking = False\nsystemd = False\n"
        f"start = True\n[slapd]\ninstance_name = live\nport = 389\nsecure_port = 636\nroot_password = {PASSWORD}\n"
        "self_sign_cert = False\n[backend-userroot]\nsuffix = dc=example,dc=com\ncreate_suffix_entry = True\n"
    )
    pid_file = prefix / "run/dirsrv/slapd-live.pid"
    try:
        room.run(f"PREFIX={prefix} dscreate from-file {prefix}/live.inf")
        room.server("dirsrv@.service", pid_file, f"ns-slapd -D {prefix}/etc/dirsrv/slapd-live -i {pid_file}")
        yield
    finally:
        stop(pid_file)


SLAPD_CONF = """
include /etc/ldap/schema/core.schema
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile {folder}/pid
database config
access to * by dn.exact=gidNumber=0+uidNumber=0,cn=peercred,cn=external,cn=auth manage by * none
database mdb
suffix dc=example,dc=com
rootdn cn=admin,dc=example,dc=com
rootpw {password}
directory {folder}/db
database monitor
access to * by * read
"""


@pytest.fixture(scope="module")
def slapd():
    """Start a slapd with cn=config in a room of its own, reachable where its tools look by default."""
    if shutil.which("slapd") is None or not Path("/etc/ldap/schema/core.schema").exists():
        pytest.skip("slapd is not installed, or not where Debian puts it")
    with a_room() as room, started_slapd(room):
        yield room


@contextmanager
def started_slapd(room: Room) -> Iterator[None]:
    folder = room.folder / "slapd"
    (folder / "db").mkdir(parents=True)
    (folder / "slapd.d").mkdir()
    (folder / "slapd.conf").write_text(SLAPD_CONF.format(folder=folder, password=PASSWORD))
    room.run(f"slapadd -q -f {folder}/slapd.conf < /dev/null")  # makes the database, without which slaptest fails
    room.run(f"slaptest -f {folder}/slapd.conf -F {folder}/slapd.d")
    start = f"slapd -F {folder}/slapd.d -h 'ldap:/// ldapi:///'"
    try:
        room.run(start)
        for _ in range(100):
            if (folder / "pid").exists():
                break
            time.sleep(0.05)
        room.server("slapd.service", folder / "pid", start)
        yield
    finally:
        stop(folder / "pid")
