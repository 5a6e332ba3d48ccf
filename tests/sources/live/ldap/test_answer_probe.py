"""The order and the bounds of the probe, at a server that never finds an entry."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

import facts
from ldapdiag.evidence.indexes import Backend, IndexConfiguration, IndexDefinition
from ldapdiag.sources.live.ldap import answer_probe
from ldapdiag.sources.live.ldap.answer_probe import AnswerProbe
from ldapdiag.sources.live.ldap.connecting import QueryFailed, TimeLimit

if TYPE_CHECKING:
    from ldapdiag.servers.queries import Query


@dataclass
class Empty:
    """A directory without entries; each search takes a second of the clock."""

    clock: list[float]
    filters: list[str] = field(default_factory=list)

    def search(self, query: Query, base: str, _: object) -> dict[str, Any]:
        self.clock[0] += 1
        self.filters.append(f"{base} {query.filter}")
        return {"result": 0}


def index(attribute: str, day: int, *, changed: int | None = None) -> IndexDefinition:
    created, modified = (datetime(2026, 11, one, tzinfo=UTC) if one else None for one in (day, changed))
    return IndexDefinition(attribute=attribute, types=frozenset({"eq"}), created=created, modified=modified)


def configuration(**indexes: list[IndexDefinition]) -> IndexConfiguration:
    backends = [
        Backend(name=name, suffixes=(f"dc={name}",), definitions=tuple(definitions))
        for name, definitions in indexes.items()
    ]
    return IndexConfiguration(origin=facts.origin(), identity=facts.DS389, backends=tuple(backends))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr(answer_probe.time, "monotonic", lambda: now[0])
    return now


def probe_of(clock: list[float]) -> tuple[AnswerProbe, list[str]]:
    shown: list[str] = []
    return AnswerProbe(Empty(clock), TimeLimit(10, threading.Event()), shown.append), shown  # type: ignore[arg-type]


def test_the_indexes_that_were_changed_last_come_first(clock: list[float]) -> None:
    probe, shown = probe_of(clock)
    probe.run(configuration(a=[index("cn", 1), index("sn", 2)], b=[index("uid", 3), index("l", 1, changed=4)]))
    assert [one.attribute for one in probe.indexes] == ["l", "uid", "sn", "cn"]
    assert (len(probe.indexes), probe.wanted) == (4, 4)
    assert shown[0] == "2 indexes of dc=b: reading entries"


@pytest.mark.parametrize(
    ("bound", "value", "reason"), [("MOST_SECONDS", 120, "2 min have passed"), ("MOST_SEARCHES", 50, "50 searches")]
)
def test_at_a_bound_it_ends_and_keeps_what_it_has(
    clock: list[float], monkeypatch: pytest.MonkeyPatch, bound: str, value: int, reason: str
) -> None:
    monkeypatch.setattr(answer_probe, bound, value)
    probe, _ = probe_of(clock)
    databases = {f"d{place}": [index("cn", 1 + place % 28)] for place in range(200)}
    with pytest.raises(QueryFailed, match=reason):
        probe.run(configuration(**databases))
    assert 0 < len(probe.indexes) < probe.wanted == 200
