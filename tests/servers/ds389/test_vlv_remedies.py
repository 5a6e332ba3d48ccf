"""What the commands for VLV indexes of 389-ds promise; tests/live pastes them on a real one."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace

import pytest

from facts import address_of
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.indexes import Backend
from ldapdiag.evidence.indexes.vlv import VlvIndex, VlvSearch
from ldapdiag.remedy import RemedyKind
from ldapdiag.servers.ds389.vlv_remedies import add_vlv_index, allow_reading
from ldapdiag.servers.indexes.wanted_view import WantedView
from ldapdiag_checks.missing_vlv_index import add_vlv_index as add_of_any_product

ENTRY = "cn=userRoot,cn=ldbm database,cn=plugins,cn=config"
BACKEND = Backend(name="userRoot", suffixes=("dc=example",), definitions=(), entry=ENTRY)
INDEX = VlvIndex(name="by cn", sort="cn")


def wanted(*indexes: VlvIndex, known: bool = False, acis: tuple[str, ...] = ()) -> WantedView:
    search = VlvSearch(
        name="people", entry=f"cn=people,{ENTRY}", base="dc=example", scope="one", filter="(mail=*)", acis=acis,
        indexes=indexes,
    )  # fmt: skip
    return WantedView(base="dc=example", scope="one", filter="(mail=*)", keys="cn", search=search if known else None)


@pytest.mark.parametrize(
    ("view", "adds", "leaves"),
    [
        (wanted(), ("objectClass: vlvSearch", "objectClass: vlvIndex", "\naci: "), ("add: aci",)),
        (wanted(known=True), ("add: aci", "objectClass: vlvIndex"), ("objectClass: vlvSearch",)),
        (wanted(known=True, acis=('userdn="ldap:///all"',)), ("objectClass: vlvIndex",), ("aci",)),
        (wanted(INDEX, known=True), ("add: aci", "nsIndexVLVAttribute: by cn"), ("objectClass: vlvIndex",)),
        (wanted(INDEX, known=True, acis=("ldap:///anyone",)), ("nsIndexVLVAttribute: by cn",), ("changetype: modify",)),
    ],
)
def test_what_is_lacking_is_added_and_built_by_one_command(
    view: WantedView, adds: tuple[str, ...], leaves: tuple[str, ...]
) -> None:
    remedy = add_vlv_index(address_of(), BACKEND, view)
    steps = remedy.text.partition("steps() {")[2].partition("\n}\n")[0]
    assert all(one in steps for one in adds)
    assert not any(one in steps for one in leaves)
    assert steps.count("| apply") == 1
    assert (
        subprocess.run([shutil.which("sh") or "/bin/sh", "-n"], input=remedy.text, text=True, check=False).returncode
        == 0
    )
    assert ("changetype" in remedy.undo) is any("aci" in one or "vlvIndex" in one for one in adds)


def test_access_alone_is_given_and_taken_back() -> None:
    remedy = allow_reading(address_of(), wanted(INDEX, known=True))
    assert "add: aci" in remedy.text
    assert "delete: aci" in remedy.undo


def acis(text: str) -> set[str]:
    return {line for line in text.splitlines() if line.startswith("aci:")}


def test_of_two_orders_each_adds_and_takes_back_an_instruction_of_its_own() -> None:
    """Both had the same one: the second was refused as present (20), and the undo of the first took it from both."""
    views = [replace(wanted(known=True), keys=keys) for keys in ("cn", "sn")]
    for remedies in (
        [add_vlv_index(address_of(), BACKEND, view) for view in views],
        [allow_reading(address_of(), view) for view in views],
    ):
        added = [acis(remedy.text) for remedy in remedies]
        assert added == [acis(remedy.undo) for remedy in remedies]
        assert all(map(len, added))
        assert added[0].isdisjoint(added[1])


def test_the_commands_of_an_untested_product_are_advice() -> None:
    remedy = add_of_any_product(address_of(), BACKEND, wanted(), Family.DSEE)
    assert remedy.kind is RemedyKind.ADVICE
    assert "not tested" in remedy.text
