"""LdapProbe: a directory server that was named and did not answer: what was attempted, and how it failed."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from ldapdiag.evidence.origin import Origin
from ldapdiag.lazy_dataclass import dataclass


class ProbeOutcome(StrEnum):
    """How a connection to a directory server failed before its first answer."""

    REFUSED = "refused"
    """The host answered that nothing listens there (or a firewall did)."""
    UNREACHABLE = "unreachable"
    """A router or the own host has no route."""
    UNRESOLVED = "unresolved"
    """Its name has no address, or the name service did not answer: no connection was attempted."""
    TIMED_OUT = "timed-out"
    """No answer to the request for a connection."""
    NO_ANSWER = "no-answer"
    """Connected, and then no answer to TLS or the bind."""
    CLOSED = "closed"
    """Connected, and closed or reset without an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LdapProbe:
    """A connection to a directory server that ended without any answer of it."""

    kind: ClassVar[str] = "ldap-probe"
    how: ClassVar[str] = "name the directory server: ldapdiag diagnose ldap://HOST"

    origin: Origin
    target: str
    """As on the command line."""
    address: str
    """The address that was tried; empty for a local socket, and for a name without an address."""
    port: int
    """0 for a local socket."""
    outcome: ProbeOutcome
    seconds: float
    """From the first attempt to the failure."""
