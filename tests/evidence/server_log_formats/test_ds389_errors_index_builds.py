from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ldapdiag.evidence.logged_period import LoggedPeriod
from ldapdiag.evidence.server_log import EVERY_ATTRIBUTE, IndexBuild, ServerLog
from reading import facts_of

START = "main - 389-Directory/2.3.1 B2025.016.1616 starting up"


def at(second: int) -> datetime:
    return datetime(2026, 11, 22, 12, 50, second, tzinfo=UTC)


def log(*messages: str) -> ServerLog:
    """Return what is read of messages, one per second."""
    lines = [
        f"[22/Nov/2026:12:50:{second:02}.827339230 +0000] - INFO - {text}\n" for second, text in enumerate(messages)
    ]
    (fact,) = facts_of("\t389-Directory/2.3.1 B2025.016.1616\n" + "".join(lines))
    assert isinstance(fact, ServerLog)
    return fact


def indexing(attribute: str, backend: str = "userRoot") -> str:
    return f"bdb_db2index - {backend}: Indexing attribute: {attribute}"


FINISHED = "bdb_db2index - userRoot: Finished indexing."
UID = {"backend": "userroot", "attribute": "uid"}


def test_a_build_that_finished() -> None:
    read = log(indexing("uid"), "bdb_db2index - userRoot: Indexed 1000 entries (66%).", FINISHED)
    assert read.index_builds == (IndexBuild(**UID, started=at(0), finished=at(2)),)
    assert read.periods == (LoggedPeriod(begin=at(0), end=at(2)),)


def test_a_build_of_several_indexes_finishes_at_once() -> None:
    builds = log(indexing("uid"), indexing("sn"), FINISHED).index_builds
    assert {one.attribute: one.finished for one in builds} == {"uid": at(2), "sn": at(2)}


@pytest.mark.parametrize("end", [START, "task_index_thread - Index failed (error -1)"])
def test_a_build_that_a_crash_or_a_shutdown_ended(end: str) -> None:
    read = log(indexing("uid"), end, "later - a line")
    assert read.index_builds == (IndexBuild(**UID, started=at(0), failed=True, restarted=end == START),)
    assert read.start_times == ((at(1),) if end == START else ())


def test_the_last_build_counts() -> None:
    assert log(indexing("uid"), START, indexing("uid"), FINISHED).index_builds == (
        IndexBuild(**UID, started=at(2), finished=at(3)),
    )


def test_a_build_in_another_database_is_another_build() -> None:
    builds = log(indexing("uid"), indexing("uid", "sales"), FINISHED).index_builds
    assert {one.backend: one.finished for one in builds} == {"userroot": at(2), "sales": None}


def test_an_import_builds_every_index() -> None:
    done = "bdb_public_bdb_import_main - import userRoot: Import complete.  Processed 9 entries."
    assert log(indexing("uid"), START, done).index_builds == (
        IndexBuild(backend="userroot", attribute=EVERY_ATTRIBUTE, started=at(2), finished=at(2)),
    )


@pytest.mark.parametrize(
    "text",
    [
        'ldbm_back_search - Unindexed search: search base="x" filter="(cn=a: Indexing attribute: uid" conn=1 op=1',
        "plugin - a b: Indexing attribute: uid",
    ],
)
def test_text_of_a_client_is_no_build(text: str) -> None:
    assert log(text).index_builds == ()
