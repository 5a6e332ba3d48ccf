"""replica-differs: what the generator made differ is found on its server, with the command where that is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from command import ldapdiag
from fleet_logs import LoggedServer

if TYPE_CHECKING:
    from pathlib import Path

DSE = """dn: cn=config
objectClass: top
cn: config
nsslapd-idletimeout: {idle}
nsslapd-localhost: {name}.example.com

dn: cn=config,cn=ldbm database,cn=plugins,cn=config
cn: config
nsslapd-idlistscanlimit: 4000

dn: cn=userRoot,cn=ldbm database,cn=plugins,cn=config
cn: userRoot
nsslapd-suffix: dc=example,dc=com

dn: cn=index,cn=userRoot,cn=ldbm database,cn=plugins,cn=config
cn: index

dn: cn=uid,cn=index,cn=userRoot,cn=ldbm database,cn=plugins,cn=config
cn: uid
nsIndexType: eq

"""
INDEX = """dn: cn=employeeNumber,cn=index,cn=userRoot,cn=ldbm database,cn=plugins,cn=config
cn: employeeNumber
nsIndexType: eq

"""


def of(report: dict[str, Any], outcome: str) -> list[dict[str, Any]]:
    """Return the verdicts of one outcome."""
    return [one for one in report["verdicts"] if one["outcome"] == outcome]


def judged(folder: Path, *servers: LoggedServer, configured: bool = False, **idle: int) -> list[dict[str, Any]]:
    """Return the findings of the check for servers with logs, and with configurations that fit these."""
    for one in servers:
        one.write(folder)
        if configured:
            text = DSE.format(name=one.name, idle=idle.get(one.name, 3600)) + INDEX * (not one.lacks_index)
            (folder / one.name / "dse.ldif").write_text(text)
    found: list[dict[str, Any]] = ldapdiag("diagnose", folder, "--check", "replica-differs", "--format", "json").report[
        "findings"
    ]
    return found


def site(lacking: str = "", **traits: Any) -> list[LoggedServer]:
    return [
        LoggedServer(name=name, connections=300, lacks_index=name == lacking, **traits)
        for name in ("ds1", "ds2", "ds3")
    ]


def test_equal_servers_differ_in_nothing(tmp_path: Path) -> None:
    assert judged(tmp_path, *site(), configured=True) == []


def test_the_index_that_one_lacks_is_named_with_the_command_for_its_server(tmp_path: Path) -> None:
    (found,) = judged(tmp_path, *site("ds2"), configured=True)
    observed = found["observed"]
    assert (observed["servers"], observed["attributes"], observed["types"]) == (["ds2"], ["employeeNumber"], ["eq"])
    assert found["confidence"] == "certain"
    commands = [one["text"] for one in found["remedies"] if one["kind"] == "shell"]
    assert any("employeeNumber" in text for text in commands)


def test_the_log_alone_names_it_too_and_how_to_get_the_command(tmp_path: Path) -> None:
    (found,) = judged(tmp_path, *site("ds2"))
    assert (found["observed"]["servers"], found["observed"]["attributes"]) == (["ds2"], ["employeeNumber"])
    assert found["confidence"] == "likely"
    assert [one["kind"] for one in found["remedies"]] == ["advice"]


def test_other_clients_may_ask_for_other_values(tmp_path: Path) -> None:
    lacking = LoggedServer(name="ds4", connections=300, lacks_index=True, clients=("10.9.9.9",))
    (found,) = judged(tmp_path, *site(), lacking)
    assert found["confidence"] == "possible"


@pytest.mark.parametrize(("connections", "count"), [(99, 0), (100, 1)])
def test_below_a_hundred_results_nothing_is_said(tmp_path: Path, connections: int, count: int) -> None:
    lacking = LoggedServer(name="ds4", connections=connections, lacks_index=True)
    assert len(judged(tmp_path, *site(), lacking)) == count


def test_a_setting_and_a_version_that_differ(tmp_path: Path) -> None:
    old = LoggedServer(name="ds4", connections=300, version="389-Directory/1.4.4.11 B2021.118.1442")
    found = judged(tmp_path, *site(), old, configured=True, ds2=300)
    shown = {one["observed"]["setting"]: (one["severity"], one["observed"]["servers"]) for one in found}
    assert shown == {"idle timeout in seconds": ("low", ["ds2"]), "version": ("info", ["ds4"])}


def test_one_server_is_not_judged(tmp_path: Path) -> None:
    site()[0].write(tmp_path)
    report = ldapdiag("diagnose", tmp_path, "--check", "replica-differs", "--format", "json").report
    assert (report["findings"], len(of(report, "not-judged")), of(report, "clear")) == ([], 1, [])
