"""ServerAddress: how commands reach one server, and bind to it.

The address and the bind are those with which its evidence was read. Else they are those of its host, if a table of the
host shows its ports. Else they are unknown, and a variable of the shell stands for them: the command of a guessed
address would be carried out on another server.

The names of services and processes in a remedy are those of the only server of a host. For one of several servers they
are replaced, or the remedy becomes advice.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern
from ldapdiag.servers.commands.remedy_texts import advice_if_missing
from ldapdiag.servers.commands.shell_text import HOST_NAME, bracketed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ldapdiag.evidence.ldap_session import LdapSession
    from ldapdiag.remedy import Remedy


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
        """Return its URL; empty: unknown."""
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
        """Return the URL of its local socket; empty: unknown."""
        if self.session is not None and self.session.is_local:
            return self.session.url
        return self.socket or ""

    @property
    def command_host(self) -> str:
        """Return its host, for tools that take host and port as options; empty: unknown."""
        uri = self.uri.partition("://")[2]
        if not uri or (self.session is not None and self.session.is_local):
            return ""
        return uri[1:].partition("]")[0] if uri.startswith("[") else uri.partition(":")[0]

    @property
    def command_port(self) -> int | None:
        """Return its port, for tools that take host and port as options; None: unknown."""
        scheme, _, rest = self.uri.partition("://")
        number = rest.rpartition("]")[2].partition(":")[2]
        return int(number) if number.isdigit() else DEFAULT_PORTS.get(scheme)

    def adapt(self, remedy: Remedy) -> Remedy:
        """Return a remedy with the names of this server's service and process, for this server alone."""
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


def _unclear(text: str) -> bool:
    return any(pattern.search(text) for pattern in NEEDS)
