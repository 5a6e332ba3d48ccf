"""The blocks of commands that add, build and drop indexes of Directory Server Enterprise Edition; not tested.

dsconf takes the password from the file that LDAP_ADMIN_PWF names (Oracle 821-1504, "Setting Environment Variables for
dsconf"), so a block asks for it once. dsconf reindex returns when the build has ended.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from ldapdiag.servers.index_answers import FUNCTIONS, REACHED, check_suffixes, search_function
from ldapdiag.servers.ldap_tools import as_manager, manager_of, quoted
from ldapdiag.servers.ldbm_index_changes import EntryChange, in_order
from ldapdiag.servers.shell_session import block, from_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ldapdiag.evidence.indexes import Backend
    from ldapdiag.servers.server_address import ServerAddress

UNBUILT = "may be configured and not built: until dsconf reindex has ended, searches by them scan the database"


def checked(
    server: ServerAddress, backend: Backend, title: str, commands: Iterable[str], changes: Sequence[EntryChange]
) -> str:
    """Return the block that runs dsconf commands, and checks the answers of these indexes."""
    named = ", ".join(one.attribute for one in changes)
    lines = [
        f"step='{title}'",
        REACHED,
        *_credentials(server),
        f"state='{named}: {UNBUILT}'",
        *commands,
        f"state='{named}: the commands have ended; the check of the answers has not passed'",
        *(line for one in changes for line in _checks(backend, one)),
        "answers_right",
        f"say '{named}: no answer is wrong'",
    ]
    return block(search_function(from_file(as_manager("ldapsearch", server))), "\n".join(lines), FUNCTIONS)


def _credentials(server: ServerAddress) -> list[str]:
    """Return the settings by which dsconf binds as ldapsearch does; none for SASL, where dsconf prompts."""
    session = server.session
    if session is not None and session.mechanism:
        return []
    file = shlex.quote(session.password_file) if session is not None and session.password_file else '"$password_copy"'
    account = (session.dn if session is not None else "") or manager_of(server)
    return [f"export LDAP_ADMIN_USER={quoted(account)} LDAP_ADMIN_PWF={file}"]


def _checks(backend: Backend, one: EntryChange) -> list[str]:
    known = one.known.types if one.known else ()
    return check_suffixes(backend, one.attribute, in_order({*one.types, *known}))
