"""Close reasons of connections: the text for people, and a kind that is common to all products."""

from __future__ import annotations

from enum import StrEnum

from ldapdiag.lazy_dataclass import dataclass


class CloseKind(StrEnum):
    """The kinds of close reasons, common to all products; the values are part of the JSON report."""

    CLEAN = "clean"
    """The client sent UNBIND (RFC 4511, 4.3)."""
    CLIENT_GONE = "client gone"
    """The client closed, reset or lost the connection without UNBIND."""
    IDLE = "idle"
    """The server's idle timeout."""
    NETWORK = "network"
    """The connection carried no more bytes: the peer does not read, or the path drops packets."""
    PROTOCOL = "protocol"
    """The server received data that is not LDAP, or more than it allows."""
    SERVER = "server"
    """The server's own decision."""
    RESTART = "restart"
    """The server restarted, and its connection numbers with it."""
    UNKNOWN = "unknown"
    """The log has no reason, or an unknown one."""


@dataclass(frozen=True, slots=True)
class CloseReason:
    """A close reason."""

    text: str
    """A clause for people."""
    kind: CloseKind
