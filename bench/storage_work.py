"""One piece of work on a volume, as a process in the host that has it mounted; prints its numbers as JSON.

    python storage_work.py WORK FOLDER [NUMBER ...]

The works are the functions below; `storage_tables.py` starts them. Only Python's own modules: this is also the program
that a reader runs by hand on a volume that may be written to.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import threading
from itertools import count
from pathlib import Path
from time import perf_counter, sleep

BLOCK, RECORD, SMALL, MIB = b"b" * 4096, b"r" * 512, b"s" * 1024, 1 << 20
SECONDS = 1.0
WRITERS = 6
FRAGMENT = b"f" * 8192
NEW = os.O_CREAT | os.O_WRONLY | os.O_TRUNC


def sync_file_system(folder: Path) -> None:
    """Write what the page cache has of this file system."""
    subprocess.run(["sync", "-f", folder], check=True)


def per_second(number: float, begun: float) -> float:
    """Return a rate since a time."""
    return number / (perf_counter() - begun)


def appends(folder: Path) -> dict[str, float]:
    """Append 4 KiB and make it durable, for a second."""
    file, begun, done = os.open(folder / "log", NEW), perf_counter(), 0
    while perf_counter() - begun < SECONDS:
        os.write(file, BLOCK)
        os.fdatasync(file)
        done += 1
    return {"appends": per_second(done, begun)}


def large_file(folder: Path, mebibytes: int) -> dict[str, float]:
    """Write a large file and make it durable."""
    content, begun = os.urandom(MIB), perf_counter()
    file = os.open(folder / "large", NEW)
    for _ in range(mebibytes):
        os.write(file, content)
    os.fsync(file)
    return {"mebibytes": per_second(mebibytes, begun)}


def small_files(folder: Path, number: int) -> dict[str, float]:
    """Create small files, and make all of them durable at the end."""
    begun = perf_counter()
    _create(folder / "small", number, SMALL)
    sync_file_system(folder)
    return {"files": per_second(number, begun)}


def names(folder: Path, number: int) -> dict[str, float]:
    """Create empty files in one folder."""
    begun = perf_counter()
    _create(folder / "names", number, b"")
    created = perf_counter() - begun
    sync_file_system(folder)
    return {"create": created}


def look_up(folder: Path, number: int) -> dict[str, float]:
    """Look up some of those names, in microseconds each, after the volume was mounted anew; then unlink all of them."""
    some = [folder / "names" / f"user{place * 7919 % number:07}.ldif" for place in range(500)]
    begun = perf_counter()
    for path in some:
        path.stat()
    looked_up = (perf_counter() - begun) / len(some)
    begun = perf_counter()
    for path in list((folder / "names").iterdir()):
        path.unlink()
    return {"look_up": 1e6 * looked_up, "unlink": perf_counter() - begun}


def prepare_reads(folder: Path, number: int) -> dict[str, float]:
    """Create the small files that `reads` reads."""
    _create(folder / "read", number, SMALL)
    sync_file_system(folder)
    return {}


def reads(folder: Path, number: int) -> dict[str, float]:
    """Read small files that are in the page cache, one pass, and write what it changed."""
    begun = perf_counter()
    for place in range(number):
        file = os.open(folder / "read" / f"user{place:07}.ldif", os.O_RDONLY)
        os.read(file, len(SMALL))
        os.close(file)
    rate = per_second(number, begun)
    sync_file_system(folder)
    return {"reads": rate}


def _create(folder: Path, number: int, content: bytes) -> None:
    folder.mkdir(exist_ok=True)
    for place in range(number):
        file = os.open(folder / f"user{place:07}.ldif", NEW)
        os.write(file, content)
        os.close(file)


def commits(folder: Path, committers: int, delay_milliseconds: int = 0) -> dict[str, float]:
    """Commit records to one log for a second; the committer that syncs waits for others first, if there is a delay."""
    file, changed = os.open(folder / "log", NEW | os.O_APPEND), threading.Condition()
    written = durable = syncs = 0
    syncing = False
    until, done = perf_counter() + SECONDS, [0] * committers

    def commit() -> None:
        nonlocal written, durable, syncs, syncing
        with changed:
            os.write(file, RECORD)
            written += 1
            mine = written
            while syncing and durable < mine:
                changed.wait()
            if durable >= mine:
                return
            syncing = True
        sleep(delay_milliseconds / 1000)
        with changed:
            covered = written
        os.fdatasync(file)
        with changed:
            durable, syncing, syncs = covered, False, syncs + 1
            changed.notify_all()

    def run(place: int) -> None:
        while perf_counter() < until:
            commit()
            done[place] += 1

    begun = perf_counter()
    _together(run, committers)
    return {"commits": per_second(sum(done), begun), "syncs": per_second(syncs, begun)}


def fragments(folder: Path, how: int) -> dict[str, float]:
    """Write files of 4 MiB at the same time: appended and synced (0), appended (1), preallocated and synced (2)."""
    step = threading.Barrier(WRITERS)

    def write(place: int) -> None:
        file = os.open(folder / f"writer{place}", NEW)
        for number in range(4 * MIB // len(FRAGMENT)):
            at = number * len(FRAGMENT)
            if how == 2 and at % MIB == 0:
                os.posix_fallocate(file, at, MIB)
            os.write(file, FRAGMENT)
            if how != 1:
                os.fsync(file)
            if number % 16 == 0:
                step.wait()
        os.close(file)

    _together(write, WRITERS)
    sync_file_system(folder)
    files = [folder / f"writer{place}" for place in range(WRITERS)]
    found = subprocess.run(["filefrag", *files], capture_output=True, text=True, check=True)
    extents = sorted(int(line.rpartition(": ")[2].split()[0]) for line in found.stdout.splitlines())
    return {"extents": extents[len(extents) // 2]}


def read_whole(folder: Path) -> dict[str, float]:
    """Read the files of `fragments` from the first byte to the last, in MiB/s."""
    begun, done = perf_counter(), 0
    for path in sorted(folder.glob("writer*")):
        with path.open("rb", buffering=0) as file:
            while content := file.read(len(FRAGMENT) * 16):
                done += len(content)
    return {"mebibytes": per_second(done / MIB, begun)}


def synced_writes(folder: Path, how: int) -> dict[str, float]:
    """Overwrite 4 KiB for a second: opened with O_SYNC (0), with O_SYNC set by fcntl afterwards (1), with fsync (2)."""
    file = os.open(folder / "log", NEW | (os.O_SYNC if how == 0 else 0))
    if how == 1:
        fcntl.fcntl(file, fcntl.F_SETFL, fcntl.fcntl(file, fcntl.F_GETFL) | os.O_SYNC)
    shown = fcntl.fcntl(file, fcntl.F_GETFL) & os.O_SYNC == os.O_SYNC
    begun, done = perf_counter(), 0
    while perf_counter() - begun < SECONDS:
        os.pwrite(file, BLOCK, 0)
        if how == 2:
            os.fsync(file)
        done += 1
    return {"writes": per_second(done, begun), "done": done, "shown": shown}


def commits_beside_a_neighbour(folder: Path) -> dict[str, float]:
    """Overwrite and sync 4 KiB while another thread writes a large file; in milliseconds."""
    file, ended, content = os.open(folder / "log", NEW), threading.Event(), os.urandom(MIB)
    for _ in range(256):
        os.write(file, BLOCK)
    os.fsync(file)

    def neighbour() -> None:
        other = os.open(folder / "large", NEW)
        for place in count():
            if ended.is_set():
                return
            os.pwrite(other, content, place % 64 * MIB)
            if place % 16 == 0:
                os.fdatasync(other)

    thread, times = threading.Thread(target=neighbour), []
    thread.start()
    begun = perf_counter()
    while perf_counter() - begun < 2 * SECONDS:
        started = perf_counter()
        os.pwrite(file, BLOCK, len(times) % 256 * len(BLOCK))
        os.fdatasync(file)
        times.append(1000 * (perf_counter() - started))
    ended.set()
    thread.join()
    times.sort()
    return {"p50": times[len(times) // 2], "p90": times[len(times) * 9 // 10]}


def _together(work: object, number: int) -> None:
    threads = [threading.Thread(target=work, args=(place,)) for place in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


WORKS = (
    appends, large_file, small_files, names, look_up, prepare_reads, reads, commits, fragments,
    read_whole, synced_writes, commits_beside_a_neighbour,
)  # fmt: skip

if __name__ == "__main__":
    name, where, *numbers = sys.argv[1:]
    work = next(work for work in WORKS if work.__name__ == name)
    print(json.dumps(work(Path(where), *map(int, numbers))))
