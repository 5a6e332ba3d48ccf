"""What a directory may do to those who ask it, from a fake one: 8 s. Real ones: live/servers/test_directory.py."""

from __future__ import annotations

import re
import socket
import threading
import time
from itertools import chain, islice, repeat

import pytest

import fake_directory
from fake_directory import FakeDirectory, element, entry, octets, result
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.monitor import Monitor
from ldapdiag.sources.budget import Budget
from ldapdiag.sources.collection_options import BindOptions, Mechanism, StartTls
from ldapdiag.sources.live.ldap.connecting import connect
from ldapdiag.sources.live.ldap.directory import query_directory
from ldapdiag.sources.targets import parse_target
from reading import facts_of

COUNTERS = {"objectClass": ["top"], "version": ["389-Directory/2.3.1"], "currentconnections": ["3"]}
ROOT = ("", {"vendorVersion": ["389-Directory/2.3.1 B2025"]})
VALUES = [f"{slot}:20261120084645Z:4:4:-:uid=a,o=x:0:0:0:{slot}:ip=10.0.0.{slot}" for slot in (1, 2)]


def says(base, attributes):
    """Say what a small 389-ds says."""
    if base == "":
        return [ROOT], 0
    if attributes == ["connection"]:
        return [("cn=monitor", {"connection": VALUES})], 0
    return ([("cn=monitor", COUNTERS)], 0) if base == "cn=monitor" else ([], 0)


def asked(url, seconds=5, stop=None, budget=None, **bind_options):
    stop = stop or threading.Event()
    address = parse_target(url).address
    options = BindOptions(**bind_options)
    limits = {"timeout_seconds": seconds, "stop": stop, "budget": budget}
    return query_directory(address, url, options, folder="here/ds1", **limits)


def texts(answers):
    return {piece.path: piece.open().read() for piece in answers.pieces}


def only_gap(answers):
    (gap,) = answers.gaps
    assert gap.how
    return gap.reason


