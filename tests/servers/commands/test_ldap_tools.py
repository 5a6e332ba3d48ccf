"""Commands with the address and the bind options of the evidence, or with variables."""

from __future__ import annotations

import shlex
import subprocess
from dataclasses import replace

import pytest

from facts import address_of
from ldapdiag.evidence.ldap_session import LdapSession
from ldapdiag.servers.commands.ldap_tools import as_manager, as_root, host, modify, port, preceded
from ldapdiag.servers.commands.server_address import ServerAddress

UNKNOWN = ServerAddress(name="slapd-ds1", host="slapd-ds1")
BOUND = LdapSession(url="ldap://ds1:3890", dn="uid=o'neil,dc=x", password_file="/root/my pw")  # noqa: S106  a path
CASES = {
    "bound": (BOUND, "-x -H ldap://ds1:3890 -D 'uid=o'\"'\"'neil,dc=x' -y '/root/my pw'"),
    "typed": (LdapSession(url="ldaps://ds1", dn="cn=a b"), '-x -H ldaps://ds1 -D "cn=a b" -W'),
    "StartTLS": (LdapSession(url="ldap://ds1", dn="cn=a", start_tls="-ZZ"), "-x -H ldap://ds1 -ZZ -D cn=a -W"),
    "local": (LdapSession(url="ldapi://%2Frun%2Fa", mechanism="EXTERNAL"), "-Q -Y EXTERNAL -H ldapi://%2Frun%2Fa"),
    "Kerberos": (LdapSession(url="ldap://ds1:3890", mechanism="GSSAPI"), "-Q -Y GSSAPI -H ldap://ds1:3890"),
}


@pytest.mark.parametrize(("session", "options"), CASES.values(), ids=CASES)
def test_a_session_is_repeated_as_it_was(session: LdapSession, options: str) -> None:
    server = address_of("other", session=session)
    assert as_manager("ldapsearch", server) == f"ldapsearch {options}"
    assert as_root("ldapsearch", server) == f"ldapsearch {options}"
    assert modify(server, "dn: cn=config").startswith(f"ldapmodify {options} <<'LDIF'\n")


@pytest.mark.parametrize("start_tls", ["", "-Z", "-ZZ"])
def test_what_needs_tls_never_goes_on_in_the_clear(start_tls: str) -> None:
    server = address_of(session=LdapSession(url="ldap://ds1", dn="cn=a", start_tls=start_tls), is_named=False)
    assert as_manager("ldapmodify", server, secure=True) == 'ldapmodify -x -H "${LDAP_URI:?}" -ZZ -D cn=a -W'


def test_certificates_are_checked_as_they_were() -> None:
    trusted = LdapSession(url="ldaps://ds1", dn="cn=a", ca_file="/my ca.pem")
    assert as_manager("ldapsearch", address_of(session=trusted)).startswith(
        "LDAPTLS_CACERT='/my ca.pem' ldapsearch -x "
    )
    unverified = LdapSession(url="ldaps://ds1", dn="cn=a", insecure=True)
    assert as_manager("ldapsearch", address_of(session=unverified)).startswith("LDAPTLS_REQCERT=never ldapsearch -x ")


def test_after_an_anonymous_session_the_manager_binds_at_its_address() -> None:
    """The index configuration was then in a file."""
    session = LdapSession(url="ldap://ds1:3890", start_tls="-ZZ")
    server = address_of(session=session, manager="cn=root")
    assert as_manager("ldapsearch", server) == "ldapsearch -x -H ldap://ds1:3890 -ZZ -D cn=root -W"
    assert as_manager("ldapsearch", address_of(session=session)).endswith('-D "cn=Directory Manager" -W')


@pytest.mark.parametrize(
    ("ports", "url"),
    [
        ((389, 636), "ldap://ds1"),
        ((3890,), "ldap://ds1:3890"),
        ((636,), "ldaps://ds1"),
        ((1636, 1389), "ldap://ds1:1389"),
    ],
)
def test_without_a_session_the_table_of_the_host_has_the_port(ports: tuple[int, ...], url: str) -> None:
    assert as_manager("ldapsearch", address_of("ds1", *ports)) == f'ldapsearch -x -H {url} -D "cn=Directory Manager" -W'


@pytest.mark.parametrize("name", ["a b", "$(id)", "", "a;b", "app1:2222", "-oProxy=x"])
def test_an_unusable_name_is_no_address(name: str) -> None:
    assert '-H "${LDAP_URI:?}"' in as_manager("ldapsearch", address_of(name))


