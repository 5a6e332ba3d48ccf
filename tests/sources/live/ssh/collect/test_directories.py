"""What the script prints of a configuration states the same on indexes and storage as the whole file does."""

from __future__ import annotations

import os
import re
from dataclasses import replace

import pytest

from internal_searches import searched_by
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.indexes import IndexConfiguration, ds389_internal_searches
from ldapdiag.evidence.origin import Origin
from ldapdiag.evidence.storage.settings import StorageSettings
from ldapdiag.servers.queries import CONFIG, INDEXES, queries_of
from ldapdiag.sources.live.ssh.remote import script
from properties.test_collected_secrets import AWKS, KNOWN, printed
from reading import facts_of

ORIGIN = Origin(path="x")


@pytest.fixture(params=AWKS, ids=lambda awk: awk or "awk")
def awk(request, tmp_path):
    return {"awk": request.param, "folder": tmp_path}


def indexes_of(text, path="host/file.txt"):
    (found,) = [fact for fact in facts_of(text, path=path) if isinstance(fact, IndexConfiguration)]
    return replace(found, origin=ORIGIN)


def storage_of(text, path="host/file.txt"):
    (found,) = [fact for fact in facts_of(text, path=path) if isinstance(fact, StorageSettings)]
    return replace(found, origin=ORIGIN)


def named(variable: str) -> set[str]:
    """Return the names that stand in a variable of the script."""
    return set(re.search(rf'^{variable}="([^"]*)"', script(), re.MULTILINE)[1].split())


@pytest.mark.parametrize(
    ("variable", "family"), [("DS389", Family.DS389), ("OPENLDAP", Family.OPENLDAP), ("OPENDJ", Family.OPENDJ)]
)
def test_whatever_a_live_server_is_asked_of_its_configuration_is_printed(variable, family) -> None:
    asked = [one for one in queries_of(family) if one.file in {CONFIG, INDEXES} and one.base]
    names = {name.lower() for question in asked for name in question.attributes}
    plug_ins = {name for name in names if name.startswith(ds389_internal_searches.ARGUMENT)}
    known = named(f"{variable}_SETTINGS") | named(f"{variable}_INDEXES") | named(f"{variable}_STORAGE")
    assert names - known - plug_ins == {"cn", "objectclass"} & names | SPECIAL & names
    assert len(known) > 20


INDEX_ENTRIES = "cn=index,cn=userRoot,cn=ldbm database,cn=plugins,cn=config"
TIMES = {"createtimestamp", "modifytimestamp", "creatorsname"}
NOW = 1795350000
"""Of the newest file."""
TASKS = {"nsinstance", "nsindexattribute", "nstaskexitcode"}
"""In the memory of a server only."""
SPECIAL = {"olcsyncrepl", "olcaccess", "olcauthzregexp", "olcauthidrewrite", "ds-cfg-value", "aci"} | TIMES | TASKS
"""Printed in part, or in some entries alone."""


ERRORS = """\t389-Directory/2.3.1 B2025.016.1616
[22/Nov/2026:12:50:40.1 +0000] - INFO - main - 389-Directory/2.3.1 B2025.016.1616 starting up
[22/Nov/2026:12:50:41.1 +0000] - INFO - bdb_db2index - userRoot: Indexing attribute: uid
[22/Nov/2026:12:50:42.1 +0000] - INFO - bdb_db2index - userRoot: Indexed 1000 entries (66%).
[22/Nov/2026:12:50:43.1 +0000] - INFO - bdb_db2index - userRoot: Finished indexing.
[22/Nov/2026:12:50:44.1 +0000] - ERR - task_index_thread - Index failed (error -1)
[22/Nov/2026:12:50:45.1 +0000] - INFO - bdb_main - import userRoot: Import complete.  Processed 9 entries
[22/Nov/2026:12:50:46.1 +0000] - NOTICE - back - Unindexed search: filter="(cn=a - b: Indexing attribute: c)" conn=1
[22/Nov/2026:12:50:47.1 +0000] - NOTICE - back - Unindexed search: filter="(cn=a - INFO - main - slapd stopped.)" conn=1
[22/Nov/2026:12:50:48.1 +0000] - INFO - main - slapd stopped.
[22/Nov/2026:12:50:49.1 +0000] - NOTICE - bdb_start - Detected Disorderly Shutdown last time, recovering
"""


