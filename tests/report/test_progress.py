"""Progress: one line for each target, with what it said and the first that it did not."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console
from rich.progress import FileSizeColumn, Progress, TextColumn

from ldapdiag.evidence.bundle import Gap
from ldapdiag.report.progress import BytesRead, Watched, reading_bytes


class Status:
    """The line of the moment."""

    def update(self, text):
        self.text = text.plain


@pytest.fixture
def watched():
    return Watched(Console(file=StringIO(), width=40), Status())


def lines(watched):
    return watched.console.file.getvalue().splitlines()


def test_a_target_that_answers_has_one_line_with_its_first_gap_behind(watched) -> None:
    watched.answered("ssh://app1", "12 sockets (ss)", 0.31)
    watched.answered("ssh://fw", "3 sockets (ss)", 0.5, Gap(target="ssh://fw", reason="no sudo", how="allow it"))
    elsewhere = Gap(target="slapd, process 7", reason="listens on no LDAPI socket", how=None)
    watched.answered("local:", "4 sockets (inet_diag)", 0.1, elsewhere)
    assert [" ".join(line.split()) for line in lines(watched)] == [
        "ssh://app1 ✔ 12 sockets (ss) 0.3 s",
        "ssh://fw ✔ 3 sockets (ss) 0.5 s; but no sudo. allow it",
        "local: ✔ 4 sockets (inet_diag) 0.1 s; but slapd, process 7: listens on no LDAPI socket",
    ]


def test_one_that_said_nothing_is_told_with_what_to_try(watched) -> None:
    watched.failed(Gap(target="ssh://app2", reason="connection refused", how="see whether sshd runs"))
    (line,) = lines(watched)
    assert line.split("✘ ")[1] == "connection refused. see whether sshd runs"


def test_what_a_host_says_moves_no_cursor(watched) -> None:
    watched.answered("ssh://a", "x\x1b[2J", 0.1, Gap(target="ssh://a", reason="y\x1b[2J\n", how="z"))
    (line,) = lines(watched)
    assert "\x1b" not in line


@pytest.mark.parametrize(("seconds", "told"), [(0.2, 1), (1.0, 1), (3.4, 4)])
def test_a_pause_is_never_told_shorter_than_it_is(watched, seconds, told) -> None:
    watched.waiting(seconds)
    assert watched.status.text == f"second look in {told} s"


def test_bytes_read_have_a_bar_their_rate_and_the_time_left() -> None:
    progress = Progress(TextColumn("reading"), FileSizeColumn(), console=Console(file=StringIO(), width=80))
    bar = BytesRead(progress, progress.add_task("", total=None, visible=False))
    bar.begin(2_000_000)
    bar.advance(500_000)
    bar.advance(1_000_000)
    (task,) = progress.tasks
    assert (task.visible, task.total, task.completed) == (True, 2_000_000, 1_500_000)


def test_nobody_is_told_of_bytes_where_nobody_watches(monkeypatch) -> None:
    monkeypatch.setattr("sys.stderr", StringIO())
    with reading_bytes() as watching:
        assert watching is None
