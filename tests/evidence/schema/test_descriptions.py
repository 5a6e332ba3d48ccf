from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.schema import AttributeType
from ldapdiag.evidence.schema.descriptions import LONGEST, attribute_type, expanded

SYNTAX = "1.3.6.1.4.1.1466.115.121.1.15"


class TestDescriptionsOfServers:
    """Each as that server wrote it."""

    def test_of_openldap_live(self) -> None:
        assert attribute_type(
            "( 0.9.2342.19200300.100.1.1 NAME ( 'uid' 'userid' ) DESC 'RFC4519: user identifier' EQUALITY "
            "caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15{256} )"
        ) == AttributeType(
            oid="0.9.2342.19200300.100.1.1",
            names=("uid", "userid"),
            equality="caseignorematch",
            substring="caseignoresubstringsmatch",
            syntax=SYNTAX,
        )

    def test_of_slapcat_with_its_macros(self) -> None:
        text = "{7}( OLcfgGlAt:12 NAME 'olcConcurrency' EQUALITY integerMatch SYNTAX OMsInteger SINGLE-VALUE )"
        macros = {
            "olcfg": "1.3.6.1.4.1.4203.1.12.2",
            "olcfgat": "OLcfg:3",
            "olcfgglat": "OLcfgAt:0",
            "omsyn": "1.3.6.1.4.1.1466.115.121.1",
            "omsinteger": "OMsyn:27",
        }
        found = attribute_type(text, macros)
        assert found == AttributeType(
            oid="1.3.6.1.4.1.4203.1.12.2.3.0.12",
            names=("olcConcurrency",),
            equality="integermatch",
            syntax="1.3.6.1.4.1.1466.115.121.1.27",
        )

    def test_of_389_ds_with_an_oid_that_is_a_name(self) -> None:
        found = attribute_type(
            "( nsServerID-oid NAME 'nsServerID' DESC 'Netscape defined attribute type' "
            "SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 X-ORIGIN 'Netscape' )"
        )
        assert found == AttributeType(oid="nsServerID-oid", names=("nsServerID",), syntax=SYNTAX)

    def test_of_389_ds_with_parentheses_in_its_words(self) -> None:
        found = attribute_type(
            "( 1.3.6.1.1.1.1.23 NAME 'bootParameter' DESC 'rpc.bootparamd parameter (see (RFC 2307))' EQUALITY "
            "caseExactIA5Match SYNTAX 1.3.6.1.4.1.1466.115.121.1.26 X-ORIGIN ( 'RFC 2307' 'user defined' ) )"
        )
        assert found is not None
        assert (found.names, found.equality) == (("bootParameter",), "caseexactia5match")

    def test_of_openldap_s_memberof_with_a_quoted_syntax(self) -> None:
        found = attribute_type(
            "( 1.2.840.113556.1.2.102 NAME 'memberOf' DESC 'Group that the entry belongs to' SYNTAX "
            "'1.3.6.1.4.1.1466.115.121.1.12' EQUALITY distinguishedNameMatch USAGE dSAOperation NO-USER-MODIFICATION "
            "X-ORIGIN 'iPlanet Delegated Administrator' )"
        )
        assert found is not None
        assert (found.syntax, found.equality, found.usage) == (
            "1.3.6.1.4.1.1466.115.121.1.12",
            "distinguishednamematch",
            "dSAOperation",
        )


@pytest.mark.parametrize(
    ("text", "names", "oid"),
    [
        ("(1.2 NAME('a''b')SUP name)", ("a", "b"), "1.2"),
        ("( 1.2 NAME 'a' DESC 'the owner's name' )", ("a",), "1.2"),
        ("( 1.2 NAME 'a' DESC '' )", ("a",), "1.2"),
        ("( NAME 'a' SUP name )", ("a",), "a"),
        ("( '1.2' name a )", ("a",), "1.2"),
        ("( 1.2 )", (), "1.2"),
        ("( 1.2 NAME ( ) )", (), "1.2"),
        ("( 1.2 NAME ( 'a' 'b;c' '-d' 'e\n' ) )", ("a",), "1.2"),
        ("( 1.2 NAME 'a' ) and more", ("a",), "1.2"),
        ("( 1.2\tNAME\t'a'\n)", ("a",), "1.2"),
    ],
)
def test_reads_what_servers_accept(text: str, names: tuple[str, ...], oid: str) -> None:
    found = attribute_type(text)
    assert found is not None
    assert (found.names, found.oid) == (names, oid)


