"""The web server of the exporter: answers GET /metrics, by TLS and after authentication where the site asks for it.

One collection runs at a time. A scrape never waits for it, and never starts one: it is answered with the last report,
whose age is in `collection_timestamp_seconds`.
"""

from __future__ import annotations

import base64
import gc
import hmac
import socket
import time
from contextlib import suppress
from socketserver import TCPServer, ThreadingMixIn
from threading import Event, Lock, Semaphore, Timer
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from ldapdiag.report.monitoring.gauges import PREFIX, DiagnosisCollector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from prometheus_client.metrics_core import Metric

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterable, Mapping

    from ldapdiag.exporter.web_configuration import WebConfiguration

    Application = Callable[[Mapping[str, Any], Callable[..., Any]], Iterable[bytes]]

PATH = "/metrics"
MOST_AT_ONCE = 20
"""Requests that are answered at the same time; a further connection is closed."""
PATIENCE = 10
"""Seconds that a client may take to send its request."""
LONGEST_PASSWORD = 72
"""Bytes that bcrypt takes."""
NO_USER = b"$2b$12$lDIL92Xq9NjbQN737bmMmeiKYhjbDFN8/84lc9kcRQTdymOlgMuN6"
"""A hash for users that do not exist: the time of the answer must not tell which do."""
HASHING = Lock()
"""One password is hashed at a time: who guesses must not take every processor from the directory server."""


class _Handler(WSGIRequestHandler):
    timeout = PATIENCE

    def log_message(self, *_: object) -> None:
        """Write no line for each request."""


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    tls: ssl.SSLContext | None = None

    def __init__(self, *arguments: Any, **settings: Any) -> None:  # noqa: ANN401  those of WSGIServer
        self._free = Semaphore(MOST_AT_ONCE)
        super().__init__(*arguments, **settings)

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401  as WSGIServer has them
        """Answer in a thread of its own, if not too many are busy."""
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:  # noqa: ANN401  as WSGIServer has them
        """Answer one request. The handshake is part of reading it: who does not finish it holds up no other."""
        late = Timer(PATIENCE, lambda: _read_no_more(request))
        late.daemon = True
        try:
            if self.tls is not None:
                request = self.tls.wrap_socket(request, server_side=True, do_handshake_on_connect=False)
            late.start()
            super().process_request_thread(request, client_address)
        except OSError:  # the client has left before the handshake
            self.shutdown_request(request)
        finally:
            late.cancel()
            self._free.release()

    def handle_error(self, *_: object) -> None:
        """Write no traceback for a client that leaves, or does not shake hands."""

    def server_bind(self) -> None:
        """Bind without asking the resolver for the name of the address."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = "ldapdiag", self.server_address[1]
        self.setup_environ()


def _read_no_more(request: socket.socket) -> None:
    """End a request that is sent byte by byte: the timeout of a socket begins anew with each. An answer is kept."""
    with suppress(OSError):  # it is answered and closed
        socket.socket.shutdown(request, socket.SHUT_RD)  # of TLS, its own would forget the encryption of the answer


def serve(collections: Collections, configuration: WebConfiguration, host: str, port: int) -> WSGIServer:
    """Return a server that listens, and answers when `serve_forever` runs. Raises OSError."""
    from prometheus_client import CollectorRegistry, make_wsgi_app  # noqa: PLC0415  import late: an extra

    registry = CollectorRegistry()
    registry.register(collections)
    application = _at_path(make_wsgi_app(registry))
    if configuration.users is not None:
        application = _authenticated(application, configuration.users)
    server = make_server(host, port, application, server_class=_of_family(host), handler_class=_Handler)
    server.tls = configuration.tls
    return server


def _of_family(host: str) -> type[_Server]:
    return type("_Server6", (_Server,), {"address_family": socket.AF_INET6}) if ":" in host else _Server


def _at_path(application: Application) -> Application:
    def answer(environ: Mapping[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        if environ["PATH_INFO"] == PATH and environ["REQUEST_METHOD"] == "GET":
            return application(environ, start)
        start("404 Not Found", [("Content-Type", "text/plain; charset=utf-8")])
        return [f"metrics are at {PATH}\n".encode()]

    return answer


def _authenticated(application: Application, users: Mapping[str, bytes]) -> Application:
    known: dict[str, bytes] = {}
    """The password that was right for each user: to hash it again takes a quarter of a second."""

    def answer(environ: Mapping[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        if _is_right(environ.get("HTTP_AUTHORIZATION", ""), users, known):
            return application(environ, start)
        start("401 Unauthorized", [("WWW-Authenticate", "Basic"), ("Content-Type", "text/plain; charset=utf-8")])
        return [b"a user of the web configuration must ask\n"]

    return answer


def _is_right(header: str, users: Mapping[str, bytes], known: dict[str, bytes]) -> bool:
    import bcrypt  # noqa: PLC0415  import late: an extra

    scheme, _, encoded = header.partition(" ")
    try:
        user, colon, password = base64.b64decode(encoded, validate=True).partition(b":")
    except ValueError:  # no Base64, or no ASCII
        return False
    name = user.decode(errors="replace")
    if scheme.casefold() != "basic" or not colon or len(password) > LONGEST_PASSWORD:
        return False
    if name in known and hmac.compare_digest(known[name], password):
        return True
    with HASHING:
        is_right = bcrypt.checkpw(password, users.get(name, NO_USER))
    if not is_right or name not in users:
        return False
    known[name] = password
    return True


class Collections:
    """The collections of an exporter, for prometheus_client to ask."""

    def __init__(
        self, collect: Callable[[], Mapping[str, Any]], failed: Callable[[Exception], None], *, with_accounts: bool
    ) -> None:
        """`collect` returns a report, or raises; `failed` receives the reason."""
        self._collect = collect
        self._failed = failed
        self._with_accounts = with_accounts
        self._lock = Lock()
        self._report: Mapping[str, Any] | None = None
        self._runs = 0
        self._failures = 0
        self._seconds: float | None = None

    def run(self, every: float, stop: Event) -> None:
        """Collect until `stop` is set, with `every` seconds from the end of one to the begin of the next."""
        while not stop.is_set():
            self.collect_once()
            stop.wait(every)

    def collect_once(self) -> None:
        """Collect; a failure keeps the last report."""
        begun = time.monotonic()
        try:
            report = self._collect()
        except Exception as error:  # noqa: BLE001  whatever it is, the next collection may succeed
            report = None
            self._failed(error)
        with self._lock:
            self._runs += 1
            self._failures += report is None
            self._seconds = time.monotonic() - begun
            self._report = report or self._report
        gc.collect()  # the program postpones it, for runs of seconds: here 0.3 MB of each collection would stay

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics of the last report, and of the collections."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily  # noqa: PLC0415  import late

        with self._lock:
            report, runs, failures, seconds = self._report, self._runs, self._failures, self._seconds
        if report is not None:
            yield from DiagnosisCollector(report, with_accounts=self._with_accounts).collect()
        yield CounterMetricFamily(f"{PREFIX}collections", "Collections that have ended.", value=runs)
        yield CounterMetricFamily(f"{PREFIX}collection_failures", "Of these, those that failed.", value=failures)
        if seconds is not None:
            yield GaugeMetricFamily(
                f"{PREFIX}collection_duration_seconds", "How long the last collection took.", value=seconds
            )
