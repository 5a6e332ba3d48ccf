"""The row limit: a table that is too large is a gap with the number, and no part of it is used."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

import many_subjects
from diag_writer import as_inet_diag
from ldapdiag.evidence.flows import FlowTable
from ldapdiag.evidence.sockets import SocketTable
from ldapdiag.sources.gathering import gather
from ldapdiag.sources.recognition import row_limit
from ldapdiag.sources.recognition.row_limit import RunTables
from reading import facts_of

LIMIT = 200


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower the limit of one input."""
    monkeypatch.setattr(row_limit, "INPUT_ROWS", LIMIT)


@pytest.fixture
def table_of(tmp_path: Path):
    """Return a function that writes a table and gathers it: the facts that are tables, and the gaps."""

    def write(content: str | bytes):
        path = tmp_path / "table.txt"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        bundle = gather([str(path)])
        return [fact for fact in bundle.facts if isinstance(fact, SocketTable | FlowTable)], bundle.gaps

    return write


@pytest.mark.parametrize("name", many_subjects.TABLES)
@pytest.mark.usefixtures("few")
def test_a_table_of_any_tool_is_limited(name: str, table_of) -> None:
    """Each reader names its rows: the next reader that does not is found here."""
    tables, gaps = table_of(many_subjects.table(name, LIMIT + 2))
    assert not tables
    (gap,) = gaps
    assert gap.reason == (
        "contains more than 200 rows; it is not used, because an incomplete table shows too few connections"
    )
    assert gap.how


@pytest.mark.parametrize(("rows", "read"), [(LIMIT, LIMIT), (LIMIT + 1, 0)])
@pytest.mark.usefixtures("few")
def test_a_listing_of_the_kernel_is_limited(rows: int, read: int, table_of) -> None:
    """Its messages are binary, and several are in one chunk: rows count, and not lines."""
    tables, gaps = table_of(as_inet_diag(islice(many_subjects.sockets(rows), rows)))
    assert sum(map(len, tables)) == read
    assert [gap.reason.partition(";")[0] for gap in gaps] == ["contains more than 200 rows"] * (not read)


@pytest.mark.parametrize("name", many_subjects.TABLES)
@pytest.mark.usefixtures("few")
def test_a_table_up_to_the_limit_is_read(name: str, table_of) -> None:
    """The limit is no reason to drop what fits."""
    tables, gaps = table_of(many_subjects.table(name, LIMIT - 2))
    assert sum(map(len, tables)) >= LIMIT - 2
    assert not gaps


@pytest.mark.usefixtures("few")
def test_reading_stops_soon_after_the_limit(tmp_path: Path) -> None:
    """A file of a hundred gigabytes is not read to its end: here, 20 MiB of which 2 MiB are read."""
    path = tmp_path / "ss.txt"
    path.write_text(many_subjects.table("ss", 1000) * 160, encoding="utf-8")
    read: list[int] = []
    original = row_limit.InputLimit._reason

    def counted(self, document):
        read.append(1)
        return original(self, document)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_limit.InputLimit, "_reason", counted)
        assert gather([str(path)]).gaps
    assert path.stat().st_size > 15 << 20
    assert len(read) <= 2


def test_a_file_of_many_small_tables_is_limited(monkeypatch: pytest.MonkeyPatch, table_of) -> None:
    """A loop around ss writes one snapshot per turn, and snapshots are compared with each other."""
    monkeypatch.setattr(row_limit, "INPUT_TABLES", 3)
    tables, gaps = table_of(many_subjects.table("ss", 1) * 5)
    assert not tables
    assert "more than 3 tables" in gaps[0].reason


def test_lines_of_other_evidence_are_limited(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A sysctl has a thousand lines, and each is kept."""
    monkeypatch.setattr(row_limit, "INPUT_LINES", 100)
    path = tmp_path / "sysctl.txt"
    path.write_text("".join(f"net.ipv4.tcp_{number} = 1\n" for number in range(200)))
    (gap,) = gather([str(path)]).gaps
    assert gap.reason.startswith("contains more than 100 lines; it is not used")


def test_all_tables_of_a_run_are_limited_together() -> None:
    """Ten large tables take as much memory as one that is ten times as large; addresses weigh more than rows."""
    kept = RunTables(most=100)
    table = facts_of(many_subjects.table("ss", 20))
    assert kept.take("one", table) is None
    assert kept.kept == 21 + 2 * 21
    gap = kept.take("two", table)
    assert gap is not None
    assert "exceeds the limit of all tables of a run, 100 rows" in gap.reason
    assert kept.take("three", facts_of(many_subjects.table("ss", 10))) is None
