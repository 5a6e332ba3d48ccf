"""Access logs of a host: located by the servers' configuration, fetched newest first; no other file is fetched."""

from __future__ import annotations

import gzip
import os
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.laboratory import Laboratory, need
from ldapdiag.evidence.bundle import Gap
from ldapdiag.sources.files.input import Input
from ldapdiag.sources.live.ssh import access_logs
from ldapdiag.sources.live.ssh.access_logs import RemoteLog, parts_of
from ldapdiag.sources.live.ssh.remote import ScriptSession, script
from sources.live.ssh.collect.test_main import SHELLS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ALONE = ["unshare", "--pid", "--fork", "--mount-proc"]
NOBODY = "setpriv --reuid 65534 --regid 65534 --clear-groups"
CONFIG = "dn: cn=config\nobjectClass: top\n"
PUBLISHERS = """dn: cn=Audit,cn=Loggers,cn=config
objectClass: ds-cfg-access-log-publisher
objectClass: ds-cfg-file-based-audit-log-publisher
ds-cfg-enabled: true
ds-cfg-log-file: logs/audit

dn: cn=HTTP,cn=Loggers,cn=config
objectClass: ds-cfg-file-based-http-access-log-publisher
ds-cfg-enabled: true
ds-cfg-log-file: logs/http-access

dn: cn=Off,cn=Loggers,cn=config
objectClass: ds-cfg-access-log-publisher
objectClass: ds-cfg-file-based-access-log-publisher
ds-cfg-enabled: false
ds-cfg-log-file: elsewhere/access

dn: cn=Some,cn=Loggers,cn=config
objectClass: ds-cfg-json-file-access-log-publisher
ds-cfg-enabled: true
ds-cfg-log-directory: logs
ds-cfg-filtering-policy: inclusive

"""
PLAIN = """dn: cn=File-Based Access Logger,cn=Loggers,cn=config
ds-cfg-enabled: true
ds-cfg-log-file: lo
 gs/access
objectClass: ds-cfg-access-log-publisher
objectClass: ds-cfg-file-based-access-log-publisher
"""
COMBINED = "dn: cn=Combined,cn=Loggers,cn=config\n" + PLAIN.partition("\n")[2].replace("gs/access", "gs/combined")
JAVA = ["org.opends.server.core.DirectoryCollector", "--configFile", "{folder}/config/config.ldif"]
SERVERS = {
    "389-ds": ("ns-slapd", ["-D", "{folder}"], "dse.ldif", f"{CONFIG}nsslapd-accesslog: {{folder}}/logs/access\n"),
    "slapd.d": ("slapd", ["-F", "{folder}/d"], "d/cn=config.ldif", f"{CONFIG}olcLogFile: {{folder}}/logs/access\n"),
    "slapd.conf": ("slapd", ["-f", "{folder}/slapd.conf"], "slapd.conf", 'LogFile "{folder}/logs/access"\n'),
    "OpenDJ": ("java", JAVA, "config/config.ldif", PUBLISHERS + COMBINED + "\n" + PLAIN),
}


@pytest.fixture(scope="module", autouse=True)
def rights(laboratory: Laboratory) -> None:
    """Need what the laboratory needs: processes of others, alone in a namespace."""
    need("setpriv")


