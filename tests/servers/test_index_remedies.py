"""Index remedies of all families: the example search, the expected log line, what is never dropped, the grammar."""

from __future__ import annotations

import re
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts import address_of, origin
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.filter_tree import AssertionKind, parse
from ldapdiag.evidence.indexes import Backend, IndexConfiguration, IndexDefinition
from ldapdiag.evidence.schema.standard import standard
from ldapdiag.remedy import RemedyKind, is_attribute_description, is_attribute_type
from ldapdiag.servers.commands.server_address import ServerAddress
from ldapdiag.servers.index_remedies import (
    add_indexes,
    build_indexes,
    drop_indexes,
    expected_in_log,
    ldapsearch_command,
)
from ldapdiag.servers.indexes.candidates import Change, IndexPlace
from ldapdiag.servers.indexes.example_search import search_command
from ldapdiag.servers.indexes.index_answers import COST, FUNCTIONS
from ldapdiag.servers.indexes.index_types import index_type
from ldapdiag.servers.indexes.search_advice import rewrite_filter
from ldapdiag.servers.products import FOLDERS, product_of

INDEXED = [one for one in map(product_of, FOLDERS) if one and one.index_remedies and not one.without_script]
"""Those whose indexes a shell script changes; Active Directory is in servers/active_directory."""
EACH = pytest.mark.parametrize("product", INDEXED, ids=[one.family.value for one in INDEXED])
TOLD = {
    Family.DS389: "notes=A",
    Family.DSEE: "notes=U",
    Family.OPENLDAP: "etime",
    Family.OPENDJ: "unindexed",
    Family.PING: "unindexed=true",
}
"""What a log has of a search without an index; slapd's has nothing but the time."""

DS1 = address_of()


def configuration(family, version=(), definitions=()):
    backend = Backend(name="userRoot", suffixes=("dc=x",), definitions=definitions)
    identity = ServerIdentity(family=family, version=version)
    return IndexConfiguration(origin=origin(), identity=identity, backends=(backend,))


@EACH
def test_the_example_search_uses_the_tool_of_the_family_and_names_the_log_line(product):
    tool = ldapsearch_command(DS1, configuration(product.family))
    command = search_command(tool, "ou=?,dc=x", "sub", parse("(cn=joe)"))
    words = shlex.split(command)
    assert words[0] == "ldapsearch"
    assert words[-6:] == ["-b", "dc=x", "-s", "sub", "(cn=123456789)", "1.1"]
    assert words[words.index("-H") + 1] == "ldap://ds1", "no local socket is in the evidence"
    assert ("cn=Directory Manager" in words) == (product.family is not Family.OPENLDAP)
    assert TOLD[product.family] in expected_in_log(product.family)


def test_the_example_of_an_approximate_match_is_a_word():
    """Digits have no phonetic key, so slapd would scan."""
    assert "'(cn~=example)'" in search_command("ldapsearch", "dc=x", "sub", parse("(cn~=joe)"))


def test_the_manager_is_the_one_of_the_version():
    assert "-D uid=admin " in ldapsearch_command(DS1, configuration(Family.OPENDJ, (7, 1)))
    assert "Directory Manager" in ldapsearch_command(DS1, configuration(Family.OPENDJ, (4, 10)))


@EACH
@pytest.mark.parametrize("server", ["a b", "$(id)", "", "x;y"])
def test_the_address_of_a_server_whose_name_fits_no_command_is_a_variable(product, server):
    address = ServerAddress(name=server, host=server)
    tool = ldapsearch_command(address, configuration(product.family))
    assert '-H "${LDAP_URI:?}"' in tool
    assert not server or server not in tool


