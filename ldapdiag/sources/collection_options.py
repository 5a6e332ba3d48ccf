"""Terms: how targets are asked, as the operator says."""

from __future__ import annotations

from dataclasses import dataclass, field

from ldapdiag.sources.live.ldap.binding import Binding


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How targets are asked."""

    binding: Binding = field(default_factory=Binding)
    sudo: bool = False
    seconds: int = 10
    """The time limit of each target, for its first answer, for every later look and for its logs."""
    apart: float = 4.0
    """Seconds between two looks at a server."""
    logs: bool = False
    """Whether hosts are asked for the access logs of their directory servers, too."""
    ldap_ports: frozenset[int] = frozenset()
