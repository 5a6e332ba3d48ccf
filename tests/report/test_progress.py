"""Progress: one line for each target with its result, and one for its first gap."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console
from rich.progress import FileSizeColumn, Progress, TextColumn

from ldapdiag.evidence.bundle import Gap
from ldapdiag.evidence.cluster_work import ClusterWork
from ldapdiag.report.progress import ByteProgress, TerminalProgress, show_byte_progress


class Status:
    """The status line."""

    def update(self, text):
        self.text = text.plain


@pytest.fixture
def watched():
    return TerminalProgress(Console(file=StringIO(), width=40), Status())


def lines(watched):
    return watched.console.file.getvalue().splitlines()


def test_a_target_that_answers_has_a_line_and_one_for_its_first_gap(watched) -> None:
    watched.answered("ssh://app1", "12 sockets (ss)", 0.31)
    watched.answered("ssh://fw", "3 sockets (ss)", 0.5, Gap(target="ssh://fw", reason="no sudo", how="allow it"))
    elsewhere = Gap(target="slapd, process 7", reason="listens on no LDAPI socket", how=None)
    watched.answered("local:", "4 sockets (inet_diag)", 0.1, elsewhere)
    assert [" ".join(line.split()) for line in lines(watched)] == [
        "ssh://app1 ✔ 12 sockets (ss) 0.3 s",
        "ssh://fw ✔ 3 sockets (ss) 0.5 s",
        "✘ no sudo; allow it",
        "local: ✔ 4 sockets (inet_diag) 0.1 s",
        "✘ slapd, process 7: listens on no LDAPI socket",
    ]


def test_a_target_without_evidence_has_its_reason_and_what_to_try(watched) -> None:
    watched.failed(Gap(target="ssh://app2", reason="connection refused", how="see whether sshd runs"))
    (line,) = lines(watched)
    assert line.split("✘ ")[1] == "connection refused; see whether sshd runs"


def test_the_output_of_a_host_moves_no_cursor(watched) -> None:
    watched.answered("ssh://a", "x\x1b[2J", 0.1, Gap(target="ssh://a", reason="y\x1b[2J\n", how="z"))
    assert len(lines(watched)) == 2
    assert not [line for line in lines(watched) if "\x1b" in line]


@pytest.mark.parametrize(("seconds", "shown"), [(0.2, 1), (1.0, 1), (3.4, 4)])
def test_a_pause_is_never_shown_shorter_than_it_is(watched, seconds, shown) -> None:
    watched.waiting(seconds)
    assert watched.status.text == f"second snapshot in {shown} s"


def test_bytes_read_have_a_bar_their_rate_and_the_time_left() -> None:
    progress = Progress(TextColumn("reading"), FileSizeColumn(), console=Console(file=StringIO(), width=80))
    bar = ByteProgress(progress, progress.add_task("", total=None, visible=False))
    bar.begin(2_000_000)
    bar.advance(500_000)
    bar.advance(1_000_000)
    (task,) = progress.tasks
    assert (task.visible, task.total, task.completed) == (True, 2_000_000, 1_500_000)


def test_a_cluster_shows_its_tasks_beside_the_bar() -> None:
    column = TextColumn("{task.fields[cluster]}")
    progress = Progress(column, console=Console(file=StringIO(), width=80))
    bar = ByteProgress(progress, progress.add_task("", total=None, cluster=""))
    for retried, shown in ((0, "1,200 tasks · 1 worker"), (3, "1,200 tasks · 1 worker · 3 retried")):
        bar.work(ClusterWork(workers=1, tasks=1200, retried=retried, task_bytes=1 << 29))
        assert str(column.render(progress.tasks[0])) == shown


def test_no_bar_without_a_terminal(monkeypatch) -> None:
    monkeypatch.setattr("sys.stderr", StringIO())
    with show_byte_progress() as watching:
        assert watching is None