def test_the_builds_of_indexes_and_the_ends_are_printed_and_no_text_of_a_client(tmp_path) -> None:
    (tmp_path / "errors").write_text(ERRORS)
    lines = printed("errors_and_banner", str(tmp_path / "errors")).splitlines()
    assert lines == [line for line in ERRORS.splitlines() if "Indexed 1000" not in line and "conn=" not in line]


def rotated(folder, *names: str) -> None:
    """Write errors logs, newest first, each with a build of the index of that number."""
    for number, name in enumerate(names):
        stamp = f"[22/Nov/2026:12:{59 - number}:00.1 +0000]"
        (folder / name).write_text(f"{stamp} - INFO - bdb_db2index - userRoot: Indexing attribute: a{number}\n")
        os.utime(folder / name, (NOW - number, NOW - number))


def builds_printed(folder) -> list[str]:
    lines = printed("event_lines", str(folder / "errors")).splitlines()
    return [line.rpartition(" ")[2] for line in lines]


def test_builds_in_rotated_errors_logs_are_printed_oldest_first(tmp_path) -> None:
    rotated(tmp_path, "errors", "errors.20261122-125859", "errors.20261121-125859", "errors.rotationinfo")
    assert builds_printed(tmp_path) == ["a2", "a1", "a0"]


def test_nothing_older_than_an_errors_log_that_cannot_be_read_is_printed(tmp_path) -> None:
    rotated(tmp_path, "errors", "errors.1", "errors.2.gz", "errors.3")
    assert builds_printed(tmp_path) == ["a1", "a0"]


def test_nothing_older_than_an_errors_log_that_is_read_in_part_is_printed(tmp_path) -> None:
    rotated(tmp_path, "errors", "errors.1")
    (tmp_path / "errors").write_text("another\n" * (1 << 21) + (tmp_path / "errors").read_text())
    os.utime(tmp_path / "errors", (NOW, NOW))
    assert builds_printed(tmp_path) == ["a0"]


VLV_SEARCH = f"cn=people,cn=userRoot,{INDEX_ENTRIES.partition('cn=userRoot,')[2]}"
ACI = '(targetattr="*")(version 3.0; acl "Geheim"; allow (read) userdn="{}";)'


def test_of_the_access_to_a_vlv_search_only_all_and_anyone_are_printed(tmp_path, awk) -> None:
    acis = "".join(f"aci: {ACI.format(f'ldap:///{who}')}\n" for who in ("all", "anyone", "uid=a", "allen=a"))
    search = f"dn: {VLV_SEARCH}\nobjectClass: vlvSearch\ncn: people\nvlvBase: dc=example,dc=com\nvlvScope: 2\n"
    sort = f"dn: cn=by cn,{VLV_SEARCH}\nobjectClass: vlvIndex\ncn: by cn\nvlvSort: cn\n"
    text = f"dn: cn=config\nnsslapd-port: 389\n{acis}\n{search}{acis}vlvFilter: (cn=*)\n\n{sort}\n"
    (tmp_path / "dse.ldif").write_text(text)
    shown = printed("ns_slapd_settings", str(tmp_path / "dse.ldif"), **awk)
    access = ["ldap:///all", "ldap:///anyone", "(withheld)", "(withheld)"]
    assert [line for line in shown.splitlines() if line.startswith("aci")] == [f"aci: {who}" for who in access]
    assert shown.index("aci") > shown.index("vlvScope")
    assert {"vlvFilter: (cn=*)", "vlvSort: cn"} <= set(shown.splitlines())


