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
def test_a_banner_shows_family_and_version(banner: str, family: Family, version: tuple[int, ...]) -> None:
    assert identify(banner) == ServerIdentity(family=family, version=version)


@pytest.mark.parametrize(
    ("banner", "family", "name"),
    [
        ("Sun-ONE-Directory/5.2_Patch_4", Family.DSEE, "Directory Server Enterprise Edition 5.2.0"),
        ("Sun-Java(tm)-System-Directory/6.3 B2008.0311.0212", Family.DSEE, "Directory Server Enterprise Edition 6.3.0"),
        ("Sun Java(TM) System Directory Server/5.2", Family.DSEE, "Directory Server Enterprise Edition 5.2.0"),
        ("Sun-Directory-Server/11.1.1.7.0", Family.DSEE, "Directory Server Enterprise Edition 11.1.1"),
        (
            "Oracle Directory Server Enterprise Edition 11.1.1.5.0",
            Family.DSEE,
            "Directory Server Enterprise Edition 11.1.1",
        ),
        ("OpenDJ Server 4.10.1", Family.OPENDJ, "OpenDJ 4.10.1"),
        ("OpenDJ 3.0.0", Family.OPENDJ, "OpenDJ 3.0.0"),
        ("OpenDS Directory Server 2.2.0", Family.OPENDJ, "OpenDS 2.2.0"),
        ("ForgeRock Directory Services 6.5.0", Family.OPENDJ, "ForgeRock Directory Services 6.5.0"),
        ("PingDS 8.0.0", Family.OPENDJ, "PingDS 8.0.0"),
        ("Oracle Unified Directory 12.2.1.4.0", Family.OPENDJ, "Oracle Unified Directory 12.2.1"),
        ("Ping Identity Directory Server 9.3.0.0", Family.PING, "PingDirectory 9.3.0"),
        ("PingDirectory Server 10.1.0.0", Family.PING, "PingDirectory 10.1.0"),
        ("UnboundID Directory Server 5.2.0.0", Family.PING, "UnboundID Directory Server 5.2.0"),
        ("IBM Tivoli Directory (SSL), Version 6.3", Family.IBM, "IBM Tivoli Directory Server 6.3.0"),
        ("IBM Security Directory (SSL), Version 6.4", Family.IBM, "IBM Security Directory Server 6.4.0"),
        ("IBM Security Verify Directory (SSL), 10.0.1", Family.IBM, "IBM Security Verify Directory 10.0.1"),
    ],
)
def test_the_descendants_of_sun_s_servers_keep_the_name_they_are_sold_under(
    banner: str, family: Family, name: str
) -> None:
    found = identify(banner)
    assert found is not None
    assert (found.family, str(found)) == (family, name)


@pytest.mark.parametrize("banner", ["", "NetIQ eDirectory 9.2.5", "9" * 5000 + ".1"])
def test_other_banners_are_no_product(banner: str) -> None:
    assert identify(banner) is None


def test_a_version_beyond_belief_is_unknown() -> None:
    found = identify("389-Directory/" + "9" * 5000 + "." + "9" * 5000)
    assert found
    assert all(number < 10**9 for number in found.version)


def test_an_identity_reads_as_a_name() -> None:
    assert str(ServerIdentity(family=Family.DS389, version=(2, 3, 1))) == "389 Directory Server 2.3.1"
    assert str(ServerIdentity(family=Family.OPENLDAP)) == "OpenLDAP"
