"""The kernel's messages, as dmesg and journalctl -k print them: those about errors of devices and file systems.

A device's name may have been that of another one before (loop0), so mounts are read, too: what came before the last.

    [   12.345678] blk_update_request: I/O error, dev sda, sector 2048                                  dmesg
    [Sun Nov 22 04:49:07 2026] EXT4-fs (sda1): Remounting filesystem read-only                          dmesg -T
    2026-11-22T04:49:07,123456+00:00 Buffer I/O error on dev dm-0, logical block 7, lost async page write
    Nov 22 04:49:07 ldap kernel: XFS (dm-2): log I/O error -5                                           journalctl -k
    # 4711 lines of dmesg read, from boot         the lines that a collection looked at; it keeps errors and mounts

Source: dmesg(1), journalctl(1); the messages: `kernel_errors`.

Which messages of the kernel report an error of a device or a file system: a grammar per message.

A device that does not support discarding or zeroing reports an error, too; nothing is lost by it, so it is none here.
Source: block/blk-core.c, fs/buffer.c, fs/ext4/super.c, fs/jbd2, fs/xfs, fs/btrfs/messages.c, drivers/scsi, drivers/ata,
drivers/nvme, drivers/md of Linux 2.6.32 to 6.18.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.storage import DeviceError, KernelErrors, Mounted
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document

COUNT = pattern(r"# (\d{1,12}) lines? of (?:dmesg|journalctl[a-z -]{0,40}) read(, from boot)?", re.ASCII)
LEVEL = r"(?:<\d{1,3}>|[a-z]{3,8} {0,4}:[a-z]{2,8} {0,4}: )?"
"""dmesg -r and dmesg -x."""
DMESG = pattern(LEVEL + r"\[ {0,12}(?P<seconds>\d{1,9}\.\d{6})\](?:\[ {0,6}[TC]\d{1,10}\])? ?(?P<text>.*)", re.ASCII)
LOCAL = pattern(
    LEVEL + r"\[(?P<time>[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})\](?:\[ {0,6}[TC]\d{1,10}\])? ?"
    r"(?P<text>.*)",
    re.ASCII,
)
ISO = pattern(LEVEL + r"(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d),\d{6}(?P<zone>[+-]\d\d:\d\d) (?P<text>.*)", re.ASCII)
JOURNAL = pattern(
    r"(?:<\d{1,3}>)?(?:(?P<time>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,9})?)"
    r"|(?P<iso>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,]\d{1,9})?(?P<zone>Z|[+-]\d\d:?\d\d))"
    r" [\w.:-]{1,255} kernel: (?:\[ {0,12}(?P<seconds>\d{1,9}\.\d{6})\] )?(?P<text>.*)",
    re.ASCII,
)
OTHERS = pattern(
    r"-- .{0,200}|(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\S{1,40}) [\w.:-]{1,255} .*", re.ASCII
)
"""Headings of the journal, and lines of other programs in it."""
BOOT = pattern(r"Linux version \d|Booting Linux on ", re.ASCII)
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


DEVICE = r"(?P<device>[\w!.-]{1,64})"
JBD_DEVICE = r"(?P<device>dm-\d{1,5}|[A-Za-z][\w!]{0,60})(?:-\d{1,12})?"
"""The name of a journal: the device, and the inode of a journal within the file system."""
HARMLESS = pattern(
    r"op 0x\w{1,4}:\((?:DISCARD|SECURE_ERASE|WRITE_ZEROES|WRITE_SAME)\)|^operation not supported", re.ASCII
)

BLOCK = r"(?:\w{1,40}: )?"
EXT = r"EXT[234]-fs"
XFS = rf"XFS \({DEVICE}\): "
SHUTDOWN = "xfs_do_force_shutdown"
BTRFS = r"BTRFS:?"
OF_BTRFS = rf"\(device {DEVICE}(?: state \w{{1,20}})?\)"
NOTED = rf"{BTRFS} (?:info|warning) {OF_BTRFS}: "
ERRORS = r"bdev .{1,200} errs: (?!wr 0, rd 0, flush 0, corrupt 0,)"
DISK = rf"sd [\d:]{{1,20}}: \[{DEVICE}\].*"
BAD_SENSE = (
    r"(?:Sense Key : (?:Medium|Hardware) Error|Add\. Sense: (?:Unrecovered|Write error|Logical unit (?:not|comm)))"
)

MESSAGES: tuple[tuple[str, str], ...] = (
    # block layer and page cache
    (rf"{BLOCK}I/O error, dev {DEVICE}, sector", "I/O error"),
    (rf"{BLOCK}(?:critical )?medium error, dev {DEVICE}, sector", "medium error"),
    (rf"{BLOCK}(?:critical )?target error, dev {DEVICE}, sector", "target error"),
    (rf"{BLOCK}(?:critical )?space allocation error, dev {DEVICE}, sector", "no space on the device"),
    (rf"{BLOCK}(?:timeout|recoverable transport|critical nexus|protection) error, dev {DEVICE}, ", "I/O error"),
    (rf"{BLOCK}device (?:offline|resource) error, dev {DEVICE}, sector", "I/O error"),
    (rf"Buffer I/O error on dev(?:ice)? {DEVICE}, ", "Buffer I/O error"),
    (rf"lost page write due to I/O error on {DEVICE}", "lost page write"),
    (rf"{DEVICE}: writeback error on inode", "writeback error"),
    # ext2, ext3, ext4 and their journal
    (rf"{EXT} (?:error|panic) \(device {DEVICE}\)", "file system error"),
    (rf"{EXT} \({DEVICE}\): (?i:remounting filesystem read-only)", "remounted read-only"),
    (rf"{EXT} \({DEVICE}\): (?:Delayed block allocation failed|failed to convert unwritten)", "lost write"),
    (rf"{EXT} \({DEVICE}\): (?:previous )?I/O error", "I/O error"),
    (rf"{EXT} \({DEVICE}\): (?:error count|initial error|last error)", "earlier file system error"),
    (rf"{EXT} warning \(device {DEVICE}\): \w{{1,60}}:\d{{1,6}}: I/O error", "I/O error"),
    (r"(?:EXT[234]-fs: )?[Rr]emounting filesystem read-only", "remounted read-only"),
    (rf"JBD2?: Detected IO errors (?:-\d+ )?while flushing file data on {JBD_DEVICE}", "journal I/O error"),
    (rf"JBD2?: (?:I/O error|Error -\d|IO error|recovery failed)(?:.{{0,80}} for {JBD_DEVICE})?", "journal I/O error"),
    (rf"Aborting journal on device {JBD_DEVICE}", "journal aborted"),
    # XFS
    (rf"{XFS}(?:.*[Ss]hutting down filesystem|Filesystem has been shut down|{SHUTDOWN})", "file system shut down"),
    (rf"{XFS}(?:.*[Cc]orruption (?:of|detected|warning)|.*CRC error detected)", "file system error"),
    (rf"{XFS}.*(?i:i/o error)", "I/O error"),
    (rf"{XFS}writeback error", "writeback error"),
    # btrfs
    (rf"{BTRFS} (?:error|critical|crit) {OF_BTRFS}", "file system error"),
    (rf"{NOTED}forced readonly", "remounted read-only"),
    (rf"{NOTED}(?:csum failed|checksum (?:error|verify failed))", "checksum error"),
    (rf"{NOTED}lost page write", "lost page write"),
    (rf"{NOTED}{ERRORS}", "earlier I/O error"),
    # SCSI, ATA, NVMe, md, device-mapper, NFS
    (rf"{DISK}(?:FAILED Result|Unhandled (?:error|sense) code|rejecting I/O to offline|{BAD_SENSE})", "SCSI error"),
    (r"(?:sd|scsi) [\d:]{1,20}: (?:rejecting I/O to (?:offline|dead) device|Device offlined)", "device offline"),
    (r"ata\d{1,4}(?:\.\d\d)?: (?:failed command: |exception Emask |error: \{|status: \{.*ERR)", "ATA error"),
    (rf"(?:nvme )?{DEVICE}: I/O (?:Cmd\(0x\w{{1,4}}\) @ LBA|(?:tag )?\d{{1,8}}.{{0,60}} timeout)", "NVMe error"),
    (rf"nvme {DEVICE}: (?:controller is down|Device not ready|Removing after probe|Abort status)", "NVMe error"),
    (r"loop: Write error at byte offset", "I/O error"),
    (rf"md/[\w-]{{1,20}}:{DEVICE}: (?:Disk failure|.*unrecoverable I/O)", "RAID member failed"),
    (r"device-mapper: multipath: .{0,40}[Ff]ailing path", "path failed"),
    (r"device-mapper: thin: .*(?:out-of-data|read-only mode|no free )", "no space on the device"),
    (r"nfs: server \S{1,255} not responding, timed out", "NFS server timed out"),
)  # fmt: skip
"""The beginning of a message, and what it reports. The first that matches counts."""

OF_FILE_SYSTEM = pattern(r"EXT[234]-fs|JBD2?: |Aborting journal|[Rr]emounting|XFS |BTRFS")
"""How the messages of file systems and their journals begin."""
UUID = r"(?P<uuid>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
MOUNTS = [
    pattern(text, re.ASCII)
    for text in (
        rf"{EXT} \({DEVICE}\): mounted filesystem(?: {UUID})?\b",
        rf"{XFS}Mounting (?:V\d )?Filesystem(?: {UUID})?\b",
        rf"{BTRFS} info {OF_BTRFS}: first mount of filesystem {UUID}",
    )
]
"""A file system is mounted: ext when it is done, XFS and btrfs when they begin. Older Linux prints no UUID."""

GRAMMAR = [(pattern(text, re.ASCII), what) for text, what in MESSAGES]
WORDS = pattern(
    r"error|read-?only|shut|abort|corrupt|fail|errs:|csum|timeout|timed out|offline|down|not ready|exception|status"
    r"|lost|space|free|Remov|recover|sense",
    re.IGNORECASE,
)
"""One of these is in each message above; lines without are no errors, at little cost."""


def error_of(text: str) -> tuple[str, str] | None:
    """Return the device of a message about an error, empty if it names none, and what failed; None for any other."""
    if not WORDS.search(text) or HARMLESS.search(text):
        return None
    for message, what in GRAMMAR:
        if found := message.match(text):
            return found.groupdict().get("device") or "", what
    return None


def mount_of(text: str) -> tuple[str, str] | None:
    """Return the device of a message about a mount and the UUID of its file system, empty if it is not printed."""
    if "ount" not in text:
        return None
    for message in MOUNTS:
        if found := message.match(text):
            return found["device"], found["uuid"] or ""
    return None
