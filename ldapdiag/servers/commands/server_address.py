"""ServerAddress: how commands reach one server, and bind to it.

The address is the one at which its evidence was read, else that of its host, if a table of the host shows its ports.
A command has it only where the operator named it, as for all that was read live. Anyone may have made a capture, and a
guessed address is another server's: there a variable of the shell stands for it, and a comment has what was read.

The names of services and processes in a remedy are those of the only server of a host. For one of several servers they
are replaced, or the remedy becomes advice.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern
from ldapdiag.remedy import RemedyKind
from ldapdiag.servers.commands.remedy_texts import advice_if_missing
from ldapdiag.servers.commands.shell_text import HOST_NAME, bracketed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ldapdiag.evidence.ldap_session import LdapSession
    from ldapdiag.remedy import Remedy


URI, HOST = "LDAP_URI", "LDAP_HOST"
VARIABLES = (
    (URI, "URL", (", ldap://HOST:PORT or ldaps://HOST:PORT", ", ldapi://%2FPATH of a local socket, on its host")),
    (HOST, "host", ("", "")),
)
"""Variables of the shell that stand for an address: name, meaning, examples (elsewhere, for root on the host)."""
NAMED = pattern(r"[\w .:@/-]+")
TLS_PORTS = frozenset({636, 3269})
DEFAULT_PORTS = {"ldap": 389, "ldaps": 636}
ANY_SERVICE = pattern(
    r"systemctl (?:re)?(?:start|stop) (?:slapd|opendj|dirsrv\.target)\b|\b(?:slapd|opendj|dirsrv@)\.service\b"
)
ANY_PROCESS = pattern(r"\$\(pidof [^)]*\)")
OTHER_PORT = pattern(r"(?: -p 4444| --port 636)\b")
"""The port for administration, or for TLS, of which the evidence does not show whose it is."""
OF_THE_HOST = (
    ("Every instance on the host may open", "The instance may open"),
    ("of every instance on the host", "of the instance"),
)

NEEDS: Mapping[re.Pattern[str], str] = {
    ANY_SERVICE: "the service that starts it, among those of its host",
    ANY_PROCESS: "its process",
    OTHER_PORT: "its port for administration",
}
"""What a command needs that has this in it, for one of several servers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAddress:
    """One server, as reports name it and as commands reach it. Empty or None: unknown."""

    name: str
    host: str
    ports: tuple[int, ...] = ()
    """By a table of its host."""
    instance: str = ""
    """The name of its instance (389-ds)."""
    socket: str | None = ""
    """Its local socket, as the URL has it: ldapi://%2Frun%2Fslapd2%2Fldapi. Empty: unknown; None: it has none."""
    pid: int | None = None
    session: LdapSession | None = None
    """How its evidence was read from it."""
    manager: str = ""
    """The DN of its directory manager, by its configuration."""
    is_named: bool = False
    """The operator named its address: as a target, or in ldapdiag.toml."""
    mark: str = ""
    """The end of its variables, where a report is about several servers: LDAP_URI_ds1."""

    @property
    def is_only(self) -> bool:
        """Return whether it is the only server of its host."""
        return self.name == self.host

    @property
    def port(self) -> int | None:
        """Return its port, one without TLS if there is one."""
        return next(iter(sorted(self.ports, key=lambda port: (port in TLS_PORTS, port))), None)

    @property
    def uri(self) -> str:
        """Return its URL for commands; empty: unknown, or known from what others may have written."""
        return self.said_uri if self.is_named else ""

    @property
    def said_uri(self) -> str:
        """Return its URL by the evidence; empty: unknown."""
        if self.session is not None:
            return self.session.url
        reached_by_ssh = self.host.count(":") == 1  # app1:2222, a port of ssh: perhaps a tunnel
        if self.port is None or reached_by_ssh or not HOST_NAME.fullmatch(self.host):
            return ""
        scheme = "ldaps" if self.port in TLS_PORTS else "ldap"
        port = "" if self.port == DEFAULT_PORTS[scheme] else f":{self.port}"
        return f"{scheme}://{bracketed(self.host)}{port}"

    @property
    def local_uri(self) -> str:
        """Return the URL of its local socket for commands; empty: unknown, as for `uri`."""
        return self.said_local_uri if self.is_named else ""

    @property
    def said_local_uri(self) -> str:
        """Return the URL of its local socket by the evidence; empty: unknown."""
        if self.session is not None and self.session.is_local:
            return self.session.url
        return self.socket or ""

    @property
    def command_host(self) -> str:
        """Return its host, for tools that take host and port as options; empty: unknown, as for `uri`."""
        return _host_in(self.uri)

    @property
    def command_port(self) -> int | None:
        """Return its port, for tools that take host and port as options; None: unknown."""
        scheme, _, rest = self.said_uri.partition("://")
        number = rest.rpartition("]")[2].partition(":")[2]
        return int(number) if number.isdigit() else DEFAULT_PORTS.get(scheme)

    def variable(self, name: str) -> str:
        """Return a word that ends a command while a variable is empty: tools would take an empty URL for a default."""
        return f'"${{{self.variable_name(name)}:?}}"'

    def variable_name(self, name: str) -> str:
        """Return the name of this server's variable."""
        return f"{name}_{self.mark}" if self.mark else name

    def adapt(self, remedy: Remedy) -> Remedy:
        """Return a remedy for this server alone: its service and process, and what its variables stand for."""
        remedy = self._own(remedy)
        text = self.stated(remedy.text) if remedy.kind is RemedyKind.SHELL else remedy.text
        undo, verify, brief = map(self.stated, (remedy.undo, remedy.verify, remedy.brief))
        return replace(remedy, text=text, undo=undo, verify=verify, brief=brief)

    def stated(self, commands: str) -> str:
        """Return commands preceded by what their variables stand for, and by a test of each.

        What follows may discard the messages of its tools.
        """
        lines = []
        for name, what, example in VARIABLES:
            if self.variable(name) not in commands:
                continue
            is_local = "-Y EXTERNAL" in commands
            url = self.said_local_uri if is_local else self.said_uri
            said = url if name == URI else _host_in(self.said_uri)
            stated = f"the evidence says {said}" if said else f"not in the evidence{example[is_local]}"
            variable = self.variable_name(name)
            lines.append(f"# {variable}, exported once, must be the {what} of {one_line(self.name)}: {stated}")
            lines.append(f': "${{{variable}:?export the {what} of the server first}}"')
        return "\n".join([*lines, commands])

    def _own(self, remedy: Remedy) -> Remedy:
        """Return a remedy with the names of this server's service and process."""
        if self.is_only:
            return remedy
        parts = (remedy.text, remedy.undo, remedy.verify, remedy.changes, remedy.risk, remedy.brief)
        text, undo, verify, changes, risk, brief = map(self._rewritten, parts)
        adapted = replace(remedy, text=text, undo=undo, verify=verify, changes=changes, risk=risk, brief=brief)
        missing = [what for pattern, what in NEEDS.items() if pattern.search(f"{text}\n{undo}")]
        return replace(advice_if_missing(adapted, missing), verify="" if _unclear(verify) else verify)

    def _rewritten(self, text: str) -> str:
        """Return commands for the only server of a host with the names of this one, as far as they are known."""
        if self.instance:
            text = text.replace("dirsrv.target", f"dirsrv@{self.instance}")
            text = text.replace("dirsrv@.service", f"dirsrv@{self.instance}.service")
            for several, one in OF_THE_HOST:
                text = text.replace(several, one)
        if self.pid:
            text = ANY_PROCESS.sub(str(self.pid), text)
        if self.ports:
            sports = " or ".join(f"sport = :{port}" for port in self.ports)
            text = text.replace("sport = :389 or sport = :636", sports).replace("'( sport = :389 )'", f"'( {sports} )'")
        return text


def one_line(name: str) -> str:
    """Return a name for a comment: some shells take a pasted comment for a command."""
    return name if NAMED.fullmatch(name) else "the server"


def _host_in(uri: str) -> str:
    """Return the host in a URL; empty: it has none."""
    scheme, _, rest = uri.partition("://")
    if scheme == "ldapi":
        return ""
    return rest[1:].partition("]")[0] if rest.startswith("[") else rest.partition(":")[0]


def _unclear(text: str) -> bool:
    return any(pattern.search(text) for pattern in NEEDS)
