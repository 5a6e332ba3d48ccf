"""Where a directory is: a host and a port, or a socket of this host."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

PORTS = {"ldap": 389, "ldaps": 636}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What an LDAP URL names."""

    scheme: str
    """ldap, ldaps or ldapi."""
    host: str = ""
    """A name or an address without brackets; empty for a local socket."""
    port: int = 0
    path: str = ""
    """Of a local socket."""

    @property
    def url(self) -> str:
        """Return how an operator writes it."""
        if self.path:
            return f"{self.scheme}://{quote(self.path, safe='')}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"
