"""The tables of docs/storage.md: what older papers measured under a directory server's disk, measured again.

    make storage-tables         as root: some ten minutes; writes the tables into docs/storage.md

File systems are made on loop devices in a mount namespace of their own; a disk whose flush takes milliseconds is
simulated (tests/lab/slow_disk.c). Every cell is the median of three runs, with the extremes.
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from time import monotonic
from typing import TYPE_CHECKING

from lab.host import Host
from lab.laboratory import Laboratory
from lab.volumes import ROOM_FOR_389, FileSystem, Volume, mount, mount_slow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lab.directory_servers import Server

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
JOURNALLED = {"ext3": FileSystem("ext3"), "ext4": FileSystem("ext4"), "XFS": FileSystem("xfs")}
PLACES = {"slapd": "/var/lib/ldap", "389-ds": "/var/lib/dirsrv/slapd-live/db"}
HOME = "/dev/shm/slapd-live"  # noqa: S108  of the host alone
ENTRIES, CHANGES = 1_000, 200
ENTRY = """dn: uid=user{0},dc=example,dc=com
changetype: add
objectClass: inetOrgPerson
uid: user{0}
cn: user{0}
sn: user{0}
description: {1}
"""
CHANGE = """dn: uid=user{0},dc=example,dc=com
changetype: modify
replace: title
title: {0}
"""
SYNCED = ("opened with `O_SYNC`", "`O_SYNC` set by `fcntl`", "`fsync` after each write")
ACCESS_TIMES = ("strictatime", "relatime", "noatime", "strictatime,lazytime")
SCHEDULERS = ("none", "mq-deadline", "kyber", "bfq")
DELAYS = (0, 2, 5, 20)
NAMES, READS, SMALL, LARGE = 15_000, 5_000, 2_000, 32

Row = list[str]


class Place:
    """A host with the program of the slow disk; makes volumes, one at a time."""

    def __init__(self, host: Host, laboratory: Laboratory) -> None:
        self.host, self.laboratory = host, laboratory

    @contextmanager
    def volume(self, made: FileSystem, *, flush: float | None = None, write: float = 0) -> Iterator[Volume]:
        """Yield a fresh volume in memory, or on a disk with these milliseconds."""
        if flush is None:
            volume = mount(self.host, made, FOLDER, megabytes=768)
        else:
            program = self.laboratory.slow_disk
            volume = mount_slow(self.host, program, made, FOLDER, flush_milliseconds=flush, write_milliseconds=write)
        try:
            yield volume
        finally:
            volume.unmount()
            if volume.disk:
                volume.disk.stop()
            self.host.run(["rm", "-f", volume.image])

    @contextmanager
    def volume_on_disk(self, made: FileSystem, folder: str = FOLDER) -> Iterator[Volume]:
        """Yield a fresh volume whose image is on the machine's own disk."""
        volume = mount(self.host, made, folder, megabytes=ROOM_FOR_389, images=self.laboratory.folder)
        try:
            yield volume
        finally:
            volume.unmount()
            self.host.run(["rm", "-f", volume.image])

    def work(self, name: str, *numbers: int) -> dict[str, float]:
        """Return the numbers of one piece of work on the volume."""
        return json.loads(self.host.run([sys.executable, "-I", WORK, name, FOLDER, *map(str, numbers)]))

    def mount_cold(self, volume: Volume) -> None:
        """Mount a volume again, with nothing of it in memory: neither of its files nor of its image."""
        volume.settle()
        volume.unmount()
        self.host.run(["sync", volume.image])
        self.host.run(["dd", f"if={volume.image}", "iflag=nocache", "count=0", "status=none"])
        self.host.run(["mount", "-o", "loop", volume.image, volume.folder])

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


def fragmented_reads(place: Place) -> Iterator[Row]:
    """Yield what it costs to read those files whole, with nothing of them in memory."""
    yield ["file system", "extents", "read, MiB/s", "extents of synced appends", "read, MiB/s"]
    for name, made in WRITERS.items():
        yield [name, *(cell for how in (1, 0) for cell in runs(partial(_cold_read, place, made, how)).values())]


