"""The tables of storage on a page: volumes, settings and what is not known, with numbers to the right."""

from __future__ import annotations

import storage_documents
from ldapdiag.report.html.diagnosis import storage_tables


def test_each_server_has_its_volumes_and_settings() -> None:
    found = {one.caption: one for one in storage_tables(storage_documents.probed())}
    assert list(found) == ["Volumes of ldap", "Settings of ldap"]
    assert [row[0] for row in found["Volumes of ldap"].rows] == ["/srv/ldap", "/"]


def test_what_is_not_known_has_its_command() -> None:
    found = {one.caption: one for one in storage_tables(storage_documents.document(whole=False))}
    assert ["the free space of /srv/ldap", "df -PkT /srv/ldap/db > df.txt"] in found["Not known of ldap"].rows


def test_of_a_report_on_something_else_there_are_none() -> None:
    assert storage_tables({}) == []
