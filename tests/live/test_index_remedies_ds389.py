"""The commands that add and drop indexes of 389-ds, pasted on a real one: what it notes and finds, before and after."""

from __future__ import annotations

from dataclasses import replace

import pytest

from facts import address_of
from lab.directory_servers import DSE, SUFFIX
from lab.host import Host, wait_for
from lab.laboratory import need
from lab.odd_directory import SCAN_LIMIT, Asked, ask, limit_scans, load
from lab.terminal import paste
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.evidence.schema.standard import standard
from ldapdiag.servers.ds389 import index_remedies as remedies
from ldapdiag.servers.ds389.index_build import TASKS
from ldapdiag.servers.indexes.candidates import Change, IndexPlace
from reading import facts_of

SCHEMA = standard()
ENTRIES = 1500
SERVER = address_of("127.0.0.1")
NEW = (Change("employeeNumber", "eq"), Change("description", "eq"), Change("description", "pres"))
FURTHER = (Change("uid", "sub"), Change("title", "eq"))
NUMBERS = (Change("shadowMin", "eq", "integerOrderingMatch"),)
RULES = (Change("sn", "eq", "caseExactMatch"), Change("description", "eq", "2.5.13.5"))
NUMBERS_OF_OLD = (Change("shadowMax", "eq", "integerOrderingMatch"),)
"""The index exists, and its keys get another order."""
BY_RULE = {"sn": "(sn:caseExactMatch:=sn5)", "description": "(description:2.5.13.5:=d1)"}
SEARCHES = {
    "employeeNumber": "(employeeNumber=1)", "description": "(description=d1)", "uid": "(uid=*u100)",
    "title": "(title=t1)", "shadowMin": "(shadowMin>=98)",
    "shadowMax": "(shadowMax<=9)",
}  # fmt: skip


@pytest.fixture(scope="module")
def server(laboratory):
    need("ns-slapd", "ldapmodify")
    with Host("ldap") as host:
        running = laboratory.ds389(host)
        load(running, ENTRIES)
        limit_scans(running, SCAN_LIMIT)
        yield running


def configured(server):
    (configuration,) = [
        one
        for one in facts_of(server.host.run(["cat", DSE]), path="ds/dse.ldif")
        if isinstance(one, IndexConfiguration)
    ]
    return configuration, next(one for one in configuration.backends if one.name.lower() == "userroot")


def told(server, changes):
    configuration, backend = configured(server)
    return remedies.add_indexes(IndexPlace(SERVER, backend, configuration, SCHEMA), changes)


def answers(server, changes):
    """Return note and entries of the search that each change is for."""
    attributes = dict.fromkeys(one.attribute for one in changes)
    searches = SEARCHES | BY_RULE if changes == RULES else SEARCHES
    logged = ask(server, [Asked(searches[attribute]) for attribute in attributes])
    assert {one.err for one in logged} == {0}
    return {attribute: (one.notes, one.entries) for attribute, one in zip(attributes, logged, strict=True)}


def built(server):
    """Wait until no build is going on."""
    wait_for(lambda: all_ended(server), "the build does not end", seconds=60)


def all_ended(server):
    tasks = server.search("cn=index,cn=tasks,cn=config", "(nsInstance=*)", "nsTaskExitCode").strip().split("\n\n")
    assert not any("nsTaskExitCode: -" in one for one in tasks), tasks
    return all("nsTaskExitCode: 0" in one for one in tasks)


@pytest.mark.parametrize(
    "changes",
    [NEW, FURTHER, NUMBERS, NUMBERS_OF_OLD, RULES, (*NEW, *FURTHER)],
    ids=["new", "further", "numbers", "numbers of old", "rules", "both"],
)
def test_what_is_printed_adds_builds_and_takes_back(server, changes):
    before, remedy = answers(server, changes), told(server, changes)
    assert {note for note, _ in before.values()} == {"A"}
    definitions = configured(server)[1].definitions
    paste(server.host, remedy.text)
    built(server)
    after = answers(server, changes)
    assert {note for note, _ in after.values()} == {""}
    assert {name: found for name, (_, found) in after.items()} == {name: found for name, (_, found) in before.items()}
    shown = paste(server.host, remedy.verify)
    assert all(f"cn={one.attribute}," in shown for one in changes)
    paste(server.host, remedy.undo)
    built(server)
    assert set(configured(server)[1].definitions) == set(definitions)
    server.restart()
    limit_scans(server, SCAN_LIMIT)
    assert answers(server, changes) == before


