"""The corpus case 7: rotated, restarted, truncated and re-coded logs, and bytes that a client chose to do harm."""

from __future__ import annotations

import gzip
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import examples
from conftest import CORPUS
from ldapdiag.evidence.log.dialects import recognise, scan_stream
from ldapdiag.evidence.log.operation_kinds import SEARCH
from log.cuts import fed
from log.reports import Report, closes, report_of, results_by_requester, searches_by_shape

pytestmark = pytest.mark.skipif(
    not CORPUS.is_dir(), reason="the shared corpus is not beside this checkout (it is in CI)"
)

TRAPS = CORPUS / "7-traps"
SLOW, FAST = ("(displayName=*?*)", "dc=example,dc=com", "sub"), ("(uid=?)", "dc=example,dc=com", "sub")
XYZ = "uid=application_xyz,ou=services,dc=example,dc=com"
NAMES = ("streams", "files_not_logs")
"""What tells the files; two tellings of the same differ there."""


def sent(name: str) -> list[dict[str, int]]:
    """Return what each thread of filler.py counted; thread i asks from 127.0.0.(60+i)."""
    threads: list[dict[str, int]] = json.loads((TRAPS / name).read_text())["by_thread"]
    return threads


def but_names(report: Report) -> Report:
    return {name: value for name, value in report.items() if name not in NAMES}


class TestRotation:
    """389-rotation-gzip: eight compressed files and the one that is written."""

    FOLDER = TRAPS / "389-rotation-gzip"

    def in_order(self) -> list[bytes]:
        names = sorted(self.FOLDER.glob("access.2*.gz"))
        return [*(gzip.decompress(name.read_bytes()) for name in names), (self.FOLDER / "access").read_bytes()]

    def test_searches_are_those_that_were_sent(self) -> None:
        threads = sent("389-rotation-gzip/sent.json")
        assert searches_by_shape(report_of(self.FOLDER)) == {
            SLOW: sum(one["slow"] for one in threads),
            FAST: sum(one["fast"] for one in threads),
        }
        assert report_of(self.FOLDER)["searches"]["total"] == 40_534

    def test_each_client_sent_what_it_counted(self) -> None:
        counts: dict[tuple[str, str, str], int] = {}
        for number, thread in enumerate(sent("389-rotation-gzip/sent.json")):
            for shape, count in ((SLOW[0], thread["slow"]), (FAST[0], thread["fast"])):
                if count:
                    counts[f"127.0.0.{60 + number}", XYZ, shape] = count
        assert results_by_requester(report_of(self.FOLDER)) == counts

    def test_connections_are_those_that_were_opened(self) -> None:
        """And one of whoever switched the rotation on."""
        told = report_of(self.FOLDER)["connections"]
        threads = sent("389-rotation-gzip/sent.json")
        opened = {f"127.0.0.{60 + number}": one["conn"] for number, one in enumerate(threads)}
        assert told["by_client"] == {**opened, "127.0.0.1": 1}
        assert (told["opened"], told["closed"], told["open_at_end"]) == (55, 55, 0)
        assert told["peak"] == len(threads) + 1

    def test_unindexed_are_the_slow_ones(self) -> None:
        searches = report_of(self.FOLDER)["searches"]
        assert (searches["unindexed"], searches["noted"]) == (114, {"A": 114})

    def test_it_is_one_stream_in_the_order_of_its_times(self) -> None:
        (stream,) = report_of(self.FOLDER)["streams"]
        assert [Path(file).name for file in stream["files"]] == [
            *sorted(name.stem for name in self.FOLDER.glob("access.2*.gz")),
            "access",
        ]
        assert stream["server_processes"] == 1

    def test_28_searches_are_cut_between_files_and_none_is_lost(self) -> None:
        """A file alone has results without request, and requests without result; merged, they are pairs."""
        pieces = self.in_order()
        dialect = recognise(pieces[0][:65_536])
        assert dialect
        alone = [scan_stream(dialect, piece) for piece in pieces]
        merged = fed(dialect, pieces)
        unseen = [row for one in alone for key, row in one.shapes.items() if key[2] == -1]

        assert sum(one.operations[SEARCH] for one in alone) - merged.operations[SEARCH] == 28
        assert sum(row.requests for row in unseen) == 28
        assert sum(row.requests - row.answered for one in alone for row in one.shapes.values()) == 28
        assert [row for row in merged.shapes.values() if row.requests != row.answered] == []
        assert merged.operations[SEARCH] == 40_534

    @pytest.mark.parametrize("order", ["by name", "backwards", "a file twice"])
    def test_however_they_are_named_the_answer_is_the_same(self, order: str) -> None:
        files = sorted(self.FOLDER.glob("access*"))
        files = [one for one in files if one.name != "access.rotationinfo"]
        named = {"by name": files, "backwards": files[::-1], "a file twice": [*files, files[3]]}[order]
        assert but_names(report_of(*named)) == but_names(report_of(self.FOLDER))


