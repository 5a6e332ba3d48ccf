"""Exports of events: no planted name is left of accounts, computers and searches, and they are read as before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.sources.anonymising.contents import anonymised_content
from ldapdiag.sources.anonymising.pseudonyms import Pseudonyms
from ldapdiag.sources.anonymising.text_anonymiser import TextAnonymiser
from ldapdiag.sources.gathering import gather
from log import windows_events

if TYPE_CHECKING:
    from pathlib import Path

PLANTED = ("acmedom", "jdoe", "smith", "dchost7", "acmecorp", "staffroom", "jsmith99", "payroll", "10.1.2.3")
EVENTS = [
    windows_events.event(
        number,
        " ( &  (samAccountName=jsmith99)  (memberOf=CN=Payroll,OU=Staffroom,DC=acmecorp,DC=example) ) ",
        server="DCHOST7.acmecorp.example",
        client="10.1.2.3:40001",
        base="OU=Staffroom,DC=acmecorp,DC=example",
        user=user,
    )
    for number, user in enumerate(("ACMEDOM\\jdoe-admin", "acmedom\\John Smith", "NT AUTHORITY\\SYSTEM"))
]
FORMS = {
    "XML": windows_events.as_xml(EVENTS, between="\n"),
    "XML with a root": windows_events.as_xml(EVENTS, root=True),
    "CSV": windows_events.as_csv(EVENTS, culture="ja-JP"),
    "CSV, semicolons": windows_events.as_csv(EVENTS, culture="de-DE", delimiter=";"),
    "CSV without a header": windows_events.as_csv(EVENTS, culture="de-DE").partition("\n")[2],
    "Event Viewer": windows_events.as_viewer(EVENTS, culture="de-DE"),
    "Winlogbeat": windows_events.as_json(EVENTS, windows_events._winlogbeat),
    "NXLog": windows_events.as_json(EVENTS, windows_events._nxlog),
    "evtx_dump": windows_events.as_json(EVENTS, windows_events._evtx_dump),
    "PowerShell 5": windows_events.as_json(EVENTS, windows_events._five, array=True),
    "PowerShell 7": windows_events.as_json(EVENTS, windows_events._seven),
}


def read(folder: Path, content: str) -> tuple[object, ...]:
    """Return what is counted of an export."""
    (folder / "events").write_text(content, newline="")
    (log,) = (fact for fact in gather([str(folder / "events")]).facts if isinstance(fact, AccessLog))
    segment = log.segment
    return (
        segment.lines,
        segment.misread,
        segment.first_time,
        segment.last_time,
        len(segment.shapes),
        segment.least_visited,
    )


@pytest.mark.parametrize("form", FORMS)
def test_no_name_is_left_and_as_much_is_read(form, tmp_path) -> None:
    text = FORMS[form]
    anonymiser = TextAnonymiser(Pseudonyms(b"a secret of this test"))
    changed = anonymised_content(text.encode(), "dc/events", anonymiser).decode()
    assert [name for name in PLANTED if name in changed.lower()] == []
    assert r"NT AUTHORITY\SYSTEM" in changed.replace("\\\\", "\\")
    assert read(tmp_path, changed) == read(tmp_path, text)
