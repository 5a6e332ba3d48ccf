"""Anonymised captures: nothing of the original names is left, and the verdicts are the same in other names."""

from __future__ import annotations

import base64
import io
import ipaddress
import json
import re
import struct
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import examples
from conftest import CAPTURES, CORPUS
from ldapdiag.catalogue import installed_checks
from ldapdiag.diagnosis import diagnose
from ldapdiag.evidence.addresses import identifies_a_host
from ldapdiag.evidence.bundle import Bundle, Gap
from ldapdiag.finding import Finding, Judged
from ldapdiag.sources.anonymising.anonymise import Anonymised, anonymise
from ldapdiag.sources.anonymising.pseudonyms import Pseudonyms
from ldapdiag.sources.anonymising.text_anonymiser import TextAnonymiser
from ldapdiag.sources.captures.find import find
from ldapdiag.sources.captures.manifest import ClockOffset
from ldapdiag.sources.files.input import Input
from ldapdiag.sources.recognition.reading import read

SECRET = b"a secret of this test"
PLANTED = (
    b"application_xyz",
    b"application_foo",
    b"application_shizzle",
    b"quickr",
    b"10.77.1.2",
    b"10.77.2.2",
    b"dc=example",
)
HEXADECIMAL = (b"02014D0A", b"02024D0A", b"02034D0A")
PACKED = (bytes([10, 77, 1, 2]), bytes([10, 77, 2, 2]))
HOSTS = (b"app1", b"app2")
OURS = sorted(path for path in (CAPTURES / "incidents").iterdir() if path.is_dir() and path.name != "truth")
OURS += sorted(path for name in ("389ds", "openldap", "opendj", "haproxy") for path in (CAPTURES / name).iterdir())
TABLES = sorted(
    path
    for name in ("sockets", "windows", "lsof-fields")
    for path in (CAPTURES / name).iterdir()
    if path.name != "README.md"
)
CUT = "aix-netstat-Aan.txt"
"""A table whose addresses are cut: what is left of one has no pseudonym of the same length."""

CUT_ADDRESS = re.compile(r"[\da-f:]+…")
NETWORK = re.compile(r"[\da-f.:]+/\d+")
DN = re.compile(r"[a-z]+=.*,")
SHARED = ("5c-fd-exhaustion-openldap", "5a-ghost-389ds", "6c-snat-ports-kept")


def pieces_of(named: Path) -> list[Input]:
    return [one for one in find(str(named)) if isinstance(one, Input) and not one.path.endswith("README.md")]


def piece(content: bytes | str, path: str = "app1/file") -> Input:
    data = content.encode() if isinstance(content, str) else content
    return Input(path=path, folder=path.partition("/")[0], label=path, source=partial(io.BytesIO, data))


def content_of(one: Input) -> bytes:
    with one.open() as stream:
        return stream.read()


def anonymised(content: bytes | str, path: str = "app1/file") -> str:
    (one,) = anonymise([piece(content, path)], secret=SECRET).pieces
    return content_of(one).decode()


def judged(pieces: list[Input] | tuple[Input, ...]) -> tuple[Judged, ...]:
    facts = []
    for one in pieces:
        facts += read(one).facts
    return diagnose(Bundle(facts=tuple(facts)), installed_checks()).judged


def told(verdicts: tuple[Judged, ...], mapping: Mapping[str, str]) -> list[str]:
    """Return verdicts as comparable text: what they are, of whom, how bad, and what was observed, in other names."""
    names = sorted(mapping.keys() - {"server", "client"}, key=len, reverse=True)
    pattern = re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, names))})(?![\w])") if names else None
    names = TextAnonymiser(Pseudonyms(SECRET))

    def renamed(value: Any) -> Any:
        match value:
            case str() if CUT_ADDRESS.search(value):
                return renamed(CUT_ADDRESS.sub("...", value))
            case str() if pattern and (DN.match(value) or NETWORK.fullmatch(value)):
                return names.text(value)
            case str():
                return pattern.sub(lambda found: mapping[found[0]], value) if pattern else value
            case dict():
                return {renamed(key): renamed(one) for key, one in value.items()}
            case list() | tuple() | set() | frozenset():
                return sorted((renamed(one) for one in value), key=str)
        return value

    texts = []
    for one in verdicts:
        verdict = one.verdict
        said = [one.check, type(verdict).__name__, renamed(verdict.subject)]
        if isinstance(verdict, Finding):
            said += [str(verdict.severity), verdict.confidence, renamed(verdict.observed), renamed(verdict.hosts)]
        texts.append(json.dumps(said, sort_keys=True, default=str))
    return sorted(texts)


