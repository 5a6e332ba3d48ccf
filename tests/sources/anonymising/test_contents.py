"""Files whose format needs rules of its own when a capture is anonymised."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from internal_searches import searched_by
from ldapdiag.evidence.host_formats.failed_probe import as_text
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.evidence.ldap_probe import ProbeOutcome
from ldapdiag.sources.anonymising.contents import anonymised_content
from ldapdiag.sources.anonymising.pseudonyms import Pseudonyms
from ldapdiag.sources.anonymising.text_anonymiser import TextAnonymiser
from reading import facts_of

SOCKETS = Path(__file__).parents[2] / "captures" / "sockets"
PROCESSES = b"""ldapdiag-processes 1
clock: 1795160100.50
process: 1171 ns-slapd S 1795160000.25 net:[4026532177]
listener: 1171 10.77.1.2 636
listener: 1171 0.0.0.0 389
configuration: 1171 /etc/dirsrv/slapd-acme/dse.ldif
configuration: 1172 /home/jsmith/ldap/slapd.conf
"""


URLS = b"""dn: cn=config
objectClass: olcGlobal
cn: config
olcAuthzRegexp: {0}uid=jsmith,cn=auth ldap:///dc=acme,dc=com??sub?(employeeNumber=)

dn: olcDatabase={1}mdb,cn=config
objectClass: olcMdbConfig
olcDatabase: {1}mdb
olcDbDirectory: /var/lib/ldap
olcSuffix: dc=acme,dc=com
olcDbIndex: mail eq
olcAccess: ldap:///dc=acme,dc=com?cn?sub?(businessCategory=)

dn: olcOverlay={0}unique,olcDatabase={1}mdb,cn=config
objectClass: olcUniqueConfig
olcOverlay: {0}unique
olcUniqueURI: strict ldap:///ou=people,dc=acme,dc=com?mail?sub ldap:///?title,uid?sub

