"""Two servers that write one log without a tag are noticed; a server that was restarted often is not taken for two."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import examples
import log_lines
from command import ldapdiag
from ldapdiag.sources.logs.access_log import read
from ldapdiag.sources.logs.log_files import LogFile, find_logs
from ldapdiag.sources.logs.sequences import OPENED, Used, writing_at_once

SECOND = 10**9


def openings(*numbers: int, every: int = SECOND) -> list[Used]:
    return [(conn, at * every, OPENED) for at, conn in enumerate(numbers)]


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=30), st.sampled_from([0, 1, 1000]), st.sampled_from([9, SECOND])
)
def test_a_server_that_is_restarted_is_one(lengths: list[int], first: int, every: int) -> None:
    """By definition: each process numbers its connections from the same number."""
    numbers = [first + number for length in lengths for number in range(length)]

    assert writing_at_once(openings(*numbers, every=every)) == 1


@given(st.permutations([0] * 12 + [1] * 12), st.integers(0, 5))
def test_two_servers_are_two_where_they_take_turns(turns: list[int], restarts: int) -> None:
    """By definition: the numbers of each go on where they were before; a server alone is restarted now and then."""
    numbers = [iter(range(1000, 2000)), iter(range(6000, 9000))]
    mixed = [next(numbers[turn]) for turn in turns]
    changes = sum(one and not other for one, other in pairwise(turns))
    alone = [number for _ in range(restarts) for number in range(1000, 1005)]

    assert writing_at_once(openings(*mixed)) == (2 if changes >= 3 else 1)
    assert writing_at_once(openings(*alone)) == 1


def test_the_uses_of_one_server_and_the_openings_of_another_are_two() -> None:
    pool = [(9000 + number % 3, number * SECOND, 7) for number in range(20)]
    openings = [(100 + number, number * SECOND + 1, OPENED) for number in range(20)]

    assert writing_at_once(sorted(pool + openings, key=lambda one: one[1])) == 2
    assert writing_at_once(openings) == 1


@pytest.mark.usefixtures("scanner")
@pytest.mark.parametrize("shift", [0, 0.25])
def test_the_report_begins_with_it(shift: float, tmp_path: Path) -> None:
    one = log_lines.run(1, 20).splitlines(keepends=True)
    two = log_lines.run(5000, 5019, shift=shift - 4999, client="10.0.0.2").splitlines(keepends=True)
    (tmp_path / "access").write_bytes(b"".join(sorted(one + two, key=lambda line: line[:31])))

    ran = ldapdiag("log", tmp_path / "access")
    report = ldapdiag("log", tmp_path / "access", "--format", "json").report

    said = " ".join(ran.out.decode().split())
    told = re.match(r"The log seems to be written by 2 servers at once: (\d+) restarts in 19\.\d s, after which", said)
    assert told
    assert int(told[1]) == report["streams"][0]["server_processes"] - 1
    (sentence,) = report["unreliable"]
    assert said.startswith(f"{sentence}.")
    assert report["remarks"] == [sentence]
    for page in ("markdown", "html"):
        assert ldapdiag("log", tmp_path / "access", "--format", page).out.decode().count("by 2 servers at once") == 1


def test_two_logs_of_the_corpus_in_one_file_are_noticed_and_each_alone_is_not(corpus: Path, tmp_path: Path) -> None:
    """Ground truth: each of these logs was written by one server at a time."""
    for dialect, names in {
        "389": ("1-389ds-unindexed/access", "5a-ghost-389ds/ldap/access", "7-traps/389-restart/access"),
        "slapd": ("2-openldap-unindexed/slapd.stderr.log", "5c-fd-exhaustion-openldap/slapd.stderr.log"),
        "opendj": ("3-opendj-unindexed/access", "3-opendj-unindexed/access-combined"),
    }.items():
        logs = [(corpus / name).read_bytes().splitlines(keepends=True)[:6000] for name in names]
        for name in names:
            assert [one.counted().stream.unreliable for one in read([str(corpus / name)]).streams] == [()], name
        choose = examples.choices(dialect)
        mixed: list[bytes] = []
        waiting = [iter(log) for log in logs[:2]]
        while waiting:
            lines = choose.choice(waiting)
            taken = [line for _, line in zip(range(choose.randint(1, 4)), lines, strict=False)]
            mixed += taken
            if not taken:
                waiting.remove(lines)
        (tmp_path / dialect).write_bytes(b"".join(mixed))
        (stream,) = read([str(tmp_path / dialect)]).streams
        assert "servers at once" in "".join(stream.counted().stream.unreliable), dialect


def test_no_log_of_the_corpus_seems_to_be_of_two_servers(corpus: Path) -> None:
    for file in examples.some([*find_logs([str(corpus)])], 3):
        if isinstance(file, LogFile):
            for stream in read([file.input.label]).streams:
                assert stream.counted().stream.unreliable == (), file.path
