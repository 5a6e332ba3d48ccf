"""The storage of directory servers, as the script prints it: folders, names, files, errors of disks."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ldapdiag.evidence.storage.kernel_errors import error_of
from ldapdiag.sources.captures.script_output import MissingItem, ScriptSection, events
from ldapdiag.sources.live.ssh.remote import script
from properties.test_collected_secrets import AWKS
from reading import facts_of

SHELLS = [shell for shell in ("dash", "bash", "busybox ash", "mksh") if shutil.which(shell.split()[0])]
SERVER = "server_root=; server_hidden=; server_trusted=1; server_uid=389; server_pid=41; server_nth=; servers_folder=."
"""A server's process, as the script sees it."""


@pytest.fixture(params=SHELLS)
def shell(request):
    return request.param


def said(text: str, *arguments: object, shell: str = "sh", known: str = SERVER, path: Path | None = None) -> str:
    """Return what lines of sh print that use the script's functions; nothing may complain."""
    body = script(MORE_PATH="", NONCE="0123456789", LIMIT=6).rstrip().removesuffix("main")
    folder = f"{path}:" if path else ""
    start = f"PATH={folder}/usr/sbin:/usr/bin:/sbin:/bin\nSYSTEM=Linux; choose_timeout; choose_rights; {known}\n"
    command, *options = shell.split()
    text = f"{body}\n{start}{text}\n"
    done = subprocess.run(
        [shutil.which(command), *options, "-c", text, "sh", *map(str, arguments)],
        capture_output=True, text=True, check=False, timeout=30,
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout


def printed(text: str) -> tuple[dict[str, ScriptSection], list[str]]:
    """Return the sections by file, and the reasons of the gaps."""
    output = ("ldapdiag-collection 1 0123456789\n" + text).encode().splitlines(keepends=True)
    told = list(events(output))
    return {one.file: one for one in told if isinstance(one, ScriptSection)}, [
        one.reason for one in told if isinstance(one, MissingItem)
    ]


DSE = """dn: cn=config
nsslapd-accesslog: /var/log/dirsrv/slapd-ds1/access
nsslapd-errorlog: /var/log/dirsrv/slapd-ds1/errors

dn: cn=config,cn=ldbm database,cn=plugins,cn=config
nsslapd-directory: /srv/ldap/
 db
NSSLAPD-DB-LOGDIRECTORY: /srv/log/
nsslapd-db-home-directory: /run/home

dn: cn=changelog5,cn=config
nsslapd-changelogdir: /srv/change log
nsslapd-directory:: L2V0Yw==
nsslapd-directoryx: /etc

dn: cn=userRoot,cn=ldbm database,cn=plugins,cn=config
nsslapd-directory: /srv/ldap/db/userRoot
"""
FOLDERS_389 = ["/run/home", "/srv/ldap/db", "/srv/ldap/db/userRoot", "/srv/log", "/var/log/dirsrv/slapd-ds1"]


def test_the_folders_of_389_ds_are_those_of_its_configuration(tmp_path, shell) -> None:
    (tmp_path / "dse.ldif").write_text(DSE)
    text = f'argument() {{ echo {tmp_path}; }}\nfolders_of 41 ns-slapd ""'
    assert said(text, shell=shell).splitlines() == FOLDERS_389, "values in base64 and with blanks are not used"


def test_the_folders_of_slapd_are_those_of_all_its_databases(tmp_path, shell) -> None:
    below = tmp_path / "cn=config"
    below.mkdir()
    (tmp_path / "cn=config.ldif").write_text("dn: cn=config\nolcLogFile: /var/log/slapd/slapd.log\n")
    for name, folder in {"{1}mdb": "/var/lib/ldap/", "{2}mdb": "/var/lib/accesslog", "{3}mdb": "relative"}.items():
        (below / f"olcDatabase={name}.ldif").write_text(f"dn: olcDatabase={name}\nolcDbDirectory: {folder}\n")
    text = f'argument() {{ test $2 = -F && echo {tmp_path}; }}\nfolders_of 41 slapd ""'
    assert said(text, shell=shell).splitlines() == ["/var/lib/accesslog", "/var/lib/ldap", "/var/log/slapd"]


def test_the_folders_of_a_slapd_conf_are_read_too(tmp_path, shell) -> None:
    (tmp_path / "slapd.conf").write_text('database mdb\ndirectory "/srv/a"\nDirectory\t/srv/b\nlogfile /l/slapd.log\n')
    text = f'argument() {{ test $2 = -f && echo {tmp_path}/slapd.conf; }}\nfolders_of 41 slapd ""'
    known = f'{SERVER}; in_root() {{ case $1 in /etc/* | /usr/*) return 1 ;; esac; echo "$1"; }}'
    assert said(text, shell=shell, known=known).splitlines() == ["/l", "/srv/a", "/srv/b"]


CONFIG_LDIF = """dn: ds-cfg-backend-id=userRoot,cn=Backends,cn=config
ds-cfg-backend-id: userRoot
ds-cfg-db-directory: db

dn: ds-cfg-backend-id=other,cn=Backends,cn=config
ds-cfg-db-directory: /srv/db
ds-cfg-backend-id: other

dn: ds-cfg-backend-id=schema,cn=Backends,cn=config
ds-cfg-backend-id: schema

dn: cn=replication server,cn=config
ds-cfg-replication-db-directory: changelogDb

dn: cn=File-Based Access Logger,cn=Loggers,cn=config
ds-cfg-log-file: logs/access
"""


def test_a_backend_of_opendj_has_a_folder_of_its_own(tmp_path, shell) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.ldif").write_text(CONFIG_LDIF)
    found = said(f"folders_of 41 java {tmp_path}/config/config.ldif", shell=shell).splitlines()
    expected = [f"{tmp_path}/{name}" for name in ("changelogDb", "db", "db/userRoot", "logs")]
    assert found == ["/srv/db", "/srv/db/other", *expected]


def names_of(place: Path, *, shell: str = "sh", known: str = SERVER) -> list[list[str]]:
    text = 'storage_pairs=; storage_read=; storage_gaps=\nfor one do reach "$one"; done\ndirectory_sizes'
    return [line.split("\t") for line in said(text, place, shell=shell, known=known).splitlines()]


def test_names_are_counted_and_links_resolved(tmp_path, shell) -> None:
    folder = tmp_path / "real"
    folder.mkdir()
    for name in ("a.db", ".hidden", "c d"):
        (folder / name).touch()
    (tmp_path / "link").symlink_to(folder)
    assert names_of(tmp_path / "link", shell=shell) == [[f"{tmp_path}/link", "3", str(folder), ""]]
    assert names_of(folder, shell=shell) == [[str(folder), "3", str(folder), ""]]
    assert names_of(tmp_path / "absent", shell=shell) == []


def test_of_very_many_names_the_number_is_a_lower_bound(tmp_path, shell) -> None:
    for number in range(30):
        (tmp_path / str(number)).touch()
    for most, remark in ((20, "at least"), (40, "")):
        (row,) = names_of(tmp_path, shell=shell, known=f"{SERVER}; MOST_NAMES={most}")
        assert row == [str(tmp_path), str(min(most, 30)), str(tmp_path), remark]


@pytest.fixture
def databases(tmp_path):
    sizes = {"id2entry.db": 30, "big.db3": 900, "data.mdb": 500, "log.0000000001": 70, "00000000.jdb": 5}
    others = ("lock.mdb", "guardian", "__db.001", "DBVERSION", "log.txt", "a b.db", "x.db.bak")
    for name, size in {**sizes, **dict.fromkeys(others, 4)}.items():
        (tmp_path / name).write_bytes(b"x" * size)
    (tmp_path / "folder.db").mkdir()
    (tmp_path / "link.db").symlink_to(tmp_path / "big.db3")
    return tmp_path


LISTED = ["900 big.db3", "500 data.mdb", "70 log.0000000001", "30 id2entry.db", "5 00000000.jdb"]


def files_of(place: Path, *, shell: str = "sh", known: str = SERVER) -> list[str]:
    return (
        said(f"storage_sizes='{place} 9 {place}'; database_files", shell=shell, known=known)
        .replace(f"{place}/", "")
        .splitlines()
    )


def test_the_database_files_are_listed_largest_first(databases, shell) -> None:
    assert files_of(databases, shell=shell) == LISTED
    assert files_of(databases, shell=shell, known=f"{SERVER}; MOST_FILES=2") == LISTED[:3], "one more, as a sign"


@pytest.mark.parametrize("awk", AWKS)
def test_every_awk_lists_them(databases, tmp_path_factory, awk) -> None:
    folder = tmp_path_factory.mktemp("bin")
    if awk:
        (folder / "awk").symlink_to(shutil.which(awk))
    text = said(f"storage_sizes='{databases} 9 {databases}'; database_files", path=folder)
    assert text.replace(f"{databases}/", "").splitlines() == LISTED


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may read the files of others")
def test_for_an_account_that_is_no_servers_files_of_others_are_not_listed(databases) -> None:
    stranger = f"{SERVER}; server_trusted=0; server_uid=65534"
    for name in ("big.db3", "data.mdb"):
        (databases / name).chmod(0o600)
    os.chown(databases / "data.mdb", 65534, 65534)
    assert files_of(databases, known=stranger) == LISTED[1:]
    databases.chmod(0o700)
    text = 'storage_pairs=; storage_read=; storage_gaps=\nreach "$1"; echo "read:$storage_read"'
    assert said(text, databases, known=stranger).splitlines()[-1] == "read:"
    assert "user 65534 is not the account of a server" in said(text, databases, known=stranger)


@pytest.mark.skipif(not shutil.which("filefrag"), reason="filefrag is not installed")
def test_extents_by_filefrag_have_the_form_of_those_of_the_kernel(databases, shell) -> None:
    text = f"storage_sizes='{databases} 9 {databases}'; storage_files=`database_files`; file_extents"
    rows = [line.split("\t") for line in said(text, shell=shell).splitlines()]
    assert [row[:3] for row in rows] == [
        [str(databases / name), size, str(512 * (databases / name).stat().st_blocks)]
        for size, name in (one.split() for one in LISTED)
    ]
    assert all(row[3].isdigit() != bool(row[4]) for row in rows)


FILEFRAG = """Filesystem type is: 9123683e
File size of /a/data.mdb is 1048576 (256 blocks of 4096 bytes)
 ext:     logical_offset:        physical_offset: length:   expected: flags:
   0:        0..      31:       3328..      3359:     32:             encoded
   1:       32..      63:       3336..      3367:     32:       3360: last,encoded,eof
/a/data.mdb: 2 extents found
/a/b.db: FIBMAP/FIEMAP unsupported
File size of /a/c.db is 12288 (3 blocks of 4096 bytes)
/a/c.db: 1 extent found"""
"""The first is that of btrfs with compression, shortened."""


def test_compressed_and_unsupported_files_have_remarks(tmp_path, shell) -> None:
    (tmp_path / "filefrag").write_text(f"#!/bin/sh\ncat <<'EOF'\n{FILEFRAG}\nEOF\n")
    stat = "for one do case $one in /*) echo stat 10485759000 20480000 $one ;; esac; done"
    (tmp_path / "stat").write_text(f"#!/bin/sh\n{stat}\n")
    for name in ("filefrag", "stat"):
        (tmp_path / name).chmod(0o755)
    files = "\n".join(f"9 /a/{name}" for name in ("data.mdb", "b.db", "c.db", "d.db"))
    rows = said(f"storage_files='{files}'; file_extents", shell=shell, path=tmp_path).splitlines()
    assert rows == [
        "/a/data.mdb\t10485759000\t10485760000\t2\tcompressed",
        "/a/b.db\t10485759000\t10485760000\t-\tthe file system does not report extents",
        "/a/c.db\t10485759000\t10485760000\t1\t",
        "/a/d.db\t10485759000\t10485760000\t-\tfilefrag did not report it",
    ]


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
def test_of_the_messages_of_the_kernel_only_errors_are_printed(tmp_path, shell, command) -> None:
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
    assert lines == DMESG.splitlines()[3:7]


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


def test_the_disks_of_this_machine_are_listed(shell) -> None:
    sections, _ = printed(said("storage_of_host .", shell=shell))
    if not list(Path("/sys/block").glob("*")):
        pytest.skip("this machine has no block device")
    lines = sections["block-devices.txt"].content.decode().splitlines()
    for disk in Path("/sys/block").iterdir():
        assert f"/sys/block/{disk.name}/dev:{(disk / 'dev').read_text().strip()}" in lines


@pytest.mark.parametrize(("system", "asked"), [("SunOS", "mount -v"), ("AIX", "mount")])
def test_another_system_is_asked_for_its_mounts(tmp_path, system, asked) -> None:
    (tmp_path / "mount").write_text('#!/bin/sh\necho "mounts: $*"\n')
    (tmp_path / "mount").chmod(0o755)
    sections, _ = printed(said("storage_of_host .", path=tmp_path, known=f"{SERVER}; SYSTEM={system}"))
    assert sections["mounts.txt"].asked == asked
    assert list(sections) == ["mounts.txt"]


def test_of_zfs_the_properties_that_decide_about_writes_are_printed(tmp_path, shell) -> None:
    rows = "tank/ldap\\tsync\\tdisabled\\tlocal\\ntank/ldap\\tmountpoint\\t/tank/ldap\\tdefault\\n"
    for name, text in {"mount": "echo mounts", "zfs": f"printf '{rows}'; echo \"$*\" >{tmp_path}/asked"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    known = f"{SERVER}; SYSTEM=SunOS"
    sections, gaps = printed(said("storage_of_host .", shell=shell, path=tmp_path, known=known))
    (read,) = facts_of(sections["zfs.txt"].content, path="host/zfs.txt")
    assert {name: dict(own) for name, own in read.datasets.items()} == {
        "tank/ldap": {"sync": "disabled", "mountpoint": "/tank/ldap"}
    }
    assert (tmp_path / "asked").read_text().split()[:4] == ["get", "-H", "-t", "filesystem"]
    assert gaps == []


def test_a_volume_that_hangs_is_a_gap_and_nothing_waits_for_it(tmp_path) -> None:
    text = 'TRYING="timeout 1"; storage_pairs=; reach "$1"; echo "pairs:$storage_pairs"'
    (tmp_path / "test").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "test").chmod(0o755)
    *gap, pairs = said(text, tmp_path, path=tmp_path).splitlines()
    assert pairs == "pairs:"
    assert "does not answer" in gap[0]
