"""Lists of more than 65,535 entries: for which filter they help, and what they cost."""

from __future__ import annotations

import subprocess
from dataclasses import replace

import pytest

from facts import address_of
from ldapdiag.evidence.filter_tree import parse_shape
from ldapdiag.evidence.indexes import Backend, IndexDefinition
from ldapdiag.evidence.schema.standard import standard
from ldapdiag.remedy import RemedyKind
from ldapdiag.servers.openldap.index_remedies import raise_scan_limit

SCHEMA = standard()
PLACE = Backend(
    name="{1}mdb", kind="mdb", suffixes=("dc=example,dc=com",), entry="olcDatabase={1}mdb,cn=config",
    definitions=(IndexDefinition(attribute="description", types=frozenset({"eq"}), written="description eq"),),
)  # fmt: skip


def remedy(filter_="(description=?)", entries=70_000, place=PLACE):
    return raise_scan_limit(address_of("ldap"), place, parse_shape(filter_), entries, SCHEMA)


@pytest.mark.parametrize(("entries", "exponent"), [(65_536, 17), (70_000, 17), (104_858, 18), (1_000_000, 21)])
def test_the_exponent_leaves_a_quarter_of_room(entries, exponent) -> None:
    found = remedy(entries=entries)
    assert f"exponent={exponent}\n" in found.text
    assert (1 << exponent) >= entries * 1.25
    assert "exponent=16\n" in found.undo
    for text in (found.text, found.undo):
        subprocess.run(["sh", "-n"], input=text, text=True, check=True)


@pytest.mark.parametrize(
    "how",
    [
        {"entries": 65_535},
        {"entries": 2_000_000_000},
        {"filter_": "(cn=?)"},
        {"filter_": "(&(description=?)(cn=?))"},
        {"place": replace(PLACE, kind="hdb")},
    ],
)
def test_there_is_none_where_it_does_not_help(how) -> None:
    assert remedy(**how) is None


def test_the_memory_of_a_thread_and_the_time_without_answers_are_announced() -> None:
    risk = remedy(entries=200_000, place=replace(PLACE, entries=400_000)).risk
    assert "Each thread of slapd may then use 64 MiB for lists, in place of 16" in risk
    assert "No search is answered for 1 to 18 s" in risk


def test_slapd_conf_is_changed_by_hand() -> None:
    found = remedy(place=replace(PLACE, entry=""))
    assert found.kind is RemedyKind.ADVICE
    assert "idlexp 17" in found.text