def test_when_an_index_was_added_and_changed_is_printed_of_the_database_only(tmp_path, awk) -> None:
    times = "createTimestamp: 20261122125040Z\nmodifyTimestamp: 20261122125041Z\ncreatorsName: cn=Directory Manager\n"
    index = f"dn: cn=uid,{INDEX_ENTRIES}\ncn: uid\nnsIndexType: eq\n{times}"
    (tmp_path / "dse.ldif").write_text(f"dn: cn=config\n{times}nsslapd-port: 389\n\n{index}\n")
    text = printed("ns_slapd_settings", str(tmp_path / "dse.ldif"), **awk)
    assert text.count("createTimestamp") == text.count("creatorsName") == text.count("modifyTimestamp") == 1
    assert text.index("createTimestamp") > text.index("cn=uid")


def test_a_real_389_ds_keeps_all_its_indexes(captures, tmp_path, awk) -> None:
    folder = captures / "389ds" / "indexes"
    whole = (folder / "ldbm-config.ldif").read_text() + "\n" + (folder / "userRoot-subtree.ldif").read_text()
    (tmp_path / "dse.ldif").write_text(whole)
    assert indexes_of(printed("ns_slapd_settings", str(tmp_path / "dse.ldif"), **awk)) == indexes_of(f"{whole}\n")


@pytest.mark.parametrize("name", ["indexes/index-entries.ldif", "unbuilt-index/backend.ldif"])
def test_a_real_opendj_keeps_all_its_indexes(captures, tmp_path, awk, name) -> None:
    whole = (captures / "opendj" / name).read_text()
    (tmp_path / "config.ldif").write_text(whole)
    assert indexes_of(printed("java_settings", str(tmp_path / "config.ldif"), **awk)) == indexes_of(f"{whole}\n\n")


@pytest.mark.parametrize("name", ["bdb", "mdb"])
def test_a_real_389_ds_keeps_its_storage_settings(captures, tmp_path, awk, name) -> None:
    file = captures / "389ds" / f"storage-{name}" / "dse.ldif"
    whole = storage_of(file.read_bytes())
    assert storage_of(printed("ns_slapd_settings", str(file), **awk) + "\n") == whole
    assert whole.complete


@pytest.mark.parametrize("name", ["default", "unsynced", "mapped", "meta"])
def test_a_real_slapd_keeps_its_storage_settings(captures, tmp_path, awk, name) -> None:
    whole = (captures / "openldap" / f"storage-{name}" / "config.ldif").read_text()
    assert storage_of(printed_of_slapd_d(whole, tmp_path, awk) + "\n") == storage_of(whole)
    assert storage_of(whole).complete


@pytest.mark.parametrize("name", ["default", "unsynced", "mapped", "meta"])
def test_a_slapd_conf_keeps_its_storage_settings(captures, tmp_path, awk, name) -> None:
    file = captures / "openldap" / f"storage-{name}" / "slapd.conf"
    excerpt = printed("slapd_conf_settings", str(file), **awk)
    whole = storage_of(file.read_text().replace("include /etc/ldap/schema/core.schema\n", ""), "host/slapd.conf")
    assert storage_of(excerpt, "host/slapd.conf") == whole


def test_of_storage_in_a_slapd_conf_only_words_of_its_grammar_are_printed(tmp_path, awk) -> None:
    file = tmp_path / "slapd.conf"
    file.write_text(
        "database mdb\ndirectory /srv/db Geheim\n  Geheim\ndbnosync Geheim\nenvflags nosync Geheim writemap\n"
        "checkpoint 512 5 Geheim\nlogfile /var/log/slapd.log Geheim\n"
    )
    assert printed("slapd_conf_settings", str(file), **awk).splitlines() == [
        "database mdb",
        "directory /srv/db",
        "dbnosync",
        "envflags nosync writemap",
        "checkpoint 512 5",
        "logfile /var/log/slapd.log",
    ]


