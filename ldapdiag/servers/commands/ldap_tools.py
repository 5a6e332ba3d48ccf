"""OpenLDAP's client tools with the address of a server and the bind options; they prompt for a password.

ldapsearch -x -H ldap://ds1:3890 -D "cn=Directory Manager" -W
LDAPTLS_CACERT=/etc/ca.pem ldapsearch -x -H ldaps://ds1 -D cn=admin,dc=x -y /root/pw
ldapsearch -Q -Y EXTERNAL -H ldapi://%2Frun%2Fslapd%2Fldapi
ldapsearch -x -H "${LDAP_URI:?}" -D "cn=Directory Manager" -W    the address is unknown, or a capture's
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from ldapdiag.lazy_pattern import pattern
from ldapdiag.servers.commands.server_address import DEFAULT_PORTS, HOST, URI, one_line
from ldapdiag.servers.commands.shell_text import here_document

if TYPE_CHECKING:
    from ldapdiag.evidence.ldap_session import LdapSession
    from ldapdiag.servers.commands.server_address import ServerAddress


MANAGER = "cn=Directory Manager"
CONFIG_MANAGER = "cn=config"
"""Of slapd."""
ON_THE_HOST = pattern(r"\b(?:dsctl|slapindex|slapcat|systemctl|runuser) |-Y EXTERNAL ")
"""Commands that do their work only on the server's own host."""
WITHOUT_PASSWORD = (
    f"# If {CONFIG_MANAGER} has no password: as root on the host, -Q -Y EXTERNAL and the URL of a local socket, where "
    "slapd has one"
)
NOT_SEEN = "The build failed, or its end was not seen: do not restart the server before it has ended."
PLAIN = pattern(r"[A-Za-z0-9 =,._-]+", re.ASCII)
"""Words that need no more than double quotes."""


def as_manager(tool: str, server: ServerAddress, manager: str = "", *, secure: bool = False) -> str:
    """Return the start of a command that binds as in the session of the evidence, else as the manager.

    `manager` is the product's, for a server whose configuration does not name it; `secure`: with StartTLS at least.
    """
    if server.session is not None and server.session.is_bound:
        return _as_in(server, server.session, tool, secure=secure)
    tls = _start_tls(server, secure=secure)
    return f"{_tls(server)}{tool} -x -H {uri(server)}{tls} -D {quoted(manager_of(server, manager))} -W"


def as_root(tool: str, server: ServerAddress, *, secure: bool = False) -> str:
    """Return the start of a command that binds as in the session of the evidence, else as root over the local socket.

    Packages of slapd allow root to write cn=config. Where the evidence shows no local socket, the manager of cn=config
    binds at its address. `secure`: with StartTLS at least.
    """
    if server.session is not None and server.session.is_bound:
        return _as_in(server, server.session, tool, secure=secure)
    if not server.said_local_uri and (server.socket is None or server.said_uri):
        return as_manager(tool, server, CONFIG_MANAGER, secure=secure)
    return f"{tool} -Q -Y EXTERNAL -H {local_uri(server)}"


def modify(server: ServerAddress, *ldif: str, manager: str = "", secure: bool = False) -> str:
    """Return an ldapmodify command with its LDIF."""
    return here_document(as_manager("ldapmodify", server, manager, secure=secure), *ldif)


def shown(
    server: ServerAddress, *attributes: str, entry: str = "cn=config", manager: str = "", secure: bool = False
) -> str:
    """Return an ldapsearch command that shows attributes of one entry."""
    search = as_manager("ldapsearch", server, manager, secure=secure)
    return f"{search} -LLL -b {shlex.quote(entry)} -s base {' '.join(attributes)}"


def uri(server: ServerAddress) -> str:
    """Return the URL of a server as a word of a command; a variable unless the operator named it."""
    return shlex.quote(server.uri) if server.uri else server.variable(URI)


def local_uri(server: ServerAddress) -> str:
    """Return the URL of a server's local socket as a word of a command; a variable unless the operator named it."""
    return shlex.quote(server.local_uri) if server.local_uri else server.variable(URI)


def host(server: ServerAddress) -> str:
    """Return the host of a server as a word of a command; a variable unless the operator named it."""
    return shlex.quote(server.command_host) if server.command_host else server.variable(HOST)


def waiting(search: str, entry: str, filter_: str, attribute: str, value: str, seconds: int) -> list[str]:
    """Return the lines that wait, an hour at most, until a filter matches an entry, and fail unless it has a value.

    `search` is ldapsearch with its connection options, `entry` a word of the shell. ldapsearch asks for the password
    once, because it takes filter after filter from the loop (-f), and it ends by itself where the entry is gone.
    """
    again = f"printf '%s\\n' '{filter_}'; sleep {seconds}"
    return [
        "out=$(mktemp); trap 'rm -f \"$out\"' EXIT",
        f"for i in $(seq {3600 // seconds}); do grep -q '^{attribute}:' \"$out\" && break; {again}; done |",
        f"{search} -LLL -b {entry} -s base -f - '(%s)' {attribute} >\"$out\" || true",
        f"grep '^{attribute}: {value}' \"$out\" || {{ cat \"$out\"; echo '{NOT_SEEN}'; exit 1; }} >&2",
    ]


def preceded(server: ServerAddress, commands: str) -> str:
    """Return commands preceded by the host on which they must run."""
    lines = [f"# on {_named_host(server)}:"] if ON_THE_HOST.search(commands) else []
    if server.socket == "" and f" -D {CONFIG_MANAGER} -W" in commands:
        lines.append(WITHOUT_PASSWORD)
    return "\n".join([*lines, commands])


def _named_host(server: ServerAddress) -> str:
    if server.session is not None and server.session.is_local and not server.ports:
        return "the server's own host"
    name = one_line(server.host)
    return name if server.ports or server.session is not None else f"the host of {name}"


def port(server: ServerAddress) -> int:
    """Return the port of a server, for tools that take it as an option; 389 if it is unknown."""
    return server.command_port or DEFAULT_PORTS["ldap"]


def manager_of(server: ServerAddress, manager: str = "") -> str:
    """Return the DN of the manager; `manager` or the usual one for a server whose configuration does not name it."""
    return (server.manager if server.manager.isprintable() else "") or manager or MANAGER


def quoted(word: str) -> str:
    """Return a word of a command, in double quotes where that is enough."""
    return f'"{word}"' if " " in word and PLAIN.fullmatch(word) else shlex.quote(word)


def _as_in(server: ServerAddress, session: LdapSession, tool: str, *, secure: bool) -> str:
    bind = f"-Q -Y {session.mechanism}" if session.mechanism else "-x"
    password = f"-y {shlex.quote(session.password_file)}" if session.password_file else "-W"
    account = f" -D {quoted(session.dn)} {password}" if session.dn else ""
    return f"{_environment(session)}{tool} {bind} -H {uri(server)}{_start_tls(server, secure=secure)}{account}"


def _tls(server: ServerAddress) -> str:
    return _environment(server.session) if server.session is not None else ""


def _start_tls(server: ServerAddress, *, secure: bool) -> str:
    if secure and server.said_uri.startswith("ldap://"):
        return " -ZZ"  # -Z of a session, which a capture may have, goes on in the clear where StartTLS fails
    return f" {server.session.start_tls}" if server.session is not None and server.session.start_tls else ""


def _environment(session: LdapSession) -> str:
    """Return the variables of libldap that precede a command: the tools have no options for them."""
    ca_file = f"LDAPTLS_CACERT={shlex.quote(session.ca_file)} " if session.ca_file else ""
    return f"{ca_file}LDAPTLS_REQCERT=never " if session.insecure else ca_file
