"""Why connections end: the words a server's log has for it, put in a person's, and what they have in common."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class CloseKind(StrEnum):
    """What kinds of end there are, whatever a product calls them."""

    CLEAN = "clean"
    """The client said UNBIND (RFC 4511, 4.3)."""
    CLIENT_GONE = "client gone"
    """The client closed, reset or lost it without a word."""
    IDLE = "idle"
    """The server's idle timeout."""
    NETWORK = "network"
    """It would not carry bytes any more: a peer that does not read, a path that swallows packets."""
    PROTOCOL = "protocol"
    """What came was no LDAP, or more than is allowed."""
    SERVER = "server"
    """The server's own decision."""
    RESTART = "restart"
    """The server began anew, and with it all numbers."""
    UNKNOWN = "unknown"
    """The log does not say, or in words we do not know."""


@dataclass(frozen=True, slots=True)
class CloseReason:
    """A reason for a close."""

    text: str
    """For a person; a part of a sentence."""
    kind: CloseKind
