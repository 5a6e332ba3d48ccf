"""AccessLog: whose log it is, by its own words."""

from __future__ import annotations

import pytest

from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.log.segment import Segment
from ldapdiag.evidence.origin import Origin


def log(
    family: Family = Family.DS389, *, servers: tuple[bytes, ...] = (), versions: tuple[bytes, ...] = ()
) -> AccessLog:
    segment = Segment()
    segment.servers.update(dict.fromkeys(servers, 1))
    segment.instances.update({(b"", version): 1 for version in versions})
    return AccessLog(origin=Origin(path="ldap/access"), family=family, segment=segment)


def test_its_header_names_the_version() -> None:
    assert log(versions=(b"389-Directory/2.3.1 B2025.016.1616",)).identity.version == (2, 3, 1)


@pytest.mark.parametrize("version", [b"", b"OpenLDAP 2.5.13", b"\xff\x1b[31m", b"9" * 5000])
def test_without_a_version_of_its_own_the_family_is_known(version: bytes) -> None:
    assert log(versions=(version,)).identity == ServerIdentity(family=Family.DS389)


@pytest.mark.parametrize(
    ("server", "listeners"),
    [
        (b"10.77.1.2:1389", (("10.77.1.2", 1389),)),
        (b"0.0.0.0:389", (("*", 389),)),
        (b"[::1]:636", (("::1", 636),)),
        (b"10.77.1.2", ()),
        (b"::1", ()),
        (b"2001:db8::5:389", ()),
        (b"/run/ldapi", ()),
        (b"10.77.1.2:99999", ()),
        (b"10.77.1.2:0", ()),
        (b"", ()),
        (b":" * 9999, ()),
    ],
)
def test_listeners_are_what_names_address_and_port(server: bytes, listeners: object) -> None:
    assert log(Family.OPENLDAP, servers=(server,)).listeners == listeners
