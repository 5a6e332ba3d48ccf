"""The last minute of a followed log: what ended in it, whoever wrote the log in whatever bursts, and who sent it."""

from __future__ import annotations

import gzip
from pathlib import Path
from random import Random
from threading import Event

import pytest

import log_lines
from ldapdiag.evidence.log.segment import Segment
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.evidence.log.tables import OTHER
from ldapdiag.live_view.searches import LogModel
from ldapdiag.sources.logs import followed_logs
from ldapdiag.sources.logs.log_watch import LocalFiles, LogWatch, NotFollowedError
from live_views import logged, look_of

pytestmark = pytest.mark.usefixtures("scanner")
EVERY = 3
"""Seconds between two connections of a log, with two searches each."""


def watch(*files: Path) -> LogWatch:
    return LogWatch(lambda: LocalFiles([str(one) for one in files], ""), Event())


def write(file: Path, data: bytes) -> None:
    with file.open("ab") as stream:
        stream.write(data)


@pytest.mark.parametrize("seed", range(5))
def test_the_last_minute_has_the_searches_of_its_records(tmp_path: Path, seed: int) -> None:
    """A log of 20 minutes that is found after 5, grows in bursts and is rotated."""
    random, file, model = Random(seed), tmp_path / "access", LogModel()  # noqa: S311  no secret
    last = 100
    write(file, log_lines.run(1, last, every=EVERY))
    log = watch(file)
    while last < 400:
        model.take(log.look())
        minute = model.minute
        assert minute is not None
        assert minute.rows
        end = (last - 1) * EVERY + 0.3
        assert 55 <= minute.seconds <= 120 + 3 * 60
        begun = end - minute.seconds
        wanted = sum(begun < at * EVERY + step <= end + 1e-6 for at in range(last) for step in (0.1, 0.2))
        assert abs(sum(row.count for row in minute.rows) - wanted) <= 1  # the first record may be one
        (row,) = minute.rows
        assert (row.unindexed, row.entries, row.name) == (0, 1.0, "(uid=?)")
        assert row.per_second == pytest.approx(2 / EVERY, rel=0.1)
        assert [(one.client, one.account, one.searches) for one in minute.asked] == [("10.0.0.1", "uid=a", row.count)]
        more = random.randint(1, 20)
        if random.random() < 0.2:
            file.rename(tmp_path / f"access.{last}")
        write(file, log_lines.run(last + 1, last + more, every=EVERY))
        last += more


def test_a_connection_from_long_ago_is_known_unless_the_log_is_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "access"
    opened, *_ = log_lines.connection(0, 0, client="10.0.0.7").splitlines(keepends=True)
    searched = log_lines.connection(0, 3000).splitlines(keepends=True)[3:5]
    write(file, opened + log_lines.run(1, 900, every=EVERY) + b"".join(searched))

    def asked_by() -> set[str]:
        model = LogModel()
        model.take(watch(file).look())
        assert model.minute is not None
        return {one.client for one in model.minute.asked}

    assert asked_by() == {"10.0.0.7"}
    monkeypatch.setattr(followed_logs, "LIVE_BYTES", 4096)
    assert asked_by() == {"unknown"}


def test_nothing_new_is_the_same_answer(tmp_path: Path) -> None:
    file = tmp_path / "access"
    write(file, log_lines.run(1, 30))
    log = watch(file)
    first = log.look()
    assert log.look() is first
    write(file, log_lines.run(31, 31))
    assert log.look() is not first


def test_why_a_log_is_not_followed(tmp_path: Path) -> None:
    packed, text, missing, new = (tmp_path / name for name in ("access.gz", "notes.txt", "access", "access.new"))
    packed.write_bytes(gzip.compress(log_lines.run(1, 30)))
    text.write_text("nothing of the kind\n")
    new.touch()
    whys = {packed: "does not grow", text: "is not an access log", missing: "no such file", new: "is an empty file"}
    for file, why in whys.items():
        log = watch(file)
        for _ in range(2):
            with pytest.raises(NotFollowedError, match=f"not followed, because .*{why}"):
                log.look()
    write(new, log_lines.run(1, 30))
    assert log.look().workload.plain_searches


def test_a_log_that_ends_begins_anew(tmp_path: Path) -> None:
    """It was removed for a while: what is counted then is not a difference to what was counted before."""
    file, other, model = tmp_path / "access", tmp_path / "other", LogModel()
    write(file, log_lines.run(1, 300, every=EVERY))
    files = [file]
    log = LogWatch(lambda: LocalFiles([str(one) for one in files], ""), Event())
    model.take(log.look())
    log._readings = iter(())
    files[:] = [other]
    with pytest.raises(NotFollowedError):
        log.look()
    write(other, log_lines.run(1, 10, shift=5000))
    model.take(log.look())
    assert model.minute is not None
    assert sum(row.count for row in model.minute.rows) == 20


def test_what_a_full_table_moves_to_all_others_is_no_addition() -> None:
    many = [(f"(a{number}=?)", "10.77.2.2", "uid=a") for number in range(4)]
    before, now = logged(*many), Segment()
    now.first_time, now.last_time = before.workload.segment.first_time, before.workload.segment.last_time + 70 * SECOND
    for key, count in (((b"(a0=?)", b"dc=x", 2), 63), ((OTHER, OTHER, -1), 3 * 60 + 5)):
        row = now.shape(key)
        row.requests = row.answered = count
        row.etime = count * SECOND
    model = LogModel()
    for look in (before, look_of(now)):
        model.take(look)
    minute = model.minute
    assert minute is not None
    assert {row.name: row.count for row in minute.rows} == {"(a0=?)": 3, "other": 5}
