"""A host of the laboratory: namespaces that look like a machine with its own processes, network, name, files and boot.

Every command runs as root in it. What it writes below /etc, /var and /run is the host's alone and gone with it; /tmp
and the programs are everybody's.
"""

from __future__ import annotations

import ctypes
import os
import select
import shlex
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

T = TypeVar("T")

End = tuple[str, int]  # address and port
PATIENCE = 120.0
INIT = Path(__file__).with_name("init.py")
SPACES = ("--net", "--pid", "--mount", "--uts", "--time")

# A boot_id of its own, for two machines never share one; layers of tmpfs, so that /etc and /var can be written to.
BOOT = """
set -e
hostname {name}
mount -t tmpfs -o mode=755 none /run
mount -t tmpfs -o mode=1777 none /dev/shm
mkdir -p /run/netns /run/lock /run/sshd /run/layers /run/bin
for place in {layers}; do
    mkdir -p /run/layers$place/upper /run/layers$place/work
    mount -t overlay none -o lowerdir=$place,upperdir=/run/layers$place/upper,workdir=/run/layers$place/work $place
done
for tool in {without}; do rm -f /usr/bin/$tool /usr/sbin/$tool; done
cat /proc/sys/kernel/random/uuid > /run/boot_id
mount --bind /run/boot_id /proc/sys/kernel/random/boot_id
echo {name} > /etc/hostname
[ -z "$(command -v ip)" ] || ip link set lo up
exec {python} -I -S {init}
"""


