"""How a server was read stands behind what was asked, also in an anonymised capture, in other names."""

from __future__ import annotations

import io
import re
from functools import partial

from ldapdiag.evidence.ldap_session import LdapSession, session_of
from ldapdiag.sources.anonymising.anonymise import anonymise
from ldapdiag.sources.files.input import Input


def test_the_session_of_an_answer_keeps_its_form_and_loses_its_files() -> None:
    session = LdapSession(
        url="ldaps://ds1.example.com:1636", dn="uid=joe,dc=example,dc=com",
        password_file="/home/joe doe/pw", ca_file="/home/joe doe/ca.pem",  # noqa: S106  a path
    )  # fmt: skip
    folder = "ds1.example.com"
    source = partial(io.BytesIO, b"dn: cn=config\n\n")
    asked = session.after("LDAP searches for cn-config at ldaps://ds1.example.com:1636")
    answer = Input(path=f"{folder}/cn-config.ldif", folder=folder, label="", source=source, asked=asked)
    (one,) = anonymise([answer], secret=b"a secret of this test").pieces
    assert not re.search("joe|doe|example|ds1", one.asked)
    found = session_of(one.asked)
    assert found
    assert re.fullmatch(r"ldaps://[a-z0-9.]+:1636", found.url)
    assert re.fullmatch(r"uid=[a-z]+(,dc=[a-z]+){2}", found.dn)
    assert found.url in one.asked.partition(" with ")[0]
