"""Attribute types of an LDIF: of a search, or of slapcat."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path

CORE = (
    "attributeTypes: ( 2.5.4.0 NAME 'objectClass' )\nattributeTypes: ( 2.5.4.3 NAME ( 'cn' 'commonName' ) SUP name )\n"
)
OF_389 = "attributeTypes: ( 2.16.840.1.113730.3.1.542 NAME 'nsUniqueId' )\n"
OF_PERSONS = "attributeTypes: ( 2.16.840.1.113730.3.1.3 NAME 'employeeNumber' )\n"


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
