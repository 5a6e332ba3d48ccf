"""Filters as domain controllers log them: the tree is that of the filter that was sent, as far as they kept it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.active_directory_filters import rewritten
from ldapdiag.evidence.filter_tree import AssertionKind, assertions, parse, parse_shape
from ldapdiag.evidence.filters import UNPARSEABLE, shape

CHAIN, ALL, ANY = (f"1.2.840.113556.1.4.{number}" for number in (1941, 803, 804))
FORMS = {
    " (objectClass=displaySpecifier) ": "(objectClass=displaySpecifier)",
    " (cn=a) ": "(cn=a)",
    "(cn=a)": "(cn=a)",
    " ( &  (a=b)  (c=d) ) ": "(&(a=b)(c=d))",
    " ( |  (a=b)  (c=d)  (e=f) ) ": "(|(a=b)(c=d)(e=f))",
    " ( !  (a=b) ) ": "(!(a=b))",
    " ( ! ( !  (name=sabi) ) ) ": "(!(!(name=sabi)))",
    " ( &  (a=b)  ( |  (c=d)  ( !  (e=f) ) ) ) ": "(&(a=b)(|(c=d)(!(e=f))))",
    " (UNDEFINED) ": "(?UNDEFINED=*)",
    " ( !  (UNDEFINED) ) ": "(!(?UNDEFINED=*))",
    " ( &  (objectCategory=person)  (UNDEFINED) ) ": "(&(objectCategory=person)(?UNDEFINED=*))",
    " (member<==>CN=svc,OU=x,DC=a) ": f"(member:{CHAIN}:=CN=svc,OU=x,DC=a)",
    " ( &  (objectClass=group)  (member<==>CN=x) ) ": f"(&(objectClass=group)(member:{CHAIN}:=CN=x))",
    " (userAccountControl&2) ": f"(userAccountControl:{ALL}:=2)",
    " (userAccountControl|66048) ": f"(userAccountControl:{ANY}:=66048)",
    " ( !  (userAccountControl&2) ) ": f"(!(userAccountControl:{ALL}:=2))",
    " ( &  (sAMAccountType=805306368)  ( !  (userAccountControl&2) ) ) ":
        f"(&(sAMAccountType=805306368)(!(userAccountControl:{ALL}:=2)))",
    " (groupType&-2147483648) ": f"(groupType:{ALL}:=-2147483648)",
    " (searchFlags&1) ": f"(searchFlags:{ALL}:=1)",
    " (aNR=krb) ": "(aNR=krb)",
    " ( &  (aNR=jo smith)  (objectClass=user) ) ": "(&(aNR=jo smith)(objectClass=user))",
    " (description=Al*m*o*n*d*) ": "(description=Al*m*o*n*d*)",
    " (cn=*) ": "(cn=*)",
    " (cn=*jo*) ": "(cn=*jo*)",
    " (uSNChanged>=100) ": "(uSNChanged>=100)",
    " (name>==) ": "(name>==)",
    " (cn~=jo) ": "(cn~=jo)",
    r" (cn=a\28b\29) ": r"(cn=a\28b\29)",
    " (mail=a&b|c) ": "(mail=a&b|c)",
    r" (objectGUID=\12\34\56) ": r"(objectGUID=\12\34\56)",
    " (distinguishedName=CN=a  b,DC=x) ": "(distinguishedName=CN=a  b,DC=x)",
    " ( &  ( |  (UNDEFINED)  (name=dbo) ( ! ( !  (name=sabi) ) )  (aNR=krb)  (description=Al*m*o*n*d*)  (UNDEFINED) )"
    "  (name>==) ) ":
        "(&(|(?UNDEFINED=*)(name=dbo)(!(!(name=sabi)))(aNR=krb)(description=Al*m*o*n*d*)(?UNDEFINED=*))(name>==))",
}  # fmt: skip


@pytest.mark.parametrize("logged", FORMS)
def test_a_filter_as_logged_becomes_that_of_rfc_4515(logged: str) -> None:
    found = rewritten(logged.encode()).decode()

    assert found == FORMS[logged]
    assert parse(found) is not None
    assert shape(found.encode()) != UNPARSEABLE
    assert parse_shape(shape(found.encode()).decode()) is not None


def test_a_filter_in_the_form_of_rfc_4515_stays() -> None:
    for text in FORMS.values():
        assert rewritten(text.encode()).decode() == text


def test_the_leaves_say_what_the_server_made_of_them() -> None:
    text = shape(rewritten(b" ( &  (UNDEFINED)  (member<==>CN=x)  (uac&2)  (cn=a) ) ")).decode()
    undefined, chain, bits, plain = assertions(parse_shape(text))  # type: ignore[arg-type]  # it is one

    assert [one.undefined for one in (undefined, chain, bits, plain)] == [True, False, False, False]
    assert (chain.kind, chain.rule, bits.rule) == (AssertionKind.EXTENSIBLE, CHAIN, ALL)
    assert plain.attribute == "cn"


@given(st.binary(max_size=60) | st.text(st.sampled_from("(&|! )a=<>UNDEFINED*"), max_size=40).map(str.encode))
def test_no_text_raises_and_twice_is_once(text: bytes) -> None:
    once = rewritten(text)

    assert rewritten(once) == once or shape(once) == UNPARSEABLE
