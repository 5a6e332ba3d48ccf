from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.formats import head_of, recognise
from ldapdiag.evidence.origin import Origin
from ldapdiag.evidence.schema import AttributeType, Schema
from ldapdiag.evidence.schema.merging import merged, schema_of
from ldapdiag.evidence.schema.slapd_schema import FORMAT
from ldapdiag.evidence.schema.standard import DESCRIPTIONS, standard
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path

CORE = (
    "attributeTypes: ( 2.5.4.0 NAME 'objectClass' )\nattributeTypes: ( 2.5.4.3 NAME ( 'cn' 'commonName' ) SUP name )\n"
)
OF_389 = "attributeTypes: ( 2.16.840.1.113730.3.1.542 NAME 'nsUniqueId' )\n"
OF_PERSONS = "attributeTypes: ( 2.16.840.1.113730.3.1.3 NAME 'employeeNumber' )\n"


def schema(*, whole: bool = False, **types: str) -> Schema:
    """Make a schema of names and their supertypes."""
    made = [AttributeType(oid=f"oid-{name}", names=(name,), sup=sup) for name, sup in types.items()]
    return schema_of(made, Origin(path="here"), whole=whole)


class TestLdif:
    def test_reads_what_openldap_answered(self, captures: Path) -> None:
        (found,) = facts_of((captures / "openldap" / "indexes" / "cn-subschema.part.ldif").read_bytes())
        assert len({one.oid for one in found.types.values()}) == 20
        assert found.primary("userid") == found.primary("0.9.2342.19200300.100.1.1") == "uid"
        assert [one.name for one in found.lineage("gn")] == ["givenName", "name"]
        assert (found.equality("gn"), found.ordering("gn")) == ("caseignorematch", "")
        assert found.ordering("uidNumber") == "integerorderingmatch"
        assert not found.whole

    @pytest.mark.parametrize(
        ("text", "whole"),
        [
            (f"dn: cn=schema\n{CORE}{OF_389}{OF_PERSONS}\n", True),
            (f"dn: cn=schema\n{CORE}\ndn: cn=schema\n{OF_389}{OF_PERSONS}\n", True),
            (f"dn: cn=schema\n{CORE}{OF_389}\n", False),
            (f"dn: cn=schema\n{CORE}{OF_PERSONS}\n", False),
            (f"dn: cn=schema\n{OF_389}{OF_PERSONS}\n", False),
            (f"dn: cn=schema\n{CORE}{OF_389}{OF_PERSONS}", False),  # cut, as it seems
        ],
    )
    def test_is_whole_with_the_server_s_own_and_those_of_persons(self, text: str, *, whole: bool) -> None:
        (found,) = facts_of(text)
        assert found.whole is whole

    def test_of_slapcat_is_whole_once_the_databases_begin(self) -> None:
        olc = "{}olcAttributeTypes: ( 1.2 NAME 'olcDatabase' )\n"
        text = "dn: cn=schema,cn=config\n" + (CORE + olc.format("")).replace("attributeTypes", "olcAttributeTypes")
        text = text.replace("olcolc", "olc")
        person = "\ndn: cn={0}person,cn=schema,cn=config\nolcAttributeTypes: {0}( 1.3 NAME 'x' )\n"
        (found,) = facts_of(text + person + "\n")
        assert not found.whole
        *_, found = facts_of(text + person + "\ndn: olcDatabase={-1}frontend,cn=config\nobjectClass: x\n\n")
        assert found.whole
        assert found.find("X") is not None

    def test_macros_of_slapcat_are_resolved(self) -> None:
        (found,) = facts_of(
            "dn: cn=schema,cn=config\nolcObjectIdentifier: {0}OLcfg 1.3.6\nolcObjectIdentifier: {1}OLcfgAt OLcfg:3\n"
            "olcAttributeTypes: {0}( OLcfgAt:9 NAME 'x' )\n\n"
        )
        assert found.types["1.3.6.3.9"].name == "x"

    def test_counts_what_it_does_not_understand(self) -> None:
        (found,) = facts_of(f"dn: cn=schema\n{CORE}attributeTypes: ( 1.2 NAME\nattributeTypes: x\n\n")
        assert "2 attribute type descriptions of an entry were not understood." in found.origin.notes