def assert_the_same_in_other_names(pieces: list[Input]) -> Anonymised:
    other = anonymise(pieces, secret=SECRET)
    assert told(judged(other.pieces), {}) == told(judged(pieces), other.mapping)
    return other


def assert_nothing_left(other: Anonymised) -> None:
    assert other.pieces
    for one in other.pieces:
        content = content_of(one)
        text = content + one.path.encode() + one.label.encode() + one.folder.encode()
        binary = PACKED if content.startswith(b"inet_diag") else ()
        assert [left for left in (*PLANTED, *HEXADECIMAL, *HOSTS, *binary) if left in text] == [], one.path
        decoded = [base64.b64decode(found) for found in re.findall(rb":: ([A-Za-z0-9+/=]+)", content)]
        assert [left for left in PLANTED if any(left in one for one in decoded)] == [], one.path


class TestCaptures:
    @pytest.mark.parametrize("folder", examples.some(OURS, 6), ids=lambda path: f"{path.parent.name}-{path.name}")
    def test_of_ours(self, folder: Path) -> None:
        assert_nothing_left(assert_the_same_in_other_names(pieces_of(folder)))

    @pytest.mark.parametrize(
        "table", examples.some([one for one in TABLES if one.name != CUT], 2), ids=lambda path: path.name
    )
    def test_of_tables_of_every_system(self, table: Path) -> None:
        assert_nothing_left(assert_the_same_in_other_names(pieces_of(table)))

    @pytest.mark.parametrize("name", examples.some(SHARED, 3))
    def test_of_the_corpus(self, corpus: Path, name: str) -> None:
        evidence = [one for one in pieces_of(corpus / name) if "groundtruth" not in one.path]
        assert_nothing_left(assert_the_same_in_other_names(evidence))

    def test_of_a_table_that_is_cut_nothing_is_left_either(self) -> None:
        assert_nothing_left(anonymise(pieces_of(CAPTURES / "sockets" / CUT), secret=SECRET))

    def test_the_corpus_is_where_the_tests_look(self) -> None:
        assert not CORPUS.is_dir() or all((CORPUS / name).is_dir() for name in SHARED)