@pytest.fixture
def place() -> Iterator[Path]:
    """Return a folder that everybody may enter."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        (Path(folder) / "logs").mkdir()
        yield Path(folder)


@pytest.fixture
def log(captures: Path) -> bytes:
    return (captures / "access-logs" / "389-pools.head500.access").read_bytes()


@pytest.fixture
def asked(place: Path) -> Iterator[Callable[..., ScriptSession]]:
    """Return what begins a session with a host on which one server runs, and no other process."""
    begun = []

    def ask(
        kind: str, *, who: str = "", text: str | None = None, argv: list[str] | None = None, **settings
    ) -> ScriptSession:
        program, arguments, name, configuration = SERVERS[kind]
        file = place / name
        file.parent.mkdir(exist_ok=True)
        file.write_text((configuration if text is None else text).replace("{folder}", str(place)))
        (place / program).write_text("#!/bin/sh\nwhile :; do sleep 60; done\n")
        (place / program).chmod(0o755)
        started = shlex.join(
            [str(place / program), *(one.replace("{folder}", str(place)) for one in argv or arguments)]
        )
        wait = f"until grep -qx {program} /proc/[0-9]*/comm; do :; done"
        output = settings.pop("output", "/dev/null")
        shell = settings.pop("shell", "sh")
        begins = f"{who} {started} </dev/null >/dev/null 2>{output} & {wait}\nexec {shell}"
        host = ScriptSession(
            argv=[*ALONE, "sh", "-c", begins], target="ssh://ds1", folder="ds1", sockets=False, namespaces=False,
            **{"timeout_seconds": 20, **settings},
        )  # fmt: skip
        begun.append(host)
        list(host.collect())
        return host

    yield ask
    for one in begun:
        one.close()


def fetch_logs(session: ScriptSession) -> tuple[dict[str, bytes], list[Gap]]:
    answers = list(access_logs.fetch_logs(session, lambda _: None))
    return {one.path: one.open().read() for one in answers if isinstance(one, Input)}, [
        one for one in answers if isinstance(one, Gap)
    ]


def written(place: Path, files: dict[str, bytes]) -> None:
    """Write log files, of which each is older than the one before it."""
    for age, (name, content) in enumerate(files.items()):
        (place / "logs" / name).write_bytes(content)
        os.utime(place / "logs" / name, (1_800_000_000 - age, 1_800_000_000 - age))


@pytest.mark.parametrize("kind", SERVERS)
def test_the_log_that_is_configured_comes_with_those_rotated_from_it(place, asked, log, kind) -> None:
    lines = log.splitlines(keepends=True)
    parts = [b"".join(lines[start : start + 100]) for start in range(0, 500, 100)]
    written(
        place,
        {
            "access": parts[4],
            "access.20261120-090625": parts[3],
            "access.20261119090625Z": parts[2],
            "access-20261118.gz": gzip.compress(parts[1]),
            "access.2": parts[0],
            "access.rotationinfo": log,
            "access.bak": log,
            "access-control": log,
            "errors": log,
        },
    )
    pieces, gaps = fetch_logs(asked(kind))
    assert gaps == []
    assert list(pieces) == [
        "ds1/access",
        "ds1/access.20261120-090625",
        "ds1/access.20261119090625Z",
        "ds1/access-20261118",
        "ds1/access.2",
    ]
    assert list(pieces.values()) == parts[::-1]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_finds_them(place, asked, log, shell) -> None:
    if not shutil.which(shell.split()[0]):
        pytest.skip(f"{shell.split()[0]} is not installed")
    written(place, {"access": log, "access.20261120-090625.gz": gzip.compress(log), "access.1": log})
    for kind in ("slapd.d", "OpenDJ"):
        pieces, gaps = fetch_logs(asked(kind, shell=shell))
        assert gaps == []
        assert list(pieces) == ["ds1/access", "ds1/access.20261120-090625", "ds1/access.1"]


@pytest.mark.parametrize("kind", SERVERS)
def test_a_file_that_is_not_an_access_log_is_never_fetched(place, asked, kind) -> None:
    secrets = b"root:$6$Geheim$hunter2:19000:0:99999:7:::\n" * 10_000
    written(place, {"access": secrets, "access.1": gzip.compress(secrets), "access.2.gz": gzip.compress(secrets)})
    pieces, gaps = fetch_logs(asked(kind))
    assert pieces == {}
    assert len(gaps) == 3
    assert all("no line of an access log" in gap.reason for gap in gaps)
    assert gaps[0].target == f"ssh://ds1{place}/logs/access"


@pytest.mark.parametrize("kind", SERVERS)
def test_files_of_root_are_not_read_for_the_process_of_another_user(place, asked, log, kind) -> None:
    written(place, {"access": log, "access.1": log})
    (place / "logs" / "access").chmod(0o600)
    pieces, gaps = fetch_logs(asked(kind, who=NOBODY))
    assert pieces == {}
    assert [gap.reason for gap in gaps] == [gap.reason for gap in gaps if "user 65534" in gap.reason]
    assert len(gaps) == 1


def test_of_a_rotated_set_it_reads_what_it_may(place, asked, log) -> None:
    written(place, {"access": log, "access.1": log, "access.2": log})
    (place / "logs" / "access.1").chmod(0o600)
    (place / "logs" / "access.2").unlink()
    (place / "logs" / "access.2").symlink_to("/etc/shadow")
    pieces, gaps = fetch_logs(asked("389-ds", who=NOBODY))
    assert (list(pieces), gaps) == (["ds1/access"], [])


def test_a_slapd_that_logs_to_syslog_is_a_gap_with_advice(asked) -> None:
    pieces, (gap,) = fetch_logs(asked("slapd.d", text=CONFIG))
    assert pieces == {}
    assert "logs to syslog" in gap.reason
    assert "ssh://HOST/PATH" in gap.how


def test_a_slapd_whose_standard_error_is_a_file_logs_there(place, asked, log) -> None:
    written(place, {"stderr.log": log})
    pieces, gaps = fetch_logs(
        asked("slapd.conf", text="database mdb\n", output=f"/dev/null 2>>{place}/logs/stderr.log")
    )
    assert (pieces, gaps) == ({"ds1/stderr.log": log}, [])


@pytest.mark.parametrize(
    ("kind", "text", "reason", "how"),
    [
        ("389-ds", f"{CONFIG}nsslapd-accesslog: /x\nnsslapd-accesslog-logging-enabled: off\n", "writes no", "on"),
        ("389-ds", f"{CONFIG}nsslapd-accesslog: /no/such/file\n", "cannot read /no/such/file", "--sudo"),
        ("389-ds", f"{CONFIG}nsslapd-accesslog: /etc/$(id)\n", "a file without a plain path", "--sudo"),
        ("389-ds", CONFIG, "has no access log", "ssh://HOST/PATH"),
        ("OpenDJ", PUBLISHERS.partition("dn: cn=Some")[0], "has no access log", "ssh://HOST/PATH"),
    ],
)
def test_a_log_that_cannot_be_fetched_is_a_gap(asked, kind, text, reason, how) -> None:
    pieces, (gap,) = fetch_logs(asked(kind, text=text))
    assert pieces == {}
    assert reason in gap.reason
    assert how in gap.how


def test_an_empty_log_is_a_gap_unless_there_are_older_ones(place, asked, log) -> None:
    written(place, {"access": b""})
    pieces, (gap,) = fetch_logs(asked("389-ds"))
    assert pieces == {}
    assert gap.reason == f"its access log {place}/logs/access is empty"
    written(place, {"access": b"", "access.1": log})
    assert fetch_logs(asked("389-ds")) == ({"ds1/access.1": log}, [])


def test_beyond_the_limit_the_end_of_the_last_file_comes_from_a_line_on(place, asked, log, monkeypatch) -> None:
    written(place, {"access": log, "access.1": log, "access.2": log})
    monkeypatch.setattr(access_logs, "MAX_BYTES", len(log) * 3 // 2)
    pieces, (gap,) = fetch_logs(asked("389-ds"))
    assert list(pieces) == ["ds1/access", "ds1/access.1"]
    assert pieces["ds1/access"] == log
    part = pieces["ds1/access.1"]
    assert log.endswith(b"\n" + part)
    assert len(log) // 2 - 1000 < len(part) <= len(log) // 2
    assert f"{place}/logs/access and 2 older files was read" in gap.reason
    assert gap.target == "ssh://ds1"
    assert "scp" in gap.how


def test_on_our_own_host_they_are_read_where_they_lie(place, asked, log) -> None:
    written(place, {"access": log, "access.1.gz": gzip.compress(log), "access.2": b""})
    answers = list(access_logs.local_logs(asked("389-ds")))
    assert [(one.file_range.location, one.folder) for one in answers if isinstance(one, Input)] == [
        (f"{place}/logs/access", "ds1"),
        (f"{place}/logs/access.1.gz", "ds1"),
    ]
    assert len(answers) == 2


def test_only_an_order_brings_them(place, asked, log) -> None:
    """`collect` and `diagnose` give none, and the script that is mailed has nobody who does."""
    written(place, {"access": log})
    with asked("389-ds") as host:
        assert not [one for one in host.snapshot() if isinstance(one, Input) and "access" in one.path]
    text = script(PAUSE=0, NAMESPACES=0, SOCKETS=0)
    assert text.count("logs)") == 1
    assert "INTERACTIVE=1" not in text.partition("# ldapdiag")[0]


LATE = """import sys, time
hear = lambda: sys.stdin.readline().strip()
nonce = hear().partition("=")[2].strip("'")
def say(*words): print(*words, flush=True)
def section(file, text):
    say(nonce, "begin . " + file, "2026-11-20T13:00:01Z x")
    sys.stdout.write(text)
    say(nonce, "end 0 2026-11-20T13:00:01Z")
