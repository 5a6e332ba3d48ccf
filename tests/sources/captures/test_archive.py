"""Captures: what is written is read again, to the same verdicts; a hostile archive costs a line, never more."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import stat
import subprocess
import tarfile
import tracemalloc
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

import examples
from command import INCIDENT
from ldapdiag.catalogue import installed_checks
from ldapdiag.diagnosis import diagnose
from ldapdiag.errors import UsageError
from ldapdiag.evidence.bundle import Gap, PassedOver
from ldapdiag.evidence.origin import Span
from ldapdiag.report import as_json
from ldapdiag.sources.budget import Budget
from ldapdiag.sources.captures import archive
from ldapdiag.sources.captures import find as finding
from ldapdiag.sources.captures.find import find, within
from ldapdiag.sources.captures.manifest import ClockOffset
from ldapdiag.sources.files.folders import MOST_DEPTH
from ldapdiag.sources.files.input import Input
from ldapdiag.sources.gathering import gather

START = datetime(2026, 11, 20, 13, 0, 1, 250_001, tzinfo=UTC)
SPAN = Span(start=START, end=START + timedelta(seconds=1.5))
TABLE = b"State Recv-Q Send-Q Local Address:Port Peer Address:Port\nESTAB 0 0 10.77.1.2:389 10.77.2.2:40000\n"
SHAPES = ("capture", "capture.tar.gz", "capture.tgz", "capture.tar.zst", "capture.tzst")
ARCHIVES = SHAPES[1:]
PACKERS = {
    "tar": bytes,
    "tar.gz": gzip.compress,
    "tar.bz2": bz2.compress,
    "tar.xz": lzma.compress,
    "tar.zst": zstd.compress,
}


def piece(content: bytes = TABLE, path: str = "app1/ss.txt", folder: str = "live/app1", **more: object) -> Input:
    return replace(Input(path=path, folder=folder, label=path, source=partial(io.BytesIO, content)), **more)


def content_of(one: Input) -> bytes:
    with one.open() as stream:
        return stream.read()


def found(named: Path) -> list[tuple[str, str, bytes]]:
    """Return what is read from a path: path in the report, host, content."""
    return [
        (one.path, one.folder.rpartition("/")[2], content_of(one)) for one in find(str(named)) if isinstance(one, Input)
    ]


def gaps(named: Path) -> list[str]:
    return [one.reason for one in find(str(named)) if isinstance(one, Gap)]


def passed_over(named: Path) -> dict[str, str]:
    return {one.target.removeprefix(f"{named}/"): one.reason for one in find(str(named)) if isinstance(one, PassedOver)}


def tar(*members: tuple[str, bytes] | tarfile.TarInfo, form: int = tarfile.PAX_FORMAT) -> bytes:
    """Return a tar of files, and of headers that stand for anything else."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=form) as packed:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                packed.addfile(member)
            else:
                header = tarfile.TarInfo(member[0])
                header.size = len(member[1])
                packed.addfile(header, io.BytesIO(member[1]))
    return written.getvalue()


def verdicts(*named: Path) -> bytes:
    """Return the report on evidence, without what depends on the moment and on where the evidence lies."""
    report = as_json.render(as_json.document(diagnose(gather([str(one) for one in named]), installed_checks()), START))
    for one in named:
        report = report.replace(str(one), "CAPTURE")
    return report.encode()