class TestTexts:
    def test_one_name_in_many_grammars_stays_one(self) -> None:
        text = anonymised(
            'BIND dn="uid=john,ou=people,dc=example,dc=com" method=128\n'
            'SRCH base="dc=example,dc=com" scope=2 filter="(&(uid=jo*)(cn=john)(objectClass=person))" attrs="uid"\n'
            "connection: 2:20261120085231Z:40:40:-:uid=john,ou=people,dc=example,dc=com:0:0:0:2:ip=10.77.3.2\n"
        )
        names = set(re.findall(r"uid=(\w{4}),", text))
        (name,) = names
        assert name != "john"
        assert f"(uid={name[:2]}*)(cn={name})(objectClass=person)" in text
        assert "john" not in text
        assert "example" not in text
        assert 'attrs="uid"' in text

    @pytest.mark.parametrize(
        "kept",
        [
            "dn: cn=config", "dn: cn=monitor", "dn: cn=Max File Descriptors,cn=Connections,cn=Monitor",
            "dn: cn=Connection 1107,cn=Connections,cn=Monitor", "dn: olcDatabase={1}mdb,cn=config",
            "dn: cn=uid,cn=index,cn=userRoot,cn=ldbm database,cn=plugins,cn=config",
            "dn: cn=LDAP Connection Handler,cn=Connection Handlers,cn=config",
            "version: 389-Directory/1.2.11.15 B2014.300.2010", "version: Sun-Directory-Server/11.1.1.7.0",
            "supportedControl: 1.3.6.1.4.1.42.2.27.8.5.1", "ESTAB 0 0 127.0.0.1:389 [::1]:636", "netmask 255.255.255.0",
            'fd=64 BIND dn="cn=Directory Manager" method=128', ":cn=directory manager:0:0", "0.0.0.0:* 172.17.0.2:80",
            "cwnd:10 rto:204 uid:105 ino:585353 timer:(keepalive,3min47sec,0)", "20:30:40 2026-11-20T13:00:01Z",
            "dn: cn=schema\nattributeTypes: ( 2.5.4.41 NAME 'name' EQUALITY 2.5.13.2 X-ORIGIN 'RFC 4519' )",
            "dn: cn=schema,cn=config\nolcAttributeTypes: {12}( 2.5.4.3 NAME ( 'cn' 'commonName' ) SUP 2.5.4.41 )",
            "net.ipv4.tcp_keepalive_time = 7200", "IP=127.0.0.31:45751", "uid=0 gid=0", "aa:bb:cc:dd:ee:ff",
        ],
    )  # fmt: skip
    def test_values_that_are_not_confidential_stay(self, kept: str) -> None:
        assert anonymised(f"{kept}\n") == f"{kept}\n"

    def test_an_address_in_the_schema_is_one_all_the_same(self) -> None:
        text = anonymised("dn: cn=schema\nattributeTypes: ( 2.5.4.41 NAME 'name' DESC 'ask 10.1.2.3' )\n")
        assert "( 2.5.4.41 NAME 'name' DESC 'ask " in text
        assert "10.1.2.3" not in text

    @pytest.mark.parametrize(
        "original",
        [
            "10.1.2.3", "10.1.2.3:389", "10.1.2.3.389", "[2001:db8::5]:389", "::ffff:10.1.2.3", "IP=10.1.2.3:4000",
            "2001:db8:0:0:0:0:0:5", "from 10.1.2.3 to 10.1.2.3", "src=10.1.2.3 dst=10.1.2.3", "10.1.2.3/24",
            "eth0-10.1.2.3", 'source="10.1.2.3:44997"', "ldap://10.1.2.3:389/", "10.1.2.3%eth0",
        ],
    )  # fmt: skip
    def test_addresses_in_every_dress(self, original: str) -> None:
        text = anonymised(original)
        assert "10.1.2.3" not in text
        assert "2001:db8" not in text
        assert (
            re.sub(r"[\da-f]", "", text).strip(".:") == re.sub(r"[\da-f]", "", original).strip(".:") or ":" in original
        )

    def test_the_time_of_a_session_is_no_address(self) -> None:
        session = "0x55ba34d05a90: [22/Nov/2026:10:24:45.865337] id=0 proto=tcpv4 source=10.77.2.2:38664\n"
        assert "[22/Nov/2026:10:24:45.865337]" in anonymised(session, "haproxy/show-sess-all.txt")

    def test_a_folder_of_a_version_does_not_change_states(self) -> None:
        pieces = [piece("x", "2.6.12-half-closed/x"), piece("tcp 0 0 10.1.2.3:389 10.1.2.4:40000 FIN-WAIT-2\n")]
        assert "FIN-WAIT-2" in content_of(anonymise(pieces, secret=SECRET).pieces[1]).decode()

    def test_names_of_hosts_and_of_their_domain(self) -> None:
        text = anonymised(
            "name: app1.example.com on app1: ldap://app1.example.com:389 joe@mail.example.com\ndn: dc=example,dc=com"
        )
        assert re.search("app1|example|joe|mail", text) is None
        host = re.search(r"ldap://(\S+):389", text)
        assert host is not None
        assert text.count(host[1]) == 2
        assert "dc=" + ",dc=".join(host[1].split(".")[1:]) in text

    @pytest.mark.parametrize(
        "written",
        [
            "2: veth_app1@if2: <BROADCAST,UP> mtu 1500",
            "10.77.2.0/24 dev vethapp1 proto kernel scope link src 10.77.2.1",
            "    inet 10.77.2.1/24 scope global app1lan",
            "ESTAB 0 0 [fe80::1]%veth_app1:389 [fe80::2]%vethapp1:40000",
            "net.ipv4.conf.veth_app1.forwarding = 1",
            "default via 10.77.1.1 dev br-ds1.example",
        ],
    )
    def test_an_interface_does_not_name_its_host(self, written: str) -> None:
        text = TextAnonymiser(Pseudonyms(SECRET))
        for host in ("app1", "ds1.example.com"):
            text.add_host(host)
        shown = text.text(written)
        assert not any(name in shown for name in ("app1", "ds1", "example")), shown
        assert text.text("2: eth0: <UP>, 3: enp0s31f6: <UP>") == "2: eth0: <UP>, 3: enp0s31f6: <UP>"

    def test_a_value_met_in_one_piece_is_found_in_all(self) -> None:
        other = anonymise(
            [piece("started by application_xyz"), piece('dn="uid=application_xyz,dc=example"', "ldap/access")],
            secret=SECRET,
        )
        assert b"application_xyz" not in b"".join(content_of(one) for one in other.pieces)

    @pytest.mark.parametrize("value", ["WmFycm8gdmVnYQ", "Zarro Vega"], ids=["without padding", "no base64"])
    def test_base64_that_does_not_decode_is_withheld(self, value: str) -> None:
        assert anonymised(f"dn: cn=x\ncn:: {value}\nsn: y\n").splitlines()[1] == "cn: (withheld)"

    def test_escapes_and_base64(self) -> None:
        plain = anonymised('dn="cn=Jörg\\, Müller,dc=example"')
        escaped = anonymised('dn="cn=J\\c3\\b6rg\\2c M\\c3\\bcller,dc=example"')
        base64_of = base64.b64encode("cn=Jörg\\, Müller,dc=example".encode()).decode()
        encoded = anonymised(f"dn:: {base64_of}\ncn: x\n")
        assert plain.replace("\\,", "\\2c") == escaped
        decoded = base64.b64decode(encoded.partition("\n")[0].removeprefix("dn:: ")).decode()
        assert f'dn="{decoded}"' == plain

    def test_a_folded_line_of_ldif_is_one_name(self) -> None:
        text = anonymised(
            "dn: cn=monitor\nconnection: 1:20261120085231Z:4:4:-:uid=applic\n ation_xyz,dc=exam\n ple:0:0:0:1:ip=10.7\n"
            " 7.2.2\n"
        )
        assert re.search("applic|ation|exam|10.77.2.2|7.2.2", text) is None
        assert re.search(r":uid=\w{11}_\w{3},dc=\w{7}:0:0:0:1:ip=10\.", text)

    @pytest.mark.parametrize("written", ["[{}%eth0]:389", "{}%eth0:389", "{}:389", "[{}]:389"])
    def test_no_mac_is_left_in_a_link_local_address(self, written: str) -> None:
        address = "fe80::5054:ff:fe12:3456"
        head = "State Recv-Q Send-Q Local Address:Port Peer Address:Port"
        row = f"{head}\nESTAB 0 0 {written.format(address)} 10.1.2.3:5\n"
        (one,) = anonymise([piece(row.encode())], secret=SECRET).pieces
        mapped = Pseudonyms(SECRET).address(ipaddress.ip_address(address))
        assert f" {written.format(mapped)} ".encode() in content_of(one)

    def test_bytes_that_are_no_text_survive(self) -> None:
        (one,) = anonymise([piece(b"caf\xe9 10.1.2.3 \xff\x00")], secret=SECRET).pieces
        assert content_of(one).startswith(b"caf\xe9 10.")
        assert content_of(one).endswith(b" \xff\x00")

    def test_utf_16_stays_utf_16(self) -> None:
        (one,) = anonymise([piece("  TCP    10.1.2.3:389   10.1.2.4:5000\r\n".encode("utf-16"))], secret=SECRET).pieces
        text = content_of(one).decode("utf-16")
        assert re.fullmatch(r"  TCP +10\.\d+\.\d+\.\d+:389 +10\.\d+\.\d+\.\d+:5000\r\n", text)
        assert "10.1.2.3" not in text

    def test_the_kernel_s_answers_are_rewritten_in_place(self) -> None:
        addresses = ipaddress.ip_address("10.1.2.3").packed.ljust(16, b"\0"), ipaddress.ip_address("2001:db8::5").packed
        message = b"".join(
            struct.pack("<IHHII", 88, 20, 2, 1, 1)
            + bytes([family, 1, 0, 0])
            + b"\x01\x85\x9c\x40"
            + address * 2
            + bytes(32)
            for family, address in zip((2, 10), addresses, strict=True)
        )
        head = b"inet_diag dump 1 little\nowner 5 6 java\n\n"
        (one,) = anonymise([piece(head + message + message[:50])], secret=SECRET).pieces
        content = content_of(one)
        names = Pseudonyms(SECRET)
        for at, text in ((0, "10.1.2.3"), (88, "2001:db8::5")):
            packed = names.address(ipaddress.ip_address(text)).packed
            start = len(head) + at + 24
            assert content[start : start + len(packed)] == packed
            assert content[start + 16 : start + 16 + len(packed)] == packed
        assert (len(content), content[: len(head)]) == (len(head) + len(message) + 50, head)

    def test_gaps_offsets_and_questions_too(self) -> None:
        gap = Gap(target="ssh://joe@app2.example.com", reason="10.1.2.3 refused", how="start sshd on app1")
        offset = ClockOffset(seconds=1, uncertainty_seconds=0.5)
        offsets = {"app1": offset, "ssh://joe@app2.example.com": offset}
        other = anonymise(
            [piece("x"), piece("x", "vm/x")],
            gaps=[gap, Gap(target="the sockets of vm-web", reason="x")],
            offsets=offsets,
            secret=SECRET,
        )
        assert re.search("app|joe|example|10.1.2.3|vm", repr([other.gaps, other.offsets])) is None
        host, target = other.offsets
        assert target == other.gaps[0].target
        assert other.gaps[1].target.startswith("the sockets of ")
        assert other.pieces[0].path == f"{host}/file"
        assert other.mapping["app1"] == host

    @pytest.mark.parametrize(
        "hostile",
        examples.some(["dn: cn=a", "cn=", "1.2.3.", "cn=a,", "a.b.", 'filter="(f', "\\", "cn=\\5c", "b "], 5),
    )
    def test_hostile_text_costs_no_time(self, hostile: str) -> None:
        anonymised(hostile * 20_000)  # each took minutes or an exception in an earlier form


