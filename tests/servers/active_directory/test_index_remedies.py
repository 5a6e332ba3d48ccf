"""The plan of a forest as LDIF and PowerShell: no bit is cleared, names are the schema's, nothing is left after it."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import examples
from facts import address_of, origin
from forest import SCHEMA, Events, facts_of_forest, schema_ldif
from incidents import diagnosed_facts, findings
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.indexes import Backend, IndexConfiguration, IndexDefinition
from ldapdiag.evidence.indexes.active_directory import BITS
from ldapdiag.evidence.schema.standard import standard
from ldapdiag.remedy import RemedyKind
from ldapdiag.report.indexes.remedies import as_ldif, as_script
from ldapdiag.servers.index_remedies import add_indexes
from ldapdiag.servers.indexes.candidates import Change, IndexPlace

FLAGS = re.compile(r"dn: CN=X-(\S+?),CN=Schema,.*\nchangetype: modify\ndelete: searchFlags\nsearchFlags: (\d+)\n-\n"
                   r"add: searchFlags\nsearchFlags: (\d+)\n-\n")  # fmt: skip
ASKED = {"title": ("(title=x)", 1), "displayName": ("(displayName=*smith*)", 32), "department": ("(department=x)", 1)}


def events_for(*names, server="DC1"):
    events = Events(server)
    for name in names:
        events.ask(ASKED[name][0], preventing=name.lower())
    return events


def planned(folder, *events, flags=None, root="DC=ad,DC=example,DC=com"):
    return diagnosed_facts(facts_of_forest(folder, *events, schema=schema_ldif(root=root, flags=flags)))


def values(ldif):
    return {name: (int(old), int(new)) for name, old, new in FLAGS.findall(ldif)}


@examples.every(3)
@given(flags=st.fixed_dictionaries({name: st.integers(0, 4095).map(lambda one: one & ~2048) for name in ASKED}))
def test_a_plan_clears_no_bit_and_an_audit_of_what_it_makes_misses_nothing(flags):
    with tempfile.TemporaryDirectory() as folder:
        before = planned(Path(folder), events_for(*ASKED), flags=flags)
        changes = values(as_ldif(before))
        lacking = {name for name, (_, bit) in ASKED.items() if not flags[name] & bit}
        assert set(changes) == lacking
        for name, (old, new) in changes.items():
            assert old == flags[name]
            assert new == old | ASKED[name][1]
        after = planned(
            Path(folder), events_for(*ASKED), flags=flags | {name: new for name, (_, new) in changes.items()}
        )
        assert not findings(after, "missing-index")


def test_the_plans_of_two_domain_controllers_are_one_change_of_each_attribute(tmp_path):
    one, other = events_for("title"), Events("DC2")
    other.ask("(title=*smith*)", preventing="title")
    ldif = as_ldif(planned(tmp_path, one, other))
    assert values(ldif) == {"title": (0, 33)}
    assert ldif.count("schemaUpdateNow: 1") == 1


def test_no_shell_script_is_written_and_it_says_what_is(tmp_path):
    assert "PowerShell" in as_script(planned(tmp_path, events_for("title")))


def test_the_instance_of_lightweight_directory_services_has_a_schema_and_a_port_of_its_own(tmp_path):
    ldif = as_ldif(planned(tmp_path, events_for("title"), root="CN={1B2C3D4E-0000-0000-0000-000000000001}"))
    assert "ldifde -i -f plan.ldf -s HOST:PORT -j ." in ldif
    assert "netdom" not in ldif


def remedies(*changes, definitions=(), entry="CN=Schema,CN=Configuration,DC=x"):
    backend = Backend(name="DC=x", suffixes=(), definitions=definitions, entry=entry)
    identity = ServerIdentity(family=Family.AD)
    configuration = IndexConfiguration(origin=origin(), identity=identity, backends=(backend,), whole=False)
    return add_indexes(IndexPlace(address_of("dc1"), backend, configuration, standard()), changes, None)


def test_without_the_old_value_there_is_no_ldif_and_powershell_reads_it_first():
    (remedy,) = remedies(Change("employeeNumber", BITS[1]))
    assert remedy.kind is RemedyKind.CONFIG
    assert "Set-Bits 'employeeNumber' 1" in remedy.text
    assert "([int]$a.searchFlags -bor $bits)" in remedy.text
    assert "the values that the commands print" in remedy.undo


def test_the_undo_clears_only_the_bits_that_were_added():
    known = IndexDefinition(attribute="title", types=frozenset({BITS[1]}), written="CN=Title,CN=X", search_flags=17)
    remedy, ldif = remedies(Change("title", BITS[2]), definitions=(known,))
    assert "Set-Bits 'title' 3" in remedy.text
    assert "Set-Bits 'title' 2" in remedy.undo
    assert "-band -bnot $bits" in remedy.undo
    assert "searchFlags: 19" in ldif.text


HOSTILE = ("x'; Remove-Item C:\\", "x$(calc)", 'x"', "x\ny", "x`n", "1x", "", "x)(cn=*")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_that_is_no_attribute_type_enters_no_command(name):
    (remedy,) = remedies(Change(name, BITS[1]))
    assert remedy.kind is RemedyKind.ADVICE
    assert not name or name not in remedy.text


@pytest.mark.parametrize("dn", ["CN=a\nchangetype: delete", "no dn", "CN=\u202ea,DC=x"])
def test_an_entry_that_is_no_dn_enters_no_ldif(dn):
    known = IndexDefinition(attribute="title", types=frozenset(), written=dn, search_flags=0)
    assert [one.kind for one in remedies(Change("title", BITS[1]), definitions=(known,))] == [RemedyKind.CONFIG]


def test_the_schema_of_the_tests_is_read_whole(tmp_path):
    facts = facts_of_forest(tmp_path, events_for("title"), schema=schema_ldif())
    (indexes,) = (one for one in facts if isinstance(one, IndexConfiguration))
    assert len(indexes.backends[0].definitions) == len(SCHEMA)
    assert indexes.whole


def test_an_index_of_a_confidential_attribute_is_said_to_change_nothing_of_who_may_search(tmp_path):
    found = findings(planned(tmp_path, events_for("title", "department")), "missing-index")
    risks = {one.observed["attribute"]: one.remedies[0].risk for one in found.values()}
    assert "department is confidential" in risks["department"]
    assert "confidential" not in risks["title"]
