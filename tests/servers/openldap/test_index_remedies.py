"""Index lines of slapd, changed: what a real slapd does with the commands is tried in tests/live."""

from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts import address_of
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.indexes import Backend, IndexConfiguration, IndexDefinition
from ldapdiag.evidence.indexes.slapd_lines import IndexLines
from ldapdiag.evidence.origin import Origin
from ldapdiag.evidence.schema.descriptions import attribute_type, merged, schema_of
from ldapdiag.evidence.schema.standard import standard
from ldapdiag.remedy import Needs, RemedyKind, is_attribute_description
from ldapdiag.servers.indexes.candidates import Change, IndexPlace
from ldapdiag.servers.openldap.index_changes import TYPES, rewritten, with_types, without_types
from ldapdiag.servers.openldap.index_remedies import add_indexes, add_indexes_ldif, build_indexes, drop_indexes

SCHEMA = standard()
LDAP1 = address_of("ldap1")
ENTRY = "olcDatabase={1}mdb,cn=config"


def backend(*lines: str, entry: str = ENTRY, suffix: str = "dc=example,dc=com") -> Backend:
    read = IndexLines()
    for line in lines:
        read.take(line)
    return Backend(
        name="{1}mdb", suffixes=(suffix,), definitions=tuple(read.definitions.values()), entry=entry, kind="mdb"
    )


def configuration(place: Backend, file: str = "") -> IndexConfiguration:
    return IndexConfiguration(
        origin=Origin(path="x"), identity=ServerIdentity(family=Family.OPENLDAP), backends=(place,), file=file
    )


@pytest.mark.parametrize(
    ("lines", "changes", "gone", "come"),
    [
        (["cn eq"], [Change("displayName", "eq")], (), ("displayName eq",)),
        (["cn eq"], [Change("cn", "sub")], ("cn eq",), ("cn eq,sub",)),
        (["cn eq"], [Change("cn", "sub"), Change("cn", "pres")], ("cn eq",), ("cn pres,eq,sub",)),
        (["cn,sn,mail eq"], [Change("sn", "sub")], ("cn,sn,mail eq",), ("cn eq", "mail eq", "sn eq,sub")),
        (["CommonName  EQ,pres"], [Change("cn", "sub")], ("CommonName  EQ,pres",), ("CommonName pres,eq,sub",)),
        (["cn eq,nosubtypes"], [Change("cn", "pres")], ("cn eq,nosubtypes",), ("cn pres,eq,nosubtypes",)),
        (["cn eq,nolang"], [Change("cn", "pres")], ("cn eq,nolang",), ("cn pres,eq,notags",)),
        (["cn eq"], [Change("cn", "sub"), Change("commonName", "pres")], ("cn eq",), ("cn pres,eq,sub",)),
        (["mail subany"], [Change("mail", "sub")], ("mail subany",), ("mail sub",)),
        (["default eq", "cn"], [Change("cn", "sub")], ("cn",), ("cn eq,sub",)),
        (["name eq,pres"], [Change("cn", "sub")], (), ("cn pres,eq,sub",)),
        (["name eq,nosubtypes"], [Change("cn", "sub")], (), ("cn sub",)),
        (["cn eq"], [Change("cn;lang-fr", "sub")], (), ("cn;lang-fr eq,sub",)),
        (["cn eq"], [Change("cn", "eq")], (), ()),
    ],
)  # fmt: skip
def test_added_and_removed_lines(lines, changes, gone, come) -> None:
    found = with_types(changes, backend(*lines), SCHEMA)
    assert (found.removed_lines, found.added_lines) == (gone, come)


@pytest.mark.parametrize(
    ("lines", "changes", "gone", "come"),
    [
        (["cn eq,sub"], [Change("cn", "sub")], ("cn eq,sub",), ("cn eq",)),
        (["cn eq"], [Change("cn", "eq")], ("cn eq",), ()),
        (["cn,sn eq"], [Change("cn", "eq")], ("cn,sn eq",), ("sn eq",)),
        (["cn eq"], [Change("cn", "sub"), Change("mail", "eq")], (), ()),
        (["objectClass eq", "entryUUID eq"], [Change("objectClass", "eq"), Change("entryUUID", "eq")], (), ()),
    ],
)
def test_lines_from_which_types_are_removed(lines, changes, gone, come) -> None:
    found = without_types(changes, backend(*lines), SCHEMA)
    assert (found.removed_lines, found.added_lines) == (gone, come)


