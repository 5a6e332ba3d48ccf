from __future__ import annotations

from dataclasses import replace

import pytest

from facts import address_of
from ldapdiag.evidence.filter_tree import parse_shape
from ldapdiag.evidence.indexes import Backend, IndexDefinition, ScanLimit
from ldapdiag.evidence.schema.standard import standard
from ldapdiag.remedy import Needs
from ldapdiag.servers.ds389.remedies import raise_scan_limit

SN = IndexDefinition(attribute="sn", types=frozenset({"eq", "pres"}))
BACKEND = Backend(name="userRoot", suffixes=("dc=x",), definitions=(SN,))


def limit_of(filter_: str, entries: int, definition: IndexDefinition = SN) -> str | None:
    """Return the value that is set; None without a remedy."""
    backend = replace(BACKEND, definitions=(definition,))
    remedy = raise_scan_limit(address_of("ldap"), backend, parse_shape(filter_), entries, standard())
    if remedy is None:
        return None
    (line,) = [line for line in remedy.text.splitlines() if line.startswith("nsIndexIDListScanLimit:")]
    assert f"delete: nsIndexIDListScanLimit\n{line}" in remedy.undo
    assert remedy.needs is Needs.NONE
    return line.removeprefix("nsIndexIDListScanLimit: ")


@pytest.mark.parametrize(
    ("filter_", "entries", "value"),
    [
        ("(sn=?)", 4801, "limit=6100 type=eq"),
        ("(surname=?)", 5000, "limit=6300 type=eq"),
        ("(sn=*)", 80, "limit=100 type=pres"),
        ("(sn=?*)", 5000, None),
        ("(sn>=?)", 5000, None),
        ("(&(sn=?)(uid=?))", 5000, None),
        ("(sn=?)", -1, None),
        ("(objectClass=person)", 5000, None),
    ],
)
def test_a_limit_a_quarter_above_what_matches(filter_: str, entries: int, value: str | None) -> None:
    assert limit_of(filter_, entries) == value


def test_none_beside_limits_of_its_own_and_for_the_servers_own_indexes() -> None:
    assert limit_of("(sn=?)", 5000, replace(SN, scan_limits=(ScanLimit(limit=1),))) is None
    assert limit_of("(sn=?)", 5000, replace(SN, system=True)) is None


def test_hostile_names_reach_no_command() -> None:
    assert limit_of("(sn=?)", 5000, replace(SN, attribute="sn; rm -rf /")) is None
    backend = replace(BACKEND, name="a; rm")
    assert raise_scan_limit(address_of("ldap"), backend, parse_shape("(sn=?)"), 5000, standard()) is None
