"""The storage of directory servers, as the script prints it: folders, names, files, disks."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

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


OPENLDAP = """
find_openldap() { openldap_folder=/etc/ldap/slapd.d; }
arguments() { printf '%s\\n' slapd -h "$URLS"; }
in_root() { echo "$ROOT$1"; }
socket_for_it() { test "$1" = "$ROOT$THERE"; }
may_search() { return 1; }
settings_section() { echo "$settings_note"; }
ROOT=$2 THERE=$3 URLS=$1
openldap 41
"""
USUAL, OTHER = "/run/slapd/ldapi", "/run/x/ldapi"


@pytest.mark.parametrize(
    ("urls", "there", "note"),
    [
        ("ldap:/// ldapi:///", USUAL, " (local socket ldapi://%2Frun%2Fslapd%2Fldapi)"),
        ("ldapi://%2Frun%2Fx%2Fldapi ldap:///", OTHER, " (local socket ldapi://%2Frun%2Fx%2Fldapi)"),
        ("ldap:/// ldapi:///", OTHER, ""),
        ("ldap:///", USUAL, " (without a local socket)"),
    ],
)
def test_where_a_slapd_listens_locally_stands_beside_its_settings(urls, there, note, shell) -> None:
    """A socket that is named and not there may be that of another process: nothing is known then."""
    assert said(OPENLDAP, urls, "", there, shell=shell) == f"{note}\n"
