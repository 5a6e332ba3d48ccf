"""Logs and evidence in a real S3 server: the same report as of local files, and a gap for what cannot be read whole."""

from __future__ import annotations

import gzip
import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from backports import zstd

from command import INCIDENT, Ran, ldapdiag
from in_process import InProcess
from lab.object_store import Faults, S3Server, faulty_proxy, s3_server
from ldapdiag.sources.cluster import cluster_reading
from ldapdiag.sources.logs import access_log, batches
from ldapdiag.sources.objects.object_file import ObjectFile
from log.reports import document_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ldapdiag.sources.logs.access_log import ScannedLogs

LINES = 60_000
STAMP = "[20/Nov/2026:{:02}:{:02}:{:02}.{:09} +0000]"
"""Of 389 Directory Server."""


def log_of(begin: int, lines: int, client: str = "10.0.0.1") -> bytes:
    """Return a log in the grammar of 389-ds: one connection, searches with their results."""
    rows = [f"{_stamp(begin)} conn=1 fd=64 slot=64 connection from {client} to 10.0.0.9"]
    for number in range(lines // 2):
        at, op = _stamp(begin + number // 100), f"conn=1 op={number}"
        rows.append(f'{at} {op} SRCH base="dc=example,dc=com" scope=2 filter="(uid=u{number % 77})" attrs=ALL')
        rows.append(f"{at} {op} RESULT err=0 tag=101 nentries=1 wtime=0.000100000 optime=0.000200000 etime=0.000300000")
    return ("\n".join(rows) + "\n").encode()


def _stamp(second: int) -> str:
    return STAMP.format(second // 3600, second // 60 % 60, second % 60, 0)


@pytest.fixture(scope="module")
def server(laboratory, tmp_path_factory) -> Iterator[S3Server]:
    with s3_server(tmp_path_factory.mktemp("s3")) as running:
        yield running


@pytest.fixture(scope="module")
def rotated(tmp_path_factory) -> Path:
    """Return a folder with the logs of two servers: plain, rotated and compressed by gzip and zstd."""
    folder = tmp_path_factory.mktemp("logs")
    for name, client in (("ds1", "10.0.0.1"), ("ds2", "10.0.0.2")):
        place = folder / name
        place.mkdir()
        (place / "access").write_bytes(log_of(7200, LINES, client))
        (place / "access.20261120-010000").write_bytes(log_of(3600, LINES, client))
        (place / "access.20261120-000000.gz").write_bytes(gzip.compress(log_of(0, LINES, client), mtime=0))
        (place / "access.20261119-230000.zst").write_bytes(zstd.compress(log_of(10800, LINES, client)))
    return folder


def same(of_objects: Ran, of_files: Ran, prefix: str, folder: Path) -> None:
    """Compare reports whose only difference is where the evidence lies."""
    assert of_objects.code == of_files.code
    assert of_objects.text.replace(f"s3://logs/{prefix}", "X") == of_files.text.replace(str(folder), "X")


@pytest.mark.parametrize("chosen", ["ds1/", "", "ds*/access", "ds2/access.20261120-000000.gz", "ds1/access*"])
def test_logs_in_a_bucket_are_the_logs_of_a_folder(server: S3Server, rotated: Path, chosen: str) -> None:
    server.put_folder(rotated, "rotated")
    options = ("--format", "json")
    of_objects = ldapdiag("log", f"s3://logs/rotated/{chosen}", *options, environment=server.environment())
    same(of_objects, ldapdiag("log", f"{rotated}/{chosen}", *options), "rotated", rotated)
    assert of_objects.report["lines"] > 0


@pytest.mark.parametrize("scanner", ["native", "python"])
def test_both_scanners_read_objects(server: S3Server, rotated: Path, scanner: str) -> None:
    server.put_folder(rotated, "rotated")
    options = ("--format", "json", "--scanner", scanner)
    of_objects = ldapdiag("log", "s3://logs/rotated/", *options, environment=server.environment())
    same(of_objects, ldapdiag("log", rotated, *options), "rotated", rotated)


def test_a_diagnosis_of_evidence_in_a_bucket(server: S3Server, tmp_path: Path) -> None:
    folder = shutil.copytree(INCIDENT, tmp_path / "incident")
    server.put_folder(folder, "incident")
    of_objects = ldapdiag("diagnose", "s3://logs/incident/", "--format", "json", environment=server.environment())
    of_files = ldapdiag("diagnose", folder, "--format", "json")
    assert _ids(of_objects) == _ids(of_files)


def _ids(ran: Ran) -> list[tuple[str, str]]:
    return [(one["id"], one["severity"]) for one in ran.report["findings"]]


def test_ten_thousand_keys(server: S3Server) -> None:
    with ThreadPoolExecutor(8) as threads:
        for number in range(10_000):
            threads.submit(server.put, f"many/access.{number:05}", log_of(number * 8, 4))
    ran = ldapdiag("log", "s3://logs/many/", "--format", "json", environment=server.environment(), timeout=300)
    assert (ran.code, ran.report["lines"]) == (0, 50_000)


def complaint(ran: Ran) -> str:
    """Return what is written to stderr, in which no secret may be."""
    text = ran.err.decode()
    assert "testsecret" not in text
    assert "testkey" not in text
    return text


@pytest.mark.parametrize(
    ("changed", "named", "reason"),
    [
        ({"AWS_SECRET_ACCESS_KEY": "wrong"}, "s3://logs/rotated/", "refuses access (403); check the credentials"),
        ({"AWS_ACCESS_KEY_ID": "unknown"}, "s3://logs/rotated/", "or the access key is unknown: set AWS_ACCESS_KEY_ID"),
        ({}, "s3://absent/rotated/", "there is no such object or bucket (404); check the spelling"),
        ({}, "s3://logs/absent", "there is no such object; check the spelling"),
        ({}, "s3://logs/absent*", "no object matches; check the spelling"),
        ({"AWS_ALLOW_HTTP": "false"}, "s3://logs/rotated/", "its endpoint is http://, without encryption; use https"),
    ],
)
def test_what_cannot_be_read_is_named_with_the_next_step(
    server: S3Server, changed: dict[str, str], named: str, reason: str
) -> None:
    ran = ldapdiag("log", named, environment=server.environment() | changed)
    assert ran.code == 2
    assert reason in complaint(ran)


def test_throttling_and_cut_bodies_change_nothing(server: S3Server, rotated: Path) -> None:
    server.put_folder(rotated, "rotated")
    faults = Faults(refused=5, cut=5)
    with faulty_proxy(server, faults) as port:
        options = ("--format", "json")
        of_objects = ldapdiag("log", "s3://logs/rotated/", *options, environment=server.environment(port))
    assert (faults.refused, faults.cut) == (0, 0)
    same(of_objects, ldapdiag("log", rotated, *options), "rotated", rotated)


def test_an_object_that_is_replaced_while_it_is_read_is_a_gap(server: S3Server) -> None:
    content = log_of(0, 200_000)
    server.put("replaced/access", content)
    server.put("replaced/access.whole", log_of(20_000, 4, "10.0.0.5"))

    def replace(number: int) -> None:
        if number == 5:
            server.put("replaced/access", content.replace(b"uid", b"sn"))

    with faulty_proxy(server, Faults(before_range=replace)) as port:
        ran = ldapdiag("log", "s3://logs/replaced/", "--format", "json", environment=server.environment(port))
    assert "s3://logs/replaced/access: " in complaint(ran)
    assert "was replaced while it was read" in complaint(ran)
    assert ran.report["lines"] < content.count(b"\n")


PART_BYTES = 2_000_000
CUT = log_of(0, LINES)


@pytest.fixture
def in_parts(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the address of an object that is cut into several tasks."""
    monkeypatch.setattr(batches, "MOST_BYTES", PART_BYTES)
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    server.put("parts/access", CUT)
    return "s3://logs/parts/access"


def in_json(reading: ScannedLogs) -> str:
    return json.dumps({**document_of(reading), "cluster": None}, sort_keys=True)


def test_the_tasks_of_one_object_have_the_bytes_of_threads_and_of_a_file(in_parts: str, tmp_path: Path) -> None:
    executor = InProcess()
    on_cluster = in_json(cluster_reading.read([in_parts], executor))
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/access").write_bytes(CUT)
    assert len({label for label in executor.labels if "from byte" in label}) == -(-len(CUT) // PART_BYTES)
    assert on_cluster == in_json(access_log.read([in_parts]))
    of_file = in_json(access_log.read([str(tmp_path / "parts/access")]))
    assert on_cluster.replace("s3://logs", "X") == of_file.replace(str(tmp_path), "X")
    assert not any(b"testsecret" in one for one in executor.pickles)


class Replacing(InProcess):
    """Calls something before a task whose label has this text."""

    def __init__(self, server: S3Server, before: str) -> None:
        super().__init__()
        self.server, self.before = server, before

    def submit(self, function, /, *arguments, label, size=0):  # type: ignore[no-untyped-def]
        if self.before in label:
            self.server.put("parts/access", CUT.replace(b"uid", b"sn"))
        return super().submit(function, *arguments, label=label, size=size)


@pytest.mark.parametrize("whole", [0, 1, 3])
def test_an_object_that_is_replaced_between_its_tasks_is_one_gap(server: S3Server, in_parts: str, whole: int) -> None:
    untouched = InProcess()
    cluster_reading.read([in_parts], untouched)
    scans = [label for label in untouched.labels if "from byte" in label]
    (stream,) = cluster_reading.read([in_parts], Replacing(server, scans[whole])).streams
    (gap,) = stream.gaps
    assert (gap.target, gap.reason) == (in_parts, "cannot read it: was replaced while it was read")
    ends = int(scans[whole].split("from byte ")[1].split()[0].replace(",", ""))
    assert stream.counts.finished().lines == CUT[:ends].count(b"\n")


def test_records_after_a_part_that_cannot_be_read_do_not_count(in_parts: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stream_of = ObjectFile.stream

    def failing(file: ObjectFile, start: int, length: int | None):  # type: ignore[no-untyped-def]
        if PART_BYTES < start < 2 * PART_BYTES:
            raise OSError(5, "the store answered 500")
        return stream_of(file, start, length)

    monkeypatch.setattr(ObjectFile, "stream", failing)
    read = [cluster_reading.read([in_parts], InProcess()), access_log.read([in_parts])]
    assert in_json(read[0]) == in_json(read[1])
    for reading in read:
        (stream,) = reading.streams
        assert len(stream.gaps) == 1
        assert stream.counts.finished().lines == CUT[: 2 * PART_BYTES].count(b"\n")
