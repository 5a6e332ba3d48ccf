"""Since when a client exists: by its boot, its processes and its namespace, each from every kind of evidence."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import facts
from facts import START
from ldapdiag.analysis.pairing.client_history import booted_since, is_one_namespace, made_since, started_since
from ldapdiag.evidence.processes import BootTime, Process, ProcessTable

NAMESPACE = "net:[4026532177]"


def processes(*listed: Process, **traits: Any) -> ProcessTable:
    return ProcessTable(origin=facts.origin("app1", "processes.txt", taken=0), processes=listed, **traits)


def aged(pid: int, seconds: float, program: str = "java", namespace: str = "") -> Process:
    return Process(pid=pid, program=program, age_seconds=seconds, namespace=namespace)


def boot(*, taken: float | None = 0, **times: Any) -> BootTime:
    return BootTime(origin=facts.origin("app1", "uptime.txt", taken=taken), **times)


def seconds_ago(since: Any) -> float | None:
    return None if since is None else (START - since.span.start).total_seconds()


class TestBoot:
    @pytest.mark.parametrize(
        ("evidence", "ago"),
        [
            ({}, None),
            ({"description": facts.description(up=100)}, 101),
            ({"boot": boot(up_seconds=100)}, 101),
            ({"boot": boot(up_seconds=60, rounding_seconds=60)}, 120),
            ({"boot": boot(booted=START - timedelta(seconds=100))}, 101),
            ({"boot": boot(up_seconds=100, taken=None)}, None),
            ({"boot": boot(booted=START + timedelta(hours=1), zoned=False)}, None),
            ({"processes": processes(aged(2, 100, "kthreadd"))}, 101),
            ({"processes": processes(aged(2, 100, "java"))}, None),
        ],
        ids=str,
    )
    def test_from_each_kind_of_evidence(self, evidence: dict[str, Any], ago: float | None) -> None:
        assert seconds_ago(booted_since(facts.host("app1", **evidence))) == ago

    def test_a_time_without_a_zone_may_be_half_a_day_later(self) -> None:
        since = booted_since(facts.host("app1", boot=boot(booted=START, zoned=False)))
        assert since is not None
        assert since.assumed
        assert since.latest.end - since.span.end == timedelta(hours=12)


class TestProcesses:
    def test_the_oldest_process_of_the_owners_program_counts(self) -> None:
        listed = processes(aged(1, 900, "init"), aged(7, 60), aged(8, 300), aged(9, 800))
        app1 = facts.host("app1", processes=listed)
        assert seconds_ago(started_since(app1, {7}, {1, 7, 8})) == 301
        assert seconds_ago(started_since(app1, {7})) == 61

    def test_an_owner_that_is_not_listed_makes_the_start_unknown(self) -> None:
        assert started_since(facts.host("app1", processes=processes(aged(7, 60))), {7, 8}) is None

    def test_without_owners_every_process_of_the_namespace_counts(self) -> None:
        listed = processes(aged(1, 900, "init", "net:[1]"), aged(7, 60, namespace=NAMESPACE))
        app1 = facts.host("app1", processes=listed, description=facts.description(namespace=NAMESPACE))
        assert seconds_ago(started_since(app1, ())) == 61

    def test_a_process_of_unknown_namespace_may_belong_to_it(self) -> None:
        listed = processes(aged(1, 900, "init"), aged(7, 60, namespace=NAMESPACE))
        app1 = facts.host("app1", processes=listed, description=facts.description(namespace=NAMESPACE))
        assert seconds_ago(started_since(app1, ())) == 901

    def test_without_namespaces_the_list_counts_if_it_is_complete(self) -> None:
        assert started_since(facts.host("app1", processes=processes(aged(7, 60))), ()) is None
        complete = facts.host("app1", processes=processes(aged(1, 70, "tini"), aged(7, 60)))
        assert seconds_ago(started_since(complete, ())) == 71

    def test_a_start_that_was_not_read_makes_all_unknown(self) -> None:
        listed = processes(aged(1, 70), Process(pid=7, program="java"))
        assert started_since(facts.host("app1", processes=listed), ()) is None

    def test_a_start_without_a_zone_is_read_as_utc(self) -> None:
        listed = processes(Process(pid=1, program="tini", started=START - timedelta(seconds=50)), zoned=False)
        since = started_since(facts.host("app1", processes=listed), ())
        assert since is not None
        assert (seconds_ago(since), since.assumed) == (51, True)


class TestOneNamespace:
    """Of a machine without containers, no process but the owners' has connections from its address."""

    WHOLE = (aged(2, 900, "kthreadd", NAMESPACE), aged(7, 60, namespace=NAMESPACE))

    @pytest.mark.parametrize(
        ("listed", "traits", "is_one", "made"),
        [
            (WHOLE, {}, True, 61),
            (WHOLE[1:], {}, False, None),
            ((*WHOLE, aged(8, 60, "python", "net:[1]")), {}, False, 901),
            ((*WHOLE, aged(8, 60, "python")), {}, False, 901),
            ((*WHOLE, Process(pid=8, program="python", state="Z")), {}, True, 61),
            (WHOLE, {"description": facts.description()}, False, 1_000_001),
        ],
        ids=["all in one", "of a container", "with a container", "not root", "zombie", "live, some processes"],
    )
    def test_is_seen_in_a_list_of_all_processes_with_their_namespaces(self, listed, traits, is_one, made) -> None:
        app1 = facts.host("app1", processes=processes(*listed), **traits)
        assert is_one_namespace(app1) is is_one
        assert seconds_ago(made_since(app1, has_new_stack=False, started=started_since(app1, {7}))) == made
