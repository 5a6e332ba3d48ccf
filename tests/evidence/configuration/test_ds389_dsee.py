from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence import dsconf_format
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.family import Family
from reading import facts_of

# Written by hand from Sun 820-2763 and Oracle E28967.
PROPERTIES = """file-descriptor-count     :  1024
idle-timeout              :  none
ldap-port                 :  389
ldap-secure-port          :  636
look-through-limit        :  5000
max-thread-count          :  30
root-pwd-file             :  /hunter2
search-size-limit         :  2000
"""


def configuration_of(text: str) -> Configuration:
    (configuration,) = facts_of(text)
    assert isinstance(configuration, Configuration)
    return configuration


class TestLdif:
    def test_a_version_shows_it_from_389(self) -> None:
        found = configuration_of(
            "dn: cn=config\nobjectClass: top\ncn: config\nnsslapd-versionstring: Sun-Directory-Server/11.1.1.7.0\n"
            "nsslapd-idletimeout: 0\nnsslapd-maxdescriptors: 1024\nnsslapd-reservedescriptors: 64\n"
            "nsslapd-maxconnections: 900\nnsslapd-listenBacklog: 256\nnsslapd-rootpw: {SSHA}hunter2\n\n"
        )
        assert (found.identity.family, found.identity.version) == (Family.DSEE, (11, 1, 1))
        assert (found.idle_timeout_seconds, found.max_descriptors, found.max_connections) == (0, 1024, 900)
        assert (found.complete, found.listen_backlog) == (True, 256)
        assert "hunter2" not in repr(found)

    @pytest.mark.parametrize("name", ["nsslapd-infolog-area: 0", "nsslapd-maxconnections: 9", "ds-maxheaphigh: 1"])
    def test_attributes_that_389_never_had_show_it_too(self, name: str) -> None:
        text = "dn: cn=config\nnsslapd-idletimeout: 300\n"
        assert configuration_of(f"{text}{name}\n").identity.family is Family.DSEE
        assert configuration_of(text).identity.family is Family.DS389

    def test_a_monitor_in_the_same_file_shows_it_too(self) -> None:
        monitor, configuration = facts_of(
            "dn: cn=monitor\nversion: Sun-Directory-Server/11.1.1.7\ncurrentconnections: 1\nthreads: 30\n\n"
            "dn: cn=config\nnsslapd-idletimeout: 300\n\n"
        )
        assert configuration.identity == monitor.identity


class TestDsconf:
    def test_reads_the_properties_it_wants_and_shows_no_other(self) -> None:
        found = configuration_of(PROPERTIES)
        assert found.identity.family is Family.DSEE
        assert (found.idle_timeout_seconds, found.max_descriptors, found.threads) == (0, 1024, 30)
        assert found.ports == (389, 636)
        assert "hunter2" not in repr(found)

    def test_reads_two_properties(self) -> None:
        assert configuration_of("idle-timeout        :  300\nlook-through-limit  :  5000\n").idle_timeout_seconds == 300

    @given(st.text(max_size=200))
    def test_survives_anything(self, text: str) -> None:
        (found,) = facts_of(text, form=dsconf_format.FORMAT)
        assert found.origin.lines == found.origin.understood + found.origin.not_understood
