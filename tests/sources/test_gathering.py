"""Gathering: everything named is read, once; what cannot be read is one line each, and never costs the rest."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path

import pytest

import histories
from command import INCIDENT, diagnose
from ldapdiag.sources import gathering
from ldapdiag.sources.files.input import Input
from ldapdiag.sources.history.recording import Bounds, record
from ldapdiag.sources.live.sampling import LiveEvidence
from ldapdiag.sources.recognition import reading

TABLE = INCIDENT / "app2" / "ss-tiepmnaO.txt"
TROUBLES = ("nowhere", "empty folder", "empty file", "photo.jpg", "loop")


@pytest.fixture
def troubles(tmp_path: Path) -> Path:
    """Make a folder of everything that cannot be read."""
    (tmp_path / "empty folder").mkdir()
    (tmp_path / "empty file").touch()
    (tmp_path / "photo.jpg").write_bytes(b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01" + bytes(range(256)))
    (tmp_path / "loop").symlink_to("loop")
    return tmp_path


@pytest.mark.parametrize("trouble", TROUBLES)
def test_each_trouble_is_one_line_with_what_where_and_what_to_do(troubles: Path, trouble: str) -> None:
    ran = diagnose(troubles / trouble)
    assert (ran.code, ran.out, len(ran.complaints)) == (2, b"", 1)
    assert ran.complaints[0].startswith(f"ldapdiag: {troubles / trouble}: ")
    assert "; " in ran.complaints[0]


def test_the_rest_is_judged(troubles: Path) -> None:
    ran = diagnose(*(troubles / trouble for trouble in TROUBLES), INCIDENT)
    assert ran.code == 1
    assert "268 of the 270 connections" in ran.text
    assert [line.split(": ")[1] for line in ran.complaints] == sorted(str(troubles / trouble) for trouble in TROUBLES)


def test_the_report_lists_each_gap_with_a_way_to_close_it(troubles: Path) -> None:
    gaps = diagnose(*(troubles / trouble for trouble in TROUBLES), TABLE, "--format", "json").report["gaps"]
    assert len(gaps) == len(TROUBLES)
    assert [gap for gap in gaps if not gap["how"]] == []


def test_a_folder_tells_how_many_of_its_files_are_unknown(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt", "c.txt", "d.txt"):
        (tmp_path / name).write_text(f"notes of {name}, written during the incident\n")
    ran = diagnose(tmp_path, TABLE)
    assert ran.code == 0
    assert len(ran.complaints) == 1
    assert ": 4 files are of an unrecognised type " in ran.complaints[0]
    assert "(a.txt, b.txt, c.txt, …)" in ran.complaints[0]
    assert (
        " ".join(diagnose(tmp_path, TABLE, "-v").text.split()).count(
            'is text, but no known evidence (begins "notes of '
        )
        == 4
    )


def test_many_troubles_of_one_kind_are_counted(tmp_path: Path) -> None:
    names = [str(tmp_path / f"host{number}") for number in range(10)]
    ran = diagnose(*names, TABLE)
    assert len(ran.complaints) == 4
    assert ran.complaints[-1].startswith("ldapdiag: and 7 more: there is no such file or folder")


def test_a_known_file_of_no_use_says_why(tmp_path: Path) -> None:
    (tmp_path / "ss-s.txt").write_text("Total: 180\nTCP:   12 (estab 3, closed 1, orphaned 0, timewait 1)\n")
    ran = diagnose(tmp_path / "ss-s.txt")
    assert (ran.code, len(ran.complaints)) == (2, 1)
    assert "it counts sockets and lists none" in ran.complaints[0]


def test_a_file_recognised_that_holds_nothing_readable_is_said(tmp_path: Path) -> None:
    (tmp_path / "ss.txt").write_text("State Recv-Q Send-Q Local Address:Port Peer Address:Port\nESTAB some damage\n")
    ran = diagnose(tmp_path / "ss.txt")
    assert (ran.code, len(ran.complaints)) == (2, 1)
    assert "contains no usable evidence (2 lines)" in ran.complaints[0]


@pytest.mark.parametrize("again", [TABLE, TABLE.parent, TABLE.parent / ".." / "app2" / TABLE.name])
def test_a_file_named_twice_counts_once(again: Path) -> None:
    tables = [
        one for one in diagnose(TABLE, again, "--format", "json").report["evidence"] if one["fact"] == "socket-table"
    ]
    assert len(tables) == 1


def test_a_file_under_two_names_counts_once(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(TABLE.read_bytes())
    (tmp_path / "b.txt").hardlink_to(tmp_path / "a.txt")
    (tmp_path / "c.txt").symlink_to("a.txt")
    assert len(gathering.gather([str(tmp_path)]).facts) == 1


def test_a_crash_of_a_reader_costs_one_file_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").write_text("a stumbling block")
    (tmp_path / "b.txt").write_bytes(TABLE.read_bytes())
    recognise = reading.recognise

    def stumble(head: gathering.Head) -> object:
        if "stumbling" in head.lines[0]:
            raise RuntimeError("stumbled")
        return recognise(head)

    monkeypatch.setattr(reading, "recognise", stumble)
    bundle = gathering.gather([str(tmp_path)])
    assert len(bundle.facts) == 1
    assert [gap.reason for gap in bundle.gaps] == [
        "the reader crashed (RuntimeError: stumbled); this is a bug in ldapdiag"
    ]


@pytest.mark.parametrize("change", ["truncated", "rewritten", "appended to", "replaced"])
def test_a_table_that_changes_before_it_is_read_is_not_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    header, rows = TABLE.read_bytes().split(b"\n", 1)
    table = tmp_path / "sockets.txt"
    table.write_bytes(header + b"\n" + rows * 10)
    other = header + b"\n" + rows.replace(b"10.77.3.2", b"10.77.3.9") * 10
    read = reading.read

    def change_and_read(one: Input) -> reading.InputReading:
        if change == "truncated":
            table.write_bytes(b"")
        elif change == "rewritten":
            table.write_bytes(other)
        elif change == "replaced":
            (tmp_path / "new").write_bytes(other)
            (tmp_path / "new").replace(table)
            assert one.file_range
            one.file_range.files.clear()
        else:
            with table.open("ab") as added:
                added.write(rows)
        return read(one)

    monkeypatch.setattr(reading, "read", change_and_read)
    bundle = gathering.gather([str(table)])
    if change == "appended to":
        assert bundle.gaps == ()
        assert bundle.facts
    else:
        assert bundle.facts == ()
        (gap,) = bundle.gaps
        assert gap.reason.startswith("changed while it was read; ")


def test_an_answer_of_a_target_is_parsed_once_wherever_it_belongs(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is parsed as it comes, to decide what is asked next, and may get the folder of another host after that."""
    recognised = []
    recognise = reading.recognise
    monkeypatch.setattr(reading, "recognise", lambda head: recognised.append(head) or recognise(head))
    answer = Input(path="a/ss.txt", folder="a", label="ss of a", source=partial(BytesIO, TABLE.read_bytes()))
    placed = replace(reading.with_facts(answer), path="b/ss.txt", folder="b")
    answers = LiveEvidence(pieces=(placed,), gaps=(), clock_offsets={})
    monkeypatch.setattr(gathering, "ask", lambda *_, **__: answers)
    (table,) = gathering.gather(["ssh://b"]).facts
    assert (table.origin.path, table.origin.folder, len(recognised)) == ("b/ss.txt", "b", 1)


