"""A live socket table, from opening the netlink socket to the finished fact, against `ss` into a line count.

The sockets are in a private network namespace: this script starts itself there, as root. Run as a script it prints
what it measured, as JSON.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tracemalloc
from functools import partial
from io import BytesIO
from socket import create_connection, create_server
from typing import TYPE_CHECKING

from measure import Figure, best, peak_memory

from ldapdiag.evidence.document import Document
from ldapdiag.evidence.socket_formats import inet_diag
from ldapdiag.sources.live.local.netlink import dump
from ldapdiag.sources.recognition.reading import CHUNK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ldapdiag.evidence.sockets import SocketTable

CONNECTIONS = 11_000
"""Two sockets each; the usual limit of a process is 20,000 descriptors."""
CLIENTS = 1000
"""Addresses of clients."""
WITH_TCP_INFO, WITHOUT = 1.0, 1.5
"""Goals, as multiples of the time of ss."""
BYTES_EACH = 1024


def figures() -> Iterator[Figure | str]:
    """Yield the time of a snapshot, with tcp_info and without, and the memory per socket; or the reason why not."""
    if os.geteuid():
        yield "live sockets: not measured, a private network namespace needs root"
        return
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < CONNECTIONS + 100:
        yield f"live sockets: not measured, ulimit -Hn is below {CONNECTIONS + 100:,}"
        return
    command = ["unshare", "-n", sys.executable, __file__]
    measured = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    count = measured["sockets"]
    if count < 2 * CONNECTIONS:
        raise AssertionError(f"{count} sockets of {2 * CONNECTIONS}")
    for options, goal in (("-Htani", WITH_TCP_INFO), ("-Htan", WITHOUT)):
        ours, theirs = measured[options]
        yield Figure(what=f"{count:,} live sockets / ss {options} | wc -l", ours=ours, theirs=theirs, goal=goal)
    for what in ("traced", "resident"):
        yield Figure(
            what=f"memory of a live socket, {what} / 1 KiB",
            ours=measured[what],
            theirs=BYTES_EACH,
            goal=1.0,
            unit="B",
            digits=0,
        )


def snapshot(*, tcp_info: bool) -> SocketTable:
    """Take a snapshot of the sockets of our own namespace, and read it as gathering does."""
    with BytesIO(dump(tcp_info=tcp_info)) as content:
        chunks = iter(partial(content.read, CHUNK), b"")
        (table,) = inet_diag.read(Document(path="here/sockets-1.inet_diag", source=(), raw=chunks))
    return table


def lines_of_ss(options: str) -> None:
    """Count the sockets with ss, as an administrator does."""
    subprocess.run(f"ss {options} | wc -l", shell=True, check=True, stdout=subprocess.DEVNULL)  # noqa: S602  a fixed command


def hold() -> None:
    """Keep connections open until standard input ends; a child process does, so that their buffers are not counted."""
    resource.setrlimit(resource.RLIMIT_NOFILE, [resource.getrlimit(resource.RLIMIT_NOFILE)[1]] * 2)
    kept = []
    with create_server(("0.0.0.0", 3890), backlog=64) as server:  # noqa: S104  the namespace has no other process
        child = os.fork()
        for number in range(CONNECTIONS):
            if child:
                kept.append(server.accept()[0])
            else:
                host = number % CLIENTS
                source = (f"127.77.{host // 250}.{host % 250 + 1}", 0)
                kept.append(create_connection(("127.0.0.1", 3890), source_address=source))
        if child:
            sys.stdout.write("ready\n")
            sys.stdout.flush()
            sys.stdin.read()
        else:
            sys.stdin.read()
            os._exit(0)
        os.waitpid(child, 0)


def traced(work: Callable[[], SocketTable]) -> int:
    """Return the peak of the bytes per socket that Python allocates to take and keep a table."""
    work()
    tracemalloc.start()
    table = work()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most // len(table)


def resident() -> int:
    """Return by how many bytes per socket the peak memory of this process grows; to be called first."""
    before = peak_memory()
    table = snapshot(tcp_info=True)
    return (peak_memory() - before) * 1024 // len(table)


def measure() -> dict[str, object]:
    """Measure everything, in this process."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    measured: dict[str, object] = {}
    snapshot(tcp_info=True)  # imports and one-time initialisation
    with subprocess.Popen(
        [sys.executable, __file__, "hold"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        holder.stdout.readline()
        measured["resident"] = resident()
        measured["traced"] = traced(partial(snapshot, tcp_info=True))
        measured["sockets"] = len(snapshot(tcp_info=True))
        for options, tcp_info in (("-Htani", True), ("-Htan", False)):
            measured[options] = best(partial(snapshot, tcp_info=tcp_info), partial(lines_of_ss, options), repetitions=7)
    return measured


if __name__ == "__main__":
    if sys.argv[1:] == ["hold"]:
        hold()
    else:
        print(json.dumps(measure()))
