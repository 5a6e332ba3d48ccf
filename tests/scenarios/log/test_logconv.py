"""Against Debian's real logconv: the same figures where it is right, and where it is wrong (docs/other-tools.md)."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conftest import CORPUS
from lab.laboratory import Laboratory
from log.reports import Report, closes, report_of

if TYPE_CHECKING:
    from collections.abc import Callable

LOGCONV = shutil.which("logconv") or shutil.which("logconv.pl")
GENERATOR = CORPUS.parent / "lab" / "gen_access_log.py"
LIST = Path(__file__).parents[3] / "docs" / "other-tools.md"
TRAPS = CORPUS / "7-traps"

pytestmark = pytest.mark.skipif(
    not CORPUS.is_dir(), reason="the shared corpus is not beside this checkout (it is in CI)"
)


@pytest.fixture(autouse=True)
def _logconv(laboratory: Laboratory) -> None:
    """Fail unless this machine has logconv."""
    if LOGCONV is None:
        pytest.fail("logconv is not installed (Debian: 389-ds-base)", pytrace=False)


class Told:
    """What logconv -V printed."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.figures = {
            name.strip(" -"): value for name, value in re.findall(r"^([ \w(),-]+?):\s+(\S+)", text, re.MULTILINE)
        }

    def __getitem__(self, name: str) -> int:
        return int(self.figures[name])

    def section(self, title: str) -> str:
        """Return what stands under a heading."""
        heading = rf"^-----+ {title} -----+ *$"
        return re.split(heading, self.text, maxsplit=1, flags=re.MULTILINE)[1].split("\n----- ")[0]

    @property
    def results(self) -> dict[str, int]:
        return {
            err: int(count) for err, count in re.findall(r"^err=(\d+)\s+(\d+)", self.section("Errors"), re.MULTILINE)
        }

    @property
    def closes(self) -> dict[str, int]:
        found = re.findall(r"^([A-Z]\d)\s+(\d+)", self.section("Total Connection Codes"), re.MULTILINE)
        return {code: int(count) for code, count in found}

    @property
    def clients(self) -> dict[str, int]:
        found = re.findall(r"Client: (\S+)\s+(\d+) - Connections", self.section(r"Top \d+ Clients"))
        return {client: int(count) for client, count in found}

    @property
    def failed_logins(self) -> dict[str, int]:
        """By address."""
        by_address = self.section(r"Top \d+ Failed Logins").partition("From the IP")[2]
        return {
            client: int(count) for count, client in re.findall(r"^(\d+)\s+([\d.:a-f]+)\s*$", by_address, re.MULTILINE)
        }

    @property
    def open_at_end(self) -> int:
        return self.text.count("\nConn Number:")


@cache
def logconv(*logs: Path) -> Told:
    assert LOGCONV
    command = [LOGCONV, "-V", "-s", "5000", *map(str, logs)]
    ran = subprocess.run(command, capture_output=True, check=True, timeout=120)
    return Told(ran.stdout.decode(errors="replace"))


@pytest.fixture(scope="session")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a log of the benchmark's generator."""
    log = tmp_path_factory.mktemp("generated") / "access"
    subprocess.run([sys.executable, str(GENERATOR), "20000", str(log)], check=True)
    return log


ROTATED = tuple(sorted((TRAPS / "389-rotation-gzip").glob("access.2*.gz"))), TRAPS / "389-rotation-gzip" / "access"
LOGS: dict[str, tuple[Path, ...]] = {
    "case 1": (CORPUS / "1-389ds-unindexed" / "access",),
    "rotation": (ROTATED[1], *ROTATED[0]),
    "restart": (TRAPS / "389-restart" / "access",),
    "idle timeout": (CORPUS / "6f-idletimeout-90-above-fw-30" / "ldap" / "access",),
    "ghosts": (CORPUS / "5a-ghost-389ds" / "ldap" / "access",),
    "generated": (),
}


@pytest.fixture(params=LOGS)
def logs(request: pytest.FixtureRequest) -> tuple[Path, ...]:
    """Return the files of one log."""
    return LOGS[request.param] or (request.getfixturevalue("generated"),)


