"""A host's description of itself: the notations of all systems, and hostile text."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.host_formats import host_description
from reading import facts_of

LINUX = """ldapdiag-host 1
name: app1
system: Linux 6.1.0-18-amd64 x86_64
clock: 2026-11-20T13:00:01.123456789Z
user: 0
booted: 1795160000
machine: 0f9c8e0a-2222-4444-8888-0123456789ab
namespace: net:[4026531840]
namespaces-read: 3
namespaces-unread: 0
address: 127.0.0.1
address: 10.77.2.2
address: ::ffff:10.77.2.3
address: FE80::1
"""


def described(text):
    (fact,) = facts_of(text)
    return fact


def test_linux_has_every_value() -> None:
    description = described(LINUX)
    assert (description.name, description.system) == ("app1", "Linux 6.1.0-18-amd64 x86_64")
    assert description.clock == datetime(2026, 11, 20, 13, 0, 1, 123456, UTC)
    assert description.booted == datetime.fromtimestamp(1795160000, UTC)
    assert (description.machine[:8], description.namespace) == ("0f9c8e0a", "net:[4026531840]")
    assert (description.namespaces_read, description.namespaces_unread) == (3, 0)
    assert description.addresses == {"127.0.0.1", "10.77.2.2", "10.77.2.3", "fe80::1"}
    assert description.origin.not_understood == 0


@pytest.mark.parametrize(
    ("booted", "seconds"),
    [
        ("1795160000", 1795160000),
        ("{ sec = 1795160000, usec = 512 } Tue Nov 17 09:33:20 2026", 1795160000),
        ("         system boot  Nov 17 09:33", None),
        ("", None),
        ("9" * 30, None),
    ],
)
def test_the_boot_time_is_read_in_each_systems_format(booted: str, seconds: int | None) -> None:
    description = described(f"ldapdiag-host 1\nname: a\nbooted: {booted}\n").booted
    assert description == (None if seconds is None else datetime.fromtimestamp(seconds, UTC))


@pytest.mark.parametrize("clock", ["2026-11-20T13:00:01Z", "2026-11-20T13:00:01.5Z", "2026-11-20T13:00:01.000000001Z"])
def test_a_clock_may_have_a_fraction(clock: str) -> None:
    description = described(f"ldapdiag-host 1\nclock: {clock}\n").clock
    assert description is not None
    assert description.replace(microsecond=0) == datetime(2026, 11, 20, 13, 0, 1, tzinfo=UTC)


def test_what_is_unknown_is_none() -> None:
    description = described("ldapdiag-host 1\nname: a\nnamespaces-unread: unknown\nclock: soon\n")
    assert (description.namespaces_read, description.namespaces_unread, description.clock, description.booted) == (
        None,
        None,
        None,
        None,
    )


def test_another_first_line_is_another_format() -> None:
    (fact,) = facts_of("ldapdiag-host 1\nname: a\nwhat\naddress: not an address\n")
    assert fact.origin.not_understood == 2
    assert facts_of("name: a\nldapdiag-host 1\n", form=host_description.FORMAT)  # read, were it asked to
    with pytest.raises(AssertionError):
        facts_of("name: a\nldapdiag-host 1\n")


@given(
    st.lists(st.sampled_from([*LINUX.splitlines(), "address: ", "clock: 9999-99-99T99:99:99Z"]) | st.text(max_size=80))
)
def test_no_text_crashes_it(lines) -> None:
    facts_of("\n".join(["ldapdiag-host 1", *lines]), form=host_description.FORMAT)