def _cold_read(place: Place, made: FileSystem, how: int) -> dict[str, float]:
    with place.volume_on_disk(made) as volume:
        extents = place.work("fragments", how)
        place.mount_cold(volume)
        return extents | place.work("read_whole")


def directories(place: Place) -> Iterator[Row]:
    """Yield what real servers do on a file system, the file systems in turns."""
    kinds = ("entries loaded, /s", "random reads, cold, /s", "reads beside changes, /s", "changes, /s")
    yield ["server", "file system", *kinds]
    for server in PLACES:
        turns = [
            {name: _directory(place.laboratory, server, made) for name, made in JOURNALLED.items()} for _ in range(RUNS)
        ]
        for name in JOURNALLED:
            yield [server, name, *(cell([turn[name][number] for turn in turns]) for number in range(len(kinds)))]


def _directory(laboratory: Laboratory, kind: str, made: FileSystem) -> tuple[float, ...]:
    """Return rates of the load, of reads after a start with nothing in memory, and of reads and changes together."""
    numbers = list(range(ENTRIES))
    load = "\n".join(ENTRY.format(number, f"{number:04}" * 256) for number in numbers)
    Random(0).shuffle(numbers)  # noqa: S311  an order, no secret
    with Host("tables") as host:
        place = Place(host, laboratory)
        with place.volume_on_disk(made, PLACES[kind]) as volume:
            server = _started(laboratory, kind, host)
            loaded = _rate(ENTRIES, partial(server.modify, load))
            server.stop()
            place.mount_cold(volume)
            server.start()
            host.run(["tee", "/run/names"], stdin="".join(f"user{number}\n" for number in numbers))
            read = partial(_rate, ENTRIES, partial(server.search, "dc=example,dc=com", "-f", "/run/names", "(uid=%s)"))
            cold = read()
            changes = "\n".join(CHANGE.format(number) for number in numbers[:CHANGES])
            with ThreadPoolExecutor(1) as beside:
                changing = beside.submit(_rate, CHANGES, partial(server.modify, changes))
                mixed = loaded, cold, read(), changing.result()
            server.stop()
            return mixed


def _started(laboratory: Laboratory, kind: str, host: Host) -> Server:
    if kind == "slapd":
        return laboratory.slapd(host)
    host.run(f"mkdir {HOME}; chown dirsrv {HOME}")
    return laboratory.ds389(host, database={"nsslapd-db-home-directory": HOME})


def _rate(number: int, act: Callable[[], object]) -> float:
    begun = monotonic()
    act()
    return number / (monotonic() - begun)


def synced_writes(place: Place) -> Iterator[Row]:
    """Yield writes and flushes by how O_SYNC is set."""
    yield ["how", "`F_GETFL` shows `O_SYNC`", "4 KiB overwritten, /s", "flushes per write"]
    for how, name in enumerate(SYNCED):
        with place.volume(FileSystem("ext4"), flush=5) as volume:
            cells = runs(partial(_synced, place, volume, how))
        yield [name, "yes" if float(cells["shown"]) else "no", cells["writes"], cells["flushes"]]


def _synced(place: Place, volume: Volume, how: int) -> dict[str, float]:
    before = volume.disk.counts().flushes
    found = place.work("synced_writes", how)
    return found | {"flushes": round((volume.disk.counts().flushes - before) / found.pop("done"), 2)}


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
    "fragmented reads": fragmented_reads,
    "synced writes": synced_writes,
    "directories": directories,
    "access times": access_times,
    "commit delay": commit_delay,
    "schedulers": schedulers,
}


def ratio(rows: Sequence[Row], column: int, one: int, other: int) -> str:
    """Return how many times the median in one row is that in another one: `1.30`, `45`."""
    medians = [float(rows[row][column].split(" ")[0].replace(",", "")) for row in (one, other)]
    found = medians[0] / medians[1]
    return f"{found:.2f}" if found < 10 else f"{found:,.0f}"