def test_a_build_takes_the_lines_out_and_puts_them_back() -> None:
    place = backend("cn,sn eq", "mail eq")
    assert rewritten(["cn", "sn", "uid"], place, SCHEMA).removed_lines == ("cn,sn eq",)
    text = build_indexes(IndexPlace(LDAP1, place, configuration(place), SCHEMA), ["cn"]).text
    assert text.index("delete: olcDbIndex\nolcDbIndex: cn,sn eq") < text.index("add: olcDbIndex\nolcDbIndex: cn,sn eq")
    assert text.count("change <<'LDIF'") == 2


def test_what_a_change_costs_searches_is_announced() -> None:
    place = backend("cn eq")
    plain, approximate = (
        add_indexes(IndexPlace(LDAP1, place, configuration(place), SCHEMA), [Change("cn", one)]).risk
        for one in ("sub", "approx")
    )
    assert "the result 51 (busy)" in plain
    assert "(cn~=Main 12)" in approximate
    assert "(cn~=Main 12)" not in plain


def test_a_file_is_edited_and_slapindex_run() -> None:
    place = backend("cn eq", entry="", suffix="o=it's,c=de")
    for remedy in (
        add_indexes(IndexPlace(LDAP1, place, configuration(place, "slapd.conf"), SCHEMA), [Change("cn", "sub")]),
        build_indexes(IndexPlace(LDAP1, place, configuration(place, "slapd.conf"), SCHEMA), ["cn"]),
    ):
        (built,) = [shlex.split(line) for line in remedy.text.splitlines() if " slapindex -q " in line]
        assert built[built.index("-b") :][:3] == ["-b", "o=it's,c=de", "cn"]
        assert "index_lines " + shlex.quote("(olcSuffix=o=it's,c=de)") in remedy.text
        assert remedy.needs is Needs.REINDEX
    assert (
        add_indexes_ldif(IndexPlace("ldap1", place, configuration(place, "slapd.conf"), SCHEMA), [Change("cn", "sub")])
        is None
    )


def test_without_a_command_there_is_a_sentence() -> None:
    nowhere = Backend(name="?", suffixes=(), definitions=())
    place = backend("cn eq")
    for remedy in (
        add_indexes(IndexPlace(LDAP1, nowhere, configuration(nowhere), SCHEMA), [Change("cn", "sub")]),
        add_indexes(IndexPlace(LDAP1, place, configuration(place), SCHEMA), [Change("x$(id)", "sub")]),
        drop_indexes(IndexPlace(LDAP1, place, configuration(place), SCHEMA), [Change("objectClass", "eq")]),
    ):
        assert remedy.kind is RemedyKind.ADVICE
        assert remedy.text
        assert "$(" not in remedy.text


HOSTILE = (
    "$(touch pasted)", "`touch pasted`", "'; touch pasted; '", '"; touch pasted; "', "x\nLDIF\ntouch pasted\n",
    "x\ntouch pasted", "; touch pasted #", "| touch pasted", "x' && touch pasted && echo '", "$HOME;touch pasted",
    "\x00", "cn eq\n-\nadd: olcRootPW",
)  # fmt: skip
TOOLS = (
    "ldapmodify", "ldapsearch", "grep", "sleep", "ps", "head", "sed", "wc", "mktemp", "rm", "slaptest", "slapcat",
    "slapindex", "systemctl", "runuser", "touch",
)  # fmt: skip
SAYS = {
    "touch": "exec /usr/bin/touch pasted", "ps": "echo slapd -f /dev/null", "wc": "echo 1", "sed": "echo /dev/null",
    "mktemp": "echo /dev/null/none", "slapcat": "echo olcDbIndex: cn eq,sub",
}  # fmt: skip
"""What leads through all commands; nothing but what hostile names call for can write."""


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("file", ["", "slapd.conf"])
def test_nothing_of_what_is_evidence_is_run(tmp_path, hostile, file) -> None:
    """Every tool is a stand-in that does nothing, but for the one that hostile names call for."""
    tools, folder = tmp_path / "tools", tmp_path / "folder"
    tools.mkdir()
    folder.mkdir()
    for name in TOOLS:
        ends = SAYS.get(name, "exit 0") if file or name != "grep" else "exit 1"  # which ends the loop that waits
        (tools / name).write_text(f"#!/bin/sh\n{ends}\n")
        (tools / name).chmod(0o755)
    place = Backend(
        name=f"{{1}}{hostile}", suffixes=(f"o={hostile}", hostile), entry=f"cn={hostile},cn=config",
        definitions=(IndexDefinition(attribute="cn", types=frozenset({"eq"}), written=f"cn eq{hostile}"),),
    )  # fmt: skip
    changes = [Change(hostile, "eq"), Change("cn", "sub"), Change("mail", hostile)]
    said = configuration(place, file)
    for remedy in (
        add_indexes(IndexPlace(LDAP1, place, said, SCHEMA), changes),
        build_indexes(IndexPlace(LDAP1, place, said, SCHEMA), [hostile, "cn"]),
        drop_indexes(IndexPlace(LDAP1, place, said, SCHEMA), [Change("cn", "eq"), *changes]),
    ):
        for text in (remedy.text, remedy.undo, remedy.verify):
            if remedy.kind is RemedyKind.SHELL:
                subprocess.run(
                    ["/bin/sh", "-c", text], cwd=folder, env={"PATH": str(tools)}, check=False, timeout=20,
                    capture_output=True,
                )  # fmt: skip
    assert list(folder.iterdir()) == []


