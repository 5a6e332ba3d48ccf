"""The variables at the top of a script that stand for addresses which the evidence does not contain.

    LDAP_URI=${LDAP_URI:-}    # the URL of ds1
    [ -n "$LDAP_URI" ] || { echo 'nothing was changed: …' >&2; exit 2; }

Of several servers each has its own, numbered, and each step sets LDAP_URI to that of its server.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.report.neutral import neutral
from ldapdiag.servers.ldap_tools import HOST, URI, variable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.remedy import Remedy

WHAT = {
    URI: "the URL of {server} (ldap://HOST:PORT, ldaps://HOST:PORT or ldapi://%2FPATH)",
    HOST: "the host of {server}",
}


@dataclass(frozen=True, slots=True)
class ScriptAddresses:
    """The variables of one script: the name in the commands and the server, with the name at the top."""

    names: dict[tuple[str, str], str]

    @property
    def head(self) -> str:
        """Return the lines that set the variables and stop the script while one is empty; empty without variables."""
        return "".join(f"{_setting(*key)}\n" for key in ((top, *one) for one, top in self.names.items()))

    def before(self, remedy: Remedy) -> list[str]:
        """Return the lines that set the variables of a step, where the name at the top is another."""
        return [
            f"{name}=${top}" for (name, server), top in self.names.items() if server == remedy.target and top != name
        ]


def addresses_of(remedies: Iterable[Remedy]) -> ScriptAddresses:
    """Return the variables that the commands of remedies need."""
    needed = dict.fromkeys(
        (name, remedy.target) for remedy in remedies for name in WHAT if variable(name) in remedy.text
    )
    servers = list(dict.fromkeys(server for _, server in needed))
    alone = len(servers) == 1
    return ScriptAddresses(
        {(name, server): name if alone else f"{name}_{servers.index(server) + 1}" for name, server in needed}
    )


def _setting(top: str, name: str, server: str) -> str:
    what = WHAT[name].format(server=neutral(server))
    reason = shlex.quote(f"nothing was changed: set {top} at the top of this script to {what}")
    # A value in the environment counts, too.
    return f'{top}=${{{top}:-}}    # {what}\n[ -n "${top}" ] || {{ echo {reason} >&2; exit 2; }}'
