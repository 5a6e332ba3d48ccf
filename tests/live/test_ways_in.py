"""The ways into a directory over a network: TLS and StartTLS, with certificates that are good and that are not."""

from __future__ import annotations

import pytest

from lab.applications import Application
from lab.certificates import Authority
from lab.directory_servers import account
from lab.topology import Topology

COUNT = 7
FAMILIES = ("389-ds", "openldap")


@pytest.fixture(scope="module", params=FAMILIES)
def site(request, laboratory):
    """Return a network whose directory has a certificate, and an application with connections to it."""
    with Topology(apps=1) as running:
        certificate = laboratory.authority.sign("ldap")
        start = laboratory.ds389 if request.param == "389-ds" else laboratory.slapd
        running.server = start(running.ldap, certificate=certificate)
        running.family = request.param
        Application(running.app1, "held", address="10.77.1.2", name=account("application_foo"), count=COUNT).ready()
        yield running


@pytest.fixture(scope="module")
def sitting(site, desk_of):
    desk = desk_of(site, "ldap")
    desk.bind = ("-D", site.server.administrator, *desk.bind[2:])
    return desk


@pytest.fixture
def trusted(laboratory):
    return ("--ca-file", str(laboratory.authority.certificate))


THEIRS = ({"10.77.2.2": COUNT}, {account("application_foo"): COUNT})


class TestTls:
    @pytest.mark.parametrize("way", [["ldaps://ldap"], ["ldap://ldap", "-ZZ"], ["ldap://ldap", "-Z"], ["ldap://ldap"]])
    def test_the_right_authority_opens_every_way(self, sitting, trusted, way) -> None:
        said = sitting.diagnose(*way, *trusted, *sitting.bind)
        assert said.connections == THEIRS

    @pytest.mark.parametrize("way", [["ldaps://ldap"], ["ldap://ldap", "-ZZ"], ["ldap://ldap", "-Z"]])
    def test_a_wrong_authority_is_refused_with_the_reason(self, sitting, tmp_path, way) -> None:
        other = Authority(tmp_path, "other")
        code, out, err = sitting.run("diagnose", *way, *sitting.bind, "--ca-file", str(other.certificate))
        assert (code, out) == (2, "")
        assert "certificate verification failed: " in err
        assert "--ca-file" in err

    def test_a_certificate_for_another_name_is_refused_with_the_reason(self, sitting, trusted) -> None:
        code, out, err = sitting.run("diagnose", "ldaps://10.77.1.2", *trusted, *sitting.bind)
        assert (code, out) == (2, "")
        assert "certificate verification failed: " in err
        assert "not valid for '10.77.1.2'" in err


@pytest.mark.parametrize("family", FAMILIES)
def test_an_expired_certificate_is_refused_with_the_reason(laboratory, topology, desk, tmp_path, family) -> None:
    authority = Authority(tmp_path)
    tmp_path.chmod(0o755)  # servers read it as users of their own
    start = laboratory.ds389 if family == "389-ds" else laboratory.slapd
    start(topology.ldap, certificate=authority.sign("ldap", days=-1))
    code, out, err = desk.run("diagnose", "ldaps://ldap", "--ca-file", str(authority.certificate))
    assert (code, out) == (2, "")
    assert "certificate verification failed: certificate has expired" in err
    trusting = desk.diagnose("ldaps://ldap", "ssh://ldap", "--insecure", "--apart", "0.3")
    assert "certificate" not in str(trusting.report["gaps"])
