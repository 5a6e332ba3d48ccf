"""The client of a monitored connection, as servers print it and as facts spell it."""

from __future__ import annotations

from ldapdiag.evidence.addresses import CUT, LONGEST_NAME, normalise_address, port_number


def client_address(text: str) -> str:
    """Return the client as facts spell it; an address that somebody blackened stays as it is."""
    if text == "local" or text.startswith("/"):
        return "ldapi"
    if text in {"", "unknown"}:
        return ""
    normalised = normalise_address(text) if len(text) <= LONGEST_NAME else text[:LONGEST_NAME]
    return text[:LONGEST_NAME] if normalised.endswith(CUT) else normalised


def java_endpoint(text: str) -> tuple[str, int | None]:
    """Return address and port of `127.0.0.1:5000` or `0:0:0:0:0:0:0:1:5000`, as Java prints a socket's end.

    An unresolved one reads `name/127.0.0.1:5000`; what stands before the slash is only its name.
    """
    address, _, port = text.rpartition("/")[2].rpartition(":")
    number = port_number(port)
    return client_address(address), number if number > 0 else None
