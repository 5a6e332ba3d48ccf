"""The client address of a monitored connection, normalised."""

from __future__ import annotations

from ldapdiag.evidence.addresses import CUT, LONGEST_NAME, normalise_address, port_number


def client_address(text: str) -> str:
    """Return a normalised address, 'ldapi' or empty; redacted addresses are returned unchanged."""
    if text == "local" or text.startswith("/"):
        return "ldapi"
    if text in {"", "unknown"}:
        return ""
    normalised = normalise_address(text) if len(text) <= LONGEST_NAME else text[:LONGEST_NAME]
    return text[:LONGEST_NAME] if normalised.endswith(CUT) else normalised


def java_endpoint(text: str) -> tuple[str, int | None]:
    """Return address and port of a Java socket address: `127.0.0.1:5000`, `0:0:0:0:0:0:0:1:5000`.

    A host name before the address, as in `name/127.0.0.1:5000`, is dropped. The port is None if it is not a number.
    """
    address, _, port = text.rpartition("/")[2].rpartition(":")
    number = port_number(port)
    return client_address(address), number if number > 0 else None
