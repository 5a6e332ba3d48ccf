"""The kernel's messages on errors and mounts, as the script prints them."""

from __future__ import annotations

import pytest

from ldapdiag.evidence.storage.kernel_log import error_of, mount_of
from reading import facts_of
from sources.live.ssh.collect.test_storage import SERVER, SHELLS, printed, said


@pytest.fixture(params=SHELLS)
def shell(request):
    return request.param


DMESG = """[    0.000000] Linux version 6.1.0-18-amd64 (debian-kernel@lists.debian.org)
[    1.000000] sd 0:0:0:0: [sda] Write cache: enabled, read cache: enabled
[    2.000000] EXT4-fs (sda1): mounted filesystem with ordered data mode
[   90.500000] blk_update_request: I/O error, dev sda, sector 2048
[   90.600000] Buffer I/O error on dev sda1, logical block 0, lost async page write
[   90.700000] EXT4-fs error (device sda1): ext4_journal_check_start:83: comm slapd: Detected aborted journal
[   90.800000] EXT4-fs (sda1): Remounting filesystem read-only
[   91.000000] user: hunter2 logged in
"""


ERRORS = """\
blk_update_request: I/O error, dev sda, sector 2048 op 0x1:(WRITE) flags 0x0 phys_seg 1 prio class 0
I/O error, dev loop10, sector 0 op 0x1:(WRITE) flags 0x800 phys_seg 0 prio class 2
end_request: critical medium error, dev sda, sector 2048
critical target error, dev sdb, sector 63
critical space allocation error, dev dm-3, sector 4096 op 0x1:(WRITE)
recoverable transport error, dev sdc, sector 0
device offline error, dev sda, sector 2048 op 0x1:(WRITE)
Buffer I/O error on device sda1, logical block 33792
Buffer I/O error on dev dm-0, logical block 7, lost async page write
lost page write due to I/O error on sda1
dm-2: writeback error on inode 131, offset 4096, sector 72
EXT4-fs error (device sda1): ext4_journal_check_start:83: comm slapd: Detected aborted journal
EXT4-fs (sda1): Remounting filesystem read-only
EXT4-fs (sda1): Delayed block allocation failed for inode 17 at logical offset 0 with max blocks 2 with error 5
EXT4-fs (loop10): failed to convert unwritten extents to written extents -- potential data loss!  (inode 17, error -5)
EXT4-fs (loop10): previous I/O error to superblock detected
EXT4-fs (sda1): error count since last fsck: 4
EXT4-fs warning (device loop10): ext4_end_bio:368: I/O error 10 writing to inode 17 starting block 33792)
JBD2: Detected IO errors while flushing file data on sda1-8
JBD2: I/O error when updating journal superblock for loop10-8.
Aborting journal on device sda1-8.
XFS (dm-2): log I/O error -5
XFS (dm-2): xfs_do_force_shutdown(0x2) called from line 1211 of file fs/xfs/xfs_log.c.
XFS (dm-2): Filesystem has been shut down due to log error (0x2).
XFS (dm-2): Metadata corruption detected at xfs_agf_read_verify+0x70
XFS (dm-2): Metadata CRC error detected at xfs_agf_read_verify+0x70
BTRFS error (device sda1): error writing primary super block to device 1
BTRFS info (device sda1): forced readonly
BTRFS warning (device sda1): csum failed root 5 ino 257 off 0 csum 0x98f94189 expected csum 0x94136ad8 mirror 1
BTRFS warning (device sda1): lost page write due to IO error on /dev/sda1 (-5)
BTRFS info (device sda1): bdev /dev/sda1 errs: wr 1, rd 0, flush 0, corrupt 0, gen 0
sd 0:0:0:0: [sda] tag#19 FAILED Result: hostbyte=DID_OK driverbyte=DRIVER_SENSE
sd 0:0:0:0: [sda] tag#19 Sense Key : Medium Error [current]
sd 0:0:0:0: [sda] tag#19 Add. Sense: Unrecovered read error
sd 0:0:0:0: [sda] Unhandled sense code
sd 2:0:0:0: rejecting I/O to offline device
sd 2:0:0:0: Device offlined - not ready after error recovery
ata1.00: failed command: WRITE FPDMA QUEUED
ata1.00: exception Emask 0x0 SAct 0x0 SErr 0x0 action 0x0
nvme0n1: I/O Cmd(0x2) @ LBA 3072, 8 blocks, I/O Error (sct 0x0 / sc 0x2)
nvme nvme0: I/O 840 QID 6 timeout, aborting
nvme nvme0: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10
loop: Write error at byte offset 4096, length 4096.
md/raid1:md0: Disk failure on sdb1, disabling device.
device-mapper: multipath: 253:2: Failing path 8:16.
device-mapper: thin: 253:4: switching pool to out-of-data-space (queue IO) mode
nfs: server nas1 not responding, timed out"""
"""Messages after the sources of Linux that the reader names (evidence/storage/kernel_errors)."""


