"""The kernel's messages, as dmesg and journalctl -k print them: those about errors of devices and file systems.

A device's name may have been that of another one before (loop0), so mounts are read, too: what came before the last.

    [   12.345678] blk_update_request: I/O error, dev sda, sector 2048                                  dmesg
    [Sun Nov 22 04:49:07 2026] EXT4-fs (sda1): Remounting filesystem read-only                          dmesg -T
    2026-11-22T04:49:07,123456+00:00 Buffer I/O error on dev dm-0, logical block 7, lost async page write
    Nov 22 04:49:07 ldap kernel: XFS (dm-2): log I/O error -5                                           journalctl -k
    # 4711 lines of dmesg read, from boot         the lines that a collection looked at; it keeps errors and mounts

Source: dmesg(1), journalctl(1); the messages: `kernel_errors`.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.storage import DeviceError, KernelErrors, Mounted
from ldapdiag.evidence.storage.kernel_errors import OF_FILE_SYSTEM, error_of, mount_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document

COUNT = re.compile(r"# (\d{1,12}) lines? of (?:dmesg|journalctl[a-z -]{0,40}) read(, from boot)?", re.ASCII)
LEVEL = r"(?:<\d{1,3}>|[a-z]{3,8} {0,4}:[a-z]{2,8} {0,4}: )?"
"""dmesg -r and dmesg -x."""
DMESG = re.compile(LEVEL + r"\[ {0,12}(?P<seconds>\d{1,9}\.\d{6})\](?:\[ {0,6}[TC]\d{1,10}\])? ?(?P<text>.*)", re.ASCII)
LOCAL = re.compile(
    LEVEL + r"\[(?P<time>[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})\](?:\[ {0,6}[TC]\d{1,10}\])? ?"
    r"(?P<text>.*)",
    re.ASCII,
)
ISO = re.compile(
    LEVEL + r"(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d),\d{6}(?P<zone>[+-]\d\d:\d\d) (?P<text>.*)", re.ASCII
)
JOURNAL = re.compile(
    r"(?:<\d{1,3}>)?(?:(?P<time>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,9})?)"
    r"|(?P<iso>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,]\d{1,9})?(?P<zone>Z|[+-]\d\d:?\d\d))"
    r" [\w.:-]{1,255} kernel: (?:\[ {0,12}(?P<seconds>\d{1,9}\.\d{6})\] )?(?P<text>.*)",
    re.ASCII,
)
OTHERS = re.compile(
    r"-- .{0,200}|(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\S{1,40}) [\w.:-]{1,255} .*", re.ASCII
)
"""Headings of the journal, and lines of other programs in it."""
BOOT = re.compile(r"Linux version \d|Booting Linux on ", re.ASCII)
BOOT_SECONDS = 0.001
FEWEST = 0.5
"""The share of lines of the kernel by which a log is recognised."""
LONGEST = 4096
LONGEST_TEXT = 300
MOST = 500
"""First errors that are kept, and last ones; also the devices whose last mount is."""

Mounting = tuple[int, str]
"""The number of a mount in the text, and the UUID of the file system."""


def recognises(head: Head) -> bool:
    """Recognise a text of which most lines are messages of the kernel, or the count of a collection."""
    lines = [line for line in head.lines if line.strip() and not line.startswith("-- ")]
    if any(COUNT.fullmatch(line) for line in lines):
        return True
    return sum(_message(line) is not None for line in lines) > FEWEST * len(lines)


def read(document: Document) -> Iterator[KernelErrors]:
    """Read all messages, and keep those about errors."""
    first: list[tuple[DeviceError, Mounting | None]] = []
    last: deque[tuple[DeviceError, Mounting | None]] = deque(maxlen=MOST)
    mounts: dict[str, Mounting] = {}
    messages = errors = counted = 0
    from_boot = False
    for line in map(str.rstrip, document.lines):
        if count := COUNT.fullmatch(line):
            counted += int(count[1])
            from_boot = from_boot or count[2] is not None
        elif found := _message(line):
            messages += 1
            from_boot = from_boot or (messages == 1 and not counted and _is_boot(found))
            if error := _error(found):
                errors += 1
                (first if len(first) < MOST else last).append((error, mounts.get(error.device)))
            elif mount := mount_of(found["text"]):
                device, uuid = mount
                mounts.pop(device, None)
                mounts[device] = messages, uuid
                if len(mounts) > MOST:
                    del mounts[next(iter(mounts))]
        elif line and not OTHERS.fullmatch(line[:LONGEST]):
            document.misread(line)
    if messages or counted:
        yield KernelErrors(
            origin=document.origin(),
            errors=tuple(
                replace(error, mounted=_mounted(mount, mounts.get(error.device))) for error, mount in (*first, *last)
            ),
            lines_read=max(counted, messages),
            from_boot=from_boot,
            omitted=errors - len(first) - len(last),
        )


def _mounted(then: Mounting | None, last: Mounting | None) -> Mounted:
    """Return when a message came: what was mounted on its device then, and what is mounted last."""
    if last is None:
        return Mounted.UNKNOWN
    if then == last:
        return Mounted.SINCE
    if then is None or not then[1] or not last[1]:
        return Mounted.UNKNOWN_BEFORE
    return Mounted.SAME_BEFORE if then[1] == last[1] else Mounted.OTHER_BEFORE


def _message(line: str) -> re.Match[str] | None:
    line = line[:LONGEST]
    return DMESG.fullmatch(line) or LOCAL.fullmatch(line) or ISO.fullmatch(line) or JOURNAL.fullmatch(line)


def _is_boot(message: re.Match[str]) -> bool:
    """Return whether a first message is that of the boot."""
    seconds = message.groupdict().get("seconds")
    return BOOT.match(message["text"]) is not None or (seconds is not None and float(seconds) < BOOT_SECONDS)


def _error(message: re.Match[str]) -> DeviceError | None:
    found = error_of(message["text"])
    if found is None:
        return None
    device, what = found
    groups = message.groupdict()
    seconds, zone = groups.get("seconds"), groups.get("zone")
    time = groups.get("iso") or groups.get("time") or ""
    return DeviceError(
        device=device,
        what=what,
        text=message["text"][:LONGEST_TEXT],
        when=_when(time + zone) if zone else None,
        since_boot_seconds=float(seconds) if seconds else None,
        printed_time="" if zone else time,
        of_file_system=OF_FILE_SYSTEM.match(message["text"]) is not None,
    )


def _when(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


FORMAT = Format(name="kernel-messages", title="the kernel's messages", recognises=recognises, read=read)
