"""Access logs among the evidence: a fact per server, however its log is cut up, packed or piped."""

from __future__ import annotations

import gzip
import re
import shutil
import tarfile
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from command import diagnose
from conftest import CAPTURES
from in_process import InProcess
from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.bundle import Bundle
from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.evidence.log.operation_kinds import BIND, SEARCH
from ldapdiag.evidence.origin import Span
from ldapdiag.evidence.server_log import ServerLog
from ldapdiag.sources.files.input import Input
from ldapdiag.sources.files.spool import Spool
from ldapdiag.sources.gathering import gather
from ldapdiag.sources.logs import batches, chunks, records
from ldapdiag.sources.progress import NO_PROGRESS, NoProgress
from ldapdiag.sources.recognition import log_discovery
from ldapdiag.sources.recognition.log_discovery import DiscoveredLogs
from log_lines import at, header, period, run

pytestmark = pytest.mark.usefixtures("scanner")

POOLS = CAPTURES / "access-logs" / "389-pools.head500.access"
SLAPD = CAPTURES / "incidents" / "5c-fd-exhaustion-openldap" / "slapd.stderr.log"


def logs(bundle: Bundle) -> list[AccessLog]:
    return [fact for fact in bundle.facts if isinstance(fact, AccessLog)]


def only(bundle: Bundle) -> AccessLog:
    assert bundle.gaps == ()
    (log,) = logs(bundle)
    return log


def told(log: AccessLog) -> dict[str, Any]:
    """Return what a log says, in a form that compares."""
    segment = log.segment
    clients = {
        client: (row.opened, row.operations, row.codes, dict(row.lifetimes)) for client, row in segment.clients.items()
    }
    names = ("lines", "operations", "opened", "open_before", "open_at_end", "peak", "took", "first_time", "last_time")
    return {
        **{name: getattr(segment, name) for name in names},
        "closed": dict(segment.closed),
        "clients": clients,
        "idle_times": {of: row.used.longest for of, row in segment.idle_times.items()},
        "shapes": {key: (row.requests, row.etime, row.worst) for key, row in segment.shapes.items()},
        "attribution": dict(segment.attribution),
        "origin": (log.origin.lines, log.origin.not_understood),
    }


@pytest.fixture
def rotated(tmp_path: Path) -> Path:
    """Return a folder with one log in three files, one of them compressed, whose names tell a wrong order."""
    folder = tmp_path / "ldap"
    folder.mkdir()
    lines = run(1, 30).splitlines(keepends=True)
    third = len(lines) // 3
    (folder / "access.9").write_bytes(header() + b"".join(lines[:third]))
    with gzip.open(folder / "access.1.gz", "wb") as stream:
        stream.write(header() + b"".join(lines[third : 2 * third]))
    (folder / "access").write_bytes(header() + b"".join(lines[2 * third :]))
    return folder


