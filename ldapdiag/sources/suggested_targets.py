"""The targets that a path which does not exist may stand for: a host without its scheme, a misspelt scheme.

ds1                  ldap://ds1, ssh://ds1
admin@app1           ssh://admin@app1
ds1:636              ldaps://ds1:636
ldpa://ds1, ldap:ds1 ldap://ds1
"""

from __future__ import annotations

import re
from pathlib import PurePath

from ldapdiag.errors import UsageError
from ldapdiag.sources.targets import HOST, LDAP_PORTS, SSH_PORT, USER, parse_target

HOST_AND_PORT = re.compile(rf"(?:(?P<user>{USER.pattern})@)?(?P<host>{HOST.pattern})(?::(?P<port>[0-9]{{1,5}}))?")
SCHEME = re.compile(r"([A-Za-z]{2,10})(?::/*|//)(.*)")
FORMS = {
    "ldap": "ldap://",
    "ldaps": "ldaps://",
    "ldapi": "ldapi://",
    "ssh": "ssh://",
    "netns": "netns:",
    "local": "local:",
}
BY_PORT = {**{port: scheme for scheme, port in LDAP_PORTS.items()}, 3268: "ldap", 3269: "ldaps", SSH_PORT: "ssh"}
FILE_ENDING = re.compile(
    r"\.(?:log|txt|ldif|json|csv|xml|conf|cfg|sh|out|gz|tgz|bz2|xz|zst|tzst|tar|zip|access|errors)", re.IGNORECASE
)
LOCAL = frozenset({"localhost", "local", "127.0.0.1"})


def suggested_targets(path: str) -> tuple[str, ...]:
    """Return the targets that a path may stand for, the nearest first; none for what looks like a file."""
    of_scheme = _of_misspelt_scheme(path)
    return tuple(one for one in of_scheme or _of_host(path) if _is_target(one))


def _of_misspelt_scheme(path: str) -> list[str]:
    from ldapdiag.spelling import nearest  # noqa: PLC0415  import late: only a misspelt target needs it

    if (parts := SCHEME.fullmatch(path)) is None or parts[2].isdecimal():  # a host and its port
        return []
    return [f"{FORMS[scheme]}{parts[2]}" for scheme in nearest(parts[1].lower(), FORMS)]


def _of_host(path: str) -> list[str]:
    if (parts := HOST_AND_PORT.fullmatch(path)) is None or FILE_ENDING.fullmatch(PurePath(path).suffix):
        return []
    here = ["local:"] if parts["host"] in LOCAL else []
    if path in FORMS:
        return here
    by_port = BY_PORT.get(int(parts["port"] or 0))
    schemes = ["ssh"] if parts["user"] else [by_port] if by_port else ["ldap", "ssh"]
    return here + [f"{scheme}://{path}" for scheme in schemes]


def _is_target(argument: str) -> bool:
    try:
        return parse_target(argument) is not None
    except UsageError:
        return False