class TestSchemaFiles:
    def test_reads_types_and_macros(self) -> None:
        (found,) = facts_of(
            "# core\n#attributetype ( 1.1 NAME 'no' )\nobjectIdentifier My 1.2.3\nobjectidentifier MyAt My:4\n"
            "attributetype ( MyAt:5\n\tNAME 'mine'\n\tSUP name )\nobjectclass ( My:6 NAME 'o' MAY mine )\n"
        )
        assert (set(found.types), found.whole) == ({"mine", "1.2.3.4.5"}, False)

    def test_counts_what_it_does_not_understand_and_shows_nothing_of_it(self) -> None:
        (found,) = facts_of("attributetype ( 1.2 NAME 'a' )\nattributetype ( hunter2\n", form=FORMAT)
        assert (found.origin.not_understood, "hunter2" in repr(found)) == (1, False)

    def test_slapd_conf_may_hold_some_itself(self) -> None:
        _, found = facts_of("attributetype ( 1.2 NAME 'a' )\ndatabase mdb\nsuffix dc=x\n")
        assert set(found.types) == {"a", "1.2"}

    @pytest.mark.parametrize("text", ["attributetypes ( 1.2 )\n", "objectclass x\n", "attributetype ( 1 )\nsuffix x\n"])
    def test_is_nothing_else(self, text: str) -> None:
        assert recognise(head_of("x.schema", text.encode(), whole=True), (FORMAT,)) is None

    @given(st.binary(max_size=300))
    def test_no_bytes_crash_it(self, data: bytes) -> None:
        for fact in facts_of(b"attributetype ( 1.2 NAME 'a' )\n" + data, form=FORMAT):
            assert fact.origin.lines == fact.origin.understood + fact.origin.not_understood


class TestMerging:
    def test_beside_a_whole_one_nothing_counts(self) -> None:
        found = merged([schema(a="x", b=""), schema(whole=True, a="y"), standard()])
        assert found is not None
        assert (found.whole, found.types["a"].sup, found.find("b"), found.find("cn")) == (True, "y", None, None)

    def test_excerpts_add_up_the_earlier_first(self) -> None:
        found = merged([schema(a="x"), schema(a="y", cn=""), standard()])
        assert found is not None
        assert (found.whole, found.types["a"].sup, found.types["cn"].sup, found.primary("commonName")) == (
            False,
            "x",
            "",
            "cn",
        )

    def test_of_nothing_is_nothing(self) -> None:
        assert merged([]) is None


class TestStandard:
    def test_every_description_is_understood_and_says_something_of_its_own(self) -> None:
        described = list(filter(None, DESCRIPTIONS.splitlines()))
        types = {id(one): one for one in standard().types.values()}.values()
        assert len(described) == len(types) == len({one.oid for one in types})
        names = [name.lower() for one in types for name in (one.oid, *one.names)]
        assert len(names) == len(set(names)) == len(standard().types)

    def test_every_supertype_is_there_and_every_syntax_an_oid(self) -> None:
        for one in standard().types.values():
            assert not one.sup or standard().find(one.sup), one
            assert standard().syntax(one.name).replace(".", "").isdigit(), one

    def test_ranges_as_the_rfcs_have_them(self) -> None:
        known = standard()
        assert known.ordering("employeeNumber") == known.ordering("cn") == known.ordering("shadowMax") == ""
        assert known.ordering("modifyTimestamp") == known.ordering("createTimestamp") == "generalizedtimeorderingmatch"
        assert known.equality("memberOf") == ""
