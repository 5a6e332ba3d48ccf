"""Targets: what an operator may name beside files, and which of it is asked over LDAP, over ssh or here.

ldap://ds1  ldaps://ds1:1636  ldapi://%2Frun%2Fslapd-ds1.socket     a directory server
ssh://app1  ssh://admin@app1:2222                                   that host's sockets, limits and servers
local:      netns:blue                                              this host; one network namespace of it
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from ldapdiag.errors import UsageError
from ldapdiag.sources.live.ldap.place import PORTS, Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LOCAL_SOCKET = "ldapi"
SSH_PORT = 22
HOST = re.compile(
    r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,252}[A-Za-z0-9_])?|\[[0-9A-Fa-f:.]{2,45}(?:%[A-Za-z0-9._-]{1,15})?\]"
)
"""A name or an address; what begins with a dash would be an option to ssh."""
USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@\\-]{0,63}")
NAMESPACE = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.:@-]{0,200}")


@dataclass(frozen=True, slots=True)
class Directory:
    """A directory server, asked over LDAP."""

    told: str
    place: Place

    @property
    def name(self) -> str:
        """Return what to call its host until an address tells better."""
        return self.place.host or "local"


@dataclass(frozen=True, slots=True)
class Remote:
    """Another host, asked through the system's ssh; of `path`, a file there is read and nothing else."""

    told: str
    host: str
    user: str | None = None
    port: int | None = None
    path: str | None = None
    among_ports: bool = False
    """Another port of the same name was named as well: a tunnel leads to another machine behind each."""

    @property
    def name(self) -> str:
        """Return what the report calls this host."""
        host = self.host.strip("[]")
        return f"{host}:{self.port or SSH_PORT}" if self.among_ports else host


@dataclass(frozen=True, slots=True)
class Local:
    """This host."""

    told: str = "local:"


@dataclass(frozen=True, slots=True)
class Namespace:
    """One network namespace of this host, by its name in /run/netns."""

    told: str
    name: str


Target = Directory | Remote | Local | Namespace


def sorted_out(evidence: Iterable[str]) -> tuple[list[Target], list[str]]:
    """Return the targets among what an operator named, each once, and the paths; nothing named means this host."""
    targets: dict[Target, None] = {}
    paths: list[str] = []
    for named in evidence:
        if (target := target_of(named)) is None:
            paths.append(named)
        else:
            targets[target] = None
    if not targets and not paths:
        targets[Local()] = None
    return list(_told_apart(list(targets))), paths


def _told_apart(targets: list[Target]) -> Iterator[Target]:
    """Yield the targets, hosts of one name and several ports with names of their own."""
    ports: dict[str, set[int]] = defaultdict(set)
    for target in targets:
        if isinstance(target, Remote):
            ports[target.host].add(target.port or SSH_PORT)
    for target in targets:
        if isinstance(target, Remote) and len(ports[target.host]) > 1:
            yield replace(target, among_ports=True)
        else:
            yield target


def target_of(named: str) -> Target | None:
    """Return the target this names; None when it is a path. UsageError: it is meant to be a target, and is none."""
    scheme, colon, rest = named.partition(":")
    if not colon:
        return None
    if scheme == "local":
        return Local() if rest in {"", "//"} else None
    if scheme == "netns" and not rest.startswith("//"):
        if not NAMESPACE.fullmatch(rest):
            raise UsageError(f"{named}: a namespace's name is expected after netns:, as 'ip netns' lists it")
        return Namespace(named, rest)
    if not rest.startswith("//"):
        return None
    if scheme == "ssh":
        return _remote(named)
    return Directory(named, _place(named, scheme)) if scheme in {*PORTS, LOCAL_SOCKET} else None


def _remote(named: str) -> Remote:
    user, host, port, path = _parts(named)
    if user is not None and not USER.fullmatch(user):
        raise UsageError(f"{_without_user(named)}: the part before @ is no user name; write ssh://user@host")
    return Remote(named, host, user, port, path if path not in {"", "/"} else None)


def _place(named: str, scheme: str) -> Place:
    if scheme == LOCAL_SOCKET:
        path = unquote(named.removeprefix("ldapi://")).rstrip("/")
        if not path.startswith("/") or "\0" in path:
            raise UsageError(f"{named}: write the path of the socket with %2F for each /, as in ldapi://%2Frun%2Fldapi")
        return Place(scheme=scheme, path=path)
    user, host, port, path = _parts(named)
    if user is not None or path not in {"", "/"}:
        what = f"only a host and a port are expected: {scheme}://host:port; whom to bind as: -D DN -W"
        raise UsageError(f"{_without_user(named)}: {what}")
    return Place(scheme=scheme, host=host.strip("[]"), port=port or PORTS[scheme])


def _parts(named: str) -> tuple[str | None, str, int | None, str]:
    """Return user, host (IPv6 in brackets), port and path of a URL; UsageError names what is wrong with it."""
    if not named.isprintable():  # urlsplit would leave line ends out
        raise UsageError(f"{named!r}: a target is written in one line, without control characters")
    try:
        parts = urlsplit(named)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"{_without_user(named)}: {str(error).lower()}") from error
    user, at, _ = parts.netloc.rpartition("@")
    host = parts.netloc.rpartition("@")[2]
    if port is not None or host.endswith(":"):
        host = host.rpartition(":")[0]
    if parts.query or parts.fragment or not HOST.fullmatch(host):
        what = f"no host name or address (IPv6 in brackets) after {parts.scheme}://"
        raise UsageError(f"{_without_user(named)}: {what}")
    return (user if at else None), host, port, unquote(parts.path)


def _without_user(named: str) -> str:
    """Return a URL without what stands before an @ in it, which may be a password."""
    scheme, separator, rest = named.partition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"
