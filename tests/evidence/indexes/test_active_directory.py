"""The schema of Active Directory: LDIF and CSV, wrapped, in UTF-16, cut, and of a captured Samba."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forest import FOREST, schema_ldif
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.evidence.indexes.active_directory import BITS, LINK
from ldapdiag.evidence.schema import Schema
from ldapdiag.sources.gathering import gather
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path

CSV = (
    '#TYPE Microsoft.ActiveDirectory.Management.ADObject\r\n'
    '"DistinguishedName","isDefunct","lDAPDisplayName","Name","ObjectClass","searchFlags"\r\n'
    '"CN=Employee-Number,CN=Schema,CN=Configuration,DC=x","","employeeNumber","Employee-Number","attributeSchema","16"\r\n'
    '"CN=Mail, old,CN=Schema,CN=Configuration,DC=x","True","oldMail","Mail, old","attributeSchema","1"\r\n'
)  # fmt: skip


def indexes_in(content):
    (found,) = (one for one in facts_of(content) if isinstance(one, IndexConfiguration))
    return found


def types_of(content):
    (backend,) = indexes_in(content).backends
    return {one.attribute: set(one.types) for one in backend.definitions}


def test_a_captured_schema_has_the_indexes_that_its_server_has(corpus):
    folder: Path = corpus / "samba-ad" / "config"
    text = (folder / "schema-attributes.ldif").read_bytes()
    indexed = {name.lower() for name, types in types_of(text).items() if BITS[1] in types}
    truth = re.findall(r"^@IDXATTR: ([a-zA-Z].*)$", (folder / "ldb-indexlist.txt").read_text(), re.MULTILINE)
    assert indexed == {name.lower() for name in truth}
    assert len(indexed) == 153
    assert indexes_in(text).whole
    only_indexed = indexes_in((folder / "schema-indexed.unwrapped.ldif").read_bytes())
    assert len(only_indexed.backends[0].definitions) == 153
    assert not only_indexed.whole, "an attribute outside it may exist, and has no index"


def test_bits_and_links_are_indexes_and_what_cannot_be_searched_is_named():
    found = indexes_in(schema_ldif())
    types = types_of(schema_ldif())
    assert types["displayName"] == {BITS[1], BITS[4]}
    assert types["description"] == {BITS[32]}
    assert types["member"] == {LINK}
    assert types["employeeNumber"] == set()
    assert found.virtual_attributes.keys() == {"tokengroups", "oldattribute", "lastlogon"}
    assert "initials" not in found.outside_catalog
    assert "employeenumber" in found.outside_catalog
    assert found.backends[0].definitions[0].written == f"CN=X-objectClass,CN=Schema,CN=Configuration,{FOREST}"


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_the_csv_of_any_culture_is_read_as_the_ldif(delimiter, encoding):
    text = CSV.replace('","', f'"{delimiter}"').encode(encoding)
    (backend,) = indexes_in(text).backends
    first, second = backend.definitions
    assert (first.attribute, first.search_flags) == ("employeeNumber", 16)
    assert first.written == "CN=Employee-Number,CN=Schema,CN=Configuration,DC=x"
    assert second.types == {BITS[1]}
    assert indexes_in(text).virtual_attributes == {"oldmail": "defunct (isDefunct)"}


@given(st.integers(schema_ldif().index("\n") + 1, len(schema_ldif())))
def test_a_schema_that_is_cut_within_an_entry_is_not_whole_and_has_the_indexes_of_the_entries_before(length):
    whole, cut = types_of(schema_ldif()), schema_ldif()[:length]
    for fact in facts_of(cut):
        assert isinstance(fact, IndexConfiguration | Schema)
        assert not fact.whole or cut.endswith("\n\n")
        if isinstance(fact, IndexConfiguration):
            for one in fact.backends[0].definitions[:-1]:
                assert one.types == whole[one.attribute]


def test_without_search_flags_the_schema_has_no_indexes_to_judge_by():
    facts = facts_of(re.sub(r"searchFlags: .*\n", "", schema_ldif()))
    assert [one.kind for one in facts] == [Schema.kind]
    assert any("searchFlags" in note for note in facts[0].origin.notes)


def test_a_value_that_may_be_cut_is_not_read(tmp_path: Path) -> None:
    for text in (schema_ldif({"a": {}, "b": {"searchFlags": "160"}}).rstrip("\n")[:-1], CSV.rstrip('"\r\n')):
        (tmp_path / "schema").write_text(text)
        (found,) = (one for one in gather([str(tmp_path)]).facts if isinstance(one, IndexConfiguration))
        assert [one.attribute for one in found.backends[0].definitions] in (["a"], ["employeeNumber"])
