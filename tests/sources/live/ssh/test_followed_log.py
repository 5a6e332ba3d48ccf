"""A followed log of another host, by the script in a shell here: its counts, whatever happens to the file."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from threading import Event
from typing import TYPE_CHECKING

import pytest

import log_lines
from ldapdiag.errors import LdapdiagError
from ldapdiag.sources.collection_options import CollectionOptions
from ldapdiag.sources.live.ssh import followed_log
from ldapdiag.sources.live.ssh.followed_log import FollowedLog
from ldapdiag.sources.logs.log_watch import LogWatch, NotFollowedError
from ldapdiag.sources.targets import SshTarget, parse_target

if TYPE_CHECKING:
    from collections.abc import Iterator

EACH = 4
"""Operations of a connection of log_lines."""


class Remote:
    """A log on a host, and the watch of it."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "access"
        self.written = 0
        self.followed: list[FollowedLog] = []
        self.watch = LogWatch(self.found, Event())

    def found(self) -> FollowedLog:
        target = parse_target(f"ssh://ds1{self.file}")
        assert isinstance(target, SshTarget)
        self.followed.append(FollowedLog(target, CollectionOptions(), Event()))
        return self.followed[-1]

    def write(self, connections: int) -> bytes:
        data = log_lines.run(self.written + 1, self.written + connections)
        self.written += connections
        with self.file.open("ab") as stream:
            stream.write(data)
        return data

    def counted(self) -> int:
        """Return the operations counted after two looks: one reads a file that was rotated to its end."""
        return [sum(self.watch.look().workload.segment.operations) for _ in range(3)][-1]


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Remote]:
    shell = tmp_path / "ssh"
    shell.write_text("#!/bin/sh\nexec sh\n")
    shell.chmod(0o755)
    monkeypatch.setenv("LDAPDIAG_SSH", str(shell))
    (tmp_path / "logs").mkdir()
    remote = Remote(tmp_path / "logs")
    yield remote
    remote.watch.close()


@pytest.mark.parametrize("seed", range(3))
def test_every_record_is_counted_once(remote: Remote, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """It grows, in parts of lines too, is rotated by a new name or a copy; and the copy here begins anew."""
    monkeypatch.setattr(followed_log, "COPY_BYTES", 4096)
    random = Random(seed)  # noqa: S311  no secret
    remote.write(3)
    first, copied = remote.counted(), 0
    for _ in range(15):
        before = remote.written
        match random.choice(["grows", "rotated", "copied", "half"]):
            case "rotated":
                remote.write(1)
                remote.file.rename(f"{remote.file}.{before}")
            case "copied":
                assert remote.counted() == first + EACH * (remote.written - 3)
                Path(f"{remote.file}.{before}").write_bytes(remote.file.read_bytes())
                os.truncate(remote.file, 0)
                copied += 1
            case "half":
                whole = remote.write(1)
                os.truncate(remote.file, remote.file.stat().st_size - len(whole) // 2)
                remote.watch.look()
                with remote.file.open("ab") as stream:
                    stream.write(whole[len(whole) - len(whole) // 2 :])
        remote.write(random.randint(1, 60))
        assert remote.counted() == first + EACH * (remote.written - 3)
    look = remote.watch.look()
    assert look.left_out == copied, "what a file had before it was truncated is not known"
    assert (look.workload.segment.misread, len(remote.followed)) == (0, 1)
    assert look.logs[0].stream.files == ("ds1/access",)
    assert -3 < look.ahead_seconds < 3


def test_too_many_at_once_are_left_out_and_stated(remote: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed_log, "MOST_BYTES", 8192)
    remote.write(3)
    first = remote.counted()
    data = remote.write(300)
    counted = (remote.counted() - first) / EACH
    look = remote.watch.look()
    assert look.left_out > len(data) - 3 * 8192
    assert 0 < counted < 300
    assert look.left_out / len(data) == pytest.approx(1 - counted / 300, abs=0.05)
    assert look.workload.segment.misread <= 1  # the line before what is left out


def test_an_ended_session_is_a_reason_and_comes_back(remote: Remote) -> None:
    remote.write(3)
    first = remote.watch.look()
    child = remote.followed[0]._session._child
    assert child is not None
    child._process.kill()
    with pytest.raises(NotFollowedError, match="the connection ended"):
        remote.watch.look()
    remote.write(1)
    again = remote.watch.look()
    assert again.beginning == first.beginning + 1
    assert sum(again.workload.segment.operations) > 0


def test_nothing_is_left(remote: Remote) -> None:
    remote.write(3)
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    remote.watch.look()
    child = remote.followed[0]._session._child
    assert child is not None
    assert "(deleted)" in str(Path(remote.followed[0].files[0]).readlink())
    remote.watch.close()
    remote.watch._readings = None
    assert child._process.returncode is not None
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors


def test_what_takes_the_name_of_a_log_is_not_printed(remote: Remote) -> None:
    remote.write(3)
    remote.watch.look()
    remote.file.rename(f"{remote.file}.1")
    remote.file.write_text("root:$6$secret:19000:0:99999:7:::\n")
    for _ in range(3):
        remote.watch.look()
    assert b"secret" not in Path(remote.followed[0].files[0]).read_bytes()
    remote.file.unlink()
    remote.write(2)
    assert remote.counted() == EACH * 5


@pytest.mark.parametrize(
    ("content", "why"), [(None, "no file has its name"), ("text\n", "no line of an access log"), ("", "no line")]
)
def test_why_it_is_not_followed(remote: Remote, content: str | None, why: str) -> None:
    if content is not None:
        remote.file.write_text(content)
    with pytest.raises(NotFollowedError, match=f"not followed, because ssh://ds1{remote.file}: {why}"):
        remote.watch.look()
    assert remote.followed == []
    with pytest.raises(LdapdiagError, match="letters, digits"):
        FollowedLog(SshTarget("ssh://ds1/a b", "ds1", path="/a b"), CollectionOptions(), Event())


def test_a_file_that_is_gone_before_its_end_was_read_is_stated(remote: Remote) -> None:
    """Its name is a link, and the next file is in another folder; or it was compressed."""
    remote.write(3)
    assert remote.watch.look().left_out == 0
    remote.write(3)
    elsewhere = remote.file.parent.parent / "elsewhere"
    remote.file.rename(elsewhere)
    remote.write(2)
    assert remote.counted() == EACH * 5
    assert remote.watch.look().left_out > 0
    assert elsewhere.exists()
