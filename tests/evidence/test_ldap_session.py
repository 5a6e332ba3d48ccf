"""The session in which a server was read, as it stands behind the question that an input answers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.ldap_session import LdapSession, as_from_others, question_of, session_of

QUESTION = "LDAP searches for indexes at ldap://ds1:3890"
SESSIONS = [
    LdapSession(url="ldap://ds1:3890"),
    LdapSession(url="ldap://ds1:3890", dn="cn=Directory Manager"),
    LdapSession(
        url="ldaps://[2001:db8::1]:1636",
        dn="cn=a'b \\22,dc=x",
        password_file="/root/my pw",  # noqa: S106  a path
        ca_file="/ca x.pem",
    ),
    LdapSession(url="ldapi://%2Frun%2Fslapd%2Fldapi", mechanism="EXTERNAL"),
    LdapSession(url="ldap://ds1", mechanism="GSSAPI", start_tls="-ZZ", insecure=True),
]


@pytest.mark.parametrize("session", SESSIONS, ids=str)
def test_it_is_read_as_it_was_written(session: LdapSession) -> None:
    asked = session.after(QUESTION)
    assert session_of(asked) == session
    assert question_of(asked) == QUESTION


@pytest.mark.parametrize("session", SESSIONS, ids=str)
def test_from_others_it_names_no_local_file_and_trusts_no_certificate(session: LdapSession) -> None:
    found = session_of(as_from_others(session.after(QUESTION)))
    assert found == replace(session, password_file="", ca_file="", insecure=False)


@pytest.mark.parametrize(
    "asked",
    [
        "",
        "ss -tanoiep on app1",
        QUESTION,
        "x with -H ldap://ds1;reboot -x",
        "x with -H ldap://ds1 -x -w secret",
        "x with -H ldap://ds1 -Y PLAIN",
        "x with -H ldap://ds1 -D 'unclosed",
        "x with -H ldap://ds1 -D 'a\nb' -W",
        "x with -H http://ds1 -x",
        f"x with -H ldap://ds1 -D {'a' * 9000} -W",
    ],
)
def test_anything_else_is_none(asked: str) -> None:
    assert session_of(asked) is None


@given(st.text(max_size=60))
def test_no_text_of_a_manifest_is_an_error(text: str) -> None:
    session_of(f"x with -H {text}")
    session_of(text)
