from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_directory import element, entry
from ldapdiag.evidence.document import Document, lines_of
from ldapdiag.evidence.ldif import entries
from ldapdiag.sources.live.ldap.entries import EntryBuffer, MalformedMessage, operation_of, size_of, without_credentials

ALL = frozenset({"*"})
NUMBER = element(2, b"\x05")


def ldif(dn, attributes, wanted=ALL, comment=""):
    message = entry(NUMBER, dn, attributes)
    buffer = EntryBuffer()
    buffer.add(message, operation_of(message)[1], wanted)
    buffer.commit()
    return buffer.ldif(comment)


def read(text):
    document = Document(path="h/a.ldif", source=lines_of([text]))
    found = list(entries(document))
    assert document.missed == 0
    return found, document


class TestWriting:
    @given(dn=st.text(), values=st.lists(st.text(), min_size=1))
    def test_what_is_written_is_read_again(self, dn, values):
        (found,), _ = read(ldif(dn, {"description": values}))
        assert found.dn == dn
        assert found.values("description") == tuple(values)

    def test_bytes_that_are_no_text_are_kept(self):
        (found,), _ = read(ldif("cn=a", {"value": [b"\xff\x00", b"\n"]}))
        assert found.values("value") == ("\\xff\0", "\n")

    @given(comment=st.text())
    def test_a_comment_stays_on_its_line(self, comment):
        found, document = read(ldif("cn=a", {"cn": ["a"]}, comment=f"asked by ldapi as {comment}"))
        assert [one.dn for one in found] == ["cn=a"]
        assert document.asked_by.startswith("ldapi as ")

    def test_an_entry_asked_for_twice_is_one(self):
        buffer = EntryBuffer()
        for dn, attributes in (("cn=monitor", {"threads": ["16"]}), ("cn=Monitor", {"connection": ["a", "b"]})):
            message = entry(NUMBER, dn, attributes)
            buffer.add(message, operation_of(message)[1], ALL)
            buffer.commit()
        assert buffer.ldif() == b"dn: cn=monitor\nthreads: 16\nconnection: a\nconnection: b\n\n"

    def test_what_was_not_settled_is_not_written(self):
        buffer = EntryBuffer()
        message = entry(NUMBER, "cn=a", {"cn": ["a"]})
        buffer.add(message, operation_of(message)[1], ALL)
        buffer.discard()
        assert (buffer.commit(), buffer.ldif()) == (0, b"")


class TestWithholding:
    def test_what_was_not_asked_for_is_not_kept(self):
        text = ldif("cn=config", {"cn": ["config"], "nsslapd-localhost": ["ds1"]}, frozenset({"cn"}))
        assert text == b"dn: cn=config\ncn: config\n\n"

    @pytest.mark.parametrize("name", ["userPassword", "nsslapd-rootpw", "olcRootPW", "userPassword;x-old"])
    def test_a_password_is_never_kept_even_if_all_is_asked_for(self, name):
        assert ldif("cn=config", {"cn": ["config"], name: ["s3cret"]}) == b"dn: cn=config\ncn: config\n\n"

    def test_a_name_that_is_none_is_not_kept(self):
        assert ldif("cn=a", {"cn": ["a"], "dn: x\nuserPassword": ["y"]}) == b"dn: cn=a\ncn: a\n\n"

    @pytest.mark.parametrize(
        ("value", "kept"),
        [
            ('rid=1 credentials=s3cret binddn="cn=r,o=x" retry="5 +"', 'binddn="cn=r,o=x"'),
            ("rid=1 binddn=cn=r credentials=s3cret", 'binddn="cn=r"'),
            ('rid=1 credentials="a binddn=s3cret" binddn=cn=r', 'binddn="cn=r"'),
            ('rid=1 credentials="a binddn=s3cret"', ""),
            ("rid=1 bindmethod=sasl", ""),
        ],
    )
    def test_of_syncrepl_only_the_account_is_kept(self, value, kept):
        assert without_credentials(value.encode()).decode() == kept

    @pytest.mark.parametrize("name", ["olcAccess", "olcAuthzRegexp", "olcAuthIDRewrite;x-1"])
    def test_of_rules_on_accounts_only_urls_are_kept_without_their_values(self, name):
        rule = '{0}to * by dn="cn=s3cret" read by set="[ldap:///dc=x??sub?(&(o=s3cret)(uid=] + user/uid + [))]" read'
        text = ldif("cn=config", {"cn": ["config"], name: [rule, "{1}to dn=s3cret by * none"]})
        assert text.decode() == f"dn: cn=config\ncn: config\n{name}: ldap:///dc=x??sub?(o=)(uid=)\n{name}:\n\n"


class TestHostileBytes:
    @given(st.binary(max_size=200))
    def test_never_raise_anything_else(self, noise):
        for message in (noise, b"\x30" + noise, entry(NUMBER, "cn=a", {"cn": ["a"]})[:20] + noise):
            try:
                _, at = operation_of(message)
                EntryBuffer().add(message, at, ALL)
            except MalformedMessage:
                continue

    def test_of_a_size_without_end_are_refused(self):
        for length in (b"\x80", b"\x85\x01\x00\x00\x00\x00", b"\xff"):
            with pytest.raises(MalformedMessage):
                size_of(b"\x30" + length + b"\0" * 8)

    def test_an_entry_cut_anywhere_is_damaged_or_less(self):
        message = entry(NUMBER, "cn=a", {"cn": ["a", "b"]})
        for end in range(len(message)):
            with pytest.raises(MalformedMessage):
                EntryBuffer().add(message[:end], operation_of(message[:end])[1], ALL)
