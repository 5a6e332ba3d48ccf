"""The idle timeouts of a proxy are read from its configuration."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.flows import BoxTimeouts
from ldapdiag.evidence.host_formats import haproxy_cfg
from reading import facts_of

CONFIGURATION = """global
  maxconn 2000
  stats socket /run/haproxy/admin.sock level admin
defaults
  mode tcp
  timeout connect 3s
  timeout client 1h
  timeout server 90m   # longer
frontend ldap_in
  bind 10.77.2.1:389
  default_backend ldap_out
backend ldap_out
  server ds1 10.77.1.2:389 check inter 2s
  server ds2 10.77.1.3:389
"""
LDAP = ("10.77.1.2", 389)


def services(text):
    (timeouts,) = facts_of(text)
    assert isinstance(timeouts, BoxTimeouts)
    return [(one.name, one.seconds, one.servers) for one in timeouts.services]


def test_the_sooner_of_client_and_server_ends_a_connection():
    timeouts = [("timeout client of ldap_in", 3600, {LDAP, ("10.77.1.3", 389)})]
    assert services(CONFIGURATION) == timeouts
    assert services(CONFIGURATION.replace("client 1h", "client 2h"))[0][:2] == ("timeout server of ldap_out", 5400)


@pytest.mark.parametrize(
    ("binds", "ports"),
    [
        ("bind 10.77.2.1:389", {389}),
        ("bind :389,[::]:636 ssl crt /etc/cert.pem", {389, 636}),
        ("bind *:3268-3270", {3268, 3269, 3270}),
        ("bind /run/haproxy/ldap.sock mode 600", set()),
        ('bind "${ADDRESS}:${PORT}"', set()),
        ("bind :99999", set()),
    ],
)
def test_the_ports_on_which_it_accepts_connections_are_read(binds, ports):
    (timeouts,) = facts_of(CONFIGURATION.replace("bind 10.77.2.1:389", binds))
    assert timeouts.ports == ports


def test_the_captured_configuration_is_read(captures):
    text = (captures / "haproxy" / "2.6.12" / "haproxy" / "haproxy.cfg").read_bytes()
    assert services(text) == [("timeout client of ldap_in", 3600, {LDAP})]


def test_a_tunnel_goes_before_both():
    timeouts = services(CONFIGURATION.replace("backend ldap_out\n", "backend ldap_out\n  timeout tunnel 12h\n"))
    assert timeouts[0][:2] == ("timeout tunnel of ldap_out", 43200)


def test_a_section_goes_before_its_defaults_and_new_defaults_before_old_ones():
    text = CONFIGURATION.replace("frontend ldap_in", "frontend ldap_in\n  timeout client 10m")
    assert services(text)[0][1] == 600
    again = f"{CONFIGURATION}defaults\n  timeout client 5m\nlisten ldaps\n  bind :636\n  server ds1 10.77.1.2:636\n"
    assert services(again)[1] == ("timeout client of ldaps", 300, {("10.77.1.2", 636)})


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("50000", 50), ("500ms", 0.5), ("2000000us", 2), ("30s", 30), ("10m", 600), ("2h", 7200), ("1d", 86400)],
)
def test_times_have_units_and_are_milliseconds_without(written, seconds):
    text = CONFIGURATION.replace("client 1h", f"client {written}").replace("server 90m", "server 30d")
    assert services(text)[0][1] == pytest.approx(seconds)


def test_the_words_of_1_3_are_known():
    text = "defaults\n\tclitimeout 50000\n\tsrvtimeout 60000\nlisten ldap 0.0.0.0:389\n\tserver a 10.77.1.2:389\n"
    assert services(text) == [("timeout client of ldap", 50, {LDAP})]


@pytest.mark.parametrize("zero", ["client 0", "client 0s"])
def test_zero_is_no_timeout(zero):
    assert services(CONFIGURATION.replace("client 1h", zero))[0][:2] == ("timeout server of ldap_out", 5400)


def test_a_configuration_without_timeouts_of_sessions_shows_none():
    text = CONFIGURATION.replace("  timeout client 1h\n", "").replace("  timeout server 90m   # longer\n", "")
    assert services(text) == []


@given(st.binary(max_size=300) | st.text("defaultsfrontend timeoutclient 1hms\n{}ltm profile tcp", max_size=300))
def test_any_bytes_are_read(data):
    facts_of(data if isinstance(data, bytes) else data.encode(), form=haproxy_cfg.FORMAT)
