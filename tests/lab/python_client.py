"""A client of python-ldap, of ldap3 or of the name service: a request after each of these pauses.

    python_client.py KIND URI USER PASSWORD PATIENCE PAUSES SETTINGS    KIND: python-ldap, ldap3 or nslcd

SETTINGS is the text of a remedy, as printed, or nothing: then the library's defaults hold. It prints one line of JSON:
how many requests it made, and what became of those that were lost.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

BASE = "dc=example,dc=com"
BEFORE_EACH = "if time.monotonic()"


def python_ldap(uri: str, user: str, password: str, patience: float, settings: str) -> Callable[[], object]:
    """Return what makes a request; where it fails, the connection is opened anew."""
    import ldap  # noqa: PLC0415  only this client has it
    import ldap.ldapobject  # noqa: PLC0415

    scope = {"ldap": ldap, "uri": uri}
    default = f"connection = ldap.initialize(uri)\nconnection.set_option(ldap.OPT_TIMEOUT, {patience + 1})"

    def opened() -> object:
        exec(settings or default, scope)  # noqa: S102  the remedy is meant to be pasted into a program
        scope["connection"].simple_bind_s(user, password)
        return scope["connection"]

    def request() -> None:
        try:
            scope["connection"].search_s(BASE, ldap.SCOPE_BASE)
        except ldap.LDAPError:
            opened()
            raise

    opened()
    return request


def ldap3(uri: str, user: str, password: str, patience: float, settings: str) -> Callable[[], object]:
    """Return what makes a request; where it fails, the connection is opened anew."""
    import ldap3  # noqa: PLC0415  only this client has it

    at_start, _, rest = settings.partition(BEFORE_EACH)
    default = (
        "connection = ldap3.Connection(ldap3.Server(uri), user, password, receive_timeout="
        f"{int(patience) + 1})\ndef bind_again():\n    connection.unbind(); connection.bind()"
    )
    scope = {"ldap3": ldap3, "socket": socket, "time": time, "uri": uri, "user": user, "password": password}
    exec(at_start or default, scope)  # noqa: S102  the remedy is meant to be pasted into a program
    before = compile(BEFORE_EACH + rest if rest else "pass", "remedy", "exec")
    scope["connection"].bind()
    if settings:
        scope["bind_again"]()
    scope["last_used"] = time.monotonic()

    def request() -> None:
        exec(before, scope)  # noqa: S102  as above
        try:
            assert scope["connection"].search(BASE, "(objectClass=*)", search_scope="BASE"), scope["connection"].result
        except Exception:
            scope["connection"] = ldap3.Connection(ldap3.Server(uri), user, password, receive_timeout=int(patience) + 1)
            scope["connection"].bind()
            raise
        scope["last_used"] = time.monotonic()

    return request


def nslcd(_uri: str, user: str, _password: str, patience: float, _settings: str) -> Callable[[], object]:
    """Return what looks a user up through nslcd, past its caches: there are none."""

    def request() -> None:
        subprocess.run(["getent", "-s", "ldap", "passwd", user], check=True, capture_output=True, timeout=patience)

    return request


def main(kind: str, uri: str, user: str, password: str, patience: str, pauses: str, settings: str) -> None:
    """Make the requests, and print what became of them."""
    clients = {"python-ldap": python_ldap, "ldap3": ldap3, "nslcd": nslcd}
    request = clients[kind](uri, user, password, float(patience), settings)
    lost, slowest = [], 0.0
    for pause in pauses.split(","):
        time.sleep(float(pause))
        began = time.monotonic()
        try:
            request()
        except Exception as error:  # noqa: BLE001  whatever it is, the request is lost
            lost.append(f"{pause} s: {type(error).__name__} {error}")
        else:
            slowest = max(slowest, took := time.monotonic() - began)
            if took > float(patience):
                lost.append(f"{pause} s: answered after {took:.1f} s")
    print(json.dumps({"requests": len(pauses.split(",")), "lost": lost, "slowest": slowest}), flush=True)  # noqa: T201  it is a program


if __name__ == "__main__":
    main(*sys.argv[1:])