@given(st.text(max_size=30), st.text(max_size=10))
def test_a_name_that_is_none_is_left_out(name, kind) -> None:
    place = backend("cn eq")
    wanted = with_types([Change(name, kind), Change("cn", "sub")], place, SCHEMA)
    fits = is_attribute_description(name) and kind in TYPES
    assert wanted.left_out == (not fits)
    assert len(wanted.added_lines) == 1 + (fits and name.lower() != "cn")


LINES = ("cn,sn eq", "mail pres,eq,sub", "objectClass eq")
CHANGES = st.builds(Change, st.sampled_from(["cn", "sn", "mail", "title"]), st.sampled_from(["eq", "sub", "pres"]))


@given(st.lists(CHANGES, max_size=6))
def test_what_is_added_is_there_and_nothing_is_lost(changes) -> None:
    place = backend(*LINES)
    wanted = with_types(changes, place, SCHEMA)
    lines = [*(one for one in LINES if one not in wanted.removed_lines), *wanted.added_lines]
    before, after = (
        {(one.attribute, kind) for one in each.definitions for kind in one.types} for each in (place, backend(*lines))
    )
    assert after == before | {(one.attribute, one.type) for one in changes}


def test_own_attribute_types_take_over_what_their_supertypes_line_answers() -> None:
    """Only the server's schema defines badge as a subtype of name with a second name."""
    badge = attribute_type("( 1.2.3.4 NAME ( 'badge' 'badgeNumber' ) SUP name )", {})
    schema = merged([schema_of([badge], Origin(path="x"), whole=False), SCHEMA])
    place = backend("name eq,pres", "1.2.3.4;x-old eq")
    for name in ("badge", "badgeNumber", "1.2.3.4"):
        ldif = add_indexes_ldif(IndexPlace("ldap1", place, configuration(place), schema), [Change(name, "sub")])
        assert f"olcDbIndex: {name} pres,eq,sub" in ldif
    own = backend("badge eq")
    ldif = add_indexes_ldif(IndexPlace("ldap1", own, configuration(own), schema), [Change("badgeNumber", "sub")])
    assert "delete: olcDbIndex\nolcDbIndex: badge eq\n" in ldif
    assert "add: olcDbIndex\nolcDbIndex: badge eq,sub\n" in ldif
    objects = backend("2.5.4.0 eq")
    kept = drop_indexes(IndexPlace(LDAP1, objects, configuration(objects), schema), [Change("2.5.4.0", "eq")])
    assert kept.kind is RemedyKind.ADVICE


def test_without_a_suffix_a_file_has_no_commands() -> None:
    place = backend("cn eq", entry="", suffix="")
    for remedy in (
        add_indexes(IndexPlace(LDAP1, place, configuration(place, "slapd.conf"), SCHEMA), [Change("cn", "sub")]),
        build_indexes(IndexPlace(LDAP1, place, configuration(place, "slapd.conf"), SCHEMA), ["cn"]),
        drop_indexes(IndexPlace(LDAP1, place, configuration(place, "slapd.conf"), SCHEMA), [Change("cn", "eq")]),
    ):
        assert (remedy.kind, remedy.undo, remedy.verify) == (RemedyKind.ADVICE, "", "")
        assert "the evidence does not contain the suffix of the database" in remedy.text
