"""Each address and port has one spelling, whichever table it stood in."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.addresses import (
    ANY,
    ANY_PORT,
    CUT,
    LONGEST_NAME,
    UNKNOWN_PORT,
    Addresses,
    Ports,
    endpoint,
    identifies_a_host,
    normalise_address,
    port_number,
)


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("10.77.1.2", "10.77.1.2"),
        ("::ffff:10.77.1.2", "10.77.1.2"),
        ("[::ffff:10.77.1.2]", "10.77.1.2"),
        ("[2001:DB8::1]", "2001:db8::1"),
        ("2001:db8:0:0:0:0:0:1", "2001:db8::1"),
        ("[fe80::4801:a9ff:fe34:f6e1]%eth0", "fe80::4801:a9ff:fe34:f6e1"),
        ("fe80::1%lo0", "fe80::1"),
        ("127.0.0.53%lo", "127.0.0.53"),
        ("0.0.0.0%virbr0", ANY),
        ("*", ANY),
        ("0.0.0.0", ANY),  # noqa: S104  a wildcard to read, not to bind
        ("::", ANY),
        ("[::]", ANY),
        ("::ffff:0.0.0.0", ANY),
        ("localhost", "127.0.0.1"),
        ("LDAP1.Example.com", "ldap1.example.com" + CUT),
        ("localhost.localdoma", "localhost.localdoma" + CUT),
        ("2001:db8:1234:567" + CUT, "2001:db8:1234:567" + CUT),
    ],
)
def test_an_address_is_spelled_one_way(written, address):
    assert normalise_address(written) == address


@given(st.ip_addresses())
def test_an_address_written_in_full_or_in_short_is_the_same(address):
    assert normalise_address(address.exploded) == normalise_address(f"[{address.compressed}]")


@given(st.text())
def test_normalising_twice_changes_nothing(text):
    once = normalise_address(text)
    assert normalise_address(once) == once
    assert len(once) <= LONGEST_NAME + 1


@pytest.mark.parametrize(
    ("written", "port"),
    [
        ("389", 389),
        ("*", ANY_PORT),
        ("ldap", 389),
        ("ldaps", 636),
        ("globalcat", 3268),
        ("msft-gc-ssl", 3269),
        ("65535", 65535),
        ("65536", UNKNOWN_PORT),
        ("٣٨٩", UNKNOWN_PORT),
        ("bootpc", UNKNOWN_PORT),
        ("", UNKNOWN_PORT),
    ],
)
def test_a_port_is_a_number_or_a_service_of_ldap(written, port):
    assert port_number(written) == port


def test_a_document_keeps_one_object_per_address():
    addresses = Addresses()
    assert addresses["[::ffff:10.77.1.2]"] is addresses["10.77.1.2"]
    assert addresses["::"] is addresses["*"]


def test_a_document_remembers_no_text_longer_than_a_name():
    addresses, ports = Addresses(), Ports()
    assert len(addresses["a" * 100_000]) == LONGEST_NAME + 1
    assert ports["a" * 100_000] == UNKNOWN_PORT
    assert max(map(len, [*addresses, *ports])) <= LONGEST_NAME + 1


@given(st.ip_addresses())
def test_only_a_global_or_private_address_identifies_a_host(address):
    if address.is_loopback or address.is_link_local or address.is_unspecified:
        assert not identifies_a_host(str(address))


@pytest.mark.parametrize("address", ["172.17.0.1", "10.0.2.15", "192.168.122.1", "10.88.0.7", "ldap1" + CUT, ANY])
def test_what_a_thousand_hosts_share_identifies_none(address):
    assert not identifies_a_host(address)


@given(st.ip_addresses(), st.integers(1, 65535))
def test_an_endpoint_can_be_read_back(address, port):
    text, _, number = endpoint(str(address), port).rpartition(":")
    assert ipaddress.ip_address(text.strip("[]")) == address
    assert int(number) == port