while hear() != "main": pass
say("ldapdiag-collection 1", nonce); say(nonce, "waiting")
hear(); say(nonce, "waiting"); hear(); say(nonce, "waiting")
hear(); section("access-logs.txt", LIST); say(nonce, "waiting")
while order := hear():
"""


@pytest.fixture
def slow(tmp_path: Path) -> Callable[..., ScriptSession]:
    """Return a session with a host of our own making, whose files are listed, and printed by these lines."""

    def made(listed: str, *lines: str) -> ScriptSession:
        program = tmp_path / "host.py"
        program.write_text(f"LIST = {listed!r}\n{LATE}" + "".join(f"    {line}\n" for line in lines))
        host = ScriptSession(
            argv=[sys.executable, "-I", "-S", str(program)], target="ssh://ds1", folder="ds1", timeout_seconds=2
        )
        list(host.collect())
        return host

    return made


BEGIN = "say(nonce, 'begin . access-log-1 2026-11-20T13:00:01Z cat /logs/access')"


def test_the_part_that_arrived_in_time_is_kept_and_the_remainder_is_a_gap(slow) -> None:
    lines = [BEGIN, "say('x conn=1\\n' * 1000)", "time.sleep(60)"]
    with slow("1 1 999999999 /logs/access\n2 1 5 /logs/access.1\n3 2 5 /other/access\n", *lines) as host:
        pieces, (gap, other) = fetch_logs(host)
    assert list(pieces) == ["ds1/access"]
    assert pieces["ds1/access"].startswith(b"x conn=1\n" * 999)
    assert "did not arrive in 2 s" in gap.reason
    assert "--timeout" in gap.how
    assert (
        "nothing of the 0.0 MiB of its access log /other/access was read: the remainder did not arrive in 2 s"
        in other.reason
    )


def test_a_log_that_has_grown_since_it_was_listed_has_arrived_completely(slow) -> None:
    printed = "section('access-log-1', 'x conn=1\\n' * 9); say(nonce, 'waiting')"
    with slow("1 1 9 /logs/access\n", printed) as host:
        assert fetch_logs(host) == ({"ds1/access": b"x conn=1\n" * 9}, [])


def test_a_connection_that_ends_is_a_gap_with_that_reason(slow) -> None:
    with slow("1 1 10 /logs/access\n", "sys.exit(1)") as host:
        pieces, (gap, *_) = fetch_logs(host)
    assert pieces == {}
    assert "ended during the collection" in gap.reason


def test_a_host_that_lists_nonsense_gets_no_orders(slow) -> None:
    listed = "x\n1 1 10 relative\n1 1 10 /a b\n1 1 10 /$(id)\n-1 1 1 /a\n1 1 9999999999999999 /a\n" + "\0\xff\n"
    with slow(listed, "time.sleep(60)") as host:
        assert fetch_logs(host) == ({}, [])
    with slow("1 1 9 /logs/access\n" * 100_000, "time.sleep(60)") as host:
        assert len(list(access_logs.local_logs(host))) == access_logs.MAX_LISTED


def found(sizes: list[list[tuple[int, bool]]]) -> list[RemoteLog]:
    files = [
        (server, size, f"/{server}/access.{age}{'.gz' if packed else ''}")
        for server, logs in enumerate(sizes, 1)
        for age, (size, packed) in enumerate(logs)
    ]
    return [
        RemoteLog(number=number, server=(".", server), size_bytes=size, path=path, folder="ds1")
        for number, (server, size, path) in enumerate(files, 1)
    ]


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 100), st.booleans()), min_size=1, max_size=6), max_size=5),
    st.integers(0, 400),
)
def test_the_newest_that_fit_are_wanted_of_every_server(sizes, most) -> None:
    files = found(sizes)
    parts = parts_of(files, most)
    assert sum(part.size_bytes for part in parts) <= most
    if sum(file.size_bytes for file in files) <= most:
        assert {part.file.number: part.size_bytes for part in parts} == {
            file.number: file.size_bytes for file in files if file.size_bytes
        }
    for server in {file.server for file in files}:
        own = [file for file in files if file.server == server and file.size_bytes]
        taken = [part for part in parts if part.file.server == server]
        assert [part.file for part in taken] == own[: len(taken)], "none is left out between two"
        assert all(part.size_bytes == part.file.size_bytes for part in taken[:-1])
        assert all(part.size_bytes == part.file.size_bytes for part in taken if part.file.compressed)
        share = most // len(sizes)
        if own and not own[0].compressed and share:
            assert sum(part.size_bytes for part in taken) >= min(own[0].size_bytes, share), "each has its share"