def noted(report: Report, letter: str) -> int:
    return sum(count for notes, count in report["searches"]["noted"].items() if letter in notes.split(","))


FIGURES: dict[str, Callable[[Report], int]] = {
    "Searches": lambda report: report["operations"]["search"],
    "Modifications": lambda report: report["operations"]["modify"],
    "Adds": lambda report: report["operations"]["add"],
    "Deletes": lambda report: report["operations"]["delete"],
    "Mod RDNs": lambda report: report["operations"]["modrdn"],
    "Compares": lambda report: report["operations"]["compare"],
    "Extended Operations": lambda report: report["operations"]["extended"],
    "Abandoned Requests": lambda report: report["operations"]["abandon"],
    "Unbinds": lambda report: report["operations"]["unbind"],
    "LDAP v3 Binds": lambda report: report["operations"]["bind"],
    "Total Connections": lambda report: report["connections"]["opened"],
    "LDAPI Connections": lambda report: report["connections"]["by_client"].get("local", 0),
    "Unindexed Searches": lambda report: noted(report, "A"),
    "Paged Searches": lambda report: noted(report, "P"),
    "Invalid Attribute Filters": lambda report: noted(report, "F"),
    "FDs Taken": lambda report: report["connections"]["opened"],
    "Max BER Size Exceeded": lambda report: sum(closes(report).get("B2", {}).values()),
}
"""What logconv calls it, and where we say it."""


COLUMNS = {
    "Results": b"RESULT ", "Search": b"SRCH ", "Add": b"ADD ", "Mod": b"MOD ", "Modrdn": b"MODRDN ", "Compare": b"CMP ",
    "Delete": b"DEL ", "Abandon": b"ABANDON ", "Connections": rb"fd=\d+ slot=\d+ (?:SSL )?connection from ",
}  # fmt: skip
"""The columns of -M that are right, and the records that they count."""


def by_minute(log: Path, what: bytes) -> list[int]:
    """Return the number of records in each minute that has any."""
    record = re.compile(rb"\[([^]]+?):\d\d(?:\.\d+)? [+-]\d{4}\] conn=\d+ (?:op=\d+ )?(" + what + rb")?")
    counts: dict[bytes, int] = {}
    for found in filter(None, map(record.match, log.read_bytes().splitlines())):
        counts[found[1]] = counts.get(found[1], 0) + (found[2] is not None)
    return list(counts.values())


def rows_of(option: str, log: Path, folder: Path) -> list[dict[str, str]]:
    """Return the rows that -m or -M writes."""
    assert LOGCONV
    subprocess.run([LOGCONV, option, folder / "rows.csv", log], capture_output=True, check=True, timeout=120)
    with (folder / "rows.csv").open(encoding="utf-8", errors="replace") as rows:
        return list(csv.DictReader(rows))


class TestPerMinute:
    @pytest.mark.parametrize("name", ["case 1", "restart", "ghosts"])
    def test_the_columns_that_are_right(self, name: str, tmp_path: Path) -> None:
        (log,) = LOGS[name]
        rows = rows_of("-M", log, tmp_path)
        told = {column: [int(row[column]) for row in rows] for column in COLUMNS}
        assert told == {column: by_minute(log, what) for column, what in COLUMNS.items()}

    def test_unbinds_are_never_counted(self, tmp_path: Path) -> None:
        (log,) = LOGS["case 1"]
        assert [row["Unbind"] for row in rows_of("-M", log, tmp_path)] == ["0"] * 4
        assert by_minute(log, b"UNBIND") == [48, 66, 3, 13]

    def test_a_row_per_second_is_one_per_stamp(self, tmp_path: Path) -> None:
        (log,) = LOGS["case 1"]
        assert len(rows_of("-m", log, tmp_path)) == 5579
        assert len(set(re.findall(rb"^\[([^.]+)", log.read_bytes(), re.MULTILINE))) < 200

    def test_a_forged_stamp_begins_a_row(self, tmp_path: Path) -> None:
        log = TRAPS / "389-nasty" / "access"
        rows = rows_of("-M", log, tmp_path)
        assert len(rows) == 5
        assert by_minute(log, b"RESULT") == [52]
        assert sum(float(row["ElapsedTime"]) for row in rows) > 9.2 + 3 * 99


