from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ldapdiag.evidence.indexes.index_tasks import IndexTask
from reading import facts_of

TASK = """dn: cn=t1,cn=index,cn=tasks,cn=config
cn: t1
nsInstance: userRoot
nsIndexAttribute: employeeNumber
nsIndexAttribute: uid
createTimestamp: 20261122125040Z
"""
QUEUE = """dn: cn=Runqueue,cn=Threads,cn=Monitor
monitoredInfo: {0}mdb_online_index(DC=example, dc=com)
monitoredInfo: {1}do_syncrepl(rid=001)

"""


def tasks(text: str) -> list[IndexTask]:
    return [fact for fact in facts_of(text) if isinstance(fact, IndexTask)]


@pytest.mark.parametrize(("line", "code"), [("", None), ("nsTaskExitCode: 0\n", 0), ("nsTaskExitCode: -1\n", -1)])
def test_a_task_of_389_ds(line: str, code: int | None) -> None:
    (one,) = tasks(f"{TASK}{line}\n")
    assert (one.backend, one.attributes, one.exit_code) == ("userroot", {"employeenumber", "uid"}, code)
    assert one.created == datetime(2026, 11, 22, 12, 50, 40, tzinfo=UTC)


def test_the_online_indexer_of_slapd() -> None:
    (one,) = tasks(QUEUE)
    assert (one.suffix, one.exit_code) == ("dc=example,dc=com", None)


def test_other_entries_are_no_builds() -> None:
    assert (
        tasks("dn: cn=index,cn=tasks,cn=config\ncn: index\n\ndn: cn=t1,cn=import,cn=tasks,cn=config\nnsInstance: x\n")
        == []
    )
