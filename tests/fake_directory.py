"""A directory that says what a test wants it to say: BER by hand, on a port of its own."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

Entry = tuple[str, "Mapping[str, Iterable[str | bytes]]"]
BIND, SEARCH, UNBIND, EXTENDED = 0x60, 0x63, 0x42, 0x77
ANSWERS = {BIND: 0x61, SEARCH: 0x65, EXTENDED: 0x78}


def element(tag: int, *contents: bytes) -> bytes:
    content = b"".join(contents)
    size = len(content)
    length = bytes([size]) if size < 128 else b"\x84" + size.to_bytes(4, "big")
    return bytes([tag]) + length + content


def octets(text: str | bytes) -> bytes:
    return element(4, text if isinstance(text, bytes) else text.encode())


def entry(number: bytes, dn: str, attributes: Mapping[str, Iterable[str | bytes]]) -> bytes:
    """Return a SearchResultEntry."""
    told = (element(0x30, octets(name), element(0x31, *map(octets, values))) for name, values in attributes.items())
    return element(0x30, number, element(0x64, octets(dn), element(0x30, *told)))


def result(number: bytes, tag: int, code: int, message: str = "", *more: bytes) -> bytes:
    return element(0x30, number, element(tag, element(10, bytes([code])), octets(""), octets(message), *more))


def parts(data: bytes) -> list[tuple[int, bytes]]:
    """Return tags and contents of the elements that stand side by side."""
    found, at = [], 0
    while at < len(data):
        tag, length, start = data[at], data[at + 1], at + 2
        if length & 0x80:
            start += length & 0x7F
            length = int.from_bytes(data[at + 2 : start], "big")
        found.append((tag, data[start : start + length]))
        at = start + length
    return found


class FakeDirectory:
    """Answers each search with what `says(base, attributes)` returns: entries and a code, or bytes, in parts or whole.

    `says` may block: `asked` is set when the first search has come, `unbound` when the client said goodbye.
    """

    def __init__(
        self,
        says: Callable[[str, list[str]], tuple[list[Entry], int] | bytes | Iterator[bytes]],
        bind_code: int = 0,
        bind: bytes = b"",
    ) -> None:
        """Answer a bind with this code, or with these bytes."""
        self.says = says
        self.bind_code = bind_code
        self.bind = bind
        self.talk: Callable[[socket.socket], object] | None = None
        """Talks to a client instead of LDAP."""
        self.operations: set[int] = set()
        """Tags of all requests."""
        self.searches: list[tuple[str, list[str]]] = []
        self.asked, self.unbound, self.over = threading.Event(), threading.Event(), threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"ldap://127.0.0.1:{self.listener.getsockname()[1]}"
        self.thread = threading.Thread(target=self._serve)

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(10)
        assert not self.thread.is_alive()

    def _serve(self) -> None:
        while not self.over.is_set():
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            with client:
                try:
                    self._talk(client)
                except OSError:  # the client went away in the middle
                    continue

    def _talk(self, client: socket.socket) -> None:
        if self.talk is not None:
            self.talk(client)
            return
        while data := client.recv(1 << 16):  # requests here are small, and come one by one
            (_, number), (tag, content), *_ = parts(parts(data)[0][1])
            identifier = element(2, number)
            self.operations.add(tag)
            if tag == UNBIND:
                self.unbound.set()
                return
            if tag == BIND and self.bind:
                client.sendall(self.bind)
                continue
            if tag != SEARCH:
                client.sendall(result(identifier, ANSWERS[tag], self.bind_code if tag == BIND else 2))
                continue
            (_, base), *_, (_, names) = parts(content)
            self.searches.append((base.decode(), [name.decode() for _, name in parts(names)]))
            self.asked.set()
            told = self.says(*self.searches[-1])
            if isinstance(told, bytes):
                client.sendall(told)
                continue
            if not isinstance(told, tuple):
                for chunk in told:
                    client.sendall(chunk)
                continue
            entries, code = told
            client.sendall(
                b"".join(entry(identifier, *one) for one in entries) + result(identifier, ANSWERS[SEARCH], code)
            )
