"""The canonical text of a client's address."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv6Address, ip_address


@lru_cache(maxsize=10_000)
def address(logged: bytes) -> bytes:
    """Return a client's address in canonical form: IPv4-mapped as IPv4, IPv6 compressed; any other text unchanged.

    Java servers write 0:0:0:0:0:0:0:1; servers that listen on [::] may write ::ffff:10.1.1.1.
    """
    if b":" not in logged or len(logged) > 60:
        return logged
    try:
        parsed = ip_address(logged.decode("ascii"))
    except ValueError:
        return logged
    mapped = parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else None
    return str(mapped or parsed).encode()
