"""A path that does not exist may be a target without its scheme, or with a misspelt one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.sources.targets import parse_target, suggested_targets


@pytest.mark.parametrize(
    ("path", "targets"),
    [
        ("ds1", ("ldap://ds1", "ssh://ds1")),
        ("ds1.example.com", ("ldap://ds1.example.com", "ssh://ds1.example.com")),
        ("10.1.2.3", ("ldap://10.1.2.3", "ssh://10.1.2.3")),
        ("[2001:db8::1]", ("ldap://[2001:db8::1]", "ssh://[2001:db8::1]")),
        ("admin@app1", ("ssh://admin@app1",)),
        ("ds1:389", ("ldap://ds1:389",)),
        ("ds1:636", ("ldaps://ds1:636",)),
        ("app1:22", ("ssh://app1:22",)),
        ("ds1:1389", ("ldap://ds1:1389", "ssh://ds1:1389")),
        ("ldap1:389", ("ldap://ldap1:389",)),
        ("localhost", ("local:", "ldap://localhost", "ssh://localhost")),
        ("local", ("local:",)),
        ("ldpa://ds1", ("ldap://ds1",)),
        ("LDAPS://ds1", ("ldaps://ds1",)),
        ("ldap:ds1", ("ldap://ds1",)),
        ("ldap:/ds1", ("ldap://ds1",)),
        ("ldap//ds1", ("ldap://ds1",)),
        ("shh://app1", ("ssh://app1",)),
        ("ssh:app1", ("ssh://app1",)),
        ("netns://blue", ("netns:blue",)),
        ("nets:blue", ("netns:blue",)),
    ],
)
def test_targets_are_suggested(path: str, targets: tuple[str, ...]) -> None:
    assert suggested_targets(path) == targets


@pytest.mark.parametrize(
    "path",
    ["access.log", "incident.tar.gz", "folder/ds1", "./ds1", "a b", "", "-", "https://ds1", "ds1:99999", "ldap", "-oX"],
)
def test_nothing_is_suggested_for_files_and_for_what_no_target_can_be(path: str) -> None:
    assert suggested_targets(path) == ()


@given(st.one_of(st.text(), st.from_regex(r"[lds]{1,4}(ap|sh)?:?/{0,2}[\w@:.\[\]-]{0,20}", fullmatch=True)))
def test_every_suggestion_is_a_target(path: str) -> None:
    assert all(parse_target(one) is not None for one in suggested_targets(path))
