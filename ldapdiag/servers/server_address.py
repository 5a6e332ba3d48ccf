"""ServerAddress: how commands reach one server, among several of its host perhaps.

The commands of a remedy are written for the only server of a host: its port, its local socket, its service. For one of
several they are rewritten, or become advice: the command of another server would be carried out there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ldapdiag.servers.missing_names import advice_if_missing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ldapdiag.remedy import Remedy

LOCAL = re.compile(r"ldapi:///(?=\s|$)")
"""The default local socket of slapd."""
UNKNOWN_PORT = re.compile(r"ldap://SERVER\b")
ANY_SERVICE = re.compile(
    r"systemctl (?:re)?(?:start|stop) (?:slapd|opendj|dirsrv\.target)\b|\b(?:slapd|opendj|dirsrv@)\.service\b"
)
ANY_PROCESS = re.compile(r"\$\(pidof [^)]*\)")
OTHER_PORT = re.compile(r"(?: -p 4444| --port 636)\b")
"""The port for administration, or for TLS, of which the evidence does not show whose it is."""
OF_THE_HOST = (
    ("Every instance on the host may open", "The instance may open"),
    ("of every instance on the host", "of the instance"),
)

NEEDS: Mapping[re.Pattern[str], str] = {
    UNKNOWN_PORT: "its port",
    LOCAL: "its local socket (ldapi)",
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
    port: int | None = None
    """A port without TLS, as far as is known."""
    ports: tuple[int, ...] = ()
    instance: str = ""
    """The name of its instance (389-ds)."""
    socket: str = ""
    """Its local socket, as the URL has it: ldapi://%2Frun%2Fslapd2%2Fldapi."""
    pid: int | None = None

    @property
    def is_only(self) -> bool:
        """Return whether it is the only server of its host."""
        return self.name == self.host

    @property
    def endpoint(self) -> str:
        """Return the host, and of one of several servers the port, for commands; empty without a known port."""
        if self.is_only:
            return self.host
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}" if self.port else ""

    def adapt(self, remedy: Remedy) -> Remedy:
        """Return a remedy that was made for `endpoint`, for this server alone."""
        if self.is_only:
            return remedy
        text, undo, verify, changes, risk = (
            self.rewritten(part) for part in (remedy.text, remedy.undo, remedy.verify, remedy.changes, remedy.risk)
        )
        adapted = replace(remedy, target=self.name, text=text, undo=undo, verify=verify, changes=changes, risk=risk)
        missing = [what for pattern, what in NEEDS.items() if pattern.search(f"{text}\n{undo}")]
        return replace(advice_if_missing(adapted, missing), verify="" if _unclear(verify) else verify)

    def rewritten(self, text: str) -> str:
        """Return commands for the only server of a host with the names of this one, as far as they are known."""
        if self.is_only:
            return text
        if self.socket:
            text = LOCAL.sub(self.socket.replace("\\", ""), text)
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
        return text.replace(" -p 389 ", f" -p {self.port} ") if self.port else text


def _unclear(text: str) -> bool:
    return any(pattern.search(text) for pattern in NEEDS)