def test_a_slapd_conf_keeps_its_limits(tmp_path, awk) -> None:
    file = tmp_path / "slapd.conf"
    text = (
        'sizelimit size.soft=5 size.unchecked=7\ntimelimit 9\ndatabase mdb\nsuffix "dc=x"\nrootdn "cn=admin, dc=x"\n'
        'index cn eq\ntimelimit time.soft=3 time.hard=unlimited\nlimits dn.exact="cn=a b,dc=x" size=5\n  time=9\n'
        'limits group/groupOfNames/member="cn=g,dc=x" size.unchecked=unlimited\nlimits * time.soft=3\n'
    )
    file.write_text(text)
    (excerpt,) = indexes_of(printed("slapd_conf_settings", str(file), **awk), path="host/slapd.conf").backends
    (whole,) = indexes_of(f"pidfile /run/slapd.pid\n{text}", path="host/slapd.conf").backends
    assert whole.account_limits is not None
    assert excerpt.account_limits == whole.account_limits


def test_of_limits_only_their_grammar_is_printed(tmp_path, awk) -> None:
    file = tmp_path / "slapd.conf"
    file.write_text(
        "database mdb\nlimits users size=5\n  rootpw Geheim\nsizelimit 5 Geheim\n  Geheim\ntimelimit Geheim\n"
    )
    assert printed("slapd_conf_settings", str(file), **awk).splitlines() == ["database mdb", "limits ?", "sizelimit 5"]


def test_a_real_slapd_keeps_all_its_indexes(captures, tmp_path, awk) -> None:
    whole = (captures / "openldap" / "held-42" / "cn-config.ldif").read_text()
    assert indexes_of(printed_of_slapd_d(whole, tmp_path, awk)) == indexes_of(f"{whole}\n\n")


def printed_of_slapd_d(whole, tmp_path, awk):
    """Return what is printed of slapd.d: each entry is a file of its own, whose DN lacks what is above it."""
    folder = tmp_path / "slapd.d"
    entries = [entry for entry in whole.split("\n\n") if "dn: " in entry]
    for entry in entries:
        rdns = re.search(r"^dn: (.*)$", entry, re.MULTILINE)[1].split(",")
        place = folder.joinpath(*reversed(rdns[1:]))
        place.mkdir(parents=True, exist_ok=True)
        text = re.sub(r"^dn: .*$", f"dn: {rdns[0]}", entry, count=1, flags=re.MULTILINE)
        (place / f"{rdns[0]}.ldif").write_text(text.strip() + "\n")
    assert len(entries) > 2
    return printed("slapd_d_settings", str(folder), known=f"{KNOWN}; openldap_folder=$1", **awk)


SLAPD_CONF = """database mdb
suffix "dc=example,dc=com"
index default pres,eq
index objectClass,entryCSN,entryUUID eq
index cn,sn,mail EQ,subinitial
index uid
INDEX "displayName" "sub"
index telephoneNumber
    eq,substr
index dc eq,nosubtypes
index nonsense never
index_substr_if_minlen 3
index_substr_any_step 1
overlay refint
refint_attributes member manager
overlay unique
unique_uri strict ldap:///ou=people,dc=example,dc=com?mail,uid?sub?(objectClass=*) ldap:///?employeeNumber?sub
unique_uri ignore ldap:///?description?sub
overlay constraint
constraint_attribute manager uri ldap:///ou=people,dc=example,dc=com?entryDN?one
overlay accesslog
logpurge 07+00:00 01+00:00
overlay dynlist
dynlist-attrset groupOfURLs memberURL member+memberOf@groupOfNames
overlay collect
collectinfo "ou=people,dc=example,dc=com" telephoneNumber,l
database monitor
"""


def test_a_slapd_conf_keeps_all_its_indexes(tmp_path, awk) -> None:
    file = tmp_path / "slapd.conf"
    file.write_text(SLAPD_CONF)
    excerpt = indexes_of(printed("slapd_conf_settings", str(file), **awk), path="host/slapd.conf")
    whole = indexes_of(SLAPD_CONF, path="host/slapd.conf")
    (backend,), (expected,) = excerpt.backends, whole.backends
    assert {one.attribute: (one.types, one.subtypes) for one in backend.definitions} == {
        one.attribute: (one.types, one.subtypes) for one in expected.definitions
    }
    assert replace(excerpt, backends=()) == replace(whole, backends=())
    assert len(expected.definitions) == 10
    assert searched_by(whole.internal_searches).keys() >= {"member", "uid", "employeenumber", "entrydn", "reqstart"}
