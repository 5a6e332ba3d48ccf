"""The kernel's messages: real ones of failing disks in each form, written ones, and those that are no errors."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from ldapdiag.evidence.formats import head_of, recognise
from ldapdiag.evidence.storage import KernelErrors, Mounted
from ldapdiag.evidence.storage.kernel_log import GRAMMAR, MOST, WORDS, error_of
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path

ERRORS = {
    "blk_update_request: I/O error, dev sda, sector 2048 op 0x1:(WRITE) flags 0x800": ("sda", "I/O error"),
    "end_request: I/O error, dev sdb, sector 123": ("sdb", "I/O error"),
    "blk_update_request: critical medium error, dev sdc, sector 1 op 0x0:(READ) flags 0x0": ("sdc", "medium error"),
    "critical space allocation error, dev dm-3, sector 8 op 0x1:(WRITE)": ("dm-3", "no space on the device"),
    "timeout error, dev nvme0n1, sector 8 op 0x1:(WRITE)": ("nvme0n1", "I/O error"),
    "lost page write due to I/O error on sda1": ("sda1", "lost page write"),
    "EXT4-fs (dm-0): Delayed block allocation failed for inode 12 at logical offset 0": ("dm-0", "lost write"),
    "EXT4-fs (sda1): error count since last fsck: 4": ("sda1", "earlier file system error"),
    "JBD2: Error -5 detected when updating journal superblock for dm-0-8.": ("dm-0", "journal I/O error"),
    "Aborting journal on device dm-1.": ("dm-1", "journal aborted"),
    "XFS (dm-2): Metadata corruption detected at xfs_agf_read_verify": ("dm-2", "file system error"),
    "XFS (dm-2): xfs_do_force_shutdown(0x2) called from line 1211": ("dm-2", "file system shut down"),
    "BTRFS info (device sdb): bdev /dev/sdb errs: wr 3, rd 0, flush 0, corrupt 0, gen 0": ("sdb", "earlier I/O error"),
    "BTRFS warning (device sdb): csum failed root 5 ino 257 off 0": ("sdb", "checksum error"),
    "sd 2:0:0:0: [sda] tag#0 FAILED Result: hostbyte=DID_OK driverbyte=DRIVER_SENSE": ("sda", "SCSI error"),
    "sd 2:0:0:0: [sda] tag#0 Sense Key : Medium Error [current] ": ("sda", "SCSI error"),
    "sd 2:0:0:0: rejecting I/O to offline device": ("", "device offline"),
    "ata1.00: failed command: FLUSH CACHE EXT": ("", "ATA error"),
    "ata1.00: status: { DRDY ERR }": ("", "ATA error"),
    "nvme nvme0: I/O 12 QID 3 timeout, aborting": ("nvme0", "NVMe error"),
    "nvme0n1: I/O Cmd(0x2) @ LBA 0, 8 blocks, I/O Error (sct 0x2 / sc 0x81)": ("nvme0n1", "NVMe error"),
    "nvme nvme0: controller is down; will reset: CSTS=0xffffffff": ("nvme0", "NVMe error"),
    "md/raid1:md0: Disk failure on sdb1, disabling device.": ("md0", "RAID member failed"),
    "device-mapper: multipath: 253:4: Failing path 8:16.": ("", "path failed"),
    "device-mapper: thin: 253:3: switching pool to out-of-data-space (queue IO) mode": ("", "no space on the device"),
    "loop: Write error at byte offset 123, length 4096.": ("", "I/O error"),
    "nfs: server nas1 not responding, timed out": ("", "NFS server timed out"),
}
"""As the sources of Linux print them: message, device, what failed."""

HARMLESS = [
    "operation not supported error, dev loop0, sector 327728 op 0x9:(WRITE_ZEROES) flags 0x20000800",
    "blk_update_request: critical target error, dev sdd, sector 2048 op 0x3:(DISCARD) flags 0x800",
    "EXT4-fs (sda1): re-mounted. Opts: errors=remount-ro",
    "EXT4-fs (sda1): mounted filesystem with ordered data mode. Opts: errors=remount-ro",
    "XFS (dm-2): Mounting V5 Filesystem",
    "xfs: Unknown parameter 'nobarrier'",
    "BTRFS info (device sdb): bdev /dev/sdb errs: wr 0, rd 0, flush 0, corrupt 0, gen 0",
    "sd 2:0:0:0: [sda] Write cache: disabled, read cache: enabled, doesn't support DPO or FUA",
    "ata1: SATA link down (SStatus 0 SControl 300)",
    "md/raid1:md0: active with 2 out of 2 mirrors",
    "nfs: server nas1 not responding, still trying",
    "ACPI Error: AE_NOT_FOUND",
    "usb 1-1: device descriptor read/64, error -71",
    "TCP: request_sock_TCP: Possible SYN flooding on port 389. Sending cookies.",
]

UNREPORTED = (
    *("EXT4-fs (loop0): unmounting", "loop0: detected capacity", "EXT4-fs (loop0): barriers disabled"),
    *("EXT4-fs (loop0): recovery complete", "EXT4-fs (loop0): mounted", "blk_print_req_error:", "buffer_io_error:"),
    *("XFS (loop3): ", "EXT4-fs (loop3): mount", "BTRFS: device fsid", "BTRFS info (device loop3): "),
    *("XFS (loop0): Please unmount", "XFS (loop1): Please unmount", "EXT4-fs (loop0): re-mounted", "psi: inconsistent"),
    *("BTRFS info (device loop1): force zlib", "EXT4-fs: Warning: mounting with", "EXT4-fs (loop4): mounted"),
    *("EXT4-fs (loop5): mounted", "BTRFS info (device loop24)", "BTRFS info (device loop25)", "zram"),
    *("BTRFS info (device loop26)", "set_capacity_and_notify", "EXT4-fs mount: ", "EXT4-fs unmount: "),
    *("EXT4-fs (zram1)", "XFS (loop0): Starting", "XFS (loop0): Ending", "BTRFS warning (device loop1 state EA): Skip"),
    "BTRFS info (device loop1 state EA): last unmount",
)
"""How the messages of the capture begin that report no error, sorted by hand."""


def messages(content: str | bytes) -> KernelErrors:
    (found,) = facts_of(content)
    assert isinstance(found, KernelErrors)
    assert found.origin.not_understood == 0
    return found


def test_of_real_messages_exactly_the_errors_are_kept(captures: Path) -> None:
    content = (captures / "storage" / "kernel" / "dmesg.txt").read_text()
    lines = [line.partition("] ")[2] for line in content.splitlines()]
    found = messages(content)
    assert [one.text for one in found.errors] == [line for line in lines if not line.startswith(UNREPORTED)]
    assert (len(found.errors), found.lines_read, found.from_boot, found.omitted) == (25, 69, False, 0)
    assert all(one.device.startswith("loop") for one in found.errors)
    assert {"remounted read-only", "file system shut down", "journal aborted", "lost write", "writeback error"} <= {
        one.what for one in found.errors
    }


def test_every_form_of_the_time(captures: Path) -> None:
    (plain, local, iso) = (
        messages((captures / "storage" / "kernel" / name).read_bytes()).errors[0]
        for name in ("dmesg.txt", "dmesg-T.txt", "dmesg-iso.txt")
    )
    assert plain.text == local.text == iso.text
    assert plain.since_boot_seconds is not None
    assert (plain.when, plain.printed_time) == (None, "")
    assert (local.when, local.printed_time[:4]) == (None, "Mon ")
    assert iso.when is not None
    assert (iso.when.utcoffset() is not None, iso.printed_time) == (True, "")


def test_journalctl() -> None:
    text = (
        "-- Journal begins at Mon 2026-11-16 00:00:01 UTC, ends at Mon 2026-11-23 06:00:00 UTC. --\n"
        "Nov 22 04:49:07 ldap kernel: Linux version 6.1.0-18-amd64 (debian-kernel@lists.debian.org)\n"
        "Nov 22 04:49:09 ldap kernel: Buffer I/O error on dev dm-0, logical block 7, lost async page write\n"
        "2026-11-22T04:49:10+0100 ldap kernel: XFS (dm-2): log I/O error -5\n"
    )
    found = messages(text)
    assert (found.lines_read, found.from_boot) == (3, True)
    assert [(one.device, one.printed_time) for one in found.errors] == [("dm-0", "Nov 22 04:49:09"), ("dm-2", "")]
    assert found.errors[1].when == datetime(2026, 11, 22, 3, 49, 10, tzinfo=UTC)


def test_dmesg_from_boot_without_errors() -> None:
    found = messages("[    0.000000] Linux version 6.1.0\n[    1.200000] loop: module loaded\n")
    assert (found.errors, found.lines_read, found.from_boot) == ((), 2, True)


def test_the_lines_that_a_collection_kept() -> None:
    kept = "# 4711 lines of dmesg read, from boot\n[   12.345678] XFS (dm-2): log I/O error -5\n"
    found = messages(kept)
    assert (len(found.errors), found.lines_read, found.from_boot) == (1, 4711, True)
    none = messages("# 4711 lines of journalctl -k read\n")
    assert (none.errors, none.lines_read, none.from_boot) == ((), 4711, False)


@pytest.mark.parametrize("text", ERRORS)
def test_errors_are_reported_with_their_device(text: str) -> None:
    assert error_of(text) == ERRORS[text]


@pytest.mark.parametrize("text", HARMLESS)
def test_other_messages_are_none(text: str) -> None:
    assert error_of(text) is None


def test_no_error_escapes_the_words_that_are_looked_for_first() -> None:
    for text in ERRORS:
        assert WORDS.search(text)
        assert any(pattern.match(text) for pattern, _ in GRAMMAR)


FIRST, SECOND = "4cf6fdf9-14c3-4db7-b2f2-e08260a22b96", "b38afad7-3081-4d06-ae0f-7d9c8d590d25"
MOUNT = "EXT4-fs (loop0): mounted filesystem {}r/w with ordered data mode."
ERROR = "I/O error, dev loop0, sector 8 op 0x1:(WRITE)"


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([ERROR], [Mounted.UNKNOWN]),
        ([ERROR, MOUNT.format(f"{FIRST} "), ERROR], [Mounted.UNKNOWN_BEFORE, Mounted.SINCE]),
        (
            [MOUNT.format(f"{FIRST} "), ERROR, MOUNT.format(f"{SECOND} "), ERROR],
            [Mounted.OTHER_BEFORE, Mounted.SINCE],
        ),
        ([MOUNT.format(f"{FIRST} "), ERROR, MOUNT.format(f"{FIRST} ")], [Mounted.SAME_BEFORE]),
        ([MOUNT.format(""), ERROR, MOUNT.format("")], [Mounted.UNKNOWN_BEFORE]),
        ([MOUNT.format("").replace("mounted", "re-mounted"), ERROR], [Mounted.UNKNOWN]),
        ([ERROR, MOUNT.format("").replace("loop0", "loop1")], [Mounted.UNKNOWN]),
        (["XFS (loop0): Mounting V5 Filesystem", ERROR, "XFS (loop0): Ending clean mount"], [Mounted.SINCE]),
        ([ERROR, f"BTRFS info (device loop0): first mount of filesystem {FIRST}"], [Mounted.UNKNOWN_BEFORE]),
    ],
)
def test_errors_are_compared_with_the_last_mount_of_their_device(texts, expected) -> None:
    found = messages("".join(f"[{at:5d}.000000] {text}\n" for at, text in enumerate(texts)))
    assert [one.mounted for one in found.errors] == expected


def test_what_a_file_system_reports_is_told_from_what_its_device_does() -> None:
    found = messages("".join(f"[{at:5d}.000000] {text}\n" for at, text in enumerate(ERRORS)))
    of_file_system = {one.text.split()[0].strip(":") for one in found.errors if one.of_file_system}
    assert of_file_system == {"EXT4-fs", "JBD2", "Aborting", "XFS", "BTRFS"}


def test_of_a_hostile_number_of_mounts_the_last_are_kept() -> None:
    lines = [f"XFS (sd{at}): Mounting Filesystem" for at in range(3 * MOST)]
    found = messages("".join(f"[    0.000001] {line}\n" for line in [*lines, "XFS (sd0): log I/O error -5", *lines]))
    assert [one.mounted for one in found.errors] == [Mounted.UNKNOWN]


def test_of_many_the_first_and_the_last_are_kept() -> None:
    found = messages("".join(f"[{at:12d}.000000] I/O error, dev sda, sector {at}\n" for at in range(3 * MOST)))
    assert (len(found.errors), found.omitted, found.lines_read) == (2 * MOST, MOST, 3 * MOST)
    assert (found.errors[0].text[-2:], found.errors[-1].text.split()[-1]) == (" 0", str(3 * MOST - 1))


def test_a_log_of_many_programs_is_not_the_kernels() -> None:
    text = "Nov 22 04:49:07 ldap kernel: x\n" + "Nov 22 04:49:07 ldap cron[1]: y\n" * 3
    assert recognise(head_of("messages", text.encode(), whole=True)) is None