class TestRestart:
    """389-restart: the server was stopped and started; connections begin at 1 again, and nothing says so."""

    LOG = TRAPS / "389-restart" / "access"

    @staticmethod
    def threads() -> list[tuple[dict[str, int], dict[str, int]]]:
        return list(
            zip(sent("389-restart/sent-run1.json"), sent("389-restart/sent-run2-across-stop.json"), strict=True)
        )

    def test_it_is_two_lives_of_one_server(self) -> None:
        (stream,) = report_of(self.LOG)["streams"]
        assert stream["server_processes"] == 2

    def test_searches_that_were_answered_are_those_the_clients_counted(self) -> None:
        counts = {}
        for number, (one, other) in enumerate(self.threads()):
            for shape, count in ((SLOW[0], one["slow"] + other["slow"]), (FAST[0], one["fast"] + other["fast"])):
                if count:
                    counts[f"127.0.0.{60 + number}", XYZ, shape] = count
        assert results_by_requester(report_of(self.LOG)) == counts

    def test_what_was_outstanding_at_the_stop_has_no_answer(self) -> None:
        """The two threads that search slowly; the fast one was between two searches."""
        rows = {(row["shape"]): row["count"] - row["answered"] for row in report_of(self.LOG)["searches"]["shapes"]}
        assert rows == {SLOW[0]: 2, FAST[0]: 0}

    def test_connections_are_those_that_were_opened_in_both_lives(self) -> None:
        told = report_of(self.LOG)["connections"]
        assert told["by_client"] == {
            f"127.0.0.{60 + number}": one["conn"] + other["conn"] for number, (one, other) in enumerate(self.threads())
        }
        assert (told["opened"], told["closed"], told["open_at_end"]) == (17, 17, 0)
        assert closes(report_of(self.LOG))["A1"] == {"127.0.0.60": 1, "127.0.0.61": 1, "127.0.0.62": 1}

    def test_one_life_alone_is_not_the_other(self) -> None:
        """The first opening of connection 1 after another connection 1: that is where the second life begins."""
        lines = self.LOG.read_bytes().splitlines(keepends=True)
        openings = [
            number for number, line in enumerate(lines) if b" conn=1 fd=" in line and b" connection from " in line
        ]
        border = openings[1]
        dialect = recognise(lines[0] + lines[4])
        assert dialect
        first, second = (scan_stream(dialect, b"".join(part)) for part in (lines[:border], lines[border:]))
        run1, run2 = (
            sum(one[kind] for one in sent(f"389-restart/sent-{run}.json") for kind in ("slow", "fast"))
            for run in ("run1", "run2-across-stop")
        )
        assert run1 == 2550
        assert run1 < first.operations[SEARCH]
        assert first.operations[SEARCH] + second.operations[SEARCH] == run1 + run2 + 2
        assert (first.server_processes, second.server_processes) == (1, 1)


class TestNasty:
    """389-nasty: quotes, escape sequences, and whole forged lines, sent for real."""

    LOG = TRAPS / "389-nasty" / "access"

    @staticmethod
    def requests() -> list[dict[str, Any]]:
        requests: list[dict[str, Any]] = json.loads((TRAPS / "389-nasty" / "sent.json").read_text())
        return requests

    def test_as_many_operations_as_were_sent(self) -> None:
        told = report_of(self.LOG)
        count = len(self.requests())
        assert (told["operations"]["bind"], told["operations"]["search"]) == (count, count)
        assert told["connections"]["by_client"] == {"127.0.0.51": count}
        assert closes(told) == {"U1": {"127.0.0.51": count}}

    def test_results_are_those_that_the_client_received(self) -> None:
        """A forged line says err=0 once for each of three requests; it is not counted. Three bind DNs were wrong."""
        wrong = sum(one["bind_hex"] != "application_xyz" for one in self.requests())
        received = Counter(str(one["search_rc_entries"][0]) for one in self.requests())
        received.update({"0": len(self.requests()) - wrong, "49": wrong})
        assert report_of(self.LOG)["results"] == received

    def test_nothing_forged_gets_in(self) -> None:
        """The forged record took 99 seconds at 09:09:09, had notes=A, and belonged to connection 1."""
        told = report_of(self.LOG)
        assert told["last_time"] < "2026-11-20T09:06"
        assert not [row for row in told["searches"]["shapes"] if row["worst"] and row["worst"]["etime_seconds"] > 10]
        notes = self.LOG.read_bytes().splitlines()
        true = [line for line in notes if line.startswith(b"[20/Nov/2026:09:05") and b" RESULT err=" in line[:80]]
        assert told["searches"]["noted"]["A"] == sum(b' notes=A details="' in line for line in true)

    def test_each_filter_has_a_shape_that_no_value_gets_into(self) -> None:
        shapes = "".join(row["shape"] for row in report_of(self.LOG)["searches"]["shapes"])
        for word in ("notes", "RESULT", "etime", "RED", "pwned", "LLLL", "name00001", "ller"):
            assert word not in shapes

    def test_the_terminal_sees_no_escape_sequence(self) -> None:
        from command import ldapdiag  # noqa: PLC0415  of the text; the JSON has its own escapes

        ran = ldapdiag("log", self.LOG, "--top", "100")
        assert b"\x1b" not in ran.out
        assert "\\x1b" in ran.text or "␛" in ran.text or "\\u001b" in ran.text