@pytest.fixture
def silent():
    """Listen, take whatever comes, and never answer."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


class TestAnswers:
    def test_counters_and_connections_are_one_entry(self):
        with FakeDirectory(says) as directory:
            answers = asked(directory.url)
        (monitor,) = facts_of(texts(answers)["ds1/cn-monitor.ldif"], path="ds1/cn-monitor.ldif")
        assert isinstance(monitor, Monitor)
        assert (monitor.current_connections, len(monitor.connections)) == (3, 2)
        assert (answers.peer, monitor.identity.family) == ("127.0.0.1", Family.DS389)
        assert directory.unbound.wait(5)

    def test_a_server_is_bound_to_and_searched_and_nothing_else(self):
        with FakeDirectory(says) as directory:
            asked(directory.url, dn="cn=x", password="secret")  # noqa: S106  of nobody
        assert directory.operations == {fake_directory.BIND, fake_directory.SEARCH, fake_directory.UNBIND}

    def test_each_is_asked_once_and_the_connections_after_the_counters(self):
        with FakeDirectory(says) as directory:
            asked(directory.url)
        assert len(directory.searches) == len({(base, *names) for base, names in directory.searches})
        assert [base for base, _ in directory.searches[:2]] == ["", "cn=monitor"]
        assert "connection" not in directory.searches[1][1]

    def test_pieces_say_when_and_what_was_asked(self):
        with FakeDirectory(says) as directory:
            answers = asked(directory.url)
        for piece in answers.pieces:
            assert piece.folder == "here/ds1"
            assert piece.taken.start <= piece.taken.end
            assert directory.url in piece.asked

    def test_the_first_line_names_our_own_connection(self):
        with FakeDirectory(says) as directory:
            answers = asked(directory.url, dn="cn=a\nuserPassword: x,o=ü", password="p")  # noqa: S106  of nobody
        first = texts(answers)["ds1/cn-monitor.ldif"].split(b"\n")[0].decode()
        assert re.fullmatch(r"# asked by 127\.0\.0\.1:\d+ as cn=a\\0AuserPassword: x,o=ü", first)

    def test_our_socket_keeps_alive(self, monkeypatch):
        opened = []

        def watched(*way):
            sock = connect(*way)
            opened.append(sock.dup())
            return sock

        monkeypatch.setattr("ldapdiag.sources.live.ldap.directory.connect", watched)
        with FakeDirectory(says) as directory:
            asked(directory.url)
        with opened[0] as sock:
            assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1


class TestTroubles:
    def test_a_list_that_never_comes_leaves_the_counters(self):
        over = threading.Event()

        def slow(base, attributes):
            if attributes == ["connection"]:
                over.wait(20)
            return says(base, attributes)

        start = time.monotonic()
        with FakeDirectory(slow) as directory:
            answers = asked(directory.url, seconds=1)
            over.set()
        assert time.monotonic() - start < 3
        assert [names for _, names in directory.searches].count(["connection"]) == 1
        (monitor,) = facts_of(texts(answers)["ds1/cn-monitor.ldif"], path="ds1/cn-monitor.ldif")
        assert (monitor.connections, monitor.current_connections) == (None, 2)
        assert "the connections of cn=monitor: no answer in 1 s" in [gap.reason for gap in answers.gaps]

    @pytest.mark.parametrize("scheme", ["ldap", "ldaps"])
    def test_a_server_that_accepts_and_never_answers_costs_its_seconds(self, silent, scheme):
        start = time.monotonic()
        answers = asked(f"{scheme}://127.0.0.1:{silent}", seconds=1)
        assert 0.9 < time.monotonic() - start < 2
        assert "no answer in 1 s" in only_gap(answers)

    @pytest.mark.parametrize("scheme", ["ldap", "ldaps"])
    def test_ctrl_c_ends_it_at_once(self, silent, scheme):
        stop = threading.Event()
        threading.Timer(0.3, stop.set).start()
        start = time.monotonic()
        (gap,) = asked(f"{scheme}://127.0.0.1:{silent}", seconds=60, stop=stop).gaps
        assert time.monotonic() - start < 2
        assert "interrupted" in gap.reason

    def test_ctrl_c_keeps_what_there_was(self):
        stop, over = threading.Event(), threading.Event()

        def slow(base, attributes):
            if attributes == ["connection"]:
                stop.set()
                over.wait(20)
            return says(base, attributes)

        with FakeDirectory(slow) as directory:
            answers = asked(directory.url, seconds=60, stop=stop)
            over.set()
        assert "ds1/cn-monitor.ldif" in texts(answers)

    @pytest.mark.parametrize(
        ("url", "reason"),
        [
            ("ldap://nobody.invalid", "cannot resolve host name 'nobody.invalid'"),
            ("ldapi://%2Fno%2Fsuch%2Fsocket", "cannot connect to the socket /no/such/socket: no such file"),
        ],
    )
    def test_an_address_without_a_server_is_a_gap(self, url, reason):
        assert only_gap(asked(url)).startswith(reason)

    def test_a_name_without_an_address_is_a_failed_probe(self):
        (probe,) = texts(asked("ldap://nobody.invalid")).values()
        assert b"outcome: unresolved\n" in probe

    def test_a_refused_port_is_a_gap(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        assert only_gap(asked(f"ldap://127.0.0.1:{port}")).endswith("connection refused")

    @pytest.mark.parametrize(
        ("code", "word", "how"),
        [
            (49, "invalidCredentials (49)", "-W"),
            (13, "confidentialityRequired (13)", "ldaps://"),
            (8, "strongerAuthRequired (8)", "ldaps://"),
            (48, "inappropriateAuthentication (48)", "-D DN -W"),
        ],
    )
    def test_a_refused_bind_has_advice(self, code, word, how):
        with FakeDirectory(says, bind_code=code) as directory:
            (gap,) = asked(directory.url, dn="cn=a", password="s3cret").gaps  # noqa: S106  of nobody
        assert word in gap.reason
        assert how in gap.how
        assert not directory.searches

    def test_a_name_without_a_password_is_not_sent(self):
        with FakeDirectory(says) as directory:
            assert only_gap(asked(directory.url, dn="cn=a")) == "cannot bind as 'cn=a': no password given"

    def test_gssapi_without_its_package_or_a_ticket_is_a_gap(self):
        with FakeDirectory(says) as directory:
            reason = only_gap(asked(directory.url, mechanism=Mechanism.GSSAPI))
        assert reason.startswith(("GSSAPI needs a Python package", "no Kerberos ticket"))

    def test_silence_at_a_tls_port_differs_from_a_slow_server(self, silent, monkeypatch):
        for ports in (frozenset[int](), frozenset({silent})):
            monkeypatch.setattr("ldapdiag.sources.live.ldap.directory.TLS_PORTS", ports)
            (gap,) = asked(f"ldap://127.0.0.1:{silent}", seconds=1).gaps
            assert gap.reason == "no answer in 1 s"
            assert ("ldaps://" in gap.how) == bool(ports)

    def test_a_failed_zz_ends_it(self):
        with FakeDirectory(says) as directory:
            assert "StartTLS failed" in only_gap(asked(directory.url, start_tls=StartTls.MUST))
        assert not directory.searches

    def test_an_unknown_product_is_a_gap(self):
        with FakeDirectory(lambda *_: ([("", {"vendorName": ["Acme"]})], 0)) as directory:
            assert "unknown product" in only_gap(asked(directory.url))

    def test_a_ca_file_that_is_none_is_a_gap(self, silent, tmp_path):
        (tmp_path / "ca").write_text("no certificate")
        for name in ("ca", "missing"):
            answers = asked(f"ldaps://127.0.0.1:{silent}", ca_file=str(tmp_path / name))
            assert only_gap(answers).startswith("cannot read certificates from")

    def test_the_password_is_in_no_repr(self):
        assert "s3cret" not in repr(BindOptions(dn="cn=a", password="s3cret"))  # noqa: S106  of nobody


BIND, SEARCH = element(2, b"\x01"), element(2, b"\x02")
"""The numbers of the first two messages of a session."""
OTHER = element(2, b"\x09")
ELSEWHERE = ("ldap://ds2.example.com/cn=monitor", "ldap://ds3.example.com/\x1b[31m")
REFERRAL = element(0xA3, *map(octets, ELSEWHERE))
NOTICE = element(0x8A, b"1.3.6.1.4.1.1466.20036")
DEEP = element(0x30, BIND, element(0x61, *[b"\x30\x84\x00\x00\x0f\xff" * 600]))


class TestUnexpectedAnswers:
    """Each is a gap in plain words with a next step, and none asks for a report of a bug."""

    @pytest.mark.parametrize(
        ("answer", "reason"),
        [
            (result(BIND, 0x61, 10, "", REFERRAL), "failed: referral (10) to ldap://ds2.example.com/cn=monitor"),
            (result(OTHER, 0x61, 0), "the server answered message 9, but message 1 was sent"),
            (result(BIND, 0x65, 0), "the server answered a bind with a search result"),
            (entry(BIND, *ROOT), "the server answered a bind with an entry"),
            (result(BIND, 0x75, 0), "the server answered a bind with a message of unknown kind 0x75"),
            (result(element(2, b"\0"), 0x78, 52, "shutting down", NOTICE), "result code 52: shutting down)"),
            (result(element(2, b"\0"), 0x78, 0), "the server sent a message that answers no request"),
            (element(0x30, BIND, element(0x61, element(0x30, octets("")))), "cannot decode the server's answer"),
            (DEEP, "cannot decode the server's answer: its elements are nested"),
            (result(BIND, 0x61, 90, "Acme"), "cannot decode the server's answer: unknown result code 90: Acme"),
        ],
        ids=["referral", "number", "kind", "entry", "unknown", "notice", "unsolicited", "none", "nested", "code"],
    )
    def test_to_a_bind(self, answer, reason):
        with FakeDirectory(says, bind=answer) as directory:
            (gap,) = asked(directory.url, dn="cn=a", password="s3cret").gaps  # noqa: S106  of nobody
        assert reason in gap.reason
        assert gap.how
        assert "report" not in gap.how
        assert "\x1b" not in gap.reason
        assert not directory.searches

    @pytest.mark.parametrize(
        ("answer", "reason"),
        [
            (
                result(SEARCH, 0x65, 10, "", REFERRAL),
                "the root DSE: referral (10) to ldap://ds2.example.com/cn=monitor",
            ),
            (result(OTHER, 0x65, 0), "the root DSE: the server answered message 9, but message 2 was sent"),
            (entry(OTHER, *ROOT), "the root DSE: the server answered message 9, but message 2 was sent"),
            (result(SEARCH, 0x61, 0), "the root DSE: the server answered a search with a bind response"),
            (result(element(2, b"\0"), 0x78, 52, "", NOTICE), "result code 52)"),
            (element(0x30, SEARCH, element(0x65, b"\x0a\x01")), "cannot decode the server's answer"),
            (result(SEARCH, 0x65, 53, "no"), "the root DSE: unwillingToPerform (53): no"),
        ],
        ids=["referral", "number", "entry", "kind", "notice", "cut", "refused"],
    )
    def test_to_the_first_search(self, answer, reason):
        with FakeDirectory(lambda *_: answer) as directory:
            (gap,) = asked(directory.url).gaps
        assert reason in gap.reason
        assert gap.how
        assert "report" not in gap.how

    def test_a_reference_instead_of_the_entry_names_the_other_server(self):
        reference = element(0x73, *map(octets, ELSEWHERE))

        def refers(base, attributes):
            if base == "cn=monitor" and attributes != ["connection"]:
                number = element(2, bytes([len(directory.searches) + 1]))
                return element(0x30, number, reference) + result(number, 0x65, 0)
            return says(base, attributes)

        with FakeDirectory(refers) as directory:
            gaps = {gap.reason: gap.how for gap in asked(directory.url).gaps}
        (reason,) = [one for one in gaps if one.startswith("cn=monitor")]
        assert reason == (
            "cn=monitor: the server refers to ldap://ds2.example.com/cn=monitor, ldap://ds3.example.com/ [31m"
        )
        assert "referrals are not followed" in gaps[reason]


NUMBER = SEARCH


def trickled():
    """Yield single bytes without end, each before any timeout of a single read."""
    while True:
        yield b"x"
        time.sleep(0.02)


def handshake(client):
    """Begin a TLS record of 16 KiB, and send it byte by byte."""
    for part in chain([b"\x16\x03\x03\x40\x00"], trickled()):
        client.sendall(part)


class TestHostile:
    @pytest.mark.parametrize(
        ("bytes_", "reason"),
        [
            (b"HTTP/1.1 400 Bad Request\r\n\r\n" * 9, "not LDAP"),
            (b"\x30\x84\x7f\xff\xff\xff", "exceeds"),
            (b"\x30\x80\x00\x00", "not LDAP"),
            (b"\x15\x03\x03\x00\x02\x02\x46" + b"\0" * 40, "requires TLS"),
            (b"\x30\x0c\x02\x01\x02\x65\x07\x0a\x01\x63\x04\x00\x04\x00", "cannot decode"),
            (b"\x30\x84\x00\x02\x00\x00\x02\x84\x00\x01\xff\x00" + b"\x7f" * 131066, "not LDAP"),
        ],
        ids=["http", "size", "endless", "tls", "code", "number"],
    )
    def test_answers_are_a_gap(self, bytes_, reason):
        with FakeDirectory(lambda *_: bytes_) as directory:
            assert reason in only_gap(asked(directory.url))

    def test_a_stream_without_end_is_cut(self, monkeypatch):
        monkeypatch.setattr("ldapdiag.sources.live.ldap.ldap3_connection.MAX_BYTES", 1 << 20)
        endless = entry(NUMBER, "cn=a", {"cn": ["x" * 1000]}) * 4000
        with FakeDirectory(lambda *_: endless) as directory:
            assert "exceeds 1 MiB" in only_gap(asked(directory.url))

    @pytest.mark.parametrize(
        "stream",
        [
            lambda: repeat(element(0x30, NUMBER, element(0x64, octets("cn=a"), element(0x30))) * 500),
            lambda: repeat(element(0x30, NUMBER, element(0x73, octets("ldap://ds2/"))) * 500),
            lambda: repeat(element(0x30, NUMBER, element(0x79)) * 500),
            lambda: chain([b"\x30\x84\x00\xff\xff\xff"], trickled()),
        ],
        ids=["entries", "references", "intermediate", "one element"],
    )
    def test_a_stream_ends_at_the_time_limit(self, stream):
        """Each message arrives in time, but the answer never ends: the limit is that of the whole session.

        A fast machine reads as many entries as are kept before that.
        """
        started = time.monotonic()
        with FakeDirectory(lambda *_: stream()) as directory:
            reason = only_gap(asked(directory.url, seconds=1))
        assert reason in {"the root DSE: no answer in 1 s", "the root DSE: its answer exceeds 400,000 entries"}
        assert time.monotonic() - started < 20

    def test_a_handshake_in_single_bytes_ends_at_the_time_limit(self):
        with FakeDirectory(lambda *_: b"") as directory:
            directory.talk = handshake
            started = time.monotonic()
            reason = only_gap(asked(directory.url.replace("ldap:", "ldaps:"), seconds=1))
        assert reason == "no answer in 1 s"
        assert time.monotonic() - started < 20

    def test_the_entries_of_a_server_are_limited(self, monkeypatch):
        monkeypatch.setattr("ldapdiag.sources.live.ldap.ldap3_connection.MAX_ENTRIES", 100)
        with FakeDirectory(lambda *_: ([ROOT] * 101, 0)) as directory:
            assert only_gap(asked(directory.url)) == "the root DSE: its answer exceeds 100 entries"

    def test_all_targets_share_one_budget(self):
        budget = Budget(2000)
        with FakeDirectory(says) as directory:
            assert len(asked(directory.url, budget=budget).pieces) == 2
        assert budget.left < 2000
        budget.left = 200
        with FakeDirectory(says) as directory:
            answers = asked(directory.url, budget=budget)
        assert only_gap(answers).endswith("the answers of all targets exceed 1 GiB")
        assert "ds1/root-dse.ldif" in texts(answers)

    def test_any_ending_is_a_gap(self):
        whole = b"".join(entry(NUMBER, *ROOT) for _ in range(2))
        for end in islice(range(1, len(whole)), 0, None, 7):
            with FakeDirectory(lambda *_, end=end: whole[:end]) as directory:
                threading.Timer(0.05, directory.over.set).start()
                assert asked(directory.url, seconds=1, stop=directory.over).gaps
