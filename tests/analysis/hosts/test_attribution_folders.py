from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import facts
from indexes_389 import BACKEND, index, read
from ldapdiag.analysis.hosts.attribution import name_servers
from ldapdiag.evidence.family import Family
from traffic import Log


def lying(fact: Any, folder: str) -> Any:
    return replace(fact, origin=replace(fact.origin, path=f"{folder}/x", folder=folder, host=""))


def log(folder: str, family: Family = Family.DS389) -> Any:
    log_of = Log()
    log_of.passes(1)
    return lying(log_of.fact(family=family), folder)


def indexes(folder: str) -> Any:
    return lying(read(BACKEND + index("nsIndexType: eq")), folder)


@pytest.mark.parametrize(
    ("logs", "settings", "name"),
    [
        ("/var/log/dirsrv/slapd-ds1", "/etc/dirsrv/slapd-ds1", "slapd-ds1"),
        ("/case", "/case/config", "case"),
        ("/srv/logs", "ds1", "ds1"),
        ("/a/b", "/c/d/e", "b"),
        ("/site/ds1/logs", "/site/ds1/config", "ds1"),
    ],
)
def test_a_log_and_the_only_configuration_are_one_server(logs: str, settings: str, name: str) -> None:
    assert name_servers([log(logs), indexes(settings)]) == {logs: name, settings: name}


def test_folders_of_one_name_belong_together() -> None:
    names = [log("/log/ds1"), log("/log/ds2"), indexes("/etc/ds1"), indexes("/etc/ds2")]
    assert name_servers(names) == {"/log/ds1": "ds1", "/etc/ds1": "ds1", "/log/ds2": "ds2", "/etc/ds2": "ds2"}


def test_a_log_with_its_own_configuration_takes_no_other() -> None:
    assert name_servers([log("/ds1"), indexes("/ds1"), indexes("/ds2")]) == {}


def test_of_two_configurations_the_nearer_is_the_logs() -> None:
    names = name_servers([log("/site/ds1/logs"), indexes("/site/ds1/config"), indexes("/site/ds2/config")])
    assert names == {"/site/ds1/logs": "ds1", "/site/ds1/config": "ds1"}


def test_of_two_configurations_equally_near_none_is_taken() -> None:
    assert "/b" not in name_servers([log("/a"), indexes("/b"), indexes("/c")])


def test_another_product_is_another_server() -> None:
    assert name_servers([log("/a", Family.OPENLDAP), indexes("/b")]) == {}


def test_without_a_log_every_folder_stands_alone() -> None:
    assert name_servers([indexes("/a"), indexes("/b"), lying(facts.table([]), "/c")]) == {}
