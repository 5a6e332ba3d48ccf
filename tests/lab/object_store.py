"""An S3 server (versitygw, over a folder), and a proxy before it that fails as stores and networks do."""

from __future__ import annotations

import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import obstore
from obstore.store import S3Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KEY, SECRET, BUCKET = "testkey", "testsecret", "logs"
STARTS_WITHIN = 60.0


def program() -> str:
    """Return the path of versitygw, which setup.sh installs with Go."""
    found = shutil.which("versitygw", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    assert found, "there is no versitygw; where there is Go, `sh setup.sh servers` builds it"
    return found


@dataclass(frozen=True)
class S3Server:
    """A running server with one bucket."""

    port: int
    store: S3Store

    def put(self, key: str, content: bytes | Path) -> None:
        """Store an object: bytes, or those of a file."""
        obstore.put(self.store, key, content)

    def put_folder(self, folder: Path, prefix: str) -> None:
        """Store every file of a folder."""
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                self.put(f"{prefix}/{file.relative_to(folder)}", file.read_bytes())

    def environment(self, port: int | None = None) -> dict[str, str]:
        """Return what a client needs; `port`: that of a proxy."""
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port or self.port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
        }


@contextmanager
def s3_server(folder: Path) -> Iterator[S3Server]:
    """Run a server over a folder."""
    data, metadata = folder / "data", folder / "metadata"
    (data / BUCKET).mkdir(parents=True)
    metadata.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    argv = [program(), "--port", f"127.0.0.1:{port}", "--quiet", "posix", "--sidecar", str(metadata), str(data)]
    login = {**os.environ, "ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET}
    with subprocess.Popen(argv, env=login, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        try:
            _wait_for(port, running)
            endpoint: Any = {"endpoint": f"http://127.0.0.1:{port}", "client_options": {"allow_http": True}}
            store = S3Store(BUCKET, access_key_id=KEY, secret_access_key=SECRET, region="us-east-1", **endpoint)
            yield S3Server(port, store)
        finally:
            running.send_signal(signal.SIGKILL)


def _wait_for(port: int, running: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + STARTS_WITHIN
    while True:
        assert running.poll() is None, "versitygw has ended"
        assert time.monotonic() < deadline, f"versitygw does not listen within {STARTS_WITHIN} s"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return


@dataclass
class Faults:
    """What a proxy does to the requests for ranges of objects."""

    refused: int = 0
    """So many of the next ones are answered with 503."""
    cut: int = 0
    """The bodies of so many of the next ones end in the middle."""
    before_range: Callable[[int], object] = field(default=lambda _: None)
    """Called with the number of the request before it is forwarded."""
    ranges: int = 0


class _Handler(BaseHTTPRequestHandler):
    """Forwards requests with their signatures, which cover the name of the host: it is forwarded unchanged."""

    protocol_version = "HTTP/1.1"
    server: _Proxy

    def do_GET(self) -> None:
        faults = self.server.faults
        is_range = "Range" in self.headers
        if is_range:
            faults.ranges += 1
            faults.before_range(faults.ranges)
        if is_range and faults.refused:
            faults.refused -= 1
            self.send_error(503, "Slow Down")
            return
        body = self._answered()
        if is_range and faults.cut and len(body) > 1:
            faults.cut -= 1
            body, self.close_connection = body[: len(body) // 2], True
        self.wfile.write(body)

    def do_HEAD(self) -> None:
        self._answered()

    def log_message(self, *_: object) -> None:
        pass

    def _answered(self) -> bytes:
        """Forward the request, send the head of the answer, and return its body."""
        upstream = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        upstream.request(self.command, self.path, headers=dict(self.headers))
        answer = upstream.getresponse()
        body = answer.read()
        self.send_response_only(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in {"connection", "content-length", "transfer-encoding"}:
                self.send_header(name, value)
        self.send_header("Content-Length", answer.getheader("Content-Length") or str(len(body)))
        self.end_headers()
        return body


class _Proxy(ThreadingHTTPServer):
    def __init__(self, port: int, faults: Faults) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.port, self.faults = port, faults


@contextmanager
def faulty_proxy(server: S3Server, faults: Faults) -> Iterator[int]:
    """Run a proxy before a server; yield its port."""
    with _Proxy(server.port, faults) as proxy:
        Thread(target=proxy.serve_forever, daemon=True).start()
        try:
            yield proxy.server_address[1]
        finally:
            proxy.shutdown()