class TestTellings:
    """The same log with other ends of line, in another coding, cut, and told several times."""

    @pytest.mark.parametrize("name", ["access.389.crlf", "access.389.bom-crlf", "access.389.utf16"])
    def test_crlf_a_byte_order_mark_and_utf_16_are_nothing(self, name: str, tmp_path: Path) -> None:
        """They were derived from the beginning of case 1."""
        whole = (CORPUS / "1-389ds-unindexed" / "access").read_bytes().splitlines(keepends=True)
        told = report_of(TRAPS / "crlf" / name)
        beginning = tmp_path / "access"
        beginning.write_bytes(b"".join(whole[: told["lines"]]))
        assert told["searches"]["total"] >= 90
        assert but_names(told) == but_names(report_of(beginning))

    def test_slapds_syslog_with_crlf(self, tmp_path: Path) -> None:
        log = TRAPS / "crlf" / "syslog.openldap.crlf"
        plain = tmp_path / "syslog"
        plain.write_bytes(log.read_bytes().replace(b"\r\n", b"\n"))
        shutil.copystat(log, plain)  # its stamps have no year
        assert but_names(report_of(log)) == but_names(report_of(plain))

    def test_a_last_line_that_is_cut_is_the_only_thing_lost(self, tmp_path: Path) -> None:
        log = TRAPS / "truncated" / "access.389.truncated-last-line"
        *lines, cut = log.read_bytes().splitlines(keepends=True)
        assert not cut.endswith(b"\n")
        whole = tmp_path / "access"
        whole.write_bytes(b"".join(lines))
        told = dict(report_of(log))
        assert (told["lines_not_understood"], told["lines"]) == (1, len(lines) + 1)
        assert told["lines_not_understood_samples"] == [cut.decode()]
        same = {**told, "lines": len(lines), "lines_not_understood": 0, "lines_not_understood_samples": []}
        expected = dict(report_of(whole))
        assert but_names(same) == but_names(expected)

    @pytest.mark.parametrize(
        ("folder", "tellings"),
        [
            (
                "2-openldap-unindexed",
                ("slapd.stderr.log", "syslog-traditional.log", "syslog-iso.log", "syslog-rfc5424.head1500.log"),
            ),
            ("3-opendj-unindexed", ("access", "access-combined", "ldap-access.audit.json")),
        ],
    )
    def test_all_tellings_of_a_run_in_one_folder_are_one_stream(
        self, tmp_path: Path, folder: str, tellings: tuple[str, ...]
    ) -> None:
        for name in tellings:
            shutil.copy2(CORPUS / folder / name, tmp_path / name)
        together = report_of(tmp_path)
        (stream,) = together["streams"]
        (read,) = stream["files"]
        left_out = {Path(one["target"]).name for one in stream["copies_left_out"]}

        assert {Path(read).name} | left_out == set(tellings)
        assert len(left_out) == len(tellings) - 1
        assert but_names(together) == but_names(report_of(tmp_path / Path(read).name))

    @pytest.mark.parametrize(
        "folder", examples.some(["7-traps/389-rotation-gzip", "1-389ds-unindexed", "2-openldap-unindexed"], 3)
    )
    def test_a_folder_given_twice_is_read_once(self, folder: str) -> None:
        once, twice = report_of(CORPUS / folder), report_of(CORPUS / folder, CORPUS / folder)
        assert {**but_names(once), "lines": 0} == {**but_names(twice), "lines": 0}
        assert once["lines"] == twice["lines"]