ADDRESSES = st.one_of(
    st.ip_addresses(v=4), st.ip_addresses(v=6, network="2000::/3"), st.ip_addresses(v=4, network="10.0.0.0/8")
)


class TestPseudonyms:
    @given(ADDRESSES, ADDRESSES)
    def test_addresses_agree_just_as_far_as_the_originals(self, one: Any, other: Any) -> None:
        names = Pseudonyms(SECRET)
        if one.version == other.version:
            differ = int(one) ^ int(other)
            mapped = int(names.address(one)) ^ int(names.address(other))
            assert mapped.bit_length() == differ.bit_length()

    @given(ADDRESSES)
    def test_what_identifies_no_host_stays_and_nothing_becomes_it(self, address: Any) -> None:
        mapped = Pseudonyms(SECRET).address(address)
        assert identifies_a_host(str(mapped)) == identifies_a_host(str(address))
        assert identifies_a_host(str(address)) or mapped == address

    @given(st.ip_addresses(v=6, network="fe80::/10"), st.ip_addresses(v=6, network="fe80::/10"))
    def test_of_a_link_local_address_the_network_stays_and_nothing_of_the_mac(self, one: Any, other: Any) -> None:
        names = Pseudonyms(SECRET)
        mapped = names.address(one)
        assert int(mapped) >> 64 == int(one) >> 64
        assert (int(mapped) ^ int(names.address(other))).bit_length() == (int(one) ^ int(other)).bit_length()

    def test_short_link_local_addresses_too(self) -> None:
        names = Pseudonyms(SECRET)
        assert int(names.address(ipaddress.ip_address("fe80::1"))) - (0xFE80 << 112) > 1 << 32
        zoned = names.address(ipaddress.ip_address("fe80::1%eth0"))
        assert str(zoned) == f"{names.address(ipaddress.ip_address('fe80::1'))}%eth0"

    @given(st.ip_addresses(v=4))
    def test_a_mapped_address_maps_as_the_one_inside(self, address: ipaddress.IPv4Address) -> None:
        names = Pseudonyms(SECRET)
        mapped = names.address(ipaddress.IPv6Address(f"::ffff:{address}"))
        assert isinstance(mapped, ipaddress.IPv6Address)
        assert mapped.ipv4_mapped == names.address(address)

    @given(st.text("abzAZ09_.-", max_size=20), st.text("abzAZ09_.-", max_size=20))
    def test_words_agree_just_as_far_as_the_originals(self, one: str, other: str) -> None:
        names = Pseudonyms(SECRET)
        agree = next(
            (at for at, (left, right) in enumerate(zip(one, other, strict=False)) if left != right),
            min(len(one), len(other)),
        )
        mapped, mapped_other = names.word(one), names.word(other)
        assert mapped[:agree] == mapped_other[:agree]
        assert (mapped == mapped_other) == (one == other)
        assert [len(mapped), mapped.casefold()] == [len(one), names.word(one.casefold()).casefold()]

    @given(st.text(max_size=30))
    def test_no_letter_and_no_digit_stays_what_it_is(self, text: str) -> None:
        mapped = Pseudonyms(SECRET).word(text)
        assert len(mapped) == len(text)
        assert [
            old for old, new in zip(text, mapped, strict=True) if old == new and old.isascii() and old.isalnum()
        ] == []

    def test_another_secret_gives_other_names(self) -> None:
        one, other = Pseudonyms(b"one"), Pseudonyms(b"other")
        assert (
            one.word("application_xyz") == Pseudonyms(b"one").word("application_xyz") != other.word("application_xyz")
        )
