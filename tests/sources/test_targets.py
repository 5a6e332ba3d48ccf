"""What an operator may name: each target as it is meant, and what is none said in one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.errors import UsageError
from ldapdiag.sources.targets import (
    LdapAddress,
    LdapTarget,
    LocalTarget,
    NamespaceTarget,
    SshTarget,
    parse_target,
    split_targets,
)


@pytest.mark.parametrize(
    ("named", "scheme", "host", "port"),
    [
        ("ldap://ds1", "ldap", "ds1", 389),
        ("ldaps://ds1", "ldaps", "ds1", 636),
        ("ldap://ds1.example.com:1389/", "ldap", "ds1.example.com", 1389),
        ("ldap://[2001:db8::1]", "ldap", "2001:db8::1", 389),
        ("ldap://[fe80::1%eth0]:1389", "ldap", "fe80::1%eth0", 1389),
    ],
)
def test_a_directory(named: str, scheme: str, host: str, port: int) -> None:
    target = parse_target(named)
    assert target == LdapTarget(named, LdapAddress(scheme=scheme, host=host, port=port))
    assert target.name == host


@pytest.mark.parametrize(
    "named", ["ldapi://%2Frun%2Fslapd.socket", "ldapi://%2Frun%2Fslapd.socket/", "ldapi:///run/slapd.socket"]
)
def test_a_local_socket(named: str) -> None:
    target = parse_target(named)
    assert target == LdapTarget(named, LdapAddress(scheme="ldapi", path="/run/slapd.socket"))
    assert target.name == "local"


@pytest.mark.parametrize(
    ("named", "remote"),
    [
        ("ssh://app1", SshTarget("ssh://app1", "app1")),
        ("ssh://admin@app1:2222", SshTarget("ssh://admin@app1:2222", "app1", "admin", 2222)),
        ("ssh://app1/var/log/access", SshTarget("ssh://app1/var/log/access", "app1", path="/var/log/access")),
        ("ssh://[::1]:22", SshTarget("ssh://[::1]:22", "[::1]", port=22)),
    ],
)
def test_a_host(named: str, remote: SshTarget) -> None:
    assert parse_target(named) == remote


def test_this_host_and_its_namespaces() -> None:
    assert parse_target("local:") == LocalTarget()
    assert parse_target("netns:blue") == NamespaceTarget("netns:blue", "blue")


@pytest.mark.parametrize("named", ["incident", "./ldap", "a:b", "/x/ldap://y", "-", "C:\\incident", "http://x"])
def test_anything_else_is_a_path(named: str) -> None:
    assert parse_target(named) is None


@pytest.mark.parametrize(
    "named",
    [
        "ssh://-oProxyCommand=x",
        "ssh://",
        "ssh://a b",
        "ssh://-x@host",
        "ssh://host:99999",
        "ssh://host\nother",
        "ldap://user@host",
        "ldap://host/dc=example",
        "ldap://host:port",
        "ldap://host:0",
        "ldaps://[::1]:00",
        "ldap://host:65536",
        "ldap://host:-389",
        "ssh://host:0",
        "ssh://me@host:0/var/log/access",
        "ldap://",
        "ldapi://",
        "ldapi:///",
        "ldapi://relative",
        "netns:../proc",
        "netns:",
        "netns:-x",
    ],
)
def test_an_invalid_target_is_an_error(named: str) -> None:
    with pytest.raises(UsageError, match=r".") as raised:
        parse_target(named)
    assert named.splitlines()[0].split("://")[0] in str(raised.value)


@pytest.mark.parametrize("named", ["ldap://me:s3cret@host", "ldap://me:s3cret@host:99999", "ssh://me:s3cret@host"])
def test_a_password_in_a_target_is_refused_and_not_repeated(named: str) -> None:
    with pytest.raises(UsageError, match=r"://host") as raised:
        parse_target(named)
    assert "s3cret" not in str(raised.value)


@given(st.text(max_size=40))
def test_a_host_name_is_never_an_option_of_ssh(text: str) -> None:
    try:
        target = parse_target(f"ssh://{text}")
    except UsageError:
        return
    assert isinstance(target, SshTarget)
    assert not target.host.startswith("-")
    assert not (target.user or "").startswith("-")
    assert not any(character.isspace() or not character.isprintable() for character in target.host)


def test_without_arguments_the_target_is_the_local_host() -> None:
    assert split_targets([]) == ([LocalTarget()], [])
    assert split_targets(["incident"]) == ([], ["incident"])


def test_a_target_named_twice_counts_once() -> None:
    assert split_targets(["ssh://app1", "incident", "ssh://app1"]) == ([SshTarget("ssh://app1", "app1")], ["incident"])


def test_one_name_with_several_ports_is_several_hosts() -> None:
    """Tunnels: behind each port is another machine."""
    targets, _ = split_targets(
        ["ssh://fw:2201", "ssh://fw:2202", "ssh://fw", "ssh://app1:2222", "ssh://root@app1:2222"]
    )
    assert [target.name for target in targets if isinstance(target, SshTarget)] == [
        "fw:2201",
        "fw:2202",
        "fw:22",
        "app1",
        "app1",
    ]


def test_an_example_is_a_folder_that_is_installed_with_the_program() -> None:
    _, (folder,) = split_targets(["example:incident"])
    assert (Path(folder) / "ldap" / "ss-tiepmnaO.txt").is_file()
    with pytest.raises(UsageError, match=r"example:no: no such example; use example:incident, "):
        split_targets(["example:no"])
