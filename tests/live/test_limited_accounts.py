"""Clients with different limits, that also sort: what ldapdiag concludes is what the clients were answered.

`employeeNumber` is given an index that is never built. WIDE may look through everything, and its searches for one entry
succeed slowly; the same searches of probe200 are refused. `sn` has an index: a family has over 300 members, which
probe200 may not look through either, though the server examines no other entry. Every fact is taken from the answers
that the clients received; the log is read by ldapdiag alone.
"""

from __future__ import annotations

import json
import socket
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from command import ldapdiag
from lab.controlled_search import Answer, Control, ask
from lab.directory_servers import DSE, INSTANCE, PASSWORD, SLAPD_FILE, account
from lab.host import Host, wait_for
from lab.odd_directory import ACCESS
from lab.phone_book import FAMILY, is_389
from lab.raw_ldap import Connection
from lab.terminal import paste
from lab.two_database_servers import WIDE, probe, two_databases_389, two_databases_slapd
from lab.two_databases import EXAMPLE

if TYPE_CHECKING:
    from pathlib import Path

    from lab.directory_servers import Server

PROBE = probe(200)
TIMES = 12
ADMIN_LIMIT = 11
PLACE = "cn=userRoot,cn=ldbm database,cn=plugins,cn=config"
UNBUILT = f"""dn: cn=employeeNumber,cn=index,{PLACE}
changetype: add
objectClass: top
objectClass: nsIndex
cn: employeeNumber
nsSystemIndex: false
nsIndexType: eq
"""
VIEW = f"""dn: cn=people,{PLACE}
changetype: add
objectClass: top
objectClass: vlvSearch
cn: people
vlvBase: {EXAMPLE.place}
vlvScope: 2
vlvFilter: (objectClass=person)
aci: (targetattr="*")(version 3.0; acl "view"; allow (read,search,compare) userdn="ldap:///all";)

dn: cn=by_uid,cn=people,{PLACE}
changetype: add
objectClass: top
objectClass: vlvIndex
cn: by_uid
vlvSort: uid
"""
PERSONS, TITLE = "(objectClass=person)", "(title=title 007)"
PLAIN = Control()
VIEWED = Control(sort=("uid",), first=1)
SORTED = Control(sort=("-uidNumber", "cn"))


@dataclass
class Site:
    """The server, and every answer that a client received, by filter and account."""

    server: Server
    answers: dict[tuple[str, str], list[Answer]] = field(default_factory=dict)

    def send(self, name: str, text: str, control: Control = PLAIN, times: int = TIMES) -> None:
        """Search several times on a connection of an account."""

        def sent() -> list[Answer]:
            connection = Connection(socket.create_connection(("127.0.0.1", 389)))
            assert connection.bind(account(name), PASSWORD) == 0
            answers = [ask(connection, EXAMPLE.place, "sub", text, control) for _ in range(times)]
            connection.unbind()
            return answers

        self.answers.setdefault((text, name), []).extend(self.server.host.inside(sent))

    def codes(self, text: str, name: str) -> Counter[int]:
        """Return how often an account received each code for a filter."""
        return Counter(answer.err for answer in self.answers[text, name])

    def logged(self) -> str:
        """Return the access log once it has every result."""
        expected = sum(map(len, self.answers.values()))

        def written() -> str:
            text = self.server.host.run(["cat", ACCESS]) if is_389(self.server) else self.server.log.read_text()
            return text if text.count(" tag=101 ") >= expected else ""

        return wait_for(written, "the log lacks results", seconds=60)


def family() -> str:
    return f"(sn={FAMILY[7]})"


def number() -> str:
    return f"(employeeNumber={EXAMPLE.person(4711)['employeeNumber'][0]})"


@pytest.fixture(scope="module")
def site(laboratory):
    with Host("ldap") as host:
        site = Site(two_databases_389(laboratory, host))
        server = site.server
        server.modify(UNBUILT)
        for name in (WIDE, PROBE):
            site.send(name, number())
            site.send(name, family())
        site.send(WIDE, PERSONS, VIEWED, times=3)
        site.send(WIDE, TITLE, SORTED, times=4)
        server.modify(VIEW)
        server.stop()
        server.host.run(["ns-slapd", "db2index", "-D", INSTANCE, "-n", "userRoot", "-T", "by_uid"])
        # Building employeeNumber as well: a restart takes an index that was never built for an empty one.
        server.host.run(["sed", "-i", "/^dn: cn=employeeNumber,cn=index,/,/^$/d", DSE])
        server.start()
        site.send(WIDE, PERSONS, VIEWED, times=5)
        yield site


def shapes(site: Site, folder: Path) -> dict[str, dict]:
    """Return what `ldapdiag log` counted of each filter shape."""
    (folder / "access").write_text(site.logged())
    report = json.loads(ldapdiag("log", folder / "access", "--format", "json").out)
    return {row["shape"]: row for row in report["searches"]["shapes"] if row["base"] == EXAMPLE.place}


