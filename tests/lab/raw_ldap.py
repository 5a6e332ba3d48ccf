"""LDAP in a handful of bytes (RFC 4511): enough for an application that binds, searches and says goodbye.

Only the standard library, for it runs in hosts that have nothing else.
"""

from __future__ import annotations

import socket

BIND_REQUEST, UNBIND_REQUEST, SEARCH_REQUEST, SEARCH_DONE, EXTENDED_REQUEST = 0x60, 0x42, 0x63, 0x65, 0x77
BASE_OBJECT, PRESENT = b"\x0a\x01\x00", 0x87


def element(tag: int, content: bytes) -> bytes:
    """Return a BER element; its content is shorter than 64 KiB."""
    size = len(content)
    length = bytes([size]) if size < 128 else b"\x82" + size.to_bytes(2, "big")
    return bytes([tag]) + length + content


class Connection:
    """One LDAP connection, used by one request at a time."""

    def __init__(self, connected: socket.socket) -> None:
        self.socket = connected
        self.message, self.received = 0, b""
        self.controls = b""
        """The controls of the message that came last, in BER."""

    def bind(self, name: str, password: str) -> int:
        """Bind, and return the result code."""
        self.send(bind_request(name, password))
        return self.result()

    def search(self) -> int:
        """Ask for the rootDSE, and return the result code."""
        self.send(rootdse_search())
        return self.result()

    def send(self, request: bytes) -> None:
        self.message = self.message % 0x7FFF + 1
        self.socket.sendall(
            element(0x30, element(2, self.message.to_bytes(self.message.bit_length() // 8 + 1, "big")) + request)
        )

    def result(self) -> int:
        """Wait for the answer's end and return its result code; EOFError when the server has closed."""
        while True:
            _, tag, content = self.next_message()
            if tag not in (0x64, 0x73):  # an entry, or a reference
                return content[2]

    def next_message(self) -> tuple[bytes, int, bytes]:
        """Wait for one message: its number, the tag of its operation and that operation's content."""
        while True:
            _, body, rest = split(self.received)
            if body is not None:
                self.received = rest
                number, operation = split(body)[1:]
                tag, content, self.controls = split(operation)
                return number or b"", tag, content or b""
            chunk = self.socket.recv(65536)
            if not chunk:
                raise EOFError
            self.received += chunk

    def unbind(self) -> None:
        """Say goodbye and close."""
        self.send(element(UNBIND_REQUEST, b""))
        self.socket.close()


def bind_request(name: str, password: str) -> bytes:
    """Return a simple bind."""
    return element(BIND_REQUEST, element(2, b"\x03") + element(4, name.encode()) + element(0x80, password.encode()))


def rootdse_search() -> bytes:
    """Return a search of the rootDSE for no attribute."""
    limits = BASE_OBJECT + element(0x0A, b"\x00") + element(2, b"\x00") + element(2, b"\x00") + element(1, b"\x00")
    wanted = element(PRESENT, b"objectClass") + element(0x30, element(4, b"1.1"))
    return element(SEARCH_REQUEST, element(4, b"") + limits + wanted)


def split(data: bytes) -> tuple[int, bytes | None, bytes]:
    """Return tag and content of the first element, and what follows; no content where it is not all there yet."""
    if len(data) < 2:
        return 0, None, data
    size, start = data[1], 2
    if size & 0x80:
        start += size & 0x7F
        if len(data) < start:
            return 0, None, data
        size = int.from_bytes(data[2:start], "big")
    if len(data) < start + size:
        return 0, None, data
    return data[0], data[start : start + size], data[start + size :]
