"""The properties of ZFS datasets, as a table and as fields; written after zfs-get(8)."""

from __future__ import annotations

from ldapdiag.evidence.formats import head_of, recognise
from ldapdiag.evidence.storage import ZfsProperties
from reading import facts_of

ZFS = """NAME           PROPERTY    VALUE                  SOURCE
tank/my ldap   sync        disabled               local
tank/my ldap   creation    Sat Feb  2 11:09 2013  -
tank           mountpoint  /tank                  default
"""
ZFS_H = "tank/ldap\tsync\tstandard\tdefault\ntank/ldap\tatime\toff\tinherited from tank\n"


def test_the_properties_of_zfs() -> None:
    (found,) = facts_of(ZFS)
    assert isinstance(found, ZfsProperties)
    assert found.datasets == {
        "tank/my ldap": {"sync": "disabled", "creation": "Sat Feb  2 11:09 2013"},
        "tank": {"mountpoint": "/tank"},
    }
    (fields,) = facts_of(ZFS_H)
    assert fields.datasets == {"tank/ldap": {"sync": "standard", "atime": "off"}}
    assert (found.origin.not_understood, fields.origin.not_understood) == (0, 0)


def test_other_tables_with_tabulators_are_none_of_zfs() -> None:
    for line in (b"name\tsync\tvalue\tnowhere\n", b"alice\tlogin\tok\t-\n"):
        assert recognise(head_of("list.txt", line, whole=True)) is None