MOUNTS = (
    "EXT4-fs (loop0): mounted filesystem 4cf6fdf9-14c3-4db7-b2f2-e08260a22b96 r/w with ordered data mode.",
    "EXT4-fs (sda1): mounted filesystem with ordered data mode. Opts: (null)",
    "XFS (dm-2): Mounting V5 Filesystem 6be42e0c-1b35-4c5f-a6cc-bf2a4d0c1e2e",
    "XFS (dm-2): Mounting Filesystem",
    "BTRFS info (device sdb): first mount of filesystem 6be42e0c-1b35-4c5f-a6cc-bf2a4d0c1e2e",
)


def test_whatever_the_reader_calls_an_error_is_printed(tmp_path) -> None:
    lines = [f"[   {number}.000000] {text}" for number, text in enumerate(ERRORS.splitlines(), start=10)]
    assert [text for text in ERRORS.splitlines() if error_of(text) is None] == []
    text = "\n".join(lines)
    (tmp_path / "dmesg").write_text(f"#!/bin/sh\ncat <<'EOF'\n{text}\nEOF\n")
    (tmp_path / "dmesg").chmod(0o755)
    sections, _ = printed(said("storage_of_host .", path=tmp_path))
    content = sections["kernel-errors.txt"].content.decode()
    assert content.splitlines()[1:] == lines
    (read,) = facts_of(content, path="host/kernel-errors.txt")
    assert (read.lines_read, len(read.errors), read.from_boot) == (len(lines), len(lines), False)


@pytest.mark.parametrize("command", ["dmesg", "journalctl -k -b -q --no-pager -n 20000"])
def test_of_the_messages_of_the_kernel_only_errors_and_mounts_are_printed(tmp_path, shell, command) -> None:
    program = command.split()[0]
    (tmp_path / "dmesg").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / program).write_text(f"#!/bin/sh\ncat <<'EOF'\n{DMESG}EOF\n")
    for name in {"dmesg", program}:
        (tmp_path / name).chmod(0o755)
    sections, gaps = printed(said("storage_of_host .", shell=shell, path=tmp_path))
    errors = sections["kernel-errors.txt"]
    assert (errors.status, errors.asked, gaps) == (0, command, [])
    first, *lines = errors.content.decode().splitlines()
    assert first == f"# 8 lines of {'dmesg' if program == 'dmesg' else 'journalctl -k'} read, from boot"
    assert lines == DMESG.splitlines()[2:7]


def test_messages_that_nobody_may_read_are_a_gap(tmp_path) -> None:
    for name in ("dmesg", "journalctl"):
        (tmp_path / name).write_text("#!/bin/sh\necho 'Operation not permitted' >&2\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    for root, reason in {0: ": not root", 1: ", even as root"}.items():
        sections, gaps = printed(said("storage_of_host .", path=tmp_path, known=f"{SERVER}; ROOT={root}"))
        assert "kernel-errors.txt" not in sections
        assert gaps == [f"cannot read the messages of its kernel on errors of disks{reason}"]


def test_of_many_errors_the_last_are_printed(tmp_path) -> None:
    lines = 'i=0; while test $i -lt 1500; do i=$((i + 1)); echo "[$i.000000] I/O error, dev sda, sector $i"; done'
    (tmp_path / "dmesg").write_text(f"#!/bin/sh\n{lines}\n")
    (tmp_path / "dmesg").chmod(0o755)
    sections, _ = printed(said("storage_of_host .", path=tmp_path))
    first, *rest = sections["kernel-errors.txt"].content.decode().splitlines()
    assert first == "# 1500 lines of dmesg read"
    assert (len(rest), rest[0].split()[-1], rest[-1].split()[-1]) == (1000, "501", "1500")


def test_of_many_mounts_the_last_are_printed_in_their_place(tmp_path) -> None:
    lines = [f"[{at:5d}.000000] XFS (loop{at % 7}): Mounting V5 Filesystem" for at in range(1, 501)]
    lines[::2] = [f"[{at:5d}.000000] XFS (loop3): log I/O error -5" for at in range(1, 501, 2)]
    (tmp_path / "dmesg").write_text("#!/bin/sh\ncat <<'EOF'\n{}\nEOF\n".format("\n".join(lines)))
    (tmp_path / "dmesg").chmod(0o755)
    sections, _ = printed(said("storage_of_host .", path=tmp_path))
    _, *rest = sections["kernel-errors.txt"].content.decode().splitlines()
    assert rest == [line for at, line in enumerate(lines, start=1) if at > 100 or "error" in line]


def test_the_mounts_that_the_reader_knows_are_printed(tmp_path) -> None:
    lines = [f"[   {at}.000000] {text}" for at, text in enumerate(MOUNTS, start=10)]
    assert all(mount_of(text) for text in MOUNTS)
    (tmp_path / "dmesg").write_text("#!/bin/sh\ncat <<'EOF'\n{}\nEOF\n".format("\n".join(lines)))
    (tmp_path / "dmesg").chmod(0o755)
    sections, _ = printed(said("storage_of_host .", path=tmp_path))
    assert sections["kernel-errors.txt"].content.decode().splitlines()[1:] == lines