def test_a_sort_is_counted_as_the_client_asked_for_it(site: Site, tmp_path: Path) -> None:
    by_shape = shapes(site, tmp_path)
    (view,) = by_shape[PERSONS]["sorts"]
    answers = site.answers[PERSONS, WIDE]
    assert [len(answer.names) for answer in answers] == [10] * 8
    assert len({answer.names for answer in answers}) == 1, "the same window, with and without the index"
    assert (view["keys"], view["count"], view["vlv"], view["vlv_by_index"]) == ("uid", 8, 8, 5)
    assert (view["unindexed"], view["candidates"], view["vlv_errors"]) == (3, 3 * EXAMPLE.people, {})
    (sort,) = by_shape["(title=?)"]["sorts"]
    assert (sort["keys"], sort["count"], sort["vlv"]) == ("-uidNumber cn", 4, 0)
    assert sort["unsorted"] == 4, "title has no index: every entry is a candidate"


def test_the_truth_of_both_accounts(site: Site) -> None:
    assert site.codes(number(), WIDE) == site.codes(family(), WIDE) == {0: TIMES}
    assert site.codes(number(), PROBE) == site.codes(family(), PROBE) == {ADMIN_LIMIT: TIMES}
    assert {len(answer.names) for answer in site.answers[number(), WIDE]} == {1}
    assert min(len(answer.names) for answer in site.answers[family(), WIDE]) > 300


def test_refused_searches_are_counted_by_account(site: Site, tmp_path: Path) -> None:
    row = shapes(site, tmp_path)["(employeeNumber=?)"]
    refused = {one["account"]: one.get("refused", 0) for one in row["requesters"]}
    assert refused == {account(WIDE): 0, account(PROBE): TIMES}


@pytest.fixture(scope="module")
def audit(site: Site, tmp_path_factory) -> dict:
    folder = tmp_path_factory.mktemp("ldap")
    (folder / "access").write_text(site.logged())
    dse = site.server.host.run(["cat", DSE])
    (folder / "dse.ldif").write_text(f"{dse.rstrip()}\n\n{UNBUILT.replace('changetype: add' + chr(10), '')}\n")
    return json.loads(ldapdiag("indexes", folder, "--format", "json").out)


def found(audit: dict, check: str) -> dict[str, dict]:
    return {one["observed"]["shape"]: one for one in audit["findings"] if one["check"] == check}


def test_the_index_that_is_not_built_is_found_in_spite_of_the_limited_account(audit: dict) -> None:
    (one,) = [one for one in found(audit, "index-not-built").values() if "employeeNumber" in one["observed"]["shape"]]
    assert (one["observed"]["searches"], one["observed"]["refused"]) == (2 * TIMES, TIMES)
    assert one["observed"]["refused_accounts"] == [account(PROBE)]
    assert "(employeeNumber=?)" not in found(audit, "scan-limit-exceeded")


def test_raising_the_limit_as_printed_ends_the_refusals(site: Site, audit: dict) -> None:
    one = found(audit, "scan-limit-exceeded")["(sn=?)"]
    assert (one["observed"]["limit"], one["observed"]["refused"]) == ("account", TIMES)
    assert one["observed"]["accounts"] == [account(PROBE)]
    remedy = one["remedies"][0]
    paste(site.server.host, f"export LDAP_URI=ldap://127.0.0.1\n{remedy['text']}")
    before = len(site.answers[family(), PROBE])
    site.send(PROBE, family())
    after = site.answers[family(), PROBE][before:]
    assert {answer.err for answer in after} == {0}
    assert {len(answer.names) for answer in after} == {len(site.answers[family(), WIDE][0].names)}


def test_slapd_refuses_what_its_indexes_answer_and_what_it_would_scan(laboratory, tmp_path: Path) -> None:
    """`size.unchecked` counts candidates: 317 of an index, or every entry where there is none."""
    with Host("ldap") as host:
        site = Site(two_databases_slapd(laboratory, host, by_file=True))
        for name in (WIDE, PROBE):
            site.send(name, family())
            site.send(name, TITLE)
        assert site.codes(family(), PROBE) == site.codes(TITLE, PROBE) == {ADMIN_LIMIT: TIMES}
        assert site.codes(family(), WIDE) == site.codes(TITLE, WIDE) == {0: TIMES}
        (tmp_path / "slapd.log").write_text(site.logged())
        (tmp_path / "slapd.conf").write_text(host.run(["cat", SLAPD_FILE]))
    audit = json.loads(ldapdiag("indexes", tmp_path, "--format", "json").out)
    limits = found(audit, "scan-limit-exceeded")
    assert {shape: one["observed"]["limit"] for shape, one in limits.items()} == {"(sn=?)": "account"}
    assert limits["(sn=?)"]["observed"]["refused_accounts"] == [account(PROBE)]
    assert "size.unchecked" in limits["(sn=?)"]["remedies"][0]["text"]
    (missing,) = [one["observed"] for one in audit["findings"] if one["check"] == "missing-index"]
    assert (missing["attribute"], missing["searches"]) == ("title", 2 * TIMES)
    assert missing["refused_accounts"] == [account(PROBE)]
