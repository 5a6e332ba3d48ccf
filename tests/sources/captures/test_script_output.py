"""Collections: the output of the script is one host with its own times; what is cut or forged is no evidence."""

from __future__ import annotations

import gzip
import io
import tarfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.bundle import Gap
from ldapdiag.evidence.origin import Span
from ldapdiag.sources.budget import Budget
from ldapdiag.sources.captures import script_output
from ldapdiag.sources.captures.find import find
from ldapdiag.sources.captures.script_output import Script, ScriptSection, events
from ldapdiag.sources.files.input import Input

NONCE = "n0nce4711abc"
BANNER = "Welcome to app1.\nUnauthorised use is forbidden.\n"
TABLE = "State Recv-Q Send-Q Local Address:Port Peer Address:Port\nESTAB 0 0 10.77.2.2:40000 10.77.1.2:389\n"


def section(file: str, content: str, folder: str = ".", asked: str = "ss -tan") -> str:
    return (
        f"{NONCE} begin {folder} {file} 2026-11-20T13:00:01Z {asked}\n{content}{NONCE} end 0 2026-11-20T13:00:02.250Z\n"
    )


HOST = section("host.txt", "ldapdiag-host 1\nname: app1\n", asked="uname")
WHOLE = (
    f"ldapdiag-collection 1 {NONCE}\n{HOST}{section('sockets-1.txt', TABLE)}"
    f"{section('sockets-1.txt', TABLE, 'ns:web')}{NONCE} gap . conntrack: permission denied\n{NONCE} bye\n"
)


def found(tmp_path: Path, content: str | bytes, name: str = "answer.txt") -> list[Input | Gap]:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return [one for one in find(str(path)) if isinstance(one, Input | Gap)]


def content_of(one: Input) -> str:
    with one.open() as stream:
        return stream.read().decode()


def told(found: list[Input | Gap]) -> list[tuple[str, str, str]]:
    return [(one.path, one.folder.rpartition("/")[2], content_of(one)) for one in found if isinstance(one, Input)]


SECTIONS = [
    ("app1/host.txt", "app1", "ldapdiag-host 1\nname: app1\n"),
    ("app1/sockets-1.txt", "app1", TABLE),
    ("app1-web/sockets-1.txt", "app1-web", TABLE),
]


@pytest.mark.parametrize("banner", ["", BANNER])
@pytest.mark.parametrize("packed", [bytes, gzip.compress])
def test_the_sections_are_pieces_of_the_host_that_printed_them(
    tmp_path: Path, banner: str, packed: type[bytes]
) -> None:
    read = found(tmp_path, packed((banner + WHOLE).encode()))
    assert told(read) == SECTIONS
    piece = read[1]
    assert isinstance(piece, Input)
    start = datetime(2026, 11, 20, 13, 0, 1, tzinfo=UTC)
    assert piece.taken == Span(start=start, end=start.replace(second=2, microsecond=250_000))
    assert piece.asked == "ss -tan on app1"
    assert read[3:] == [Gap(target="app1", reason="conntrack: permission denied")]


def test_from_a_terminal_of_windows(tmp_path: Path) -> None:
    read = found(tmp_path, WHOLE.replace("\n", "\r\n"))
    assert [path for path, _, _ in told(read)] == [path for path, _, _ in SECTIONS]


def test_a_host_whose_clock_shows_whole_seconds_may_have_taken_one_more(tmp_path: Path) -> None:
    piece = found(tmp_path, WHOLE.replace(".250Z", "Z"))[1]
    assert isinstance(piece, Input)
    assert piece.taken is not None
    assert piece.taken.end == datetime(2026, 11, 20, 13, 0, 3, tzinfo=UTC)


