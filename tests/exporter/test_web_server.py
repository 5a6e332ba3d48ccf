"""The web server: who may ask, by TLS or not, and that a client that does not finish holds up nobody."""

from __future__ import annotations

import base64
import gc
import socket
import ssl
import weakref
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPSConnection
from threading import Event, Thread
from time import sleep
from typing import TYPE_CHECKING, Any

import bcrypt
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

import documents
from lab.certificates import Authority
from ldapdiag.exporter.web_configuration import WebConfiguration
from ldapdiag.exporter.web_server import LONGEST_PASSWORD, MOST_AT_ONCE, Collections, serve

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

LOCAL = "127.0.0.1"
USERS = {"me": bcrypt.hashpw(b"secret", bcrypt.gensalt(4))}
OPENMETRICS = {"Accept": "application/openmetrics-text; version=1.0.0"}


@contextmanager
def serving(
    configuration: WebConfiguration = WebConfiguration(),  # noqa: B008  it is frozen
    collections: Collections | None = None,
    host: str = LOCAL,
) -> Iterator[int]:
    """Yield the port of a server that answers."""
    if collections is None:
        collections = Collections(documents.incident, print, with_accounts=True)
        collections.collect_once()
    server = serve(collections, configuration, host, 0)
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def ask(
    port: int, path: str = "/metrics", headers: Mapping[str, str] = OPENMETRICS, method: str = "GET", host: str = LOCAL
) -> tuple[int, str]:
    connection = HTTPConnection(host, port, timeout=20)
    connection.request(method, path, headers=dict(headers))
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def basic(user: str, password: str) -> dict[str, str]:
    return {"Authorization": f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"}


def numbers(text: str) -> dict[str, float]:
    return {
        one.name: one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
        if not one.labels
    }


@pytest.mark.parametrize("host", [LOCAL, "::1"])
def test_a_scrape(host: str) -> None:
    with serving(host=host) as port:
        status, text = ask(port, host=host)
    assert status == 200
    assert 'ldapdiag_ghost_connections{client="10.77.2.2",server="ldap"} 268.0' in text
    assert numbers(text)["ldapdiag_collections_total"] == 1


@pytest.mark.parametrize(("path", "method"), [("/", "GET"), ("/metrics/x", "GET"), ("/metrics", "POST")])
def test_nothing_else_is_answered(path: str, method: str) -> None:
    with serving() as port:
        assert ask(port, path, method=method)[0] == 404


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (basic("me", "secret"), 200),
        (basic("me", "secre"), 401),
        (basic("me", ""), 401),
        (basic("you", "secret"), 401),
        (basic("me", "secret" * LONGEST_PASSWORD), 401),
        ({"Authorization": "Basic bWU="}, 401),
        ({"Authorization": "Basic \x01"}, 401),
        ({"Authorization": "Basic \xe9\xe9\xe9\xe9"}, 401),
        ({"Authorization": "Bearer secret"}, 401),
        ({}, 401),
    ],
    ids=str,
)
def test_authentication(headers: dict[str, str], status: int) -> None:
    with serving(WebConfiguration(users=USERS)) as port:
        for _ in range(2):  # what was right before is not hashed again
            found, text = ask(port, headers=headers)
            assert (found, "ldapdiag_" in text) == (status, status == 200)


def ask_untrusting(port: int) -> None:
    with socket.create_connection((LOCAL, port), timeout=20) as plain:
        ssl.create_default_context().wrap_socket(plain, server_hostname="localhost")


def test_tls(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    made = authority.sign("localhost", LOCAL)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made.certificate, made.key)
    with serving(WebConfiguration(tls=context)) as port:
        trusting = ssl.create_default_context(cafile=str(made.authority))
        connection = HTTPSConnection(LOCAL, port, context=trusting, timeout=20)
        connection.request("GET", "/metrics")
        assert connection.getresponse().status == 200
        connection.close()
        with pytest.raises(ssl.SSLError):
            ask_untrusting(port)