def test_the_ldif_does_the_same(server):
    configuration, backend = configured(server)
    changes = (*NEW, *FURTHER)
    before = answers(server, changes)
    server.modify(remedies.add_indexes_ldif(IndexPlace(SERVER, backend, configuration, SCHEMA), changes))
    built(server)
    after = answers(server, changes)
    assert {note for note, _ in after.values()} == {""}
    assert [found for _, found in after.values()] == [found for _, found in before.values()]
    server.modify(
        undo_ldif(told_undo := remedies.add_indexes(IndexPlace(SERVER, backend, configuration, SCHEMA), changes).undo)
    )
    assert "delete" in told_undo
    server.restart()
    limit_scans(server, SCAN_LIMIT)


def undo_ldif(text):
    """Return the LDIF of an ldapmodify with a here-document."""
    return text.partition("\n")[2].rpartition("\n")[0]


@pytest.mark.parametrize(
    "changes",
    [
        (Change("homeDirectory", "eq"), Change("homeDirectory", "sub")),
        (Change("cn", "sub"),),
        (Change("cn", "eq"), Change("cn", "pres"), Change("cn", "sub")),
    ],
    ids=["all types", "one type", "a default index"],
)
def test_what_is_dropped_is_gone_and_comes_back_as_it_was(server, changes):
    configuration, backend = configured(server)
    (before,) = [one for one in backend.definitions if one.attribute == changes[0].attribute]
    remedy = remedies.drop_indexes(IndexPlace(SERVER, backend, configuration, SCHEMA), changes)
    paste(server.host, remedy.text)
    server.restart()
    limit_scans(server, SCAN_LIMIT)
    search = Asked(f"({before.attribute}=*/u100*)" if before.attribute == "homeDirectory" else "(cn=*me100*)")
    without = ask(server, [search])[0]
    assert without.notes == "A"
    paste(server.host, remedy.undo)
    built(server)
    again = ask(server, [search])[0]
    assert (again.err, again.notes, again.entries) == (0, "", without.entries)
    (after,) = [one for one in configured(server)[1].definitions if one.attribute == before.attribute]
    assert after == before


DEFINITIONS = {
    "view": "objectClass: organizationalUnit\nobjectClass: nsView\nnsViewFilter: (&(objectClass=*)(carLicense=tin))",
    "role": "objectClass: nsRoleDefinition\nobjectClass: nsComplexRoleDefinition\n"
    "objectClass: nsFilteredRoleDefinition\nobjectClass: ldapSubEntry\nnsRoleFilter: (CarLicense=tin)",
    "bare role": "objectClass: nsRoleDefinition\nobjectClass: nsComplexRoleDefinition\n"
    "objectClass: nsFilteredRoleDefinition\nobjectClass: ldapSubEntry\nnsRoleFilter: carLicense=tin",
}


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_an_index_that_a_definition_in_the_database_names_is_kept(server, kind):
    configuration, backend = configured(server)
    remedy = remedies.drop_indexes(IndexPlace(SERVER, backend, configuration, SCHEMA), (Change("carLicense", "eq"),))
    dn = f"{'ou' if kind == 'view' else 'cn'}=defined,{SUFFIX}"
    server.modify(f"dn: {dn}\nchangetype: add\n{DEFINITIONS[kind]}\n\n")
    with pytest.raises(AssertionError, match="names carLicense or is not ASCII"):
        paste(server.host, remedy.text)
    server.modify(f"dn: {dn}\nchangetype: delete\n\n")
    assert configured(server)[1] == backend


def test_an_index_that_is_not_built_is_built(server):
    configuration, backend = configured(server)
    server.modify(
        remedies.add_indexes_ldif(IndexPlace(SERVER, backend, configuration, SCHEMA), NEW[:1]).partition("\n\n")[0]
        + "\n"
    )
    first = answers(server, NEW[:1])
    assert first == {"employeeNumber": ("A", 1)}
    configuration, backend = configured(server)
    without_suffix = replace(backend, suffixes=())  # as in an excerpt of the configuration: the block asks for it
    built_so = remedies.build_indexes(IndexPlace(SERVER, without_suffix, configuration, SCHEMA), ["employeeNumber"])
    assert f"right: (employeeNumber=@) below {SUFFIX}\n" in paste(server.host, built_so.text)
    assert answers(server, NEW[:1]) == {"employeeNumber": ("", 1)}
    assert SUFFIX in backend.suffixes


