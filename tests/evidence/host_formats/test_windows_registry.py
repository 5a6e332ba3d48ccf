"""Thresholds of event 1644 in exports of the registry; both forms were written by hand after KB3060643 and reg(1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from command import ldapdiag
from ldapdiag.evidence.host_formats import windows_registry
from log.windows_events import as_xml, event
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path

SERVICES = r"HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services"
EXPORT = rf"""Windows Registry Editor Version 5.00

[{SERVICES}\NTDS\Diagnostics]
"15 Field Engineering"=dword:00000005
"16 LDAP Interface Events"=dword:00000002

[{SERVICES}\NTDS\Parameters]
"DSA Working Directory"="C:\\Windows\\NTDS"
"Expensive Search Results Threshold"=dword:00000001
"Search Time Threshold (msecs)"=dword:00000064
"""
QUERY = rf"""
{SERVICES}\NTDS\Diagnostics
    15 Field Engineering    REG_DWORD    0x5

{SERVICES}\NTDS\Parameters
    DSA Working Directory    REG_SZ    C:\Windows\NTDS
    Expensive Search Results Threshold    REG_DWORD    0x1
    Search Time Threshold (msecs)    REG_DWORD    0x64

{SERVICES}\Tcpip\Parameters
    Inefficient Search Results Threshold    REG_DWORD    0x7
"""


@pytest.mark.parametrize("text", [EXPORT, QUERY])
def test_the_thresholds_are_read(text: str) -> None:
    (found,) = facts_of(text, form=windows_registry.FORMAT)

    assert (found.level, found.visited, found.visited_in_vain, found.milliseconds) == (5, 1, None, 100)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (EXPORT, "very search that visited an entry is logged"),
        (EXPORT.replace("=dword:00000001", "=dword:000007d0"), "visited 2,000 entries or more, or 1,000 of which"),
    ],
)
@pytest.mark.parametrize("command", ["diagnose", "indexes"])
def test_they_say_which_searches_are_logged(command: str, text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "events.xml").write_text(as_xml([event(number) for number in range(20)]))
    (tmp_path / "ntds.reg").write_bytes(text.encode("utf-16"))

    assert said in " ".join(ldapdiag(command, tmp_path).text.split())


def test_an_export_beside_several_controllers_counts_for_none_and_the_report_says_so(tmp_path: Path) -> None:
    (tmp_path / "events.xml").write_text(as_xml([event(number, server=f"DC{1 + number % 2}") for number in range(40)]))
    (tmp_path / "ntds.reg").write_text(EXPORT)

    said = " ".join(ldapdiag("diagnose", tmp_path).text.split())

    assert "ntds.reg names no server, so its thresholds count for none" in said
    assert "very search that visited an entry is logged" not in said


@pytest.mark.parametrize("order", [1, -1])
def test_of_a_host_with_ad_lds_too_the_thresholds_of_ad_ds_count_and_the_report_says_so(
    order: int, tmp_path: Path
) -> None:
    other = EXPORT.replace("NTDS", "ADAM_app").replace("=dword:00000001", "=dword:000007d0")
    (tmp_path / "events.xml").write_text(as_xml([event(number) for number in range(20)]))
    (tmp_path / "all.reg").write_text("\n".join([other, EXPORT][::order]))

    said = " ".join(ldapdiag("diagnose", tmp_path).text.split())

    assert "very search that visited an entry is logged" in said
    assert "these are the thresholds of NTDS, not of ADAM_app" in said