def apart(rows: Sequence[Row], group: int) -> str:
    """Return which rows of a group differ from its first one by more than the extremes of both."""
    found = []
    for number, row in enumerate(rows[1:]):
        first = rows[1 + number // group * group]
        for column in range(2, len(row)):
            (least, most), (low, high) = _extremes(row[column]), _extremes(first[column])
            if least > high or most < low:
                times = ratio([[row[column]], [first[column]]], 0, 0, 1)
                found.append(f"{row[0]}, {rows[0][column]}: on {row[1]} {times} times those on {first[1]}")
    return f"{'; '.join(found) or 'No row differs from the first of its server'}. All else is within the extremes."


def _extremes(shown: str) -> tuple[float, float]:
    numbers = [float(one.replace(",", "")) for one in re.findall(r"[\d.,]+", shown)]
    return min(numbers), max(numbers)


SENTENCES: dict[str, Callable[[Sequence[Row]], str]] = {
    "barriers": lambda rows: (
        f"Without barriers, a cache that is on gives {ratio(rows, 2, 4, 3)} times as many commits of one committer, "
        f"and {ratio(rows, -1, 4, 3)} times as many of {rows[0][-1]}."
    ),
    "commit delay": lambda rows: (
        f"A delay of {rows[2][0]} gives {ratio(rows, 3, 2, 1)} times as many commits of 40 committers as none, and "
        f"of one {ratio(rows, 1, 2, 1)} times; one of {rows[4][0]} gives {ratio(rows, 3, 4, 1)} and "
        f"{ratio(rows, 1, 4, 1)} times."
    ),
    "journal modes": lambda rows: (
        f"With `data=writeback` there are {ratio(rows, 1, 3, 2)} times as many synced appends as by default, with "
        f"`data=journal` {ratio(rows, 1, 1, 2)} times, without a journal {ratio(rows, 1, 4, 2)} times, on XFS "
        f"{ratio(rows, 1, 5, 2)} and on btrfs {ratio(rows, 1, 6, 2)} times."
    ),
    "many files": lambda rows: (
        f"Without `dir_index` it takes {ratio(rows, 1, 2, 3)} times as long to create the names as with it; on XFS "
        f"{ratio(rows, 1, 4, 3)} times, on btrfs {ratio(rows, 1, 5, 3)} times as long as on ext4."
    ),
    "fragmented reads": lambda rows: (
        "Files of synced appends are read "
        + ", ".join(f"{_of_columns(row, 4, 2)} times as fast on {row[0]}" for row in rows[1:])
        + " as those that were not synced."
    ),
    "directories": lambda rows: apart(rows, len(JOURNALLED)),
    "access times": lambda rows: (
        f"In the third pass `strictatime` reads {ratio(rows, 2, 1, 3)} times as many files a second as `noatime` on "
        f"ext4 and {ratio(rows, 2, 5, 7)} times on XFS, `relatime` {ratio(rows, 2, 2, 3)} and "
        f"{ratio(rows, 2, 6, 7)} times."
    ),
}
"""What the page states of a table in numbers: from the same run."""


def _of_columns(row: Row, one: int, other: int) -> str:
    return ratio([[row[one]], [row[other]]], 0, 0, 1)


def page_text(name: str, rows: Sequence[Row], conditions: str) -> str:
    """Return a table with what follows from it, and when and where it was measured."""
    sentence = SENTENCES.get(name)
    return f"{markdown(rows)}\n\n{f'{sentence(rows)} ' if sentence else ''}Measured {conditions}."


def measured_now(seconds: float) -> str:
    """Return the conditions of a table that is finished."""
    kernel, load = platform.release().split("-")[0], os.getloadavg()[1]
    machine = f"Linux {kernel}, {os.cpu_count()} processors, load average {load:.1f}"
    return f"on {datetime.now(UTC):%Y-%m-%d} in {seconds:.0f} s ({machine})"


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
    with TemporaryDirectory(prefix="storage-tables-") as folder:
        laboratory = Laboratory(Path(folder))
        for name in chosen:
            started = monotonic()
            with Host("tables") as host:
                rows = list(TABLES[name](Place(host, laboratory)))
            table = page_text(name, rows, measured_now(monotonic() - started))
            print(f"\n{name}\n\n{table}", flush=True)
            PAGE.write_text(put(PAGE.read_text(), name, table))


if __name__ == "__main__":
    main()
