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
"""Two sockets each; a process may have 20,000."""
CLIENTS = 1000
"""Hosts that share them."""
WITH_TCP_INFO, WITHOUT = 1.0, 1.5
"""Times of ss that we may take."""
BYTES_EACH = 1024


def figures() -> Iterator[Figure | str]:
    """Yield how long a look takes, with tcp_info and without, and the memory for each socket; or why not."""
    if os.geteuid():
        yield "live sockets: not measured, a private network namespace needs root"
        return
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < CONNECTIONS + 100:
        yield f"live sockets: not measured, a process may not have {CONNECTIONS:,} of them here (ulimit -Hn)"
        return
    command = ["unshare", "-n", sys.executable, __file__]
    told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    count = told["sockets"]
    if count < 2 * CONNECTIONS:
        raise AssertionError(f"{count} sockets of {2 * CONNECTIONS}")
    for options, goal in (("-Htani", WITH_TCP_INFO), ("-Htan", WITHOUT)):
        ours, theirs = told[options]
        yield Figure(what=f"{count:,} live sockets / ss {options} | wc -l", ours=ours, theirs=theirs, goal=goal)
    for what in ("traced", "resident"):
        yield Figure(
            what=f"memory of a live socket, {what} / 1 KiB",
            ours=told[what],
            theirs=BYTES_EACH,
            goal=1.0,
            unit="B",
            digits=0,
        )


def look(*, tcp_info: bool) -> SocketTable:
    """Take a look at the sockets of our own namespace, and read it as gathering does."""
    with BytesIO(dump(tcp_info=tcp_info)) as content:
        chunks = iter(partial(content.read, CHUNK), b"")
        (table,) = inet_diag.read(Document(path="here/sockets-1.inet_diag", source=(), raw=chunks))
    return table


def lines_of_ss(options: str) -> None:
    """Do what a person does."""
    subprocess.run(f"ss {options} | wc -l", shell=True, check=True, stdout=subprocess.DEVNULL)  # noqa: S602  our own words


def hold() -> None:
    """Keep connections open until standard input ends; our child does, so that their buffers are not our memory."""
    resource.setrlimit(resource.RLIMIT_NOFILE, [resource.getrlimit(resource.RLIMIT_NOFILE)[1]] * 2)
    kept = []
    with create_server(("0.0.0.0", 3890), backlog=64) as server:  # noqa: S104  nobody else is in this namespace
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
    """Return the most bytes that Python had while it took and kept a table."""
    work()
    tracemalloc.start()
    table = work()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most // len(table)


def resident() -> int:
    """Return by how many bytes a socket makes this process bigger at most; it must have been small so far."""
    before = peak_memory()
    table = look(tcp_info=True)
    return (peak_memory() - before) * 1024 // len(table)


def measure() -> dict[str, object]:
    """Measure all of it, here."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    told: dict[str, object] = {}
    look(tcp_info=True)  # so that what is imported and made once is there
    with subprocess.Popen(
        [sys.executable, __file__, "hold"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        holder.stdout.readline()
        told["resident"] = resident()
        told["traced"] = traced(partial(look, tcp_info=True))
        told["sockets"] = len(look(tcp_info=True))
        for options, tcp_info in (("-Htani", True), ("-Htan", False)):
            told[options] = best(partial(look, tcp_info=tcp_info), partial(lines_of_ss, options), repetitions=7)
    return told


if __name__ == "__main__":
    if sys.argv[1:] == ["hold"]:
        hold()
    else:
        print(json.dumps(measure()))