def whole(tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "whole" / "access"
    path.parent.mkdir()
    path.write_bytes(header() + run(1, 30))
    expected = told(only(gather([str(path)])))
    assert (expected["opened"], expected["open_at_end"], expected["open_before"]) == (30, 0, 0)
    return expected


def same_but_for_headers(log: AccessLog, expected: dict[str, Any]) -> None:
    headers = 2 * header().count(b"\n")
    lines = expected["lines"] + headers
    assert told(log) == expected | {"lines": lines, "origin": (lines, 0)}


def test_a_rotated_set_is_one_log(rotated: Path, tmp_path: Path) -> None:
    log = only(gather([str(rotated)]))
    same_but_for_headers(log, whole(tmp_path))
    assert (log.origin.path, log.origin.folder) == ("ldap/access", str(rotated))
    (stream,) = log.streams
    assert stream.files == ("ldap/access.9", "ldap/access.1", "ldap/access")


def test_so_it_is_when_its_files_are_named_one_by_one(rotated: Path, tmp_path: Path) -> None:
    names = [str(path) for path in sorted(rotated.iterdir())]
    same_but_for_headers(only(gather([*names, names[0]])), whole(tmp_path))


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_so_it_is_in_an_archive_whatever_the_order(rotated: Path, tmp_path: Path, mode: Any) -> None:
    path = tmp_path / "evidence.tar"
    with tarfile.open(path, mode) as archive:
        for name in ("access", "access.9", "access.1.gz"):
            archive.add(rotated / name, f"ldap/{name}")
    log = only(gather([str(path)]))
    same_but_for_headers(log, whole(tmp_path))
    assert log.origin.folder.endswith("evidence.tar/ldap")


def test_it_says_who_read_it(scanner: Scanner) -> None:
    """Files and streams alike."""
    data = POOLS.read_bytes()[:40_000]
    assert [stream.scanner for stream in streamed(data, len(data)).streams] == [scanner]
    assert [stream.scanner for stream in only(gather([str(POOLS)])).streams] == [scanner]


@pytest.mark.parametrize("chunk", [1, 7, 4096])
def test_a_log_that_comes_in_small_chunks_is_the_same(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A buffer of 512 bytes makes a piece of every few lines."""
    monkeypatch.setattr(chunks, "CARRIED_BYTES", 512)
    monkeypatch.setattr(batches, "CARRIED_BYTES", 512)
    data = POOLS.read_bytes()[:40_000]
    assert told(streamed(data, chunk)) == told(streamed(data, len(data)))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_it_may_be_written_in_another_encoding(encoding: str) -> None:
    text = POOLS.read_text()[:20_000]
    assert told(streamed(text.encode(encoding), 1001)) == told(streamed(text.encode(), 1001))


def test_a_line_too_long_to_be_read_is_one_misread_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "CARRIED_BYTES", 64)
    monkeypatch.setattr(batches, "CARRIED_BYTES", 64)
    monkeypatch.setattr(records, "KEPT_OF_RECORD", 128)
    lines = run(1, 2).splitlines(keepends=True)
    forged = b"x" * 3000 + run(7, 7).replace(b"\n", b" ")
    monkeypatch.setattr(records, "LONGEST_RECORD", 1000)
    log = streamed(b"".join([*lines[:5], forged, b"\n", *lines[5:]]), 100)
    assert (log.segment.opened, log.segment.misread, log.segment.lines) == (2, 1, len(lines) + 1)


def test_stamps_without_a_year_are_of_when_it_was_captured() -> None:
    line = b"Nov 20 08:54:04 ldap slapd[1]: conn=1000 fd=16 ACCEPT from IP=10.0.0.1:40000 (IP=0.0.0.0:389)\n"
    captured = datetime(2019, 11, 21, tzinfo=UTC)
    segment = streamed(line, 100, Span(start=captured, end=captured)).segment
    assert segment.first_time == int(datetime(2019, 11, 20, 8, 54, 4, tzinfo=UTC).timestamp()) * 10**9


def streamed(data: bytes, chunk: int, taken: Span | None = None) -> AccessLog:
    """Return what a log says that comes in chunks of this size, and can be read only once."""

    class Pipe(BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return super().read(min(chunk, size or 0))

    spool = Spool(lambda: Pipe(data))
    found = DiscoveredLogs()
    found.add(Input(path="-", folder="-", label="-", source=spool.open, spool=spool, taken=taken).with_head())
    (log,) = found.read(NO_PROGRESS, Event())
    assert isinstance(log, AccessLog)
    return log


def test_standard_input_is_read_as_a_file_is() -> None:
    ran = diagnose("-", "--format", "json", stdin=POOLS.read_bytes())
    (fact,) = ran.report["evidence"]
    assert (fact["fact"], fact["lines"], fact["lines_not_understood"]) == ("access-log", 500, 0)


@pytest.mark.parametrize("piped", [False, True])
def test_slapds_one_log_makes_both_facts(piped: bool) -> None:  # noqa: FBT001  a parameter
    ran = diagnose("-" if piped else SLAPD, "--format", "json", stdin=SLAPD.read_bytes())
    facts = {fact["fact"]: fact["lines"] for fact in ran.report["evidence"]}
    assert facts == {"access-log": 592, "server-log": 592}
    found = [finding["check"] for finding in ran.report["findings"]]
    assert "descriptor-headroom" in found, "DENIED is testimony"
    assert "unclean-closes" in found, "its operations are traffic"


def test_two_tellings_are_told_and_count_once(tmp_path: Path) -> None:
    for name in ("access", "copy-of-access"):
        shutil.copy(POOLS, tmp_path / name)
    log = only(gather([str(tmp_path)]))
    assert log.segment.lines == 500
    (note,) = log.origin.notes
    assert "has the same records as" in note


def test_each_folder_is_a_server_of_its_own(tmp_path: Path) -> None:
    for name, client in (("one", "10.0.0.1"), ("two", "10.0.0.2")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "access").write_bytes(header() + run(1, 5, client=client))
    found = logs(gather([str(tmp_path)]))
    assert [(log.origin.path, log.segment.opened) for log in found] == [("one/access", 5), ("two/access", 5)]


def test_since_counts_from_then_on_and_knows_who_is_there(rotated: Path) -> None:
    bundle = gather([str(rotated)], period=period(at(10.05)))
    log = only(bundle)
    assert log.segment.opened == 19
    assert log.segment.open_before == 1
    assert set(log.segment.attribution) == {
        (BIND, b"simple", b"10.0.0.1", b"uid=a", 0),
        (SEARCH, b"(uid=?)", b"10.0.0.1", b"uid=a", 0),
    }
    assert only(gather([str(rotated)], period=period(at(-10)))).segment.opened == 30
    assert only(gather([str(rotated)], period=period(at(1e6)))).segment.opened == 0


def test_since_holds_for_what_passes_too() -> None:
    stdin = header() + run(1, 30)
    ran = diagnose("-", "--format", "json", "--since", "2026-11-20T08:00:10.050", stdin=stdin)
    (churn,) = [one for one in ran.report["verdicts"] if one["check"] == "failed-binds"]
    assert churn["reason"] == "0 of 19 BINDs were refused"


def test_a_time_nobody_can_read_is_usage() -> None:
    ran = diagnose(POOLS, "--since", "some day")
    assert (ran.code, len(ran.complaints)) == (2, 1)
    assert "--since some day" in ran.complaints[0]


def test_a_server_log_that_is_no_access_log_stays_one() -> None:
    errors = CAPTURES / "389ds" / "hostile-clients" / "errors"
    bundle = gather([str(errors)])
    assert logs(bundle) == []
    assert [type(fact) for fact in bundle.facts] == [ServerLog]


def test_interrupted_it_says_so(rotated: Path) -> None:
    stop = Event()
    stop.set()
    bundle = gather([str(rotated)], stop=stop)
    assert [gap.reason for gap in bundle.gaps] == ["reading was interrupted; the records read until then are counted"]


def test_a_cluster_shows_bytes_and_tasks(rotated: Path) -> None:
    shown: list[str] = []

    class Shown(NoProgress):
        def __call__(self, path: str) -> None:
            shown.append(path)

    assert len(logs(gather([str(rotated)], executor=InProcess(), progress=Shown()))) == 1
    work = r"1 access log on the cluster · [\d,]+ of [\d,]+ MB · \d+ tasks? · 2 workers"
    assert re.fullmatch(work, next(text for text in reversed(shown) if "cluster" in text))


def test_a_crash_costs_the_logs_only(rotated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stumble(*_: object) -> None:
        raise RuntimeError("stumbled")

    monkeypatch.setattr(log_discovery, "streams_of", stumble)
    table = CAPTURES / "incidents" / "5a-ghost-389ds" / "app1" / "ss-tan.txt"
    bundle = gather([str(rotated), str(table)])
    assert len(bundle.facts) == 1
    assert [gap.target for gap in bundle.gaps] == ["the access logs"]


@pytest.mark.parametrize("log", [POOLS, SLAPD])
def test_a_truncated_log_is_read_to_its_end_and_is_one_gap(tmp_path: Path, log: Path) -> None:
    packed = gzip.compress(log.read_bytes())
    (tmp_path / "access.gz").write_bytes(packed[: len(packed) // 2])
    bundle = gather([str(tmp_path / "access.gz")])
    assert [(gap.target, gap.reason) for gap in bundle.gaps] == [(str(tmp_path / "access.gz"), "is truncated")]
    (fact,) = logs(bundle)
    assert fact.segment.operations


def test_of_a_file_and_its_copy_in_an_archive_the_file_is_read(tmp_path: Path) -> None:
    shutil.copytree(SLAPD.parent, tmp_path / "server")
    with tarfile.open(tmp_path / "server.tgz", "w:gz") as archive:
        archive.add(tmp_path / "server", "server")
    (log,) = logs(gather([str(tmp_path / "server.tgz"), str(tmp_path / "server")]))
    assert log.origin.folder == str(tmp_path / "server")