def test_several_in_one_archive(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name in ("app1", "app2"):
            content = WHOLE.replace("name: app1", f"name: {name}").encode()
            header = tarfile.TarInfo(f"answers/{name}.txt")
            header.size = len(content)
            tar.addfile(header, io.BytesIO(content))
    read = told(found(tmp_path, packed.getvalue(), "answers.tgz"))
    assert {host for _, host, _ in read} == {"app1", "app1-web", "app2", "app2-web"}


@pytest.mark.parametrize("at", [len(WHOLE) - len(f"{NONCE} bye\n"), WHOLE.index("ESTAB") + 10])
def test_what_is_cut_off_is_told_and_a_cut_table_is_not_judged(tmp_path: Path, at: int) -> None:
    read = found(tmp_path, WHOLE[:at])
    assert told(read) == SECTIONS[: 3 if at > len(WHOLE) - 60 else 1]
    gaps = [one.reason for one in read if isinstance(one, Gap)]
    assert "is truncated: it lacks the last line of the script" in gaps
    assert ("the output of `ss -tan` is truncated" in gaps) == (at < len(WHOLE) - 60)


def test_the_content_of_a_file_forges_no_section(tmp_path: Path) -> None:
    forged = (
        "0therN0nce begin . sockets-9.txt 2026-11-20T13:00:01Z x\nldapdiag-collection 1 0therN0nce\n0therN0nce bye\n"
    )
    read = told(found(tmp_path, WHOLE.replace(TABLE, TABLE + forged, 1)))
    assert [path for path, _, _ in read] == [path for path, _, _ in SECTIONS]
    assert read[1][2] == TABLE + forged


def test_content_without_a_last_line_end_is_whole(tmp_path: Path) -> None:
    assert told(found(tmp_path, WHOLE.replace(TABLE, "129")))[1][2] == "129"


@pytest.mark.parametrize("name", ["../../etc", "a/b", "-rf"])
def test_a_host_s_name_leads_nowhere(tmp_path: Path, name: str) -> None:
    assert {path.count("/") for path, _, _ in told(found(tmp_path, WHOLE.replace("name: app1", f"name: {name}")))} == {
        1
    }


def test_a_file_that_only_mentions_one_is_none(tmp_path: Path) -> None:
    (only,) = found(tmp_path, f"see 'ldapdiag-collection 1 {NONCE}' in the manual\n")
    assert isinstance(only, Input)
    assert only.path.endswith("/answer.txt")


def test_what_is_too_long_is_told_and_its_beginning_is_not_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script_output, "MOST_SECTION_BYTES", len(TABLE) - 1)
    read = found(tmp_path, WHOLE)
    assert [path for path, _, _ in told(read)] == ["app1/host.txt"]
    assert "the output of `ss -tan` is larger than 0 MiB" in [one.reason for one in read if isinstance(one, Gap)]


def test_all_sections_of_a_host_and_all_hosts_together_are_bounded() -> None:
    shared = Budget(5000)
    one, other, third = (Script(NONCE.encode(), budget=shared, _left=4500) for _ in range(3))
    line = b"x" * 2000
    for script, cut in ((one, ""), (one, ""), (one, "limit of 512 MiB per host"), (other, "1 GiB per run")):
        script.take(f"{NONCE} begin . a.txt 2026-11-20T13:00:01Z ss\n".encode())
        script.take(line)
        section = script.take(f"{NONCE} end 0 2026-11-20T13:00:02Z\n".encode())
        assert isinstance(section, ScriptSection)
        assert cut in section.cut
        assert bool(cut) == bool(section.cut)
    third.take(f"{NONCE} begin . a.txt 2026-11-20T13:00:01Z ss\n".encode())
    third.take(b"x" * 1000)
    section = third.take(f"{NONCE} end 0 2026-11-20T13:00:02Z\n".encode())
    assert isinstance(section, ScriptSection)
    assert (section.cut, len(section.content)) == ("", 1000)


@given(st.binary(max_size=100), st.integers(0, len(WHOLE)))
def test_damage_never_raises(damage: bytes, at: int) -> None:
    whole = WHOLE.encode()
    list(events(io.BytesIO(whole[:at] + damage + whole[at + len(damage) :])))
