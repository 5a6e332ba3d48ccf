"""What workers must have in common, and what they must see, before they are given a task."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.sources.cluster.executor import difference, installation
from ldapdiag.sources.cluster.worker_check import (
    MOST_ASKED,
    WorkersDifferError,
    check_workers,
    one_of_each_folder,
    sight,
    worker_answer,
)
from ldapdiag.sources.logs import native

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Workers:
    """Workers that answer as this process does, but for what a test changes."""

    workers, retried, dashboard = 8, 0, ""
    submit: Any
    finished: Any

    def __init__(self, changed: dict[str, Callable[[Any], object]]) -> None:
        self.changed = changed

    def ask_each(self, function: Any, /, *arguments: object) -> dict[str, Any]:
        names = [f"tcp://10.0.0.{number}:4000" for number in range(1, 9)]
        answer = function(*arguments)
        return {name: self.changed[name](answer) if name in self.changed else answer for name in names}


FIRST, SECOND = "tcp://10.0.0.1:4000", "tcp://10.0.0.2:4000"


def refusal(changed: dict[str, Callable[[Any], object]], *paths: Path, scanner: Scanner = Scanner.PYTHON) -> str:
    with pytest.raises(WorkersDifferError) as refused:
        check_workers(Workers(changed), scanner, map(str, paths))
    return str(refused.value)


def versions(**other: str) -> Callable[[Any], object]:
    return lambda answer: answer | other if isinstance(answer, dict) else answer


def test_workers_that_are_alike_are_accepted(tmp_path: Path) -> None:
    (tmp_path / "access").write_bytes(b"log\n")
    check_workers(Workers({}), Scanner.PYTHON, [str(tmp_path / "access"), str(tmp_path / "absent" / "access")])


@pytest.mark.parametrize("name", ["ldapdiag", "grammar", "Python", "distributed"])
def test_another_version_is_refused_with_the_names_of_the_workers(name: str) -> None:
    text = refusal({FIRST: versions(**{name: "0"}), SECOND: versions(**{name: "0"})})
    assert text.startswith(f"2 workers ({FIRST}, {SECOND}): {name} 0 (here {installation()[name]}); install")


def test_a_worker_that_cannot_call_ldapdiag_is_refused() -> None:
    text = refusal({SECOND: lambda _: ModuleNotFoundError("No module named 'ldapdiag'")})
    assert text.startswith(f"1 worker ({SECOND}): cannot call ldapdiag (No module named 'ldapdiag'); install")


def test_a_worker_without_the_native_scanner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "installed", lambda: native.Installed(None))
    assert "no native scanner; `make demo` builds it" in refusal({}, scanner=Scanner.NATIVE)
    check_workers(Workers({}), Scanner.PYTHON, [])


def sees(path: Path) -> Callable[[Any], object]:
    """Return how a worker answers that sees, in the place of each log, what is at a path."""
    return lambda answer: answer if isinstance(answer, dict) else worker_answer([(str(path), 4096)])


def test_a_worker_that_does_not_see_the_log_is_refused(tmp_path: Path) -> None:
    log = tmp_path / "access"
    log.write_bytes(b"log\n")
    text = refusal({SECOND: sees(tmp_path / "absent")}, log)
    assert text.startswith(f"1 worker ({SECOND}): {log}: No such file or directory; mount the folder there")
    assert "Is a directory" in refusal({SECOND: sees(tmp_path)}, log)


@pytest.mark.parametrize(
    ("content", "seconds", "accepted"),
    [
        (b"log\n", 0, True),
        (b"log\n", 1, True),
        (b"log\n", 60, False),
        (b"log\nmore\n", 60, True),
        (b"log\nmore\n", -60, False),
        (b"lo", 60, False),
        (b"", 0, False),
        (b"sog\n", 0, False),
        (b"sog\nmore\n", 60, False),
    ],
)
def test_another_log_there_is_refused(tmp_path: Path, content: bytes, seconds: int, *, accepted: bool) -> None:
    log, other = tmp_path / "access", tmp_path / "other"
    for path, data, at in ((log, b"log\n", 1_000_000), (other, content, 1_000_000 + seconds)):
        path.write_bytes(data)
        os.utime(path, (at, at))
    contradiction = sight(str(other), 4).contradiction(sight(str(log)))
    assert contradiction == ("" if accepted else "another file is there")


def test_a_pipe_does_not_block_a_worker(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert sight(str(tmp_path / "pipe")).problem == "it is no regular file"


def test_one_log_of_each_folder_is_asked_for() -> None:
    assert one_of_each_folder([]) == ()
    assert one_of_each_folder(["/a/1", "/a/2", "s3://b/c/1", "s3://b/c/2", "/d/1"]) == ("/a/1", "s3://b/c/1", "/d/1")
    many = [f"/logs/{number}/access" for number in range(1050)]
    asked = one_of_each_folder(many)
    assert asked[0] == many[0]
    assert int(asked[-1].split("/")[2]) > 1000
    assert 50 < len(asked) <= MOST_ASKED


def test_problems_are_counted() -> None:
    text = refusal({FIRST: versions(grammar="1"), SECOND: versions(Python="2.7")})
    assert text.endswith("(1 other problem)")


def test_a_strange_answer_is_shortened() -> None:
    assert len(difference(installation(), {"grammar": "x" * 1000})) < 300
    assert len(difference(installation(), "x" * 1000)) < 300