NUMBER, STREET = "12345", "main street"


def test_an_approximate_index_finds_no_number_and_wants_every_word(server):
    """Without the index, what a value lacks after its last word is ignored."""
    filters = [f"(businessCategory~={value})" for value in (NUMBER, "777", "main oak", STREET)]
    for place, value in enumerate((NUMBER, STREET, "main oak", "north main")):
        person = f"objectClass: inetOrgPerson\nuid: approx{place}\ncn: x\nsn: x\nbusinessCategory: {value}"
        server.modify(f"dn: uid=approx{place},{SUFFIX}\nchangetype: add\n{person}\n\n")
    changes = [Change("businessCategory", "approx")]
    remedy = told(server, changes)
    assert remedies.APPROXIMATE in remedy.risk
    before = ask(server, [Asked(one) for one in filters])
    paste(server.host, remedy.text)
    built(server)
    after = ask(server, [Asked(one) for one in filters])
    assert [(one.notes, one.entries) for one in before[:2]] == [("A", 0), ("A", 0)]
    assert [(one.notes, one.entries) for one in after] == [("A", 0), ("A", 0), ("", 1), ("", 1)]
    assert all(one.entries > 1 for one in before[2:])
    paste(server.host, remedy.undo)
    server.restart()
    limit_scans(server, SCAN_LIMIT)


def test_on_lmdb_the_build_is_seen_to_end_and_the_answers_are_right(laboratory):
    with Host("ldap") as host:
        server = laboratory.ds389(host, storage="mdb")
        load(server, ENTRIES)
        limit_scans(server, SCAN_LIMIT)
        changes = (*NEW, *FURTHER)
        before, remedy = answers(server, changes), told(server, changes)
        assert "this LMDB database can lose every entry" in remedy.risk
        paste(host, remedy.text)
        for _ in range(2):
            assert answers(server, changes) == {name: ("", found) for name, (_, found) in before.items()}
            server.restart()
            limit_scans(server, SCAN_LIMIT)


@pytest.mark.parametrize("few", [False, True])
def test_on_lmdb_the_next_build_begins_after_the_end_of_the_first(laboratory, *, few):
    """The exit code of its task is there at once; a second build beside the first would fail, and stay unbuilt."""
    with Host("ldap") as host:
        server = laboratory.ds389(host, storage="mdb")
        load(server, 6 * ENTRIES)
        for change in (*NEW[:1], *FURTHER[1:]):
            remedy = told(server, [change])
            paste(server.host, remedy.brief if few else remedy.text)
            assert "Reindexing complete" in host.run("tail -n 20 /var/log/dirsrv/slapd-live/errors")
        log = host.run("cat /var/log/dirsrv/slapd-live/errors")
        assert "middle of another task" not in log
        assert log.count("Reindexing complete") == 2
        assert server.search(TASKS, "(ttl=86400)", "1.1").count("dn: ") >= 2


def paste_until_built(host, text):
    """Paste commands, and again where a build of 2.3.1 aborted on LMDB, as they say; three times at most.

    It loses an entry that it reads while it writes ("Invalid entry (no rdn)"), now and then, the more the quicker the
    machine.
    """
    for attempt in range(3):
        try:
            paste(host, text)
        except AssertionError as failed:
            aborted = "Invalid entry (no rdn)" in host.run("tail -n 20 /var/log/dirsrv/slapd-live/errors")
            if attempt == 2 or not aborted or "The build failed" not in str(failed):
                raise
        else:
            return


def test_the_entry_of_a_task_is_kept_as_long_as_it_asks_for(server):
    kept = server.search(TASKS, "(ttl=*)", "ttl").count("ttl: ")
    short = [*remedies.task_entry(configured(server)[1], ["uid"]), "ttl: 1", ""]
    server.modify("\n".join(short))
    wait_for(lambda: server.search(TASKS, "(ttl=*)", "ttl").count("ttl: ") == kept, "the server does not heed ttl")
