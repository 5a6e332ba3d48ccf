"""A domain controller, live: Samba stands for it, and what it shares with Windows is in tests/lab/samba.py."""

from __future__ import annotations

import csv
import re
import sys
import time
from typing import TYPE_CHECKING

import pytest

from facts import address_of
from lab import boxes
from lab.applications import UNANSWERED, Application
from lab.desk import Desk
from lab.host import wait_for
from lab.raw_ldap import BIND_REQUEST, SEARCH_REQUEST, UNBIND_REQUEST, split
from lab.samba import ADMINISTRATOR, PASSWORD, REALM, SUFFIX
from ldapdiag.evidence.document import Document, lines_of
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.indexes.active_directory import ATTRIBUTES
from ldapdiag.evidence.ldif import Entry, entries
from ldapdiag.servers.products import product_of

if TYPE_CHECKING:
    from pathlib import Path

    from lab.samba import DomainController
    from lab.topology import Topology

BOX_SECONDS = 2
CONFIGURATION = f"CN=Configuration,{SUFFIX}"
POLICIES = f"CN=Query-Policies,CN=Directory Service,CN=Windows NT,CN=Services,{CONFIGURATION}"
SETTINGS = f"CN=NTDS Settings,CN=DC1,CN=Servers,CN=Default-First-Site-Name,CN=Sites,{CONFIGURATION}"
BRANCH = f"""dn: CN=Branch,{POLICIES}
changetype: add
objectClass: queryPolicy
lDAPAdminLimits: MaxConnIdleTime=300
lDAPAdminLimits: MaxConnections=400

dn: {SETTINGS}
changetype: modify
add: queryPolicyObject
queryPolicyObject: CN=Branch,{POLICIES}
"""
KERBEROS = f"""[libdefaults]
default_realm = {REALM}
dns_lookup_realm = false
dns_lookup_kdc = false
rdns = false
default_ccache_name = FILE:/run/tickets
[realms]
{REALM} = {{
    kdc = 10.77.1.2
}}
"""
IDLE = """
import ldap3
connection = ldap3.Connection(ldap3.Server("10.77.1.2"), {!r}, {!r}, auto_bind=True)
connection.socket.settimeout(60)
print(connection.socket.recv(1))
"""
PEOPLE, SEARCHES, VISITED = 300, 100, 20_000
PERSON = f"""dn: CN=person {{number}},CN=Users,{SUFFIX}
changetype: add
objectClass: user
employeeNumber: {{number}}

"""
EVENT = {
    "LDAPServer": "DC1", "TimeGenerated": "11/20/2026 8:54:04 AM", "ClientIP": "10.77.2.2", "ClientPort": "33654",
    "StartingNode": SUFFIX, "Filter": " (employeeNumber=7) ", "SearchScope": "subtree", "AttributeSelection": "cn",
    "ServerControls": "", "VisitedEntries": VISITED, "ReturnedEntries": 1, "UsedIndexes": f"DNT_index:{VISITED}:N;",
    "PagesReferenced": 9, "PagesReadFromDisk": 9, "PagesPreReadFromDisk": 9, "CleanPagesModified": 9,
    "DirtyPagesModified": 9, "SearchTimeMS": 1641, "AttributesPreventingOptimization": "employeeNumber",
    "User": "A\\svc",
}  # fmt: skip
ASKED = (
    "root DSE",
    "policies",
    "its settings",
    "its site's",
    "its name",
    "schema, first 1,000",
    "the other 473",
)


@pytest.fixture
def controller(laboratory, topology: Topology) -> DomainController:
    """Start a domain controller."""
    return laboratory.samba(topology.ldap)


@pytest.fixture
def desk(desk_of, topology: Topology, tmp_path) -> Desk:
    """Return the desk, of the domain's administrator."""
    password = tmp_path / "password"
    password.touch(mode=0o600)
    password.write_text(PASSWORD)
    made = desk_of(topology)
    made.bind = ("-D", ADMINISTRATOR, "-y", str(password))
    return made


def test_ghosts_of_its_connections_are_exactly_those_of_the_truth(controller, topology, desk) -> None:
    boxes.silent_drop(topology.fw, BOX_SECONDS)
    how = {"count": 12, "rest": BOX_SECONDS + 1, "rounds": 2, "live": 3}
    who = {"address": "10.77.1.2", "name": ADMINISTRATOR, "password": PASSWORD}
    leaking = Application(topology.app1, "leaking", **who, **how).ready()
    said = desk.diagnose("ldap://ldap", "ssh://ldap", "ssh://app1", "ssh://fw", *desk.bind, "--apart", "1")
    assert said.ghost_ends == leaking.truth().ends(UNANSWERED) & controller.held()
    (ghosts,) = said.found("ghost-connections")
    assert (ghosts["observed"]["ghosts"], ghosts["observed"]["matched"], ghosts["confidence"]) == (24, 3, "certain")
    (idle,) = said.found("idle-timeout")
    assert (idle["observed"]["current_seconds"], idle["observed"]["box_upper_seconds"]) == (900, BOX_SECONDS)
    assert not said.gaps


