from __future__ import annotations

import pytest

from ldapdiag.evidence.family import Family, ServerIdentity, identify


@pytest.mark.parametrize(
    ("banner", "family", "version"),
    [
        ("389-Directory/2.3.1 B2025.016.1616", Family.DS389, (2, 3, 1)),
        ("389-Directory/1.3", Family.DS389, (1, 3, 0)),
        ("Red Hat-Directory/8.2.0 B2010.001.0001", Family.DS389, (8, 2, 0)),
        ("OpenLDAP: slapd 2.5.13+dfsg-5 (Feb  8 2023 01:56:12)", Family.OPENLDAP, (2, 5, 13)),
        ("OpenLDAP: slapd 2.X (Dec  7 2006 17:30:29)", Family.OPENLDAP, ()),
    ],
)
def test_a_banner_tells_family_and_version(banner: str, family: Family, version: tuple[int, ...]) -> None:
    assert identify(banner) == ServerIdentity(family=family, version=version)


@pytest.mark.parametrize("banner", ["", "Sun-Directory-Server/11.1.1.7", "9" * 5000 + ".1"])
def test_other_banners_tell_nothing(banner: str) -> None:
    assert identify(banner) is None


def test_a_version_beyond_belief_is_unknown() -> None:
    found = identify("389-Directory/" + "9" * 5000 + "." + "9" * 5000)
    assert found
    assert all(number < 10**9 for number in found.version)


def test_an_identity_reads_as_a_name() -> None:
    assert str(ServerIdentity(family=Family.DS389, version=(2, 3, 1))) == "389 Directory Server 2.3.1"
    assert str(ServerIdentity(family=Family.OPENLDAP)) == "OpenLDAP"
