"""The dsconfig tool of OpenDJ, its relatives and PingDirectory; each has connection options of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.remedy import Remedy, RemedyKind, Where
from ldapdiag.servers.commands.remedy_texts import CLIENTS_ARE_REFUSED, SECURE_BINDS

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Family


PASSWORD_FILE = "~/.ldap-password"  # noqa: S105  a path
PASSWORD_HINT = (
    f"The manager's password is read from {PASSWORD_FILE}: without menus (-n) dsconfig does not prompt for it."
)
"""Measured with OpenDJ 4.10.1: without -n it opens its menus, with -n it neither prompts nor accepts `-w -`."""


DEFAULT_POLICY = '--policy-name "Default Password Policy"'
HANDLER = '--handler-name "LDAP Connection Handler"'


@dataclass(frozen=True, slots=True)
class Dsconfig:
    """dsconfig with the options to reach one server."""

    options: str

    def run(self, command: str, *arguments: str) -> str:
        """Return a command."""
        return " ".join(["dsconfig", command, self.options, *arguments])

    def set(self, what: str, *settings: str, component: str = "") -> str:
        """Return the command that sets properties, each `name:value`."""
        return self.run(f"set-{what}-prop", *filter(None, [component]), *(f'--set "{one}"' for one in settings))

    def reset(self, what: str, *names: str, component: str = "") -> str:
        """Return the command that resets properties to their defaults."""
        return self.run(f"set-{what}-prop", *filter(None, [component]), *(f"--reset {name}" for name in names))

    def restore(self, what: str, name: str, value: int | None, component: str = "") -> str:
        """Return the command that restores a property; value None: its default."""
        if value is None:
            return self.reset(what, name, component=component)
        return self.set(what, f"{name}:{value}", component=component)

    def show(self, what: str, *names: str, component: str = "") -> str:
        """Return the command that shows properties."""
        return self.run(f"get-{what}-prop", *filter(None, [component]), *(f"--property {name}" for name in names))


def secure_binds(tool: Dsconfig, target: str, family: Family) -> Remedy:
    """Return the remedy that sets require-secure-authentication of the default password policy."""
    return Remedy(
        title=SECURE_BINDS,
        target=target,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=tool.set("password-policy", "require-secure-authentication:true", component=DEFAULT_POLICY),
        changes=(
            "Accounts of the default password policy need TLS or StartTLS to bind with a password. Every other policy, "
            f"as that of root users, has a setting of its own. {PASSWORD_HINT}"
        ),
        risk=CLIENTS_ARE_REFUSED,
        undo=tool.set("password-policy", "require-secure-authentication:false", component=DEFAULT_POLICY),
        verify=tool.show("password-policy", "require-secure-authentication", component=DEFAULT_POLICY),
        family=family,
    )
