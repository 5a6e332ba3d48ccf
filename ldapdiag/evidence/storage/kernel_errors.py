"""Which messages of the kernel report an error of a device or a file system: a grammar per message.

A device that does not support discarding or zeroing reports an error, too; nothing is lost by it, so it is none here.
Source: block/blk-core.c, fs/buffer.c, fs/ext4/super.c, fs/jbd2, fs/xfs, fs/btrfs/messages.c, drivers/scsi, drivers/ata,
drivers/nvme, drivers/md of Linux 2.6.32 to 6.18.
"""

from __future__ import annotations

import re

DEVICE = r"(?P<device>[\w!.-]{1,64})"
JOURNAL = r"(?P<device>dm-\d{1,5}|[A-Za-z][\w!]{0,60})(?:-\d{1,12})?"
"""The name of a journal: the device, and the inode of a journal within the file system."""
HARMLESS = re.compile(
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
    (rf"JBD2?: Detected IO errors (?:-\d+ )?while flushing file data on {JOURNAL}", "journal I/O error"),
    (rf"JBD2?: (?:I/O error|Error -\d|IO error|recovery failed)(?:.{{0,80}} for {JOURNAL})?", "journal I/O error"),
    (rf"Aborting journal on device {JOURNAL}", "journal aborted"),
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

OF_FILE_SYSTEM = re.compile(r"EXT[234]-fs|JBD2?: |Aborting journal|[Rr]emounting|XFS |BTRFS")
"""How the messages of file systems and their journals begin."""
UUID = r"(?P<uuid>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
MOUNTS = [
    re.compile(pattern, re.ASCII)
    for pattern in (
        rf"{EXT} \({DEVICE}\): mounted filesystem(?: {UUID})?\b",
        rf"{XFS}Mounting (?:V\d )?Filesystem(?: {UUID})?\b",
        rf"{BTRFS} info {OF_BTRFS}: first mount of filesystem {UUID}",
    )
]
"""A file system is mounted: ext when it is done, XFS and btrfs when they begin. Older Linux prints no UUID."""

GRAMMAR = [(re.compile(pattern, re.ASCII), what) for pattern, what in MESSAGES]
WORDS = re.compile(
    r"error|read-?only|shut|abort|corrupt|fail|errs:|csum|timeout|timed out|offline|down|not ready|exception|status"
    r"|lost|space|free|Remov|recover|sense",
    re.IGNORECASE,
)
"""One of these is in each message above; lines without are no errors, at little cost."""


def error_of(text: str) -> tuple[str, str] | None:
    """Return the device of a message about an error, empty if it names none, and what failed; None for any other."""
    if not WORDS.search(text) or HARMLESS.search(text):
        return None
    for pattern, what in GRAMMAR:
        if found := pattern.match(text):
            return found.groupdict().get("device") or "", what
    return None


def mount_of(text: str) -> tuple[str, str] | None:
    """Return the device of a message about a mount and the UUID of its file system, empty if it is not printed."""
    if "ount" not in text:
        return None
    for pattern in MOUNTS:
        if found := pattern.match(text):
            return found["device"], found["uuid"] or ""
    return None