class TestWhereItIsRight:
    @pytest.mark.parametrize("figure", FIGURES)
    def test_we_say_the_same(self, logs: tuple[Path, ...], figure: str) -> None:
        assert FIGURES[figure](report_of(*logs)) == logconv(*logs)[figure]

    def test_of_components_without_index(self, logs: tuple[Path, ...]) -> None:
        """It counts those of VLV searches apart."""
        told = logconv(*logs)
        assert noted(report_of(*logs), "U") == told["Unindexed Components"] + told["VLV Unindexed Components"]

    def test_of_results(self, logs: tuple[Path, ...]) -> None:
        """It counts abandoned requests among them, which have none."""
        told = logconv(*logs)
        assert sum(report_of(*logs)["results"].values()) == told["Total Results"] - told["Abandoned Requests"]

    def test_of_results_by_code(self, logs: tuple[Path, ...]) -> None:
        assert report_of(*logs)["results"] == logconv(*logs).results

    def test_of_closes_that_have_a_code(self, logs: tuple[Path, ...]) -> None:
        by_code = report_of(*logs)["connections"]["closed_by_code"]
        coded = {code: count for code, count in by_code.items() if re.fullmatch(r"[A-Z]\d", code)}
        assert {code: count for code, count in coded.items() if code != "A1"} == {
            code: count for code, count in logconv(*logs).closes.items() if code != "A1"
        }

    def test_of_connections_by_client(self, logs: tuple[Path, ...]) -> None:
        assert report_of(*logs)["connections"]["by_client"] == logconv(*logs).clients

    def test_of_the_average_time_of_all_operations(self, logs: tuple[Path, ...]) -> None:
        if report_of(*logs)["operations"]["abandon"]:
            return  # it averages them, too
        waits = report_of(*logs)["waits"]
        figures = logconv(*logs).figures
        count = sum(report_of(*logs)["results"].values())
        assert waits["etime_seconds"] / count == pytest.approx(float(figures["Average etime (elapsed time)"]), abs=2e-9)
        assert waits["seconds"] / count == pytest.approx(float(figures["Average wtime (wait time)"]), abs=2e-9)

    def test_of_failed_logins_by_address(self) -> None:
        (log,) = LOGS["case 1"]
        ours = Counter[str]()
        for one in report_of(log)["failed_binds"]:
            ours[one["client"]] += one["count"]
        assert ours == logconv(log).failed_logins == {"127.0.0.16": 10, "127.0.0.38": 2}

    def test_of_when_it_begins_and_ends(self) -> None:
        (log,) = LOGS["case 1"]
        report, told = report_of(log), logconv(log).figures
        assert (report["first_time"], report["last_time"]) == (
            "2026-11-20T08:45:20.751921248Z",
            "2026-11-20T08:48:15.142023697Z",
        )
        assert (told["Start of Logs"], told["End of Logs"]) == (
            "20/Nov/2026:08:45:20.751921248",
            "20/Nov/2026:08:48:15.142023697",
        )


Wrong = tuple[str, str, Any, "Callable[[Report], Any]", "Callable[[Told], Any]", Any]

