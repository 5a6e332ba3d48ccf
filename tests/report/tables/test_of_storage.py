"""The tables of storage on pages: what the document has, as text."""

from __future__ import annotations

from typing import Any

import storage_site
from ldapdiag.evidence.storage.probe import FileOperation, FileRate
from ldapdiag.report.html.values import PageTable, page_tables
from ldapdiag.report.tables.of_storage import of_pages
from storage_documents import document


def tables(document: dict[str, Any], *, beside_charts: bool = False) -> list[PageTable]:
    found = of_pages(document, beside_charts=beside_charts)
    return [table for one, tables in found for table in page_tables(one, tables)]


def test_a_volume_is_a_row_with_its_options_and_disks() -> None:
    first = tables(document())[0]
    assert first.caption == "Volumes of ldap"
    assert list(first.rows[0]) == [
        "/srv/ldap",
        "ext4 on /dev/mapper/vg-ldap",
        "database, transaction log, changelog",
        "nobarrier* data=ordered relatime commit=5 (* not shown by mount)",
        "sdb",
        "volatile assumed",
        "12 GiB of 80 GiB",
    ]


def test_a_measurement_is_a_row_with_its_percentiles() -> None:
    (measured,) = (one for one in tables(document(storage_site.probe())) if one.caption.startswith("Measured"))
    assert measured.caption == "Measured in /srv/ldap/db (ext4 at /srv/ldap)"
    rows = {row[0]: list(row[1:]) for row in measured.rows}
    assert rows["overwrite 4 KiB, fdatasync"] == ["120", "", "10.4 ms", "15.6 ms", "41.6 ms"]
    assert rows["commits of 80 at once, at least"] == ["1,386", "924", "20 ms", "30 ms", "80 ms"]


def test_beside_charts_only_what_they_do_not_show_is_listed() -> None:
    files = (FileRate(operation=FileOperation.CREATE, count=2000, seconds=0.5),)
    (measured,) = (
        one
        for one in tables(document(storage_site.probe(files=files)), beside_charts=True)
        if one.caption.startswith("Measured")
    )
    assert [list(row) for row in measured.rows] == [["create small files", "2,000", "4,000"]]


def test_without_storage_there_is_no_table() -> None:
    assert tables({}) == []


def test_every_table_has_a_cell_for_each_column() -> None:
    for one in tables(document(storage_site.probe(), whole=False)):
        assert {len(row) for row in one.rows} == {len(one.columns)}