@pytest.mark.parametrize(
    "text",
    ["", "(", ")", "()", "( )", "cn", "( NAME )", "( 'a b' )", "( 1.2 NAME 'a'", "( 1.2 ( 1.3 ) )", "x ( 1.2 )"],
)
def test_is_none_of_anything_else(text: str) -> None:
    assert attribute_type(text) is None


names = st.from_regex(r"[A-Za-z][A-Za-z0-9-]{0,20}", fullmatch=True)
rules = st.one_of(st.just(""), names.map(str.lower), st.from_regex(r"[1-9](\.[0-9]{1,4}){1,6}", fullmatch=True))
types = st.builds(
    AttributeType,
    oid=st.from_regex(r"[1-9](\.[0-9]{1,4}){1,9}", fullmatch=True),
    names=st.lists(names, min_size=1, max_size=4, unique=True).map(tuple),
    sup=rules,
    equality=rules,
    ordering=rules,
    substring=rules,
    syntax=rules,
    usage=st.sampled_from(["", "userApplications", "directoryOperation", "dSAOperation"]),
)
words = st.text(st.characters(codec="utf-8", exclude_characters="'"), max_size=30)


@st.composite
def descriptions(draw: st.DrawFn) -> tuple[AttributeType, str]:
    """Draw an attribute type, and a description of it with its parts in any order, case and spacing."""
    one = draw(types)
    gap = draw(st.sampled_from([" ", "  ", "\t", "\n "]))
    quote = draw(st.sampled_from(["{}", "'{}'"]))
    listed = [f"'{name}'" for name in one.names]
    parts = [f"NAME {listed[0] if len(listed) == 1 else f'( {gap.join(listed)} )'}"]
    result = {"SUP": one.sup, "EQUALITY": one.equality, "ORDERING": one.ordering, "SUBSTR": one.substring}
    parts += [f"{keyword}{gap}{quote.format(rule)}" for keyword, rule in result.items() if rule]
    parts += [f"SYNTAX {quote.format(one.syntax + draw(st.sampled_from(['', '{64}'])))}"] if one.syntax else []
    parts += [f"USAGE {one.usage}"] if one.usage else []
    parts += draw(st.lists(st.sampled_from(["SINGLE-VALUE", "COLLECTIVE", "OBSOLETE", "NO-USER-MODIFICATION"])))
    parts += [f"DESC '{draw(words)}'", f"X-ORIGIN ( '{draw(words)}' '{draw(words)}' )"]
    parts = [draw(st.sampled_from([part, part[0].lower() + part[1:]])) for part in draw(st.permutations(parts))]
    return one, f"{draw(st.sampled_from(['', '{3}', ' {12} ']))}({gap}{one.oid}{gap}{gap.join(parts)}{gap})"


@given(descriptions())
def test_a_description_means_its_type_however_it_is_written(described: tuple[AttributeType, str]) -> None:
    one, text = described
    assert attribute_type(text) == one


@given(descriptions(), st.data())
def test_a_description_that_was_cut_is_none(described: tuple[AttributeType, str], data: st.DataObject) -> None:
    _, text = described
    assert attribute_type(text[: data.draw(st.integers(0, len(text) - 1))]) is None


@given(st.text(st.sampled_from("()'${} \\:.;NAMEDSCXa1-"), max_size=200) | st.text(max_size=200))
def test_nothing_crashes_it_and_what_it_returns_is_a_name(text: str) -> None:
    found = attribute_type(text)
    for word in (found.oid, found.sup, found.equality, found.syntax, *found.names) if found else ():
        assert not set(word) & set(" '\"()$;\n")


@pytest.mark.parametrize("piece", ["'", "'a", "(", "( ", "$", " ", "NAME ", "'a' ", "{1}"])
def test_takes_no_long_over_hostile_ones(piece: str) -> None:
    text = ("( 1.2 NAME ( " + piece * LONGEST)[:LONGEST]
    before = time.process_time()
    attribute_type(text)
    attribute_type(text[:-1] + ")")
    assert time.process_time() - before < 2


def test_a_macro_of_itself_ends() -> None:
    assert expanded("a:1", {"a": "a:2"}).startswith("a:2")
    assert attribute_type("( a:1 NAME 'x' )", {"a": "b", "b": "a"}) is not None
    assert attribute_type("( a:1 NAME 'x' )", {"a": "1" * 300}) is None