WRONG: list[Wrong] = [
    # as the document calls it, log, the truth, what we say, what logconv says, and how much that is
    (
        "Peak Concurrent Connections", "case 1", 44,  # held-connections.json: 43, and who asked for cn=monitor
        lambda report: report["connections"]["peak"], lambda told: told["Peak Concurrent Connections"], 151,
    ),
    (
        "Peak Concurrent Connections", "ghosts", 311,  # TRUTH.json: 310, and who asked for cn=monitor
        lambda report: report["connections"]["peak"], lambda told: told["Peak Concurrent Connections"], 313,
    ),
    (
        "Peak Concurrent Connections", "rotation", 7,  # sent.json: six threads, and who switched the rotation on
        lambda report: report["connections"]["peak"], lambda told: told["Peak Concurrent Connections"], 55,
    ),
    (
        "FDs Returned", "case 1", 173,  # every connection was closed: the server was stopped
        lambda report: report["connections"]["closed"], lambda told: told["FDs Returned"], 22,
    ),
    (
        "FDs Returned", "idle timeout", 117,  # TRUTH.json: 115 ghosts gone, and two that said UNBIND
        lambda report: report["connections"]["closed"], lambda told: told["FDs Returned"], 0,
    ),
    (
        "Current Open Connection IDs", "case 1", 0,
        lambda report: report["connections"]["open_at_end"], lambda told: told.open_at_end, 151,
    ),
    (
        "Current Open Connection IDs", "idle timeout", 47,  # TRUTH.json: server_established_total
        lambda report: report["connections"]["open_at_end"], lambda told: told.open_at_end, 164,
    ),
    (
        "Connections Reset By Peer", "case 1", 5,  # ground_truth.json: RST after bind
        lambda report: report["connections"]["closed_by_code"]["reset"],
        lambda told: told["Connections Reset By Peer"], 0,
    ),
    (
        "Restarts", "case 1", 0,
        lambda report: report["streams"][0]["server_processes"] - 1, lambda told: told["Restarts"], 1,
    ),
    (
        "Restarts", "restart", 1,
        lambda report: report["streams"][0]["server_processes"] - 1, lambda told: told["Restarts"], 2,
    ),
    (
        "Binds", "case 1", 154,  # AUTOBIND is written beside the BIND of the same request
        lambda report: report["operations"]["bind"], lambda told: told["Binds"], 159,
    ),
    (
        "Directory Manager Binds", "case 1", 41,  # connections of which the log says dn="cn=Directory Manager" last
        lambda report: report["connections"]["by_account"]["cn=Directory Manager"],
        lambda told: told["Directory Manager Binds"], 0,
    ),
    (
        "Total Results",
        "case 1",
        2527,  # lines that are a RESULT
        lambda report: sum(report["results"].values()),
        lambda told: told["Total Results"],
        2537,
    ),
    (
        "Total Log Lines Analysed", "rotation", 81_372,  # line feeds in the nine files
        lambda report: report["lines"], lambda told: told["Total Log Lines Analysed"], 81_380,
    ),
]  # fmt: skip


class TestWhereItIsWrong:
    @pytest.mark.parametrize(
        ("figure", "log", "truth", "ours", "theirs", "wrong"), WRONG, ids=[f"{one[0]} {one[1]}" for one in WRONG]
    )
    def test_we_say_the_truth_and_it_does_not(self, figure, log, truth, ours, theirs, wrong) -> None:  # noqa: ARG002  they are the parameters of all
        assert ours(report_of(*LOGS[log])) == truth
        assert theirs(logconv(*LOGS[log])) == wrong
        assert wrong != truth

    def test_forged_lines_are_results_to_it(self) -> None:
        """Three requests of 389-nasty carry a whole forged record behind a newline (sent.json)."""
        log = TRAPS / "389-nasty" / "access"
        told = logconv(log)
        real = Counter(
            re.findall(rb"^\[20/Nov/2026:09:05[^]]*\] conn=\d+ op=\d+ RESULT ", log.read_bytes(), re.MULTILINE)
        )
        assert sum(report_of(log)["results"].values()) == real.total() == 52
        assert told["Total Results"] == 55
        assert told["Unindexed Searches"] - noted(report_of(log), "A") == 4

    def test_each_is_in_the_document_and_nothing_else_is(self) -> None:
        shown = LIST.read_text().partition("## Shown")[2].partition("## ")[0]
        listed = set(re.findall(r"^\| ([^|]+?) \| .* \|$", shown, re.MULTILINE))
        assert listed - {"figure"} == {one[0] for one in WRONG} | {"Total Results, Unindexed Searches"}
