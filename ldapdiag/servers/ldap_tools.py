"""OpenLDAP's client tools, bound as the manager of a directory; they prompt for the password."""

from __future__ import annotations

import shlex

from ldapdiag.servers.shell_text import here_document, host_name

MANAGER = "cn=Directory Manager"


def as_manager(tool: str, server: str, manager: str = MANAGER) -> str:
    """Return the start of a command that binds as the manager; it prompts for the password."""
    name = f'"{manager}"' if " " in manager else shlex.quote(manager)
    return f"{tool} -x -H ldap://{host_name(server)} -D {name} -W"


def modify(server: str, *ldif: str, manager: str = MANAGER) -> str:
    """Return an ldapmodify command with its LDIF."""
    return here_document(as_manager("ldapmodify", server, manager), *ldif)


def shown(server: str, *attributes: str, entry: str = "cn=config", manager: str = MANAGER) -> str:
    """Return an ldapsearch command that shows attributes of one entry."""
    return f"{as_manager('ldapsearch', server, manager)} -LLL -b {shlex.quote(entry)} -s base {' '.join(attributes)}"
