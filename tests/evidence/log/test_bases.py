"""Classes of base DNs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.log.bases import LONGEST_BASE, base_class

BASE, ONE, SUB = range(3)

CLASSES = {
    (b"", BASE): b"",
    (b"dc=example,dc=com", SUB): b"dc=example,dc=com",
    (b"uid=joe,ou=people,dc=x", BASE): b"uid=?,ou=people,dc=x",
    (b"uid=joe,ou=people,dc=x", SUB): b"uid=?,ou=people,dc=x",
    (b"UID=joe,OU=people,DC=x", SUB): b"UID=?,OU=people,DC=x",
    (b"uid=joe, ou=people, dc=x", SUB): b"uid=?,ou=people,dc=x",
    (b"cn=staff,ou=groups,dc=x", BASE): b"cn=?,ou=groups,dc=x",
    (b"cn=staff,ou=groups,dc=x", SUB): b"cn=staff,ou=groups,dc=x",
    (b"cn=config", BASE): b"cn=config",
    (b"cn=uid,cn=index,cn=config", BASE): b"cn=uid,cn=index,cn=config",
    (b"cn=connections,cn=Monitor", BASE): b"cn=connections,cn=Monitor",
    (b"cn=x,CN=Schema", BASE): b"cn=x,CN=Schema",
    (b"ou=mail,uid=joe,dc=x", ONE): b"ou=mail,uid=?,dc=x",
    (b"uid=joe+cn=Joe,ou=people,dc=x", BASE): b"uid=?+cn=?,ou=people,dc=x",
    (b"cn=Joe+uid=joe,ou=people,dc=x", SUB): b"cn=Joe+uid=?,ou=people,dc=x",
    (rb"uid=a\,b,ou=people,dc=x", BASE): b"uid=?,ou=people,dc=x",
    (rb"cn=a\2cb,ou=people,dc=x", BASE): b"cn=?,ou=people,dc=x",
    (rb"ou=a\, b,dc=x", SUB): rb"ou=a\, b,dc=x",
    (b'uid="a,b",ou=people,dc=x', BASE): b"uid=?,ou=people,dc=x",
    (b'cn="dc=a,dc=b",cn=mapping tree,cn=config', BASE): b'cn="dc=a,dc=b",cn=mapping tree,cn=config',
    (b"ou=a=b,dc=x", SUB): b"ou=a=b,dc=x",
    (b"EXAMPLE\\joe", BASE): b"?",
    (b"joe@example.com", BASE): b"?",
    (b'"' * 10, BASE): b"?",
}


@pytest.mark.parametrize(("base", "scope"), CLASSES)
def test_a_class_has_no_names_of_entries(base: bytes, scope: int) -> None:
    assert base_class(base, scope) == CLASSES[base, scope]


HOSTILE = (
    b"uid=" + b"a" * 1_000_000, b"uid=a," * 200_000, b'"' * 1_000_000, b'ou="' * 250_000, b"ou=" + b'\\"' * 500_000,
    b"," * 1_000_000, b"=" * 1_000_000, b"a" * 1_000_000, b'cn="a\\' * 200_000, b" " * 1_000_000,
)  # fmt: skip


@pytest.mark.parametrize("base", HOSTILE, ids=lambda base: repr(base[:8]))
def test_a_hostile_base_has_a_short_class(base: bytes) -> None:
    """A reader that takes quadratic time over one of these does not come back."""
    assert len(base_class(base, SUB)) <= LONGEST_BASE


@given(st.binary(max_size=100) | st.text('a=,+\\" ', max_size=40).map(str.encode), st.integers(0, 3))
def test_any_bytes_have_a_class(base: bytes, scope: int) -> None:
    assert len(base_class(base, scope)) <= LONGEST_BASE


@given(st.binary(min_size=1, max_size=20).map(lambda value: value.translate(None, b',+="\\ \t\n\r\v\f')))
def test_entries_of_one_kind_in_one_place_are_one_class(name: bytes) -> None:
    assert base_class(b"uid=a%b,ou=people,dc=x" % name, BASE) == b"uid=?,ou=people,dc=x"
