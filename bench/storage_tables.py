"""The tables of docs/storage.md: what older papers measured under a directory server's disk, measured again.

    make storage-tables         as root: some six minutes, no more than ten; writes the tables into docs/storage.md

File systems are made on loop devices in a mount namespace of their own; a disk whose flush takes milliseconds is
simulated (tests/lab/slow_disk.c). Every cell is the median of three runs, with the extremes.
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import monotonic
from typing import TYPE_CHECKING

from lab.host import Host
from lab.slow_disk import compile_slow_disk
from lab.volumes import FileSystem, Volume, mount, mount_slow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

PAGE = Path(__file__).parent.parent / "docs" / "storage.md"
WORK = Path(__file__).with_name("storage_work.py")
FOLDER = "/srv/volume"
RUNS = 3
COMMITTERS = (1, 10, 20, 40, 80)
JOURNALS = {
    "ext4, data=journal": FileSystem("ext4", options="data=journal"),
    "ext4, data=ordered (default)": FileSystem("ext4"),
    "ext4, data=writeback": FileSystem("ext4", options="data=writeback"),
    "ext4 without journal": FileSystem("ext4", make="-O ^has_journal"),
    "XFS": FileSystem("xfs"),
    "btrfs": FileSystem("btrfs"),
}
FOLDERS = {
    "ext3": FileSystem("ext3"),
    "ext4, ^dir_index": FileSystem("ext4", make="-O ^dir_index"),
    "ext4": FileSystem("ext4"),
    "XFS": FileSystem("xfs"),
    "btrfs": FileSystem("btrfs"),
}
WRITERS = {
    "ext3": FileSystem("ext3"),
    "ext4": FileSystem("ext4"),
    "ext4, nodelalloc": FileSystem("ext4", options="nodelalloc"),
    "XFS": FileSystem("xfs"),
    "btrfs": FileSystem("btrfs"),
}
ACCESS_TIMES = ("strictatime", "relatime", "noatime", "strictatime,lazytime")
SCHEDULERS = ("none", "mq-deadline", "kyber", "bfq")
DELAYS = (0, 2, 5, 20)
NAMES, READS, SMALL, LARGE = 15_000, 5_000, 2_000, 32

Row = list[str]


class Place:
    """A host with the program of the slow disk; makes volumes, one at a time."""

    def __init__(self, host: Host, program: Path) -> None:
        self.host, self.program = host, program

    @contextmanager
    def volume(self, made: FileSystem, *, flush: float | None = None, write: float = 0) -> Iterator[Volume]:
        """Yield a fresh volume in memory, or on a disk with these milliseconds."""
        if flush is None:
            volume = mount(self.host, made, FOLDER, megabytes=768)
        else:
            volume = mount_slow(
                self.host, self.program, made, FOLDER, flush_milliseconds=flush, write_milliseconds=write
            )
        try:
            yield volume
        finally:
            volume.unmount()
            if volume.disk:
                volume.disk.stop()
            self.host.run(["rm", "-f", volume.image])

    def work(self, name: str, *numbers: int) -> dict[str, float]:
        """Return the numbers of one piece of work on the volume."""
        return json.loads(self.host.run([sys.executable, "-I", WORK, name, FOLDER, *map(str, numbers)]))

    def written(self, volume: Volume) -> float:
        """Return the MiB that the volume's device was sent so far: iostats.rst of the kernel."""
        return int(self.host.run(["cat", f"/sys/block/{volume.device}/stat"]).split()[6]) / 2048


def cell(values: Sequence[float]) -> str:
    """Return the median of several runs with the extremes: `44 (32-46)`."""
    middle, least, most = (_shown(one) for one in (median(values), min(values), max(values)))
    return middle if least == most else f"{middle} ({least}-{most})"


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.3g}"


def runs(measure: Callable[[], dict[str, float]]) -> dict[str, str]:
    """Return a cell for each number of a measurement."""
    rows = [measure() for _ in range(RUNS)]
    return {name: cell([row[name] for row in rows]) for name in rows[0]}


def journal_modes(place: Place) -> Iterator[Row]:
    """Yield what each journal mode costs where a sync takes 5 ms."""
    large = f"{LARGE} MiB with fsync, MiB/s"
    yield ["file system", "4 KiB appended with fdatasync, /s", large, "small files, /s", "MiB sent for both"]
    for name, made in JOURNALS.items():
        yield [name, *runs(partial(_journal_mode, place, made)).values()]


def _journal_mode(place: Place, made: FileSystem) -> dict[str, float]:
    with place.volume(made, flush=5) as volume:
        appended = place.work("appends")
        before = place.written(volume)
        rest = place.work("large_file", LARGE) | place.work("small_files", SMALL)
        return appended | rest | {"sent": place.written(volume) - before}


def barriers(place: Place) -> Iterator[Row]:
    """Yield commits per second by committers, with and without write cache and barriers."""
    yield ["disk", "barriers", *(f"{number}" for number in COMMITTERS)]
    for cache, flush, write in (("cache off, a write takes 8 ms", 0, 8), ("cache on, a flush takes 8 ms", 8, 0)):
        for barrier in (1, 0):
            cells = []
            for number in COMMITTERS:
                with place.volume(FileSystem("ext4", options=f"barrier={barrier}"), flush=flush, write=write):
                    cells.append(runs(partial(place.work, "commits", number))["commits"])
            yield [cache, "on" if barrier else "off", *cells]


