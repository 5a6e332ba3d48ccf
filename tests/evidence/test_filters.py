"""The shape of a filter: the filter without its values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.filters import LONGEST_CUT_SHAPE, LONGEST_SHAPE, SHAPES, shape

SHAPES_OF = {
    b"(uid=joe)": b"(uid=?)",
    b"(UID=joe)": b"(UID=?)",
    b"(cn=*jo*)": b"(cn=*?*)",
    b"(cn=a*b)": b"(cn=?*?)",
    b"(cn=a*b*c*)": b"(cn=?*?*?*)",
    b"(cn=*)": b"(cn=*)",
    b"(cn=)": b"(cn=?)",
    b"(x>=5)": b"(x>=?)",
    b"(x<=5)": b"(x<=?)",
    b"(cn~=jo)": b"(cn~=?)",
    b"(cn;lang-fr=jo)": b"(cn;lang-fr=?)",
    b"(cn:2.5.13.5:=Joe)": b"(cn:2.5.13.5:=?)",
    b"(ou:dn:=people)": b"(ou:dn:=?)",
    b"(:1.2.3:=x)": b"(:1.2.3:=?)",
    b"(?employeeNumber>=10)": b"(?employeeNumber>=?)",
    b"(member=uid=joe,ou=people,dc=x)": b"(member=?)",
    b"(cn=*a=b*)": b"(cn=*?*)",
    b"(objectClass=person)": b"(objectClass=person)",
    b"(objectclass=2.5.6.6)": b"(objectclass=2.5.6.6)",
    b"(objectClass=*)": b"(objectClass=*)",
    b"(objectClass=per*)": b"(objectClass=?*)",
    b"(objectClass=two words)": b"(objectClass=?)",
    b"(objectClass=" + b"a" * 65 + b")": b"(objectClass=?)",
    b"(myobjectClass=person)": b"(myobjectClass=?)",
    b"(objectClass>=person)": b"(objectClass>=?)",
    b"objectclass=vlvsearch": b"(objectclass=vlvsearch)",
    b"(&(objectClass=person)(uid=joe))": b"(&(objectClass=person)(uid=?))",
    b"(&(cn=a)(cn=b))": b"(&(cn=?)(cn=?))",
    b"(|(uid=a)(uid=b)(mail=c))": b"(|(uid=?)(mail=?))",
    b"(|(&(a=1)(b=2))(&(a=3)(b=4)))": b"(|(&(a=?)(b=?)))",
    b"(!(uid=joe))": b"(!(uid=?))",
    b"(&)": b"(&)",
    b"(|)": b"(|)",
    b" ( &  (objectCategory=x) (|  (a=b) (a=c) ) ) ": b"(&(objectCategory=?)(|(a=?)))",
    rb"(cn=a\28b\29\2a\5c)": b"(cn=?)",
    rb"(cn=\zz\)": b"(cn=?)",
    b'(cn=he said "x" notes=A and etime=99)': b"(cn=?)",
    b"(cn=\xff\x00\x1b[31m)": b"(cn=?)",
    b"(=1)": b"(=?)",
}

NO_FILTERS = (
    b"", b"(", b")", b"()", b"(null)", b"(a=b", b"(a=b))", b"(a=(b))", b"(!(a=b)(c=d))", b"(!)", b"((a=b))",
    b"(a=b)(c=d)", b"(&(a=b)", b"(&a=b)", b"(a*b=c)", b"...",
)  # fmt: skip

CUT = {
    b"(|(uid=a)(uid=b)(ui...": b"(|(uid=?)...",
    b"(|(uid=a)(uid=b)(uid=...": b"(|(uid=?)...",
    b"(|(uid=a)(uid=bcd...": b"(|(uid=?)...",
    b"(|(uid=a)(cn=bcd...": b"(|(uid=?)(cn=?...",
    b"(displayName=LLLLLLL...": b"(displayName=?...",
    b"(displayName=*LLLLLLL...": b"(displayName=*?...",
    b"(&(objectClass=per...": b"(&(objectClass=?...",
    b"(&(a=b)(!(c=d))(|(e=f...": b"(&(a=?)(!(c=?))(|(e=?...",
    b"(a=b)...": b"(a=?)...",
    b"(&(a=b)))...": b"(unparseable)",
    b"((a=b)...": b"(unparseable)",
}


@pytest.mark.parametrize("text", SHAPES_OF)
def test_a_shape_has_no_values(text: bytes) -> None:
    assert shape(text) == SHAPES_OF[text]


@pytest.mark.parametrize("text", SHAPES_OF)
def test_a_shape_is_its_own_shape(text: bytes) -> None:
    assert shape(shape(text)) == shape(text)


@pytest.mark.parametrize("text", NO_FILTERS)
def test_what_is_no_filter_has_no_shape(text: bytes) -> None:
    assert shape(text) == b"(unparseable)"


@pytest.mark.parametrize("text", CUT)
def test_a_filter_that_the_server_cut_keeps_what_is_certain(text: bytes) -> None:
    assert shape(text) == CUT[text]


def test_a_value_that_ends_in_dots_is_not_cut() -> None:
    assert shape(b"(cn=and so on...)") == b"(cn=?)"


@pytest.mark.parametrize("values", [1, 2, 100, 10_000])
def test_a_list_of_values_is_one_shape_however_long(values: int) -> None:
    listed = b"".join(b"(uid=user%d)" % number for number in range(values))
    assert shape(b"(|" + listed + b")") == b"(|(uid=?))"


def test_cut_lists_of_values_are_one_shape_wherever_they_are_cut() -> None:
    listed = b"(|" + b"".join(b"(uid=user%d)" % number for number in range(100))
    assert {shape(listed[:end] + b"...") for end in range(20, 1000)} == {b"(|(uid=?)..."}


HOSTILE = {
    "deep": b"(!" * 100_000 + b"(a=b)" + b")" * 100_000,
    "never closed": b"(&" * 300_000,
    "never opened": b")" * 1_000_000,
    "parentheses": b"(" * 1_000_000,
    "asterisks": b"(a=" + b"*" * 1_000_000 + b")",
    "equals": b"(a" + b"=*" * 500_000 + b")",
    "wide": b"(&" + b"(a=b)" * 200_000 + b")",
    "object classes": b"(&" + b"(objectClass=person)" * 50_000 + b")",
    "an OID": b"(objectClass=" + b"1." * 500_000 + b")",
    "blanks": b"(" + b" " * 1_000_000,
    "a long name": b"(" + b"a" * 1_000_000 + b"=b)",
    "cut": b"(|" * 300_000 + b"...",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_filter_has_a_short_shape(text: bytes) -> None:
    """A reader that takes quadratic time over one of these does not come back."""
    assert len(shape(text)) <= LONGEST_SHAPE + len("...")


@given(st.binary(max_size=200) | st.text("()&|!=*<>~:ab. \\", max_size=60).map(str.encode))
def test_any_bytes_have_a_shape(text: bytes) -> None:
    result = shape(text)
    assert result.startswith(b"(")
    assert len(result) <= LONGEST_SHAPE + len("...")
    assert len(SHAPES) <= 4096


attributes = st.sampled_from([b"uid", b"cn", b"objectClass", b"cn;lang-fr", b"1.2.3", b"?x"])
values = st.binary(min_size=1, max_size=8).map(lambda value: value.translate(None, b"()*"))
kinds = st.sampled_from([b"=", b">=", b"<=", b"~=", b":caseExactMatch:="])


def sets(members: st.SearchStrategy[tuple[bytes, bytes]]) -> st.SearchStrategy[tuple[bytes, bytes]]:
    """Return ANDs and NOTs of pairs: a filter, and the same with other values."""
    ands = st.lists(members, min_size=1, max_size=4).map(
        lambda pairs: tuple(b"(&" + b"".join(side) + b")" for side in zip(*pairs, strict=True))
    )
    return ands | members.map(lambda pair: (b"(!" + pair[0] + b")", b"(!" + pair[1] + b")"))


leaves = st.tuples(attributes.filter(lambda name: name != b"objectClass"), kinds, values, values).map(
    lambda parts: (b"(%b%b%b)" % parts[:3], b"(%b%b%b)" % (parts[0], parts[1], parts[3]))
)


@given(st.recursive(leaves, sets, max_leaves=8))
def test_filters_that_differ_in_values_alone_have_one_shape(pair: tuple[bytes, bytes]) -> None:
    one, other = pair
    assert shape(one) == shape(other)
    assert shape(one) != b"(unparseable)"


@given(st.recursive(leaves, sets, max_leaves=8), st.data())
def test_wherever_the_server_truncates_the_shape_is_kept(pair: tuple[bytes, bytes], data: st.DataObject) -> None:
    text = pair[0]
    end = data.draw(st.integers(1, len(text)))
    result = shape(text[:end] + b"...")
    assert result.endswith(b"...")
    assert result != b"(unparseable)"
    assert len(result) <= LONGEST_CUT_SHAPE + len("...")