class Host:
    """A running host. It ends with `stop`, with the `with` block, and whenever the process that made it ends."""

    def __init__(self, name: str, *, uptime_seconds: int | None = None, without: Sequence[str] = ()) -> None:
        """Boot it and wait until it is up.

        `uptime_seconds` is how long ago it claims to have booted (by default: as long ago as this machine).
        `without` names the tools of /usr/bin and /usr/sbin that are not installed there; then both can be written to,
        so that another program may take a tool's place.
        """
        self.name, self.without = name, tuple(without)
        self.started: list[Process] = []
        layers = ["/etc", "/var", *(["/usr/bin", "/usr/sbin"] if without else [])]
        boot = BOOT.format(
            name=shlex.quote(name),
            layers=" ".join(layers),
            without=shlex.join(without),
            python=sys.executable,
            init=INIT,
        )
        shift = 0 if uptime_seconds is None else uptime_seconds - int(_uptime())
        unshare = ["unshare", *SPACES, "--fork", "--kill-child", "--mount-proc", "--boottime", str(shift)]
        self.process = subprocess.Popen(
            [*unshare, "sh", "-c", boot], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip
        try:
            assert _line(self.process) == b"up\n", f"{name} does not boot: {self.process.stderr.read().decode()}"
        except BaseException:
            self.stop()
            raise
        self.pid = _only_child(self.process.pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"Host({self.name!r})"

    def enter(
        self, argv: Sequence[str | Path], *, env: Mapping[str, str] | None = None, cwd: str | Path = "/"
    ) -> list[str]:
        """Return the command line that runs this command in the host; `env` adds to the environment.

        What lies in the host's /run/bin goes before this machine's tools.
        """
        settings = [
            f"{name}={value}" for name, value in ({"PATH": f"/run/bin:{os.environ['PATH']}"} | dict(env or {})).items()
        ]
        return ["nsenter", "-t", str(self.pid), *SPACES, "env", "-C", str(cwd), *settings, *map(str, argv)]

    def run(
        self, argv: str | Sequence[str | Path], *, stdin: str | None = None, env: Mapping[str, str] | None = None
    ) -> str:
        """Run a command, or a text for sh, and return what it printed; its failure is an AssertionError."""
        done = self.attempt(argv, stdin=stdin, env=env)
        assert done.returncode == 0, f"{self.name}: {argv}\nexit {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def attempt(
        self, argv: str | Sequence[str | Path], *, stdin: str | None = None, env: Mapping[str, str] | None = None,
        seconds: float = PATIENCE,
    ) -> subprocess.CompletedProcess[str]:  # fmt: skip
        """Run a command, or a text for sh, that may fail; it has `seconds` to end."""
        command = ["sh", "-e", "-c", argv] if isinstance(argv, str) else argv
        given = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
        return subprocess.run(
            self.enter(command, env=env), capture_output=True, text=True, check=False, timeout=seconds, **given
        )

    def start(
        self, argv: Sequence[str | Path], *, env: Mapping[str, str] | None = None, log: Path | None = None, **pipes: int
    ) -> Process:
        """Start a command in the background; it ends with the host at the latest. `log` takes both its outputs."""
        with (log or Path(os.devnull)).open("ab") as written:
            silent = {"stdin": subprocess.DEVNULL, "stdout": written, "stderr": written}
            process = Process(self.enter(argv, env=env), start_new_session=True, **(silent | pipes))
        self.started.append(process)
        return process

    def inside(self, act: Callable[[], T]) -> T:
        """Call a function in a thread that is in the host's network: sockets it makes stay there."""
        results: list[T] = []
        errors: list[BaseException] = []

        def enter() -> None:  # setns moves only the thread that calls it
            try:
                with Path(f"/proc/{self.pid}/ns/net").open() as space:
                    assert ctypes.CDLL(None, use_errno=True).setns(space.fileno(), 0) == 0
                results.append(act())
            except BaseException as error:  # noqa: BLE001  it is raised again in the thread that asked
                errors.append(error)

        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
        if errors:
            raise errors[0]
        return results[0]

    def sysctl(self, **settings: int) -> None:
        """Set the kernel's settings of this host's network; a double underscore stands for a dot."""
        for name, value in settings.items():
            self.run(["sysctl", "-qw", f"{name.replace('__', '.')}={value}"])

    def sockets(self, port: int = 389, *, namespace: str = "") -> list[list[str]]:
        """Return `ss`'s rows of TCP sockets with this port at either end: state, queues, local, peer."""
        entered = ["nsenter", "-t", str(self.pid), "--net", *namespace.split()]
        shown = subprocess.run(
            [*entered, "ss", "-Htan", f"( sport = :{port} or dport = :{port} )"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return [line.split() for line in shown.stdout.splitlines()]

    def ends(self, *states: str, port: int = 389) -> set[End]:
        """Return the clients' ends of its sockets in these states (ESTAB) with this port at the server's end.

        At a client it is the socket's own end, at a server the peer's.
        """
        both = [
            (_end(local), _end(peer))
            for state, _, _, local, peer, *_ in self.sockets(port)
            if state in (states or ("ESTAB",))
        ]
        return {theirs if ours[1] == port else ours for ours, theirs in both}

    def stop(self) -> None:
        """End the host and every process in it, as a power cut does; its kernel still says goodbye to its peers."""
        if self.process.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(_only_child(self.process.pid), signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(5)
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()
        for process in self.started:
            process.end()


class Process(subprocess.Popen):
    """A command in a host. What `nsenter` became is its child there, and signals go to that one."""

    @property
    def inner(self) -> int:
        """The command's process number as this machine sees it, once it runs."""
        return wait_for(lambda: _children(self.pid), f"{self.args} does not start")[0]

    def end(self, number: signal.Signals = signal.SIGTERM, seconds: float = 20) -> int:
        """Send it a signal, wait, kill it if it will not go, and return how it ended."""
        for child in _children(self.pid) if self.poll() is None else ():
            with suppress(ProcessLookupError):
                os.kill(child, number)
        try:
            self.wait(seconds)
        except subprocess.TimeoutExpired:
            for child in _children(self.pid):
                os.kill(child, signal.SIGKILL)
            self.kill()
        for pipe in (self.stdin, self.stdout, self.stderr):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()
        return self.wait()


def wait_for(ask: Callable[[], T], otherwise: str, *, seconds: float = PATIENCE) -> T:
    """Ask every few milliseconds until the answer is true, and return it; `otherwise` tells what never came."""
    deadline = time.monotonic() + seconds
    while not (answer := ask()):
        assert time.monotonic() < deadline, f"{otherwise} within {seconds} s"
        time.sleep(0.01)
    return answer


def _end(shown: str) -> End:
    address, _, port = shown.rpartition(":")
    return address.strip("[]").removeprefix("::ffff:"), int(port) if port.isdigit() else 0


def _line(process: subprocess.Popen[bytes]) -> bytes:
    ready = select.select([process.stdout], [], [], PATIENCE)[0]
    return process.stdout.readline() if ready else b""


def _children(pid: int) -> list[int]:
    """Return the children of a process, whichever of its threads has started them."""
    found = []
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += [int(child) for child in thread.read_text().split()]
    return found


def _only_child(pid: int) -> int:
    children = _children(pid)
    if not children:
        raise ProcessLookupError(pid)
    return children[0]


def _uptime() -> float:
    return float(Path("/proc/uptime").read_text().split()[0])