def many_files(place: Place) -> Iterator[Row]:
    """Yield the seconds for many names in one folder."""
    yield ["file system", f"create {NAMES:,} files, s", "look one up, µs", "unlink all, s"]
    for name, made in FOLDERS.items():
        yield [name, *runs(partial(_names, place, made)).values()]


def _names(place: Place, made: FileSystem) -> dict[str, float]:
    with place.volume(made) as volume:
        created = place.work("names", NAMES)
        volume.unmount()
        place.host.run(["mount", "-o", "loop", volume.image, FOLDER])
        return created | place.work("look_up", NAMES)


def fragmentation(place: Place) -> Iterator[Row]:
    """Yield the extents of files that were written at the same time."""
    yield ["file system", "append 8 KiB and fsync", "append without sync", "preallocated by 1 MiB, with fsync"]
    for name, made in WRITERS.items():
        yield [name, *(runs(partial(_fragments, place, made, how))["extents"] for how in range(3))]


def _fragments(place: Place, made: FileSystem, how: int) -> dict[str, float]:
    with place.volume(made):
        return place.work("fragments", how)


def access_times(place: Place) -> Iterator[Row]:
    """Yield reads per second of files in the page cache, and what reading them writes."""
    yield ["file system", "option", "reads /s, third pass", *(f"MiB written, pass {number}" for number in (1, 2, 3))]
    for title, name in (("ext4", "ext4"), ("XFS", "xfs")):
        for option in ACCESS_TIMES:
            made = FileSystem(name, options=option)
            yield [title, f"`{option}`", *runs(partial(_reads, place, made)).values()]


def _reads(place: Place, made: FileSystem) -> dict[str, float]:
    with place.volume(made) as volume:
        place.work("prepare_reads", READS)
        written, rate = [place.written(volume)], {}
        for _ in range(3):
            rate = place.work("reads", READS)
            written.append(place.written(volume))
    return rate | {f"pass {number}": after - before for number, (before, after) in enumerate(pairwise(written), 1)}


def commit_delay(place: Place) -> Iterator[Row]:
    """Yield commits per second where the one that syncs waits for others first."""
    yield ["the leader waits", "1 committer", "10 committers", "40 committers"]
    for delay in DELAYS:
        with place.volume(FileSystem("ext4"), flush=8):
            cells = [runs(partial(place.work, "commits", number, delay))["commits"] for number in (1, 10, 40)]
        yield [f"{delay} ms", *cells]


def schedulers(place: Place) -> Iterator[Row]:
    """Yield the time of a commit beside a neighbour that writes large files, by I/O scheduler."""
    yield ["scheduler", "p50, ms", "p90, ms"]
    for scheduler in SCHEDULERS:
        with place.volume(FileSystem("ext4"), flush=5) as volume:
            queue = Path(f"/sys/block/{volume.device}/queue/scheduler")
            try:
                queue.write_text(scheduler)
                cells = runs(partial(place.work, "commits_beside_a_neighbour"))
            except OSError:
                cells = {"p50": "not in this kernel", "p90": ""}
            finally:
                queue.write_text("none")
        yield [f"`{scheduler}`", *cells.values()]


TABLES = {
    "journal modes": journal_modes,
    "barriers": barriers,
    "many files": many_files,
    "fragmentation": fragmentation,
    "access times": access_times,
    "commit delay": commit_delay,
    "schedulers": schedulers,
}


def markdown(rows: Sequence[Row]) -> str:
    """Return a table."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def put(page: str, name: str, text: str) -> str:
    """Return the page with a text between the two comments of that name."""
    return re.sub(
        rf"(?s)(<!-- {name} -->\n).*?(<!-- end -->)", lambda found: f"{found[1]}\n{text}\n\n{found[2]}", page, count=1
    )


def main() -> None:
    """Measure the tables named, or all, and write each into the page as it is finished."""
    chosen = sys.argv[1:] or list(TABLES)
    begun = monotonic()
    with TemporaryDirectory(prefix="storage-tables-") as folder:
        program = compile_slow_disk(Path(folder))
        for name in chosen:
            started = monotonic()
            with Host("tables") as host:
                table = markdown(list(TABLES[name](Place(host, program))))
            print(f"\n{name} ({monotonic() - started:.0f} s)\n\n{table}", flush=True)
            PAGE.write_text(put(PAGE.read_text(), name, table))
    if len(chosen) == len(TABLES):
        kernel, load = platform.release().split("-")[0], os.getloadavg()[1]
        conditions = (
            f"Measured on {datetime.now(UTC):%Y-%m-%d} with Linux {kernel} and {os.cpu_count()} processors, in "
            f"{(monotonic() - begun) / 60:.0f} min; the load average was {load:.1f}."
        )
        print(conditions)
        PAGE.write_text(put(PAGE.read_text(), "conditions", conditions))


if __name__ == "__main__":
    main()
