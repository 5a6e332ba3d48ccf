"""`ldapdiag indexes ldaps://HOST access.log`: a server tells how its indexes are set, and a file what it was asked.

What is lacking is known from who made the gaps and the load (lab/phone_book.py), and from the attribute that is defined
here: only the server's own schema knows that its two names and its OID are one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from lab.phone_book import (
    ENDED_AT_389,
    EVERYTHING,
    PLANNED,
    RULED_AT_389,
    SLAPD_INDEXES,
    SLAPD_SCHEMA,
    UNLIMITED,
    Logged,
    Question,
    ask,
    entries,
    is_389,
    load_389,
)
from lab.topology import Topology

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import Desk
    from lab.directory_servers import Server

OID = "1.3.6.1.4.1.55555.7.1"
BADGE = f"( {OID} NAME ( 'badgeNumber' 'badge' ) EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )"
BADGES = {
    "badge": Question("(badge={digits})", 6),
    "badge number": Question("(badgeNumber={digits})", 6, UNLIMITED[1]),
    "badge, by its OID": Question(f"({OID}={{digits}})", 6),
}
"""All three are one attribute, and nobody has it."""


def wanted(server: Server) -> dict[str, set[str]]:
    """Return what a server's plan has to add."""
    return PLANNED | {"badgenumber": {"eq"}} | (RULED_AT_389 if is_389(server) else {})


@dataclass(frozen=True, slots=True)
class Site:
    """A server that was asked a lot, the desk, and the log that was copied there."""

    server: Server
    desk: Desk
    log: Path
    way: tuple[str, ...]
    """The target, and how to bind there."""

    def indexes(self, *arguments: str) -> tuple[int, str]:
        """Run ldapdiag indexes at the desk, and return its exit code and what it wrote."""
        code, out, err = self.desk.run("indexes", *arguments)
        assert out, err
        return code, out


def ds389(laboratory, topology: Topology, certificate) -> Server:
    """Return a 389 Directory Server with the phone book and the new attribute."""
    server = load_389(laboratory.ds389(topology.ldap, certificate=certificate))
    server.modify(f"dn: cn=schema\nchangetype: modify\nadd: attributeTypes\nattributeTypes: {BADGE}\n")
    return server


def slapd(laboratory, topology: Topology, certificate) -> Server:
    """Return the same as slapd."""
    return laboratory.slapd(
        topology.ldap,
        configuration=f"{SLAPD_SCHEMA}attributetype {BADGE}\n",
        database=SLAPD_INDEXES,
        entries="\n".join(entries()),
        certificate=certificate,
    )


def questions(server: Server) -> dict[str, Question]:
    """Return what a server is asked."""
    return EVERYTHING | BADGES | (ENDED_AT_389 if is_389(server) else {})


SITES = {"389-ds": ds389, "openldap": slapd}
MANAGERS = {"389-ds": "cn=Directory Manager", "openldap": "cn=config"}
"""Who may read the configuration."""
UNREAD = {True: [], False: ["cn=Monitor: not visible to 'cn=config'"]}
"""What they may not read, of a 389-ds and of slapd: no index needs it."""


@pytest.fixture(scope="module", params=SITES)
def site(request, laboratory, desk_of, tmp_path_factory) -> Iterator[Site]:
    """Return a server whose log of a load was copied to the desk."""
    with Topology(apps=0) as topology:
        server = SITES[request.param](laboratory, topology, laboratory.authority.sign("ldap"))
        logged = Logged(server)
        ask(server, questions(server), seed=1)
        log = tmp_path_factory.mktemp("copied") / "access.log"
        log.write_text(logged.since())
        desk = desk_of(topology, "ldap")
        ca_file = ("--ca-file", str(laboratory.authority.certificate))
        yield Site(server, desk, log, ("ldaps://ldap", *ca_file, "-D", MANAGERS[request.param], *desk.bind[2:]))


@pytest.fixture(scope="module")
def report(site) -> dict[str, Any]:
    """Return what is said of the live configuration and the copied log."""
    code, out = site.indexes(*site.way, str(site.log), "--format", "json")
    told: dict[str, Any] = json.loads(out)
    assert code == (1 if "high" in {one["severity"] for one in told["findings"]} else 0)
    return told


def plan(report: dict[str, Any]) -> dict[str, set[str]]:
    (server,) = report["indexes"]
    return {row["attribute"].lower(): set(row["types"]) for row in server["plan"]}


def test_the_log_and_the_configuration_are_of_one_server_with_the_name_of_the_target(site, report) -> None:
    (server,) = report["indexes"]
    assert (server["server"], server["configured"]) == ("ldap", True)
    assert [host["name"] for host in report["hosts"] if "server" in host["roles"]] == ["ldap"]
    assert f"{site.log.parent.name}/{site.log.name}" in {one for host in report["hosts"] for one in host["origins"]}
    assert [one["reason"] for one in report["gaps"]] == UNREAD[is_389(site.server)]


def test_the_plan_is_what_the_load_lacks(site, report) -> None:
    assert plan(report) == wanted(site.server)


def test_the_schema_is_the_servers_own(report) -> None:
    """All three names are one attribute, and each search by it stands in one row."""
    told = {one["fact"] for one in report["evidence"]}
    assert {"schema", "index-configuration", "access-log"} <= told
    (server,) = report["indexes"]
    (row,) = [row for row in server["plan"] if row["attribute"] == "badgeNumber"]
    assert row["searches"] == sum(one.times for one in BADGES.values())


def test_the_commands_name_the_target_and_its_database(site, report) -> None:
    found = {one["observed"]["attribute"]: one for one in report["findings"] if one["check"] == "missing-index"}
    assert {name.lower() for name in found} == wanted(site.server).keys()
    for attribute, one in found.items():
        (remedy, *_) = one["remedies"]
        assert (one["server"], remedy["target"], remedy["kind"]) == ("ldap", "ldap", "shell")
        assert one["observed"]["backend"] == ("userroot" if is_389(site.server) else "{1}mdb")
        words = ("ldaps://ldap", "userroot") if is_389(site.server) else ("dn: olcDatabase={1}mdb,cn=config\n",)
        assert [word for word in (*words, attribute) if word not in remedy["text"]] == []
        assert f"-b {one['observed']['base']} " in remedy["verify"]


@pytest.mark.parametrize(("threshold", "code"), [("low", 1), ("never", 0)])
def test_it_can_gate_a_nightly_audit(site, threshold, code) -> None:
    told, out = site.indexes(*site.way, str(site.log), "--fail-on", threshold)
    assert told == code
    refused = "let the server answer 4 refused searches and " if is_389(site.server) else ""
    assert f"PLAN        {len(wanted(site.server))} index changes {refused}remove " in out


def test_the_log_alone_tells_only_what_may_be(site, report) -> None:
    """The same log without the server: nothing is found missing."""
    code, out = site.indexes(str(site.log), "--format", "json", "--fail-on", "low")
    told = json.loads(out)
    assert "missing-index" not in {one["check"] for one in told["findings"]}
    assert [one["configured"] for one in told["indexes"]] == [False]
    if is_389(site.server):  # whose notes say what scans
        assert plan(told).keys() >= PLANNED.keys()
        assert plan(told).keys().isdisjoint({"badge", "badgenumber", OID}), "what no schema has, and nobody"
    assert code == int(any(one["severity"] != "info" for one in told["findings"]))
    asked = sum(one.times for one in questions(site.server).values() if one.scope != "base")
    assert told["indexes"][0]["searches"] == report["indexes"][0]["searches"] == asked
