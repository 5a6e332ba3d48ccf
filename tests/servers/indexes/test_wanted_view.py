"""What a VLV index has to hold, and whether it can be put into a command."""

from __future__ import annotations

import pytest

from ldapdiag.evidence.indexes.vlv import VlvIndex, VlvSearch
from ldapdiag.servers.indexes.wanted_view import OF_ALL, OF_ANYONE, WantedView

ENTRY = "cn=people,cn=userRoot,cn=ldbm database,cn=plugins,cn=config"


def wanted(**changed: object) -> WantedView:
    known = {"base": "dc=example", "scope": "sub", "filter": "(objectClass=person)", "keys": "cn"}
    return WantedView(**known | changed)


def configured(*acis: str, name: str = "by cn", entry: str = ENTRY) -> VlvSearch:
    return VlvSearch(
        name="people", entry=entry, base="dc=example", scope="sub", filter="(objectClass=person)", acis=acis,
        indexes=(VlvIndex(name=name, sort="cn"),),
    )  # fmt: skip


def test_the_names_are_those_of_the_search_and_the_order() -> None:
    assert wanted().search_name == wanted(base="DC=Example", keys="sn").search_name
    assert len({one.index_name for one in (wanted(), wanted(keys="-cn"), wanted(scope="one"))}) == 3
    assert wanted(search=configured()).index_name == "by cn"


@pytest.mark.parametrize(
    "changed",
    [
        {"base": "$(id)"}, {"filter": "(a b=*)"}, {"filter": "(cn=*"}, {"filter": "(objectClass=$(id))"},
        {"keys": "cn;reboot"}, {"keys": "`id`"}, {"search": configured(name="x'y")},
        {"search": configured(entry="a\nb")},
    ],
)  # fmt: skip
def test_what_is_no_name_is_not_put_into_a_command(changed: dict[str, object]) -> None:
    assert wanted().is_printable
    assert not wanted(**changed).is_printable


@pytest.mark.parametrize(
    ("aci", "anonymous", "readable"),
    [
        (OF_ALL, False, True),
        (OF_ANYONE, False, True),
        (OF_ANYONE, True, True),
        (OF_ALL, True, False),
        ("x", False, False),
    ],
)
def test_the_accounts_must_be_able_to_read_the_search(aci: str, anonymous: bool, readable: bool) -> None:  # noqa: FBT001  a table
    assert wanted(search=configured(f'userdn="{aci}"'), anonymous=anonymous).is_readable is readable