@pytest.mark.parametrize("with_tls", [False, True])
def test_clients_that_do_not_finish_hold_up_nobody(tmp_path: Path, *, with_tls: bool) -> None:
    context = None
    if with_tls:
        made = Authority(tmp_path).sign("localhost", LOCAL)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(made.certificate, made.key)
    with serving(WebConfiguration(tls=context)) as port:
        slow = [socket.create_connection((LOCAL, port)) for _ in range(MOST_AT_ONCE - 5)]
        for one in slow:
            one.sendall(b"GET /metr")
        if context is None:
            assert ask(port)[0] == 200
        else:
            unverified = ssl._create_unverified_context()  # noqa: S323  of this test
            connection = HTTPSConnection(LOCAL, port, context=unverified, timeout=20)
            connection.request("GET", "/metrics")
            assert connection.getresponse().status == 200
            connection.close()
        for one in slow:
            one.close()


def test_clients_that_send_a_byte_now_and_then_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldapdiag.exporter.web_server.PATIENCE", 0.3)
    with serving() as port:
        slow = [socket.create_connection((LOCAL, port)) for _ in range(MOST_AT_ONCE)]
        for _ in range(10):
            for one in slow:
                with suppress(OSError):
                    one.sendall(b"G")
            sleep(0.1)
        assert ask(port)[0] == 200
        for one in slow:
            one.close()


def test_one_password_is_hashed_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    busy, most = [], []

    def hashing(*_: object) -> bool:
        busy.append(1)
        most.append(len(busy))
        sleep(0.02)
        busy.pop()
        return False

    monkeypatch.setattr("bcrypt.checkpw", hashing)
    with serving(WebConfiguration(users=USERS)) as port:
        asking = [Thread(target=ask, args=(port,), kwargs={"headers": basic("me", "guess")}) for _ in range(8)]
        for one in asking:
            one.start()
        for one in asking:
            one.join()
    assert max(most) == 1


class Circle:
    """What only the garbage collector frees."""

    def __init__(self) -> None:
        self.itself = self


def test_what_a_collection_leaves_is_freed() -> None:
    left: list[weakref.ref[Circle]] = []

    def collect() -> Mapping[str, Any]:
        left.append(weakref.ref(Circle()))
        return documents.incident()

    gc.disable()
    try:
        Collections(collect, print, with_accounts=True).collect_once()
    finally:
        gc.enable()
    assert [one() for one in left] == [None]


def test_a_scrape_waits_for_no_collection_and_a_failure_keeps_the_last_report() -> None:
    begun, end = Event(), Event()
    told: list[Exception] = []
    reports: list[Any] = [documents.incident(), ZeroDivisionError("of the source"), "slow"]

    def collect() -> Mapping[str, Any]:
        one = reports.pop(0)
        if isinstance(one, Exception):
            raise one
        if one == "slow":
            begun.set()
            end.wait(20)
            return documents.incident()
        return dict(one)

    collections = Collections(collect, told.append, with_accounts=True)
    with serving(collections=collections) as port:
        before = ask(port)[1]
        assert "ldapdiag_connections{" not in before
        assert numbers(before) == {"ldapdiag_collections_total": 0, "ldapdiag_collection_failures_total": 0}
        collections.collect_once()
        first = ask(port)[1]
        collections.collect_once()
        worker = Thread(target=collections.collect_once)
        worker.start()
        assert begun.wait(20)
        second = ask(port)[1]
        end.set()
        worker.join()
        third = ask(port)[1]
    assert "of the source" in str(told[0])
    assert "ldapdiag_connections{" in second
    stamp = "ldapdiag_collection_timestamp_seconds"
    assert numbers(first)[stamp] == numbers(second)[stamp]
    counts = [
        (numbers(text)["ldapdiag_collections_total"], numbers(text)["ldapdiag_collection_failures_total"])
        for text in (first, second, third)
    ]
    assert counts == [(1, 0), (2, 1), (3, 1)]