"""


def test_what_slapd_searches_for_itself_remains() -> None:
    content = anonymised_content(URLS, "ldap/cn-config.ldif", TextAnonymiser(Pseudonyms(b"secret")))
    (before,), (after,) = (
        [fact for fact in facts_of(text) if isinstance(fact, IndexConfiguration)] for text in (URLS, content)
    )
    assert searched_by(after.internal_searches) == searched_by(before.internal_searches)
    assert set(searched_by(after.internal_searches)) == {"employeenumber", "businesscategory", "mail", "title", "uid"}
    assert not [name for name in (b"acme", b"jsmith") if name in content]


def test_a_list_of_processes_keeps_its_values_and_loses_its_names() -> None:
    content = anonymised_content(PROCESSES, "ldap/processes.txt", TextAnonymiser(Pseudonyms(b"secret")))
    (before,), (after,) = facts_of(PROCESSES), facts_of(content)
    (one,), (other,) = before.processes, after.processes
    assert other == replace(one, namespace=other.namespace)
    assert other.namespace != one.namespace
    assert [(one.pid, one.port) for one in after.listeners] == [(1171, 636), (1171, 389)]
    assert after.listeners[1].address == "*"
    for name in (b"10.77.1.2", b"acme", b"jsmith"):
        assert name not in content
    paths = [path for _, path in after.configurations]
    assert paths[0].startswith("/etc/dirsrv/slapd-")
    assert paths[0].endswith("/dse.ldif")
    assert paths[1].startswith("/home/")


def test_the_folders_of_a_server_lose_their_names_wherever_they_are() -> None:
    ldif = (
        "dn: cn=config\nnsslapd-accesslog: /logs/acme/access\n\ndn: olcDatabase={1}mdb,cn=config\n"
        "olcDbDirectory: /acme-data/db\nstructuralObjectClass: olcMdbConfig\nolcDbNoSync: TRUE\n\n"
        "dn: ds-cfg-backend-id=userRoot,cn=Backends,cn=config\nds-cfg-db-directory: acme/db\n\n"
    )
    conf = "database mdb\nsuffix dc=x\ndirectory /acme-data/db\nlogfile /logs/acme/log\ndbnosync\n"
    anonymiser = TextAnonymiser(Pseudonyms(b"secret"))
    shown = [
        anonymised_content(text.encode(), f"ldap/{name}", anonymiser).decode()
        for name, text in (("config.ldif", ldif), ("slapd.conf", conf))
    ]
    assert "acme" not in "".join(shown)
    folder = re.search(r"olcDbDirectory: (/.*/db)\n", shown[0])
    assert folder
    assert f"directory {folder[1]}\n" in shown[1]
    assert "olcDbNoSync: TRUE" in shown[0]


def test_a_failed_probe_keeps_its_outcome_and_loses_its_name_and_address() -> None:
    for target in ("ldap://ds1.acme.example:1389", "ldaps://10.77.1.2", "ldapi://%2Frun%2Fslapd-acme.socket"):
        probe = as_text(target, "10.77.1.2", 1389, ProbeOutcome.REFUSED, 1.5).encode()
        content = anonymised_content(probe, "ldap/ldap-probe.txt", TextAnonymiser(Pseudonyms(b"secret")))
        (after,) = facts_of(content)
        assert (after.outcome, after.port, after.seconds) == (ProbeOutcome.REFUSED, 1389, 1.5)
        assert after.target.startswith(target.partition("://")[0])
        for name in (b"10.77.1.2", b"acme"):
            assert name not in content


def test_the_threads_of_a_server_keep_what_they_wait_for() -> None:
    threads = b"x86_64\n/proc/uptime:1.00 2.00\n/proc/29/task/29/stat:29 (slapd) S 0 0 0 0 -1 4 1 0 0 0 1 2\n"
    threads += b"/proc/29/task/29/wchan:futex_do_wait\n/proc/29/task/29/syscall:202 0x7f5cf7561040 0x0 0x80000022\n"
    content = anonymised_content(threads, "ldap/threads-29-1.txt", TextAnonymiser(Pseudonyms(b"secret")))
    assert facts_of(content) == facts_of(threads)


def test_of_access_control_instructions_only_everybody_remains() -> None:
    entry = (
        b"dn: cn=people,cn=userRoot,cn=ldbm database,cn=plugins,cn=config\nobjectClass: vlvSearch\n"
        b"vlvFilter: (&(objectClass=person)(departmentNumber=research))\n"
        b'aci: (targetattr="*")(version 3.0; acl "of Jo"; allow (read) userdn="ldap:///all" or dns="jo.example";)\n'
        b'aci: (targetattr="*")(version 3.0; acl "Jo"; allow (read) userdn="ldap:///uid=jo,dc=example";)\n\n'
    )
    content = anonymised_content(entry, "ldap/indexes.ldif", TextAnonymiser(Pseudonyms(b"secret")))
    assert b"\naci: ldap:///all\naci: (withheld)\n" in content
    assert not any(word in content for word in (b"research", b"Jo", b"jo", b"example"))


@pytest.mark.parametrize("path", [*SOCKETS.glob("nft*"), *SOCKETS.glob("iptables*")], ids=lambda path: path.name)
def test_a_packet_filter_decides_as_before(path: Path) -> None:
    def decided(text: str) -> list[object]:
        return [
            (
                chain.hook,
                chain.policy,
                [(rule.verdict, [match.field for match in rule.matches]) for rule in chain.rules],
            )
            for ruleset in facts_of(text)
            for chain in ruleset.chains
        ]

    new = anonymised_content(path.read_bytes(), path.name, TextAnonymiser(Pseudonyms(b"secret"))).decode()
    assert new != path.read_text()
    assert decided(new) == decided(path.read_text()) != []


@pytest.mark.parametrize("capture", ["indexes", "unbuilt-index"])
def test_the_status_of_an_index_stays_as_it_is(capture: str) -> None:
    path = SOCKETS.parent / "opendj" / capture / "backendstat-show-index-status.txt"
    new = anonymised_content(path.read_bytes(), path.name, TextAnonymiser(Pseudonyms(b"secret"))).decode()
    before, after = (
        {
            (state.attribute, state.index, state.valid, state.keys, state.over_limit, len(state.over))
            for fact in facts_of(text)
            for state in fact.states
        }
        for text in (path.read_text(), new)
    )
    assert "dc=example" not in new
    assert after == before != set()


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_programs_stay_distinguishable_in_powershells_table(delimiter: str) -> None:
    owners = ["lsass", "app-jane", "Jane, the one", "app-joe", "face", "app-jane"]
    rows = [f'"10.0.0.1","389","10.0.0.{at}","58862","Established","7","{one}","jane"' for at, one in enumerate(owners)]
    header = "LocalAddress,LocalPort,RemoteAddress,RemotePort,State,OwningProcess,ProcessName,PSComputerName"
    text = "\n".join([header.replace(",", delimiter), *(row.replace('","', f'"{delimiter}"') for row in rows), ""])
    new = anonymised_content(text.encode(), "s/sockets.csv", TextAnonymiser(Pseudonyms(b"secret")))
    (before,), (after,) = facts_of(text), facts_of(new)
    assert after.state == before.state
    assert after.owner[0] == "lsass"
    assert after.owner[1] == after.owner[5]
    assert len(set(after.owner)) == len(set(before.owner)) == 5
    assert not [word for word in (b"jane", b"joe", b"face") if word in new.lower()]
