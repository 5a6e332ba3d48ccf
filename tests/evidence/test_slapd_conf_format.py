from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.formats import head_of, recognise
from ldapdiag.evidence.slapd_conf_format import FORMAT
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """# slapd.conf
#  a comment
  that goes on
include /etc/ldap/schema/core.schema
idletimeout\t900
Threads 16
database mdb
suffix "dc=x"
rootpw hunter2
syncrepl rid=001
  provider=ldap://a
  binddn="cn=re pl,dc=x" credentials=hunter2
updatedn "cn=up dater,dc=x"
"""


class TestReading:
    def test_reads_the_settings_and_the_accounts_that_replicate(self) -> None:
        (found,) = facts_of(TEXT)
        assert (found.idle_timeout_seconds, found.threads, found.complete) == (900, 16, True)
        assert found.replication_accounts == ("cn=re pl,dc=x", "cn=up dater,dc=x")
        assert (found.origin.lines, found.origin.not_understood) == (13, 0)
        assert "hunter2" not in repr(found)

    def test_reads_the_capture(self, captures: Path) -> None:
        found, *_ = facts_of((captures / "openldap" / "held-42" / "slapd.conf").read_bytes())
        assert (found.idle_timeout_seconds, found.threads, found.complete) == (None, 8, True)

    def test_is_not_complete_where_other_files_may_hold_settings(self) -> None:
        (found,) = facts_of("database mdb\nsuffix dc=x\ninclude /etc/ldap/more.conf\n")
        assert not found.complete
        assert "includes other files" in found.origin.notes[0]

    def test_shows_nothing_of_a_line_it_cannot_read(self) -> None:
        (found,) = facts_of(TEXT + "{SSHA}hunter2\n")
        assert found.origin.not_understood == 1
        assert "hunter2" not in repr(found)

    @pytest.mark.parametrize(
        "name", ["openldap-389tests-memberof-slapd.conf", "openldap-tests-slapd-nis-provider.conf"]
    )
    def test_reads_public_ones(self, corpus: Path, name: str) -> None:
        found, *_ = facts_of((corpus / "public" / "config" / name).read_bytes())
        assert (found.idle_timeout_seconds, found.origin.not_understood) == (None, 0)

    @pytest.mark.parametrize(
        "text", ["BASE dc=x\nURI ldap://a\nTLS_CACERT /x\n", "global\n  maxconn 5\ndefaults\n", "database\n", "{}"]
    )
    def test_is_not_any_other_configuration(self, text: str) -> None:
        assert recognise(head_of("x.conf", text.encode(), whole=True), (FORMAT,)) is None


@given(st.binary(max_size=300))
def test_no_bytes_crash_it(data: bytes) -> None:
    found, *_ = facts_of(data, form=FORMAT)
    assert found.origin.lines == found.origin.understood + found.origin.not_understood
