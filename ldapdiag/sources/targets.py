"""Targets: evidence that is collected live, from an LDAP server, over ssh, or on the local host.

ldap://ds1  ldaps://ds1:1636  ldapi://%2Frun%2Fslapd-ds1.socket     a directory server
ssh://app1  ssh://admin@app1:2222                                   sockets, limits and servers of a remote host
local:      netns:blue                                              the local host; one of its network namespaces

The targets that a path which does not exist may stand for: a host without its scheme, a misspelt scheme.

ds1                  ldap://ds1, ssh://ds1
admin@app1           ssh://admin@app1
ds1:636              ldaps://ds1:636
ldpa://ds1, ldap:ds1 ldap://ds1
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, quote, unquote, urlsplit

from ldapdiag.errors import UsageError
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LDAP_PORTS = {"ldap": 389, "ldaps": 636}
"""Default port by URL scheme."""
LOCAL_SOCKET = "ldapi"
EXAMPLE = "example:"
"""Begins the name of evidence that is installed with the program."""
SSH_PORT = 22
HOST = pattern(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,252}[A-Za-z0-9_])?|\[[0-9A-Fa-f:.]{2,45}(?:%[A-Za-z0-9._-]{1,15})?\]")
"""A host name or an address; ssh would take a leading dash for an option."""
USER = pattern(r"[A-Za-z0-9_][A-Za-z0-9_.@\\-]{0,63}")
NAMESPACE = pattern(r"[A-Za-z0-9_.][A-Za-z0-9_.:@-]{0,200}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LdapAddress:
    """The address in an LDAP URL: a host and a port, or a socket of the local host."""

    scheme: str
    """ldap, ldaps or ldapi."""
    host: str = ""
    """A host name, or an address without brackets; empty for a local socket."""
    port: int = 0
    path: str = ""
    """Path of a local socket."""

    @property
    def url(self) -> str:
        """Return the address as an LDAP URL."""
        if self.path:
            return f"{self.scheme}://{quote(self.path, safe='')}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class LdapTarget:
    """A directory server, queried over LDAP."""

    label: str
    address: LdapAddress

    @property
    def name(self) -> str:
        """Return the folder name of its host, used unless its address belongs to another target."""
        return self.address.host or "local"


@dataclass(frozen=True, slots=True)
class SshTarget:
    """A remote host, reached through the system's ssh; with `path`, that one file only."""

    label: str
    host: str
    user: str | None = None
    port: int | None = None
    path: str | None = None
    name_with_port: bool = False
    """The run names several ports of this host: each may be a tunnel to a different machine."""

    @property
    def name(self) -> str:
        """Return the name of this host in the report."""
        host = self.host.strip("[]")
        return f"{host}:{self.port or SSH_PORT}" if self.name_with_port else host


@dataclass(frozen=True, slots=True)
class LocalTarget:
    """The local host."""

    label: str = "local:"

    @property
    def name(self) -> str:
        """Return the folder name of this host: its name."""
        from socket import gethostname  # noqa: PLC0415  import late: few need it

        return gethostname() or "local"


@dataclass(frozen=True, slots=True)
class NamespaceTarget:
    """One network namespace of the local host, by its name in /run/netns."""

    label: str
    name: str


Target = LdapTarget | SshTarget | LocalTarget | NamespaceTarget


def split_targets(evidence: Iterable[str]) -> tuple[list[Target], list[str]]:
    """Split command line arguments into targets, without duplicates, and paths. No argument means the local host.

    Raises UsageError for an invalid target, and for an example that is not packaged.
    """
    targets: dict[Target, None] = {}
    paths: list[str] = []
    for argument in evidence:
        if (target := parse_target(argument)) is None:
            paths.append(_path(argument))
        else:
            targets[target] = None
    if not targets and not paths:
        targets[LocalTarget()] = None
    return list(_with_unique_names(list(targets))), paths


def names_of(targets: Iterable[Target]) -> frozenset[str]:
    """Return the hosts and the LDAP URLs that targets name: commands may have them as addresses."""
    every = tuple(targets)
    servers = [one for one in every if isinstance(one, LdapTarget)]
    urls = {url for one in servers for url in (one.label.rstrip("/"), one.address.url)}
    return frozenset(urls | {one.name for one in every})


def _path(argument: str) -> str:
    if not argument.startswith(EXAMPLE):
        return argument
    from ldapdiag.sources.packaged_examples import example_folder  # noqa: PLC0415  import late

    return example_folder(argument.removeprefix(EXAMPLE))


