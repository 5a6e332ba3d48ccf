"""Which log is whose: named with its server, by its host, or refused."""

from __future__ import annotations

from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from ldapdiag.cli import watched_logs
from ldapdiag.cli.watched_logs import Watched, log_watches, sorted_by_use
from ldapdiag.errors import LdapdiagError, UsageError
from ldapdiag.sources.collection_options import CollectionOptions
from ldapdiag.sources.live.ssh import followed_log
from ldapdiag.sources.targets import LdapTarget, parse_target

ONE, TWO = "ldap://192.0.2.1", "ldap://192.0.2.2"


@pytest.fixture(autouse=True)
def _no_ssh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed_log, "FollowedLog", lambda target, *_: SimpleNamespace(files=[target.label]))


def found(*arguments: str) -> tuple[list[str], list[str]]:
    """Return what a diagnosis collects from, and the log of each server or why it has none."""
    named = sorted_by_use(arguments)
    servers = []
    for target in map(parse_target, named.targets):
        if isinstance(target, LdapTarget):
            watch: Any = SimpleNamespace(label=target.label, peer=target.address.host)
            servers.append(Watched(watch, target.address.host, None))
    logs = []
    for watch in log_watches(servers, named, CollectionOptions(), Event()):
        try:
            logs.append(" ".join(watch._find().files))
        except LdapdiagError as error:
            logs.append(str(error))
    return named.targets, logs


@pytest.mark.parametrize(
    ("arguments", "logs"),
    [
        ([ONE, "/a", "/b"], ["/a /b"]),
        ([ONE, "ssh://gate/a"], ["ssh://gate/a"]),
        ([f"{ONE}=/a", f"{TWO}=/b"], ["/a", "/b"]),
        ([f"{ONE}=/a", f"{TWO}=ssh://gate"], ["/a", "ssh://gate"]),
        ([ONE, TWO, "ssh://192.0.2.2/x", "ssh://192.0.2.1/y"], ["ssh://192.0.2.1/y", "ssh://192.0.2.2/x"]),
        ([ONE, "ssh://192.0.2.1", "ssh://192.0.2.9"], ["ssh://192.0.2.1"]),
        ([ONE, "a=b"], ["a=b"]),
    ],
)
def test_whose_it_is(arguments: list[str], logs: list[str]) -> None:
    assert found(*arguments)[1] == logs


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([ONE], "not named: ldap://192.0.2.1=FILE"),
        ([ONE, "ssh://192.0.2.9"], "not named"),
        ([f"{ONE}:389", f"{ONE}:1389", "ssh://192.0.2.1"], "several of the servers are on ssh://192.0.2.1"),
        ([f"{ONE}=ssh://a/b", f"{ONE}=/c"], "one log of another host"),
    ],
)
def test_why_there_is_none(arguments: list[str], why: str) -> None:
    assert why in found(*arguments)[1][0]


def test_a_log_of_any_of_several_servers_is_refused() -> None:
    for log in ("/a", "ssh://192.0.2.9/a"):
        with pytest.raises(UsageError, match=f"any of 2 servers; .*{ONE}={log}"):
            found(ONE, TWO, log)


def test_a_diagnosis_collects_from_the_targets_alone() -> None:
    assert found(f"{ONE}=/a", "ssh://192.0.2.1", "ssh://192.0.2.1/b")[0] == [ONE, "ssh://192.0.2.1"]
    assert watched_logs.sorted_by_use([ONE]).others == []
