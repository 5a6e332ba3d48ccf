"""What an experiment with `ldapdiag top` needs: its laboratory, whether a screen shows what is old, processor time."""

from __future__ import annotations

import os
import re
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from lab.applications import Application
from lab.desk import Desk
from lab.directory_servers import account
from lab.laboratory import Laboratory
from lab.multiplexer import Multiplexer
from lab.topology import Topology

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lab.host import Host

OLD_AFTER = {"counters": 2 * 2.0 + 1.5, "list": 2 * 10.0 + 1.5, "sockets": 2 * 10.0 + 1.5, "diagnosis": 2 * 10.0 + 1.5}
"""Seconds after which an answer is old, with --interval 2 and --every 10."""
DRAWN = 4.0
"""Seconds that a busy machine may be late with the screen."""
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Watched:
    """A laboratory with a desk."""

    laboratory: Laboratory
    topology: Topology
    desk: Desk

    def start(self, host: Host, mode: str, *, name: str = "xyz", **settings: object) -> Application:
        """Start an application."""
        return Application(host, mode, address="10.77.1.2", name=account(f"application_{name}"), **settings)

    def top(self, administrator: str, *arguments: str, size: tuple[int, int] = (110, 24), name: str) -> Multiplexer:
        """Run top at the desk."""
        bind = ("-D", administrator, *self.desk.bind[2:])
        environment = self.desk.environment | {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
        command = self.desk.command("top", *arguments, *bind)
        return Multiplexer(self.topology.desk, command, env=environment, name=name, size=size)


@contextmanager
def watched(apps: int) -> Iterator[Watched]:
    """Yield a laboratory, which ends with the block."""
    with tempfile.TemporaryDirectory() as folder, Topology(apps=apps) as topology:
        laboratory, password = Laboratory(Path(folder)), Path(folder) / "password"
        password.write_text("password")
        for host in topology.hosts.values():
            laboratory.keys.serve(host)
        yield Watched(laboratory, topology, Desk(topology.desk, laboratory.keys.configuration(topology), password))


def lies(text: str, now: datetime) -> list[str]:
    """Return what a screen shows as of now that is older."""
    found = []
    if clock := re.search(r"(\d\d):(\d\d):(\d\d) UTC", text):
        shown = now.replace(hour=int(clock[1]), minute=int(clock[2]), second=int(clock[3]))
        behind = min((now - shown) % timedelta(days=1), (shown - now) % timedelta(days=1)).total_seconds()
        if behind > DRAWN:
            found.append(f"the screen is of {behind:.0f} s ago")
    for source, seconds in OLD_AFTER.items():
        ages = [int(age) for age in re.findall(rf"{source} (\d+) s ago(?!, every)", text)]
        found += [f"{source} of {age} s ago is not marked as old" for age in ages if age > seconds + DRAWN]
    return found


def honest(screen: Multiplexer, seconds: float) -> list[str]:
    """Look at a screen each second for so long, and return what it showed as of now that was old."""
    found, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        found += lies("\n".join(screen.lines), datetime.now(UTC))
        time.sleep(1)
    return found


def processor_seconds(*processes: int) -> float:
    """Return the processor time of processes, of the system in their name, too."""
    fields = [Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split() for one in processes]
    return sum(int(one[11]) + int(one[12]) for one in fields) / TICKS


def resident_megabytes(*processes: int) -> float:
    """Return the memory of processes."""
    texts = [Path(f"/proc/{one}/status").read_text() for one in processes]
    return sum(int(text.partition("VmRSS:")[2].split()[0]) for text in texts if "VmRSS:" in text) / 1024