class TestRoundTrip:
    @pytest.mark.parametrize("shape", SHAPES)
    def test_what_is_written_is_read_again_with_times_and_questions(self, tmp_path: Path, shape: str) -> None:
        written = [
            piece(taken=SPAN, asked="ss -tan on app1"),
            piece(b"\0\xff not text", "app1/sockets-1.inet_diag", taken=None),
            piece(b"", "ldap/cn-monitor.ldif", "live/ldap"),
        ]
        archive.write(tmp_path / shape, written)
        read = [one for one in find(str(tmp_path / shape)) if isinstance(one, Input)]
        assert {(one.path, one.taken, one.asked, content_of(one)) for one in read} == {
            (one.path, one.taken, one.asked, content_of(one)) for one in written
        }
        assert {one.folder.rpartition("/")[2] for one in read} == {"app1", "ldap"}

    @pytest.mark.parametrize("shape", SHAPES)
    def test_the_gaps_come_back(self, tmp_path: Path, shape: str) -> None:
        gap = Gap(target="ssh://app2", reason="connection refused", how="start sshd")
        archive.write(
            tmp_path / shape, [piece()], gaps=[gap], offsets={"app1": ClockOffset(seconds=1, uncertainty_seconds=2)}
        )
        assert gap in list(find(str(tmp_path / shape)))

    @pytest.mark.parametrize("shape", SHAPES)
    def test_the_incident_gives_the_same_report(self, tmp_path: Path, shape: str) -> None:
        pieces = [one for one in find(str(INCIDENT)) if isinstance(one, Input)]
        archive.write(tmp_path / shape, pieces)
        assert verdicts(tmp_path / shape) == verdicts(INCIDENT)

    def test_an_archive_unpacked_elsewhere_is_the_same_capture(self, tmp_path: Path) -> None:
        archive.write(tmp_path / "capture.tar.gz", [piece(taken=SPAN)])
        subprocess.run(["tar", "-xzf", "capture.tar.gz"], cwd=tmp_path, check=True)
        unpacked = [one for one in find(str(tmp_path / "capture")) if isinstance(one, Input)]
        assert [(one.path, one.taken) for one in unpacked] == [("app1/ss.txt", SPAN)]

    def test_packed_again_by_other_hands_it_keeps_its_times(self, tmp_path: Path) -> None:
        archive.write(tmp_path / "capture", [piece(taken=SPAN)])
        members = ["capture/app1/ss.txt", "capture/manifest.json"]
        subprocess.run(["tar", "-cJf", "again.tar.xz", *members], cwd=tmp_path, check=True)
        read = [one for one in find(str(tmp_path / "again.tar.xz")) if isinstance(one, Input)]
        assert [(one.path, one.taken) for one in read] == [("app1/ss.txt", SPAN)]

    def test_from_standard_input(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        archive.write(tmp_path / "capture.tar.zst", [piece(taken=SPAN)])
        monkeypatch.setattr(
            "ldapdiag.sources.files.walk._standard_input", (tmp_path / "capture.tar.zst").open("rb").__enter__
        )
        read = [(one.path, one.taken) for one in find("-") if isinstance(one, Input)]
        assert read == [("app1/ss.txt", SPAN)]

    def test_a_capture_in_a_folder_is_read_as_its_own_folder(self, tmp_path: Path) -> None:
        archive.write(tmp_path / "capture.tar.gz", [piece(taken=SPAN)])
        (tmp_path / "others.tgz").write_bytes(gzip.compress(tar(("ldap/ss.txt", TABLE))))
        assert found(tmp_path) == [("app1/ss.txt", "app1", TABLE), ("ldap/ss.txt", "ldap", TABLE)]

    @pytest.mark.parametrize("shape", [*SHAPES, "packed later"])
    def test_two_captures_in_one_ticket_keep_their_times(self, tmp_path: Path, shape: str) -> None:
        later = Span(start=SPAN.start + timedelta(hours=1), end=SPAN.end + timedelta(hours=1))
        for name, taken in (("one", SPAN), ("two", later)):
            (tmp_path / "ticket" / name).mkdir(parents=True)
            archive.write(tmp_path / "ticket" / name / shape, [piece(taken=taken)])
        if shape == "packed later":
            subprocess.run(["tar", "-cf", "ticket.tar", "ticket"], cwd=tmp_path, check=True)
        named = tmp_path / ("ticket.tar" if shape == "packed later" else "ticket")
        read = [one for one in find(str(named)) if isinstance(one, Input)]
        assert [(one.path, one.taken) for one in read] == [("app1/ss.txt", SPAN), ("app1/ss.txt", later)]


class TestWriting:
    @pytest.mark.parametrize("shape", SHAPES)
    def test_only_its_owner_may_read_it(self, tmp_path: Path, shape: str) -> None:
        before = os.umask(0)
        try:
            archive.write(tmp_path / shape, [piece()])
        finally:
            os.umask(before)
        for path in (tmp_path / shape, *(tmp_path / shape).rglob("*")):
            wanted = 0o700 if path.is_dir() else 0o600
            assert stat.S_IMODE(path.stat().st_mode) == wanted, path

    @pytest.mark.parametrize("shape", ARCHIVES[:1])
    def test_the_archive_tells_nobody_s_name_and_the_manifest_comes_first(self, tmp_path: Path, shape: str) -> None:
        archive.write(tmp_path / shape, [piece(taken=SPAN)])
        with tarfile.open(tmp_path / shape) as packed:
            members = packed.getmembers()
        assert [one.name for one in members] == ["capture/manifest.json", "capture/app1/ss.txt"]
        assert {(one.uid, one.gid, one.uname, one.gname, one.mode) for one in members} == {(0, 0, "", "", 0o600)}
        assert members[1].mtime == int(SPAN.end.timestamp())

    @pytest.mark.parametrize("name", ["capture.zip", "capture.tar", "capture.gz", "capture.tar.xz", "report.json"])
    def test_a_name_that_asks_for_something_else_is_refused(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(UsageError, match=r"\.tar\.gz, \.tgz, \.tar\.zst, \.tzst"):
            archive.write(tmp_path / name, [piece()])
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("shape", SHAPES)
    def test_evidence_is_not_overwritten(self, tmp_path: Path, shape: str) -> None:
        archive.write(tmp_path / shape, [piece()])
        for refuse in (archive.ready, partial(archive.write, inputs=[piece()])):
            with pytest.raises(UsageError, match="already exists"):
                refuse(tmp_path / shape)

    def test_an_empty_folder_is_filled(self, tmp_path: Path) -> None:
        (tmp_path / "capture").mkdir()
        archive.write(tmp_path / "capture", [piece()])
        assert found(tmp_path / "capture") == [("app1/ss.txt", "app1", TABLE)]

    @pytest.mark.parametrize("shape", SHAPES)
    @pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device"), RuntimeError])
    def test_nothing_half_written_is_left(
        self, tmp_path: Path, shape: str, error: type[BaseException] | BaseException
    ) -> None:
        class Failing(io.BytesIO):
            opened = 0

            def read(self, size: int | None = -1) -> bytes:
                if Failing.opened > 1:
                    raise error
                return super().read(size)

        def opening() -> io.BytesIO:
            Failing.opened += 1
            return Failing(TABLE)

        wanted = UsageError if isinstance(error, OSError) else error
        with pytest.raises(wanted):
            archive.write(tmp_path / shape, [piece(path="app1/a"), replace(piece(), source=opening)])
        assert list(tmp_path.iterdir()) == []

    def test_a_piece_that_cannot_be_read_is_a_gap_of_the_capture(self, tmp_path: Path) -> None:
        gone = replace(piece(path="app1/gone"), source=partial((tmp_path / "gone").open, "rb"))
        kept = archive.write(tmp_path / "capture.tgz", [gone, piece()])
        assert [one.reason for one in kept.gaps] == ["there is no such file or folder"]
        assert gaps(tmp_path / "capture.tgz") == ["there is no such file or folder"]

    @pytest.mark.parametrize("host", ["../../etc", "-rf", "..", ".", "", "a\nb", "a\x1b[31m", "[::1]:389", "\udcff"])
    @pytest.mark.parametrize("shape", SHAPES[:2])
    def test_a_host_s_name_cannot_lead_elsewhere(self, tmp_path: Path, host: str, shape: str) -> None:
        archive.write(tmp_path / shape, [piece(folder=f"live/{host}", path=f"x/{host}")])
        ((path, folder, content),) = found(tmp_path / shape)
        assert content == TABLE
        assert folder not in {"", ".", ".."}
        assert not folder.startswith("-")
        assert path.isprintable()

    @pytest.mark.parametrize("shape", SHAPES[:2])
    def test_the_key_to_other_names_lies_beside_it_for_its_owner_alone(self, tmp_path: Path, shape: str) -> None:
        key = archive.write_key(tmp_path / shape, {"app1": "zsb8", "\udcff": "x"})
        assert (key.name, stat.S_IMODE(key.stat().st_mode)) == ("capture.map.json", 0o600)
        assert json.loads(key.read_text())["app1"] == "zsb8"
        with pytest.raises(UsageError, match="file exists"):
            archive.write_key(tmp_path / shape, {})

    def test_two_hosts_of_one_name_stay_two(self, tmp_path: Path) -> None:
        archive.write(tmp_path / "c.tgz", [piece(folder="a/app1"), piece(folder="b/App1"), piece(folder="a/app1")])
        assert [(path, host) for path, host, _ in found(tmp_path / "c.tgz")] == [
            ("app1/ss.txt", "app1"),
            ("App1-2/ss.txt", "App1-2"),
            ("app1/ss-2.txt", "app1"),
        ]


class TestForeignArchives:
    @pytest.mark.parametrize("kind", PACKERS)
    def test_of_every_kind_are_told_by_their_bytes(self, tmp_path: Path, kind: str) -> None:
        (tmp_path / "evidence").write_bytes(PACKERS[kind](tar(("app1/ss.txt", TABLE), ("ldap/ss.txt", TABLE))))
        assert found(tmp_path / "evidence") == [("app1/ss.txt", "app1", TABLE), ("ldap/ss.txt", "ldap", TABLE)]

    @pytest.mark.parametrize("kind", list(PACKERS)[1:])
    def test_a_compressed_file_is_that_file(self, tmp_path: Path, kind: str) -> None:
        name = f"ss.txt.{kind.rpartition('.')[2]}"
        (tmp_path / name).write_bytes(PACKERS[kind](TABLE))
        assert found(tmp_path / name) == [(f"{tmp_path.name}/ss.txt", tmp_path.name, TABLE)]
        assert found(tmp_path) == found(tmp_path / name)

    def test_folders_are_followed_to_where_the_evidence_is(self, tmp_path: Path) -> None:
        (tmp_path / "x.tar").write_bytes(tar(("./ticket/incident/app1/ss.txt", TABLE), ("notes.txt", b"a note")))
        assert found(tmp_path / "x.tar")[0] == ("app1/ss.txt", "app1", TABLE)

    def test_what_is_too_deep_is_passed_over(self, tmp_path: Path) -> None:
        (tmp_path / "x.tar").write_bytes(tar((f"{'a/' * (MOST_DEPTH + 1)}ss.txt", TABLE), ("app1/ss.txt", TABLE)))
        assert found(tmp_path / "x.tar") == [("app1/ss.txt", "app1", TABLE)]
        reason = f"more than {MOST_DEPTH} folders deep in the archive; unpack it and name the folder"
        assert list(passed_over(tmp_path / "x.tar").values()) == [reason]

    def test_files_without_a_folder_belong_to_the_archive_s_name(self, tmp_path: Path) -> None:
        (tmp_path / "app1.tar.gz").write_bytes(gzip.compress(tar(("ss.txt", TABLE))))
        assert found(tmp_path / "app1.tar.gz") == [("app1/ss.txt", "app1", TABLE)]

    def test_several_compressed_files_joined_are_one(self, tmp_path: Path) -> None:
        (tmp_path / "ss.txt.gz").write_bytes(gzip.compress(TABLE[:50]) + gzip.compress(TABLE[50:]) + bytes(512))
        assert [content for _, _, content in found(tmp_path / "ss.txt.gz")] == [TABLE]

    @pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
    def test_long_names(self, tmp_path: Path, form: int) -> None:
        name = f"app1/{'n' * 200}é.txt"
        (tmp_path / "x.tar").write_bytes(tar((name, TABLE), ("app1/b", TABLE), form=form))
        assert [path for path, _, _ in found(tmp_path / "x.tar")] == [name, "app1/b"]


class TestHostileArchives:
    @pytest.mark.parametrize("name", ["/etc/passwd", "../up/ss.txt", "a/../../b", "a/.."])
    def test_a_path_that_leads_out_is_passed_over(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "x.tar").write_bytes(tar((name, TABLE), ("app1/ss.txt", TABLE)))
        assert found(tmp_path / "x.tar") == [("app1/ss.txt", "app1", TABLE)]
        assert list(passed_over(tmp_path / "x.tar").values()) == ["its path points outside the archive"]

    @pytest.mark.parametrize(
        "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE]
    )
    def test_what_is_no_file_is_passed_over(self, tmp_path: Path, kind: bytes) -> None:
        header = tarfile.TarInfo("app1/link")
        header.type, header.linkname = kind, "/etc/passwd"
        (tmp_path / "x.tar").write_bytes(tar(header, ("app1/ss.txt", TABLE)))
        assert found(tmp_path / "x.tar") == [("app1/ss.txt", "app1", TABLE)]
        assert len(passed_over(tmp_path / "x.tar")) == 1

    def test_an_archive_within_is_opened_and_one_in_that_is_not(self, tmp_path: Path) -> None:
        innermost = gzip.compress(tar(("ldap/ss.txt", TABLE)))
        inner = gzip.compress(tar(("app2/ss.txt", TABLE), ("innermost.tgz", innermost)))
        (tmp_path / "x.tar").write_bytes(tar(("inner.tgz", inner), ("app1/ss.txt", TABLE)))
        assert found(tmp_path / "x.tar") == [("app2/ss.txt", "app2", TABLE), ("app1/ss.txt", "app1", TABLE)]
        reason = "is an archive inside an archive; unpack it first"
        assert passed_over(tmp_path / "x.tar") == {"inner.tgz/innermost.tgz": reason}

    @pytest.mark.parametrize("kind", PACKERS)
    def test_a_cut_archive_yields_what_came_before_and_a_gap(self, tmp_path: Path, kind: str) -> None:
        noise = os.urandom(300_000)
        whole = PACKERS[kind](tar(("app1/ss.txt", TABLE), ("app1/noise", noise), ("app1/b", TABLE)))
        (tmp_path / "x").write_bytes(whole[: len(whole) // 2])
        read = found(tmp_path / "x")
        assert read in ([("app1/ss.txt", "app1", TABLE)], [])  # bzip2 and xz have nothing before a block is whole
        assert kind in {"tar.bz2", "tar.xz"} or read
        assert len(gaps(tmp_path / "x")) == 1
        assert "is truncated" in gaps(tmp_path / "x")[0]

    @pytest.mark.parametrize("kind", list(PACKERS)[1:])
    def test_a_cut_table_is_not_judged(self, tmp_path: Path, kind: str) -> None:
        whole = PACKERS[kind](os.urandom(100_000))
        (tmp_path / "ss.txt").write_bytes(whole[:-60])
        assert found(tmp_path / "ss.txt") == []
        assert "it is not used" in gaps(tmp_path / "ss.txt")[0]

    def test_a_capture_that_lost_a_piece_says_so(self, tmp_path: Path) -> None:
        archive.write(tmp_path / "capture", [piece(), piece(path="ldap/ss.txt", folder="live/ldap")])
        (tmp_path / "capture" / "ldap" / "ss.txt").unlink()
        assert "its manifest lists 1 file that is not in it (ldap/ss.txt)" in gaps(tmp_path / "capture")

    @pytest.mark.parametrize("kind", examples.some(list(PACKERS)[1:], 3))
    def test_a_bomb_costs_neither_memory_nor_the_rest(
        self, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(finding, "MOST_MEMBER_BYTES", 4 << 20)
        bomb = PACKERS[kind](tar(("app1/a", TABLE), ("app1/bomb", bytes(64 << 20)), ("app1/b", TABLE)))
        (tmp_path / "x").write_bytes(bomb)
        tracemalloc.start()
        read = [path for path, _, _ in found(tmp_path / "x")]
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert read == ["app1/a", "app1/b"]
        assert gaps(tmp_path / "x") == ["is larger than 4 MiB and is not read"]
        assert peak < 20 << 20

    def test_all_together_are_bounded_too(self) -> None:
        content = gzip.compress(tar(("app1/a", TABLE), *((f"app1/{n}", bytes(1 << 19)) for n in range(9))))
        read = list(within(piece(content, budget=Budget(1 << 20))))
        assert [one.path for one in read if isinstance(one, Input)] == ["app1/a", "app1/0"]
        (gap,) = (one for one in read if isinstance(one, Gap))
        assert "the remainder is not read" in gap.reason

    def test_more_files_than_an_incident_has(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        assert finding.MOST_FILES == 5000
        monkeypatch.setattr(finding, "MOST_FILES", 100)
        (tmp_path / "x.tar").write_bytes(tar(*((f"app1/{number}", b"") for number in range(120))))
        assert len(found(tmp_path / "x.tar")) in {100, 101}
        assert "contains more than 100 files" in gaps(tmp_path / "x.tar")[0]

    def test_a_header_that_claims_gigabytes_is_not_believed(self, tmp_path: Path) -> None:
        header = tarfile.TarInfo("app1/long")
        header.type, header.size = tarfile.XHDTYPE, 1 << 32
        (tmp_path / "x.tar").write_bytes(header.tobuf() + bytes(1024))
        assert gaps(tmp_path / "x.tar") == ["is damaged (a header of 4294967296 bytes)"]

    @given(st.binary(max_size=2000), st.integers(0, 3000), st.sampled_from(sorted(PACKERS)))
    def test_damage_anywhere_never_raises(
        self, tmp_path_factory: pytest.TempPathFactory, damage: bytes, at: int, kind: str
    ) -> None:
        whole = tar(("capture/app1/ss.txt", TABLE), (f"capture/app1/{'n' * 120}", TABLE))
        damaged = PACKERS[kind](whole[:at] + damage + whole[at + len(damage) :])
        packed = PACKERS[kind](whole)
        for content in (damaged, packed[:at] + damage + packed[at + len(damage) :]):
            path = tmp_path_factory.getbasetemp() / "damaged"
            path.write_bytes(content)
            found(path)
