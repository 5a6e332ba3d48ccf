"""Logs of several servers of one site, in the grammar of 389-ds, made with a known balance and known differences.

The truth is what the caller asks for: the connections of each server, which one lacks an index, which is silent when.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BASE = "dc=example,dc=com"
QUICK, SLOW = 0.0006, 0.09
"""Seconds of a search with an index, and without."""
HOURS = 4


@dataclass(frozen=True, kw_only=True)
class LoggedServer:
    """One server: its connections, evenly over the hours, each with a BIND-free search of both kinds."""

    name: str
    connections: int
    lacks_index: bool = False
    silent: tuple[float, float] | None = None
    """Hours from, to: nothing is logged."""
    clients: tuple[str, ...] = ("10.0.0.1", "10.0.0.2", "10.0.0.3")
    version: str = "389-Directory/2.3.1 B2022.349.0000"

    def write(self, folder: Path) -> None:
        """Write its log."""
        place = folder / self.name
        place.mkdir(parents=True)
        (place / "access").write_text("".join(f"{line}\n" for line in self.lines()))

    def lines(self) -> Iterator[str]:
        """Yield the lines of its log."""
        yield f"\t{self.version}"
        yield f"\t{self.name}.example.com:389 (/etc/dirsrv/slapd-{self.name})"
        yield ""
        for number in range(1, self.connections + 1):
            second = (number - 1) * HOURS * 3600 / max(1, self.connections - 1)
            if self.silent and self.silent[0] <= second / 3600 < self.silent[1]:
                continue
            at = stamp(second)
            client = self.clients[number % len(self.clients)]
            yield f"{at} conn={number} fd=64 slot=64 connection from {client} to 10.0.9.9"
            etime, notes = (SLOW, " notes=A") if self.lacks_index else (QUICK, "")
            yield from search(at, number, 1, f"(uid=u{number % 50})", QUICK, "")
            yield from search(at, number, 2, f"(employeeNumber={number % 50})", etime, notes)
            yield f"{at} conn={number} op=3 UNBIND"
            yield f"{at} conn={number} op=3 fd=64 Disconnect - Cleanly Closed Connection - U1"


def search(at: str, number: int, op: int, text: str, etime: float, notes: str) -> Iterator[str]:
    """Yield a search and its result."""
    yield f'{at} conn={number} op={op} SRCH base="{BASE}" scope=2 filter="{text}" attrs=ALL'
    yield (
        f"{at} conn={number} op={op} RESULT err=0 tag=101 nentries=1 wtime=0.000100000 optime={etime:.9f} "
        f"etime={etime + 0.0001:.9f}{notes}"
    )


def stamp(second: float) -> str:
    """Return a time stamp so many seconds after midnight."""
    whole = int(second)
    nanoseconds = int((second - whole) * 1e9)
    return f"[21/Sep/2026:{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}.{nanoseconds:09} +0000]"