def _with_unique_names(targets: list[Target]) -> Iterator[Target]:
    """Yield the targets; where the run names several ports of a host, its names include the port."""
    ports: dict[str, set[int]] = defaultdict(set)
    for target in targets:
        if isinstance(target, SshTarget):
            ports[target.host].add(target.port or SSH_PORT)
    for target in targets:
        if isinstance(target, SshTarget) and len(ports[target.host]) > 1:
            yield replace(target, name_with_port=True)
        else:
            yield target


def parse_target(argument: str) -> Target | None:
    """Return the target that an argument names; None for a path. Raises UsageError for an invalid target."""
    scheme, colon, rest = argument.partition(":")
    if not colon:
        return None
    if scheme == "local":
        return LocalTarget() if rest in {"", "//"} else None
    if scheme == "netns" and not rest.startswith("//"):
        if not NAMESPACE.fullmatch(rest):
            raise UsageError(f"{argument}: invalid namespace name; use netns:NAME with a name that 'ip netns' lists")
        return NamespaceTarget(argument, rest)
    if not rest.startswith("//"):
        return None
    if scheme == "ssh":
        return _ssh_target(argument)
    return LdapTarget(argument, _ldap_address(argument, scheme)) if scheme in {*LDAP_PORTS, LOCAL_SOCKET} else None


def _ssh_target(argument: str) -> SshTarget:
    user, host, port, path = _url_parts(argument)
    if user is not None and not USER.fullmatch(user):
        raise UsageError(f"{_without_user(argument)}: invalid user name before @; use ssh://user@host")
    return SshTarget(argument, host, user, port, path if path not in {"", "/"} else None)


def _ldap_address(argument: str, scheme: str) -> LdapAddress:
    if scheme == LOCAL_SOCKET:
        path = unquote(argument.removeprefix("ldapi://")).rstrip("/")
        if not path.startswith("/") or "\0" in path:
            raise UsageError(f"{argument}: invalid socket path; write each / as %2F, as in ldapi://%2Frun%2Fldapi")
        return LdapAddress(scheme=scheme, path=path)
    user, host, port, path = _url_parts(argument)
    if user is not None or path not in {"", "/"}:
        reason = f"only a host and a port are allowed: {scheme}://host:port; give the bind DN with -D DN -W"
        raise UsageError(f"{_without_user(argument)}: {reason}")
    return LdapAddress(scheme=scheme, host=host.strip("[]"), port=port or LDAP_PORTS[scheme])


def _url_parts(argument: str) -> tuple[str | None, str, int | None, str]:
    """Return user, host (IPv6 in brackets), port and path of a URL. Raises UsageError for an invalid one."""
    if not argument.isprintable():  # urlsplit would drop line ends
        raise UsageError(f"{argument!r}: control character in a target; remove it")
    try:
        parts = urlsplit(argument)
    except ValueError as error:
        raise UsageError(f"{_without_user(argument)}: invalid URL: {str(error).lower()}") from error
    port = _port(parts)
    if port == 0:
        raise UsageError(f"{_without_user(argument)}: invalid port; use a number from 1 to 65535, or no port")
    user, at, _ = parts.netloc.rpartition("@")
    host = parts.netloc.rpartition("@")[2]
    if port is not None or host.endswith(":"):
        host = host.rpartition(":")[0]
    if parts.query or parts.fragment or not HOST.fullmatch(host):
        reason = f"invalid host; use a host name or an address (IPv6 in brackets) after {parts.scheme}://"
        raise UsageError(f"{_without_user(argument)}: {reason}")
    return (user if at else None), host, port, unquote(parts.path)


def _port(parts: SplitResult) -> int | None:
    """Return the port of a URL; 0 for one that no server can have, None without one."""
    try:
        return parts.port
    except ValueError:
        return 0


def _without_user(argument: str) -> str:
    """Return a URL without the part before @, which may contain a password."""
    scheme, separator, rest = argument.partition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"


HOST_AND_PORT = pattern(rf"(?:(?P<user>{USER.pattern})@)?(?P<host>{HOST.pattern})(?::(?P<port>[0-9]{{1,5}}))?")
SCHEME = pattern(r"([A-Za-z]{2,10})(?::/*|//)(.*)")
FORMS = {
    "ldap": "ldap://",
    "ldaps": "ldaps://",
    "ldapi": "ldapi://",
    "ssh": "ssh://",
    "netns": "netns:",
    "local": "local:",
}
BY_PORT = {**{port: scheme for scheme, port in LDAP_PORTS.items()}, 3268: "ldap", 3269: "ldaps", SSH_PORT: "ssh"}
FILE_ENDING = pattern(
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