def test_a_local_socket_is_named_only_of_a_server_that_the_operator_named() -> None:
    known = address_of("ldap", 1389, name="ldap:1389", socket="ldapi://%2Frun%2Ftwo")
    assert as_root("ldapsearch", known) == "ldapsearch -Q -Y EXTERNAL -H ldapi://%2Frun%2Ftwo"
    for server, said in (
        (replace(known, is_named=False), f"the evidence says {known.socket}"),
        (UNKNOWN, "not in the"),
    ):
        comment, _, command = server.stated(as_root("ldapsearch", server)).split("\n")
        assert command == 'ldapsearch -Q -Y EXTERNAL -H "${LDAP_URI:?}"'
        assert f": {said}" in comment


@pytest.mark.parametrize("socket", [None, ""])
def test_a_slapd_without_a_local_socket_is_changed_by_its_manager_at_its_port(socket: str | None) -> None:
    none = address_of("ldap", 3890, socket=socket)
    changed = as_root("ldapmodify", none)
    assert changed == "ldapmodify -x -H ldap://ldap:3890 -D cn=config -W"
    assert ("where slapd has one" in preceded(none, changed)) == (socket is not None)
    anonymous = LdapSession(url="ldaps://ldap")
    assert as_root("ldapmodify", replace(none, session=anonymous)) == "ldapmodify -x -H ldaps://ldap -D cn=config -W"


def test_hosts_and_ports_are_those_of_the_address() -> None:
    session = LdapSession(url="ldaps://[2001:db8::1]:1636", dn="cn=a")
    assert (host(address_of(session=session)), port(address_of(session=session))) == ("2001:db8::1", 1636)
    assert (host(address_of("ds1", 3890)), port(address_of("ds1", 3890))) == ("ds1", 3890)
    assert (host(UNKNOWN), port(UNKNOWN)) == ('"${LDAP_HOST:?}"', 389)


@pytest.mark.parametrize(
    "dn", ["cn=$(touch pasted)", "cn=`touch pasted`", "cn=a';touch pasted;'", 'cn=a";touch pasted;"']
)
@pytest.mark.parametrize("of", ["session", "configuration"])
def test_a_hostile_account_is_one_word(dn: str, of: str) -> None:
    session = LdapSession(url="ldap://ds1", dn=dn, password_file=dn, ca_file=dn)
    server = address_of(session=session) if of == "session" else address_of(manager=dn)
    words = shlex.split(as_manager("ldapsearch", server))
    assert words[words.index("-D") + 1] == dn


def test_what_is_missing_comes_first_and_stops_the_rest(tmp_path) -> None:
    commands = UNKNOWN.stated(f"{as_manager('ldapsearch', UNKNOWN)} 2>/dev/null\ntouch done")
    ran = subprocess.run(["/bin/sh", "-c", commands], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode
    assert "LDAP_URI: export the URL of the server first" in ran.stderr
    assert not list(tmp_path.iterdir())
    assert commands.startswith(
        "# LDAP_URI, exported once, must be the URL of slapd-ds1: not in the evidence, ldap://HOST:PORT"
    )


@pytest.mark.parametrize("session", [None, *(session for session, _ in CASES.values())], ids=["none", *CASES])
@pytest.mark.parametrize("mark", ["", "ds1"])
def test_an_address_that_the_operator_did_not_name_is_a_comment(session: LdapSession | None, mark: str) -> None:
    server = address_of(session=session, is_named=False, mark=mark)
    commands = server.stated(as_manager("ldapsearch", server))
    comment, _, command = commands.split("\n")
    name = f"LDAP_URI_{mark}" if mark else "LDAP_URI"
    assert comment == f"# {name}, exported once, must be the URL of ds1: the evidence says {server.said_uri}"
    assert server.said_uri not in command
    assert f'-H "${{{name}:?}}"' in command
    assert host(server) == f'"${{{name.replace("URI", "HOST")}:?}}"'


def test_commands_for_the_host_name_it() -> None:
    local = LdapSession(url="ldapi://%2Frun%2Fa", mechanism="EXTERNAL")
    unnamed = replace(UNKNOWN, session=local)
    places = (
        (address_of(socket=local.url), "ds1"),
        (address_of(session=local), "ds1"),
        (unnamed, "the server's own host"),
    )
    for server, place in places:
        assert preceded(server, as_root("ldapsearch", server)).startswith(f"# on {place}:\nldapsearch")
    assert preceded(UNKNOWN, as_root("ldapsearch", UNKNOWN)).startswith("# on the host of slapd-ds1:\nldapsearch")
    assert preceded(UNKNOWN, "systemctl stop slapd") == "# on the host of slapd-ds1:\nsystemctl stop slapd"
    assert preceded(address_of(), "ldapsearch -H ldap://ds1") == "ldapsearch -H ldap://ds1"
