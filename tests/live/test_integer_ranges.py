"""Ranges of an INTEGER attribute without ordering rule at 389-ds: as configured by default, they silently lose entries.

uidNumber has an eq index without nsMatchingRule, and no ORDERING in the schema. The keys of the index are then sorted
as text, and a range is read from the keys whose text is in it. Entries of these keys that are out of the range as
numbers are left out of the answer; entries that are in it as numbers, and not as text, are never looked at. Only where
the keys that are read have more entries than the scan limit does the server examine every entry (notes=A), and then the
answer is right. So it is right or wrong by the value asked for, and nothing in the log shows which.
"""

from __future__ import annotations

import pytest

from facts import address_of, origin
from lab.directory_servers import DSE, PASSWORD
from lab.host import Host
from lab.odd_directory import Asked, ask
from lab.two_database_servers import two_databases_389
from lab.two_databases import EXAMPLE, FIRST_UID_NUMBER
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.indexes import Backend, IndexConfiguration
from ldapdiag.evidence.schema import Schema
from ldapdiag.servers.ds389.index_remedies import add_indexes
from ldapdiag.servers.indexes.candidates import Change, IndexPlace

LAST = FIRST_UID_NUMBER + EXAMPLE.people - 1
"""Everybody has a number of their own, from FIRST_UID_NUMBER to this."""
SCANS = "A"


@pytest.fixture(scope="module")
def server(laboratory):
    with Host("ldap") as host:
        yield two_databases_389(laboratory, host)


@pytest.mark.parametrize(
    ("range_", "has", "finds", "notes"),
    [
        (">=9944", LAST - 9944 + 1, 9999 - 9944 + 1, ""),
        (">=8000", LAST - 8000 + 1, 9999 - 8000 + 1, ""),
        ("<=10005", 10005 - FIRST_UID_NUMBER + 1, 7, ""),  # 1000, and 10000 to 10005
        (">=5000", LAST - 5000 + 1, LAST - 5000 + 1, SCANS),
        ("<=20100", 20100 - FIRST_UID_NUMBER + 1, 20100 - FIRST_UID_NUMBER + 1, SCANS),
        ("<=1019", 20, 20, ""),
    ],
)
def test_a_range_finds_what_is_in_it_as_text(server, range_, has, finds, notes) -> None:
    (found,) = ask(server, [Asked(f"(uidNumber{range_})")])
    assert (found.err, found.entries, found.notes) == (0, finds, notes)
    assert (finds == has) == (notes == SCANS or range_ == "<=1019")


def test_the_entry_itself_is_in_the_range_that_does_not_find_it(server) -> None:
    (found,) = ask(server, [Asked("(uidNumber>=9944)", base=EXAMPLE.dn(14_000), scope="base")])
    assert found.entries == 1


def test_with_the_ordering_rule_and_a_build_it_finds_all(server) -> None:
    entry = "dn: cn=uidnumber,cn=index,cn=userroot,cn=ldbm database,cn=plugins,cn=config\nchangetype: modify\n"
    server.modify(f"{entry}add: nsMatchingRule\nnsMatchingRule: integerOrderingMatch\n")
    server.stop()
    server.host.run(["ns-slapd", "db2index", "-D", "/etc/dirsrv/slapd-live", "-n", "userroot", "-t", "uidnumber"])
    server.start()
    first, second, third = ask(server, [Asked(f"(uidNumber{one})") for one in (">=9944", ">=20990", "<=1019")])
    assert (first.entries, first.notes) == (LAST - 9944 + 1, SCANS)
    assert (second.entries, second.notes) == (LAST - 20990 + 1, "")
    assert (third.entries, third.notes) == (20, "")


def test_an_index_of_a_number_that_no_known_schema_defines_is_not_added(server) -> None:
    """Without an ordering rule it would sort shadowLastChange as text; the commands read the server's schema first."""
    backend = Backend(name="userroot", suffixes=(EXAMPLE.suffix,), definitions=())
    indexes = IndexConfiguration(origin=origin(), identity=ServerIdentity(family=Family.DS389), backends=(backend,))
    changes = (Change("shadowLastChange", "eq"), Change("displayName", "eq"))
    remedy = add_indexes(IndexPlace(address_of(), backend, indexes, Schema(origin=origin(), types={})), changes)
    server.host.run(f"umask 077; printf %s {PASSWORD} > /run/password; echo 127.0.0.1 ds1 >> /etc/hosts")
    before = server.host.run(["cat", DSE])
    done = server.host.attempt(remedy.text, env={"LDAP_PASSWORD_FILE": "/run/password"})
    assert done.returncode == 1
    assert "shadowLastChange is a number without an ordering rule" in done.stderr
    assert "State: nothing is changed\n" in done.stderr
    assert server.host.run(["cat", DSE]) == before
