"""The idle timeouts of an F5 are read from its profiles."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.flows import BoxTimeouts, Relay
from ldapdiag.evidence.host_formats import f5_profiles
from reading import facts_of


def services(text):
    (timeouts,) = facts_of(text)
    assert isinstance(timeouts, BoxTimeouts)
    return [(one.name, one.seconds, one.servers) for one in timeouts.services]


PROFILES = """ltm profile tcp /Common/tcp-ldap {
    defaults-from /Common/tcp
    idle-timeout 1800
}
ltm profile tcp tcp {
    idle-timeout 300
}
ltm profile fastl4 forever {
    idle-timeout indefinite
}
"""


def test_profiles_of_an_f5_show_their_timeouts():
    (timeouts,) = facts_of(PROFILES)
    assert timeouts.relay is Relay.NAT
    assert [(one.name, one.seconds) for one in timeouts.services] == [
        ("idle-timeout of tcp profile /Common/tcp-ldap", 1800),
        ("idle-timeout of tcp profile tcp", 300),
    ]


def test_a_profile_on_one_line_is_the_same():
    assert services("ltm profile fastl4 fastL4 { idle-timeout 300 }\n") == [
        ("idle-timeout of fastl4 profile fastL4", 300, frozenset())
    ]


@given(st.binary(max_size=300) | st.text("defaultsfrontend timeoutclient 1hms\n{}ltm profile tcp", max_size=300))
def test_any_bytes_are_read(data):
    facts_of(data if isinstance(data, bytes) else data.encode(), form=f5_profiles.FORMAT)
