"""The dsconfig tool of OpenDJ, its relatives and PingDirectory; each has connection options of its own."""

from __future__ import annotations

from collections.abc import Callable

from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.commands.remedy_texts import CLIENTS_ARE_REFUSED
from ldapdiag.servers.hosts.host_remedies import listen_ceiling
from ldapdiag.servers.settings import Commands, SettingRow, WantedValue

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
        return self.run(f"set-{what}-prop", *filter(None, [component]), *(f'--set "{setting}"' for setting in settings))

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


Tool = Callable[[WantedValue], Dsconfig]
"""dsconfig for the server that is to have a value."""


def prop(tool: Tool, what: str, name: str, *, restart: str = "") -> Callable[[WantedValue], Commands]:
    """Return the commands of a number; the undo of an unknown value resets it to the default."""

    def commands(wanted: WantedValue) -> Commands:
        used = tool(wanted)
        text, undo = used.set(what, f"{name}:{wanted.value}"), used.restore(what, name, wanted.former)
        return Commands(text, undo, used.show(what, name)).then(restart)

    return commands


def accept_backlog(
    tool: Tool, after: Callable[[Dsconfig], list[str]], *, shown: str = ""
) -> Callable[[WantedValue], Commands]:
    """Return the commands of accept-backlog and of the kernel's limit for it; `after` them it applies.

    `shown`: an option of the command that shows it.
    """

    def commands(wanted: WantedValue) -> Commands:
        used, ceiling, what, name = tool(wanted), listen_ceiling(wanted.value), "connection-handler", "accept-backlog"
        wider = used.set(what, f"{name}:{wanted.value}", component=HANDLER)
        back = used.restore(what, name, wanted.former, HANDLER)
        return Commands(
            "\n".join([ceiling.text, wider, *after(used)]),
            "\n".join([ceiling.undo, back, *after(used)]),
            f"{used.show(what, name, component=HANDLER)}{shown}\nss -ltn",
        )

    return commands


def idle_time_limit(tool: Tool) -> Callable[[WantedValue], Commands]:
    """Return the commands of idle-time-limit; 0 s: off, the default."""

    def commands(wanted: WantedValue) -> Commands:
        used, what, name = tool(wanted), "global-configuration", "idle-time-limit"
        text, undo = (used.set(what, f"{name}:{value} s") for value in (wanted.value, wanted.former or 0))
        return Commands(text, undo, used.show(what, name))

    return commands


def secure_binds(tool: Tool) -> SettingRow:
    """Return the setting require-secure-authentication of the default password policy."""

    def commands(wanted: WantedValue) -> Commands:
        used, what, name = tool(wanted), "password-policy", "require-secure-authentication"
        on, off = (used.set(what, f"{name}:{value}", component=DEFAULT_POLICY) for value in ("true", "false"))
        return Commands(on, off, used.show(what, name, component=DEFAULT_POLICY))

    return SettingRow(
        commands=commands,
        changes=(
            "Accounts of the default password policy need TLS or StartTLS to bind with a password. Every other policy, "
            f"as that of root users, has a setting of its own. {PASSWORD_HINT}"
        ),
        risk=CLIENTS_ARE_REFUSED,
    )
