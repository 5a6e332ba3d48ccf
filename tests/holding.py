"""Sockets in every state, kept open by a process in its own network namespace until the test ends."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lab.laboratory import need

if TYPE_CHECKING:
    from collections.abc import Iterator

HOLD = r"""
import pathlib, socket, subprocess, sys
pathlib.Path("/proc/self/comm").write_text(sys.argv[1])
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
kept = []
def listen(family, address, port, backlog=16):
    one = socket.socket(family, socket.SOCK_STREAM)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    one.bind((address, port))
    one.listen(backlog)
    kept.append(one)
    return one
def pair(server, family, address, port):
    client = socket.socket(family, socket.SOCK_STREAM)
    client.connect((address, port))
    kept.extend([client, server.accept()[0]])
    return kept[-2:]
both = listen(socket.AF_INET6, "::", 3890)
one = listen(socket.AF_INET, "127.0.0.1", 6360)
full = listen(socket.AF_INET, "127.0.0.1", 6361, 0)
folder = sys.argv[2]
if folder:
    local = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    local.bind(folder + "/ldapi")
    local.listen()
    kept.append(local)
mapped, _ = pair(both, socket.AF_INET, "127.0.0.1", 3890)
mapped.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
pair(both, socket.AF_INET6, "::1", 3890)
client, server = pair(one, socket.AF_INET, "127.0.0.1", 6360)
client.sendall(b"x" * 4000)  # nobody reads it
server.sendall(b"y" * 300)
client.recv(300)
client, server = pair(one, socket.AF_INET, "127.0.0.1", 6360)
client.shutdown(socket.SHUT_WR)  # FIN-WAIT-2, CLOSE-WAIT
client, server = pair(one, socket.AF_INET, "127.0.0.1", 6360)
client.close()
server.recv(1)
server.close()  # TIME-WAIT
client, server = pair(one, socket.AF_INET, "127.0.0.1", 6360)
client.setblocking(False)
try:
    while True:
        client.send(b"z" * 65536)  # until the window is closed: a timer of probes
except BlockingIOError:
    pass
for _ in range(4):  # more than the queue holds: SYN-SENT
    client = socket.socket()
    client.setblocking(False)
    client.connect_ex(("127.0.0.1", 6361))
    kept.append(client)
print("ready", flush=True)
sys.stdin.read()
"""


@contextmanager
def sockets_held(program: str = "held sockets", *arguments: str, folder: str = "") -> Iterator[int]:
    """Yield the process that holds them; `folder` is where it listens at ldapi, too."""
    need("ip", "nsenter", "ss", "unshare")
    command = ["unshare", "-n", sys.executable, "-c", HOLD, program, folder, *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout
        assert holder.stdin
        try:
            assert holder.stdout.readline() == "ready\n"
            yield holder.pid
        finally:
            holder.stdin.close()