def test_the_policy_that_it_applies_and_its_schema_are_read_and_nothing_else_is_asked(
    controller, topology, desk, tmp_path
) -> None:
    """Samba applies the default policy, whatever its NTDS Settings name; Windows does not, by its documentation."""
    controller.modify(BRANCH)
    sent, capture = tmp_path / "sent", tmp_path / "capture"
    relay = topology.desk.start(["socat", "-r", sent, "TCP-LISTEN:1389,reuseaddr", "TCP:ldap:389"])
    wait_for(lambda: topology.desk.sockets(1389), "socat does not listen")
    desk.run("collect", "ldap://127.0.0.1:1389", *desk.bind, "--output", str(capture))
    relay.end()
    assert requests_of(sent.read_bytes()) == [BIND_REQUEST, *[SEARCH_REQUEST] * len(ASKED), UNBIND_REQUEST]

    (schema,) = capture.glob("*/indexes.ldif")
    read = {one.first("lDAPDisplayName"): one for one in entries_of(schema)}
    indexed = {name for name, one in read.items() if (one.number("searchFlags") or 0) & 1}
    assert (len(read), indexed) == (1473, controller.indexed())
    (server,) = desk.diagnose(str(capture)).report["servers"]
    assert (server["numbers"]["idle_timeout_seconds"], server["numbers"]["descriptors_limit"]) == (900, 5000)
    assert server["description"] == "Samba 4.17.12"


def test_the_printed_command_for_samba_sets_its_idle_timeout(controller, topology, desk) -> None:
    remedy = product_of(Family.AD).remedies.set_idle_timeout(address_of("dc1"), BOX_SECONDS, 900)
    topology.ldap.run(re.search(r"EDITOR=.*lDAPAdminLimits", remedy.changes)[0])
    (server,) = desk.diagnose("ldap://ldap", *desk.bind).report["servers"]
    assert server["numbers"]["idle_timeout_seconds"] == BOX_SECONDS
    waited = topology.desk.run([sys.executable, "-c", IDLE.format(ADMINISTRATOR, PASSWORD)])
    assert waited == "b''\n", "it has not closed the connection"


def test_a_kerberos_ticket_is_enough_and_its_lack_is_the_reason(controller, topology, desk) -> None:
    topology.desk.run(["tee", "-a", "/etc/hosts"], stdin="10.77.1.2 dc1.ad.example.com\n")
    topology.desk.run(["tee", "/etc/krb5.conf"], stdin=KERBEROS)
    asked = ("ldap://dc1.ad.example.com", "-Y", "GSSAPI")
    assert "no Kerberos ticket: No Kerberos credentials available" in desk.run("diagnose", *asked)[2]
    topology.desk.run(["kinit", f"Administrator@{REALM}"], stdin=PASSWORD)
    said = desk.diagnose(*asked)
    (server,) = said.report["servers"]
    assert (server["numbers"]["idle_timeout_seconds"], said.gaps) == (900, {})


def test_the_printed_ldif_makes_the_index_and_its_reverse_drops_it(laboratory, topology, desk, tmp_path) -> None:
    """No search is logged here, so events 1644 of a larger domain are written by hand."""
    evidence = tmp_path / "dc1"
    evidence.mkdir()
    controller = laboratory.samba(topology.ldap, configuration="dsdb:schema update allowed = yes")
    controller.modify("".join(PERSON.format(number=number) for number in range(PEOPLE)))
    schema = controller.search(f"CN=Schema,{CONFIGURATION}", "(objectClass=attributeSchema)", *ATTRIBUTES)
    (evidence / "schema.ldif").write_text(schema)
    with (evidence / "events.csv").open("w", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([EVENT.keys(), *[EVENT.values()] * 1000])
    code, ldif, err = desk.run("indexes", str(evidence), "--ldif")
    assert (code, "dn: CN=Employee-Number," in ldif) == (1, True), err

    before, took = controller.indexed(), [seconds_of_searches(controller)]
    controller.modify(ldif)
    assert controller.indexed() - before == {"employeeNumber"}
    took.append(seconds_of_searches(controller))
    changed = r"(?s)(delete: searchFlags\n)(.*?)(-\nadd: searchFlags\n)(.*?)(?=-\n)"
    controller.modify(re.sub(changed, r"\1\4\3\2", ldif))
    assert controller.indexed() == before
    print(f"{SEARCHES} searches of {PEOPLE} people: {took[0]:.2f} s; with the index {took[1]:.2f} s")  # noqa: T201  the figures, with -s


def seconds_of_searches(controller: DomainController) -> float:
    """Make searches that find a person each, and return how long they took."""
    numbers = "\n".join(map(str, range(SEARCHES)))
    controller.host.run(["tee", "/run/numbers"], stdin=numbers)
    begun = time.monotonic()
    found = controller.search(SUFFIX, "-f", "/run/numbers", "(employeeNumber=%s)", "1.1")
    assert found.count("dn: CN=person") == SEARCHES
    return time.monotonic() - begun


def requests_of(sent: bytes) -> list[int]:
    """Return the tags of the requests that a client has sent."""
    tags = []
    while sent:
        _, message, sent = split(sent)
        _, _, operation = split(message or b"")
        tags.append(operation[0])
    return tags


def entries_of(file: Path) -> list[Entry]:
    """Return the entries of an LDIF file."""
    return list(entries(Document(path=file.name, source=lines_of([file.read_bytes()]))))