class TestHostileBytes:
    """Nothing from evidence reaches a terminal raw: no escape, no C1 control, no change of direction."""

    ATTACK = "\x1b]0;owned\x07\x9b31m\u202egnp.exe\u2028\u200b\U000e0041"
    FORBIDDEN = ("\x1b", "\x07", "\x9b", "\u202e", "\u2028", "\u200b", "\U000e0041")

    def assert_harmless(self, *evidence: Path | bytes) -> None:
        for arguments in ((), ("-v",), ("--format", "json")):
            ran = diagnose(*evidence, *arguments)
            for stream in (ran.out.decode(), ran.err.decode()):
                assert [one for one in self.FORBIDDEN if one in stream] == [], arguments

    def site(self, folder: Path, *, dn: str = "uid=app", program: str = "java", damage: str = "") -> Path:
        """Write a server with 300 connections of one client, of which 200 are in CLOSE-WAIT at the client."""
        (folder / "ldap").mkdir()
        (folder / "app1").mkdir()
        header = "State Recv-Q Send-Q Local Address:Port Peer Address:Port Process\n"
        here, there = "10.77.1.2:389", "10.77.2.2"
        ports = range(40000, 40300)
        (folder / "ldap" / "ss.txt").write_text(
            header
            + f'LISTEN 0 128 {here} *:* users:(("{program}",pid=7,fd=3))\n'
            + "".join(f'ESTAB 0 0 {here} {there}:{port} users:(("{program}",pid=7,fd=4))\n' for port in ports)
            + damage
        )
        (folder / "app1" / "ss.txt").write_text(
            header
            + "".join(
                f'CLOSE-WAIT 1 0 {there}:{port} {here} users:(("{program}",pid=9,fd=4))\n' for port in ports[:200]
            )
        )
        lines = (f"connection: {n}:20261120085231Z:2:2:-:{dn}:0:0:0:{n}:ip={there}" for n in range(300))
        monitor = "dn: cn=monitor\nobjectClass: top\nobjectClass: extensibleObject\ncn: monitor\n"
        monitor += "version: 389-Directory/2.3.1 B2026.001.0000\n" + "\n".join(lines) + "\ncurrentconnections: 300\n"
        (folder / "ldap" / "cn-monitor.ldif").write_text(monitor)
        return folder

    def test_in_a_dn(self, tmp_path: Path) -> None:
        dn = f"uid=app{self.ATTACK.replace(':', '')}"
        self.assert_harmless(self.site(tmp_path, dn=dn))
        assert "\\x1b]0;owned" in diagnose(tmp_path).text

    def test_in_the_name_of_a_program(self, tmp_path: Path) -> None:
        self.assert_harmless(self.site(tmp_path, program=self.ATTACK))

    def test_in_a_line_nobody_understands(self, tmp_path: Path) -> None:
        self.assert_harmless(self.site(tmp_path, damage=f"{self.ATTACK}\n"))

    def test_in_a_file_of_no_known_kind(self, tmp_path: Path) -> None:
        (tmp_path / "notes").write_text(self.ATTACK)
        self.assert_harmless(tmp_path, TABLE)

    @pytest.mark.parametrize("name", [f"a{ATTACK}", "two\nlines", "\udcff\udcfe.txt", "[red]markup[bold]"])
    def test_in_the_name_of_a_file(self, tmp_path: Path, name: str) -> None:
        folder = tmp_path / name
        folder.mkdir()
        (folder / f"{name}.txt").write_bytes(TABLE.read_bytes())
        (folder / f"{name}.unknown").write_text("notes")
        self.assert_harmless(folder, folder / "nowhere")
        ran = diagnose(folder, folder / "nowhere")
        assert len(ran.complaints) == 2

    def test_in_the_name_of_a_file_that_is_no_text_is_still_readable_json(self, tmp_path: Path) -> None:
        path = tmp_path / "caf\udce9.txt"
        path.write_bytes(TABLE.read_bytes())
        ran = diagnose(path, tmp_path / "\udce9", "--format", "json")
        assert b"\\ud" not in ran.out  # a lone surrogate, which strict parsers refuse
        assert ran.report["evidence"][0]["origin"].endswith("/caf\\xe9.txt")


def test_a_history_is_named_with_the_option_that_reads_it(tmp_path) -> None:
    record(tmp_path / "history.db", histories.run(0), Bounds())
    ran = diagnose(tmp_path / "history.db")
    assert "name a history by --record FILE, or see ldapdiag history" in " ".join(ran.complaints)
