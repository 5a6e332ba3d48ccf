"""The commands for a slapd that slapd.conf sets, pasted on a real one: edited as they say, not at all, or wrongly."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from facts import slapd_of
from lab.directory_servers import SLAPD_FILE, SUFFIX
from lab.host import Host
from lab.searching_client import LOST, Lane, searching
from lab.terminal import paste
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.evidence.schema.standard import standard
from ldapdiag.servers.indexes.candidates import Change, IndexPlace
from ldapdiag.servers.openldap.index_remedies import add_indexes, build_indexes, drop_indexes
from reading import facts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lab.directory_servers import Server

SCHEMA = standard()
UNAVAILABLE = 52
"""The result code of a slapd that is shutting down."""
CHANGES = (Change("cn", "sub"), Change("departmentNumber", "eq"))
SETTINGS = "index objectClass,uid eq\nindex cn,sn eq"
PEOPLE = "\n".join(
    f"dn: uid=p{number},{SUFFIX}\nobjectClass: inetOrgPerson\nuid: p{number}\ncn: person {number}\nsn: x\n"
    f"departmentNumber: {number % 7}\n"
    for number in range(70)
)
ASKED = "(&(cn=*erson 1*)(departmentNumber=3))"
"""Asked of both new indexes: with a line and nothing built, slapd finds nothing."""


@pytest.fixture
def slapd(laboratory) -> Iterator[Server]:
    with Host("ldap") as host:
        yield laboratory.slapd(host, database=SETTINGS, entries=PEOPLE, by_file=True)


def configured(server):
    (told,) = [one for one in facts_of(server.host.run(["cat", SLAPD_FILE])) if isinstance(one, IndexConfiguration)]
    (backend,) = [one for one in told.backends if SUFFIX in one.suffixes]
    return backend, told


def advice(server, act=add_indexes, changes=CHANGES):
    backend, told = configured(server)
    return act(IndexPlace(slapd_of("ldap"), backend, told, SCHEMA), changes)


def edit(server, text):
    """Do what the comments say, one line after another."""
    lines = server.host.run(["cat", SLAPD_FILE]).splitlines()
    for comment in text.splitlines():
        if comment.startswith("# remove:"):
            lines.remove(comment.partition(":")[2].strip())
        elif comment.startswith("# add:"):
            lines.insert(lines.index(f"suffix {SUFFIX}") + 1, comment.partition(":")[2].strip())
    write(server, "\n".join(lines) + "\n")


def write(server, text):
    server.host.run(["tee", SLAPD_FILE], stdin=text)


def found(server):
    """Return how many entries a search finds that both new indexes answer."""
    return server.search(SUFFIX, ASKED, "1.1").count("dn: ")


def refused(server, text):
    """Paste what must not be done, and return what it says; slapd must be the same process as before."""
    before, entries = server.pid, found(server)
    with pytest.raises(AssertionError, match="exit 1") as failed:
        paste(server.host, text)
    assert (server.pid, found(server)) == (before, entries)
    said = str(failed.value).replace("\r", "")
    assert "\nState: nothing is changed\n" in said
    return said


def test_edited_it_is_built_shown_and_taken_back(slapd):
    entries, first, original = found(slapd), slapd.pid, configured(slapd)[0].definitions
    assert entries > 0
    remedy = advice(slapd)
    edit(slapd, remedy.text)
    paste(slapd.host, remedy.text)
    assert slapd.pid != first
    assert found(slapd) == entries
    shown = paste(slapd.host, remedy.verify).splitlines()
    assert {"olcDbIndex: cn eq,sub", "olcDbIndex: sn eq", "olcDbIndex: departmentNumber eq"} < set(shown)
    edit(slapd, remedy.undo)
    paste(slapd.host, remedy.undo)
    assert found(slapd) == entries
    assert set(configured(slapd)[0].definitions) == set(original)


def test_no_search_waits_for_longer_than_announced(slapd):
    remedy = advice(slapd)
    edit(slapd, remedy.text)
    with searching(slapd, {"uid": Lane(SUFFIX, "sub", "(uid=p7)"), "both": Lane(SUFFIX, "sub", ASKED)}) as client:
        paste(slapd.host, remedy.text)
    (most,) = re.findall(r"slapd needs [\d,]+ to ([\d,]+) s to stop and start", remedy.risk)
    assert client.lost
    assert max(client.longest_pauses().values()) <= int(most)
    assert {one.err for one in client.failures} <= {LOST, UNAVAILABLE}


def test_a_cn_config_that_a_restart_reverts_is_not_changed(slapd):
    told = slapd.search("cn=config", "(|(objectClass=olcGlobal)(olcDatabase=*))")
    (read,) = [one for one in facts_of(told) if isinstance(one, IndexConfiguration)]
    assert read.file == "slapd.conf"
    unknown = replace(read, file="")
    (backend,) = [one for one in unknown.backends if SUFFIX in one.suffixes]
    said = refused(slapd, add_indexes(IndexPlace(slapd_of("ldap"), backend, unknown, SCHEMA), CHANGES).text)
    assert "so a change of cn=config is lost then: edit slapd.conf" in said


def test_not_edited_it_does_nothing_and_says_what_is_not_there(slapd):
    said = refused(slapd, advice(slapd).text)
    assert "slapd.conf does not contain: index cn sub\n" in said


def test_half_edited_it_does_nothing(slapd):
    text = advice(slapd).text
    edit(slapd, "\n".join(line for line in text.splitlines() if "departmentNumber" not in line))
    assert "does not contain: index departmentNumber eq" in refused(slapd, text)


def test_edited_in_the_wrong_place_it_does_nothing(slapd):
    """The lines are in slapd.conf, but of another database."""
    text, conf = advice(slapd).text, slapd.host.run(["cat", SLAPD_FILE])
    edit(slapd, text)
    added = [line for line in slapd.host.run(["cat", SLAPD_FILE]).splitlines() if line.startswith("index")]
    slapd.host.run("mkdir -p /var/lib/ldap/other")
    other = "\n".join(["database mdb", "suffix o=other", "directory /var/lib/ldap/other", *added])
    write(slapd, conf.replace("database monitor", f"{other}\ndatabase monitor"))
    assert "does not contain" in refused(slapd, text)


def test_edited_so_that_slapd_would_not_start_it_does_nothing(slapd):
    text = advice(slapd).text
    edit(slapd, "\n".join(line for line in text.splitlines() if "# remove:" not in line))
    assert "slaptest rejects slapd.conf\n" in refused(slapd, text)


@pytest.mark.parametrize("tool", ["slapindex", "runuser"])
def test_slapd_runs_again_when_the_build_fails(slapd, tool):
    remedy = advice(slapd)
    edit(slapd, remedy.text)
    slapd.host.run(f"printf '#!/bin/sh\\nexit 3\\n' > /run/bin/{tool}; chmod 755 /run/bin/{tool}")
    with pytest.raises(AssertionError, match="slapindex failed: run it again, else searches may miss entries"):
        paste(slapd.host, remedy.text)
    assert "dn: uid=p1," in slapd.search(SUFFIX, "(uid=p1)", "1.1")
    slapd.host.run(f"rm /run/bin/{tool}")
    entries = slapd.search(SUFFIX, "(&(cn~=person)(objectClass=inetOrgPerson))", "cn", "departmentNumber")
    paste(slapd.host, remedy.text)
    assert found(slapd) == sum("departmentNumber: 3" in one and "cn: person 1" in one for one in entries.split("\n\n"))


def test_where_no_slapd_runs_it_does_nothing(slapd):
    remedy = advice(slapd)
    edit(slapd, remedy.text)
    slapd.stop()
    with pytest.raises(
        AssertionError, match=r"this host does not run exactly one slapd\r\nFAILED: .*\r\nState: nothing is changed"
    ):
        paste(slapd.host, remedy.text)


def test_what_is_dropped_must_be_gone_first(slapd):
    remedy = advice(slapd, drop_indexes, (Change("sn", "eq"),))
    assert "slapd.conf still contains: index sn eq\n" in refused(slapd, remedy.text)
    edit(slapd, remedy.text)
    paste(slapd.host, remedy.text)
    assert "olcDbIndex: sn" not in paste(slapd.host, remedy.verify)
    edit(slapd, remedy.undo)
    paste(slapd.host, remedy.undo)
    assert slapd.search(SUFFIX, "(sn=x)", "1.1").count("dn: ") == 70


def test_an_index_is_built_again_without_an_edit(slapd):
    first = slapd.pid
    backend, told = configured(slapd)
    paste(slapd.host, build_indexes(IndexPlace(slapd_of("ldap"), backend, told, SCHEMA), ["cn"]).text)
    assert slapd.pid != first
    assert slapd.search(SUFFIX, "(cn=person 5)", "1.1").count("dn: ") == 1