@EACH
def test_what_is_never_dropped_is_not(product):
    word = index_type(product.family, AssertionKind.EQUALITY)
    schema = standard()
    assert product.never_dropped >= {"objectclass", "entryuuid"}
    for name in (*product.never_dropped, "2.5.4.0"):
        assert name == "2.5.4.0" or schema.primary(name).lower() == name, "so it is asked for"
        definition = IndexDefinition(attribute=name.upper(), types=frozenset({word}))
        indexes = configuration(product.family, definitions=(definition,))
        for asked in (name, name.upper()):
            (remedy,) = drop_indexes(IndexPlace(DS1, indexes.backends[0], indexes, schema), [Change(asked, word)])
            assert remedy.kind is RemedyKind.ADVICE, name
    plain = IndexDefinition(attribute="title", types=frozenset({word}))
    indexes = configuration(product.family, definitions=(plain,))
    told_of_slapd = Backend(name="{1}mdb", suffixes=("dc=x",), definitions=(plain,))
    place = told_of_slapd if product.family is Family.OPENLDAP else indexes.backends[0]
    (remedy,) = drop_indexes(IndexPlace(DS1, place, indexes, schema), [Change("title", word)])
    assert remedy.kind is RemedyKind.SHELL, "others are"


@EACH
def test_the_risk_announces_what_the_check_of_the_answers_costs(product):
    word = index_type(product.family, AssertionKind.EQUALITY)
    plain = IndexDefinition(attribute="title", types=frozenset({word}))
    name = "{1}mdb" if product.family is Family.OPENLDAP else "userRoot"
    backend = Backend(name=name, suffixes=("dc=x",), definitions=(plain,))
    indexes, new = configuration(product.family), [Change("description", word)]
    added = add_indexes(IndexPlace(DS1, backend, indexes, standard()), new, None)
    built = build_indexes(IndexPlace(DS1, backend, indexes, standard()), ["title"])
    dropped = drop_indexes(IndexPlace(DS1, backend, indexes, standard()), [Change("title", word)])
    texts = [one for one in (*added, *built, *dropped) if one.kind is RemedyKind.SHELL]
    checked = [one for one in texts if "\ncheck_answers " in one.text]
    assert [one for one in texts if one.risk.endswith(COST)] == checked
    assert checked or product.family in {Family.OPENDJ, Family.PING}
    (seconds,) = re.findall("search -l ([0-9]+) -b", FUNCTIONS)
    (most,) = re.findall("most = ([0-9]+)", FUNCTIONS)
    assert f" {seconds} s " in COST
    assert f" {most} of them" in COST


DESCR, NUMERIC = re.compile("[A-Za-z][A-Za-z0-9-]*"), re.compile("[0-9]+(?:[.][0-9]+)+")


@given(st.text(max_size=12) | st.from_regex(r"\A[a-zA-Z0-9.;_-]{0,12}\Z") | st.text("٠١٢.1", max_size=6))
def test_an_attribute_type_matches_the_grammar(text):
    """RFC 4512, 1.4: keystring or numericoid, whose numbers begin with no 0 but are it."""
    dotted = NUMERIC.fullmatch(text) and all(one == "0" or not one.startswith("0") for one in text.split("."))
    assert is_attribute_type(text) == bool(DESCR.fullmatch(text) or dotted)
    name, *options = text.split(";")
    fit = is_attribute_type(name) and all(re.fullmatch("[A-Za-z0-9-]+", one) for one in options)
    assert is_attribute_description(text) == fit


@pytest.mark.parametrize("tail", ["\n", "\r", " ", "\x00", "'", "$(id)", "\u202e", "ä"])
def test_nothing_follows_an_attribute_type(tail):
    assert not is_attribute_type(f"cn{tail}")
    assert not is_attribute_description(f"cn;lang-fr{tail}")


def test_names_have_an_end():
    assert is_attribute_type("a" * 128)
    assert not is_attribute_type("a" * 129)
    assert not is_attribute_type("1." * 100 + "1")
    assert not is_attribute_description("cn" + ";x" * 200)


@pytest.mark.parametrize(
    ("part", "negated", "said"),
    [
        ("(!(cn=?))", True, "accountStatus"),
        ("(objectclass=*)", False, "paged results"),
        ("(cn:caseExactMatch:=?)", False, "an equality rule of its own"),
        ("(cn=*?)", False, "an equality rule of its own"),
    ],
)
def test_the_advice_depends_on_the_part_of_the_filter(part, negated, said):
    assert said in rewrite_filter("app", part, negated=negated).text
