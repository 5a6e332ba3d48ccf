"""ID lists of more than 65,535 entries on a real slapd: a range counts every entry between the first and the last."""

from __future__ import annotations

import pytest

from facts import slapd_of
from lab.directory_servers import PASSWORD, SUFFIX, account
from lab.host import Host
from lab.terminal import paste
from ldapdiag.evidence.filter_tree import parse
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.evidence.schema.standard import standard
from ldapdiag.servers.openldap.index_remedies import raise_scan_limit
from reading import facts_of

ENTRIES, MATCHING = 140_000, 70_000
USER = account("application_xyz")
LIMIT = 100_000
"""Candidates that the account may have: more than match, and fewer than a range has."""
DATABASE = (
    f"maxsize 1000000000\nlimits dn.exact={USER} size=unlimited size.unchecked={LIMIT}\n"
    "index objectClass,uid,description eq\n"
)
REFUSED = 11


def people():
    for number in range(ENTRIES):
        kind = "odd" if number % 2 else "even"
        yield f"dn: uid=p{number},{SUFFIX}\nobjectClass: account\nuid: p{number}\ndescription: {kind}\n"


def found(server) -> tuple[int, int]:
    """Return the result code and the number of entries of a search by the account."""
    asked = ["ldapsearch", "-LLL", "-x", "-H", "ldap://127.0.0.1", "-D", USER, "-w", PASSWORD, "-b", SUFFIX]
    done = server.host.attempt([*asked, "(description=odd)", "1.1"])
    return done.returncode, done.stdout.count("dn: ")


def test_a_range_becomes_a_list_and_a_range_again(laboratory) -> None:
    with Host("ldap") as host:
        server = laboratory.slapd(host, database=DATABASE, entries="\n".join(people()), monitor=False)
        configured = host.run(["slapcat", "-n0", "-F", "/etc/ldap/slapd.d"])
        (read,) = [one for one in facts_of(configured) if isinstance(one, IndexConfiguration)]
        remedy = raise_scan_limit(slapd_of("ldap"), read.backends[0], parse("(description=odd)"), MATCHING, standard())
        assert found(server)[0] == REFUSED
        paste(host, remedy.text)
        assert found(server) == (0, MATCHING)
        server.restart()
        assert found(server) == (0, MATCHING)
        assert "olcBkMdbIdlExp: 17" in paste(host, remedy.verify)
        paste(host, remedy.undo)
        assert found(server)[0] == REFUSED


def test_slapd_stays_stopped_when_the_index_is_incomplete(laboratory) -> None:
    with Host("ldap") as host:
        server = laboratory.slapd(host, database=DATABASE, monitor=False)
        configured = host.run(["slapcat", "-n0", "-F", "/etc/ldap/slapd.d"])
        (read,) = [one for one in facts_of(configured) if isinstance(one, IndexConfiguration)]
        remedy = raise_scan_limit(slapd_of("ldap"), read.backends[0], parse("(description=odd)"), MATCHING, standard())
        host.run("printf '#!/bin/sh\\nexit 3\\n' > /run/bin/slapindex; chmod 755 /run/bin/slapindex")
        with pytest.raises(AssertionError, match="the index is incomplete, so slapd is not started"):
            paste(host, remedy.text)
        assert not host.attempt(["ps", "-C", "slapd", "-o", "pid="]).stdout.strip()
        host.run("rm /run/bin/slapindex")
        server.start()
