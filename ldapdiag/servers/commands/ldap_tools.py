"""OpenLDAP's client tools with the address of a server and the bind options; they prompt for a password.

ldapsearch -x -H ldap://ds1:3890 -D "cn=Directory Manager" -W
LDAPTLS_CACERT=/etc/ca.pem ldapsearch -x -H ldaps://ds1 -D cn=admin,dc=x -y /root/pw
ldapsearch -Q -Y EXTERNAL -H ldapi://%2Frun%2Fslapd%2Fldapi
ldapsearch -x -H "${LDAP_URI:?}" -D "cn=Directory Manager" -W    the address is unknown
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from ldapdiag.lazy_pattern import pattern
from ldapdiag.servers.commands.server_address import DEFAULT_PORTS
from ldapdiag.servers.commands.shell_text import here_document

if TYPE_CHECKING:
    from ldapdiag.evidence.ldap_session import LdapSession
    from ldapdiag.servers.commands.server_address import ServerAddress


MANAGER = "cn=Directory Manager"
CONFIG_MANAGER = "cn=config"
"""Of slapd."""
URI, HOST = "LDAP_URI", "LDAP_HOST"
"""Variables of the shell that stand for an unknown address; a command fails while its variable is empty."""
ON_THE_HOST = pattern(r"\b(?:dsctl|slapindex|slapcat|systemctl|runuser) |-H ldapi:")
"""Commands that do their work only on the server's own host."""
WITHOUT_PASSWORD = (
    f"# If {CONFIG_MANAGER} has no password: as root on the host, -Q -Y EXTERNAL and the URL of a local socket, where "
    "slapd has one"
)
NAMED = pattern(r"[\w .:@/-]+")
NOT_SEEN = "The build failed, or its end was not seen: do not restart the server before it has ended."
PLAIN = pattern(r"[A-Za-z0-9 =,._-]+", re.ASCII)
"""Words that need no more than double quotes."""


def as_manager(tool: str, server: ServerAddress, manager: str = "", *, secure: bool = False) -> str:
    """Return the start of a command that binds as in the session of the evidence, else as the manager.

    `manager` is the product's, for a server whose configuration does not name it; `secure`: with StartTLS at least.
    """
    if server.session is not None and server.session.is_bound:
        return _as_in(server.session, tool, secure=secure)
    tls = _start_tls(server.session, server.uri, secure=secure)
    return f"{_tls(server)}{tool} -x -H {uri(server)}{tls} -D {quoted(manager_of(server, manager))} -W"


def as_root(tool: str, server: ServerAddress, *, secure: bool = False) -> str:
    """Return the start of a command that binds as in the session of the evidence, else as root over the local socket.

    Packages of slapd allow root to write cn=config. Where the evidence shows no local socket, the manager of cn=config
    binds at its address. `secure`: with StartTLS at least.
    """
    if server.session is not None and server.session.is_bound:
        return _as_in(server.session, tool, secure=secure)
    if not server.local_uri and (server.socket is None or server.uri):
        return as_manager(tool, server, CONFIG_MANAGER, secure=secure)
    return f"{tool} -Q -Y EXTERNAL -H {shlex.quote(server.local_uri) if server.local_uri else variable(URI)}"


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
    """Return the URL of a server as a word of a command; a variable if it is unknown."""
    return shlex.quote(server.uri) if server.uri else variable(URI)


def host(server: ServerAddress) -> str:
    """Return the host of a server as a word of a command; a variable if it is unknown."""
    return shlex.quote(server.command_host) if server.command_host else variable(HOST)


def waiting(search: str, entry: str, filter_: str, attribute: str, value: str, seconds: int) -> list[str]:
    """Return the lines that wait, an hour at most, until a filter matches an entry, and fail unless it has a value.

    `search` is ldapsearch with its connection options, `entry` a word of the shell. ldapsearch asks for the password
    once, because it takes filter after filter from the loop (-f), and it ends by itself where the entry is gone.
    """
    again = f"echo '{filter_}'; sleep {seconds}"
    return [
        "out=$(mktemp); trap 'rm -f \"$out\"' EXIT",
        f"for i in $(seq {3600 // seconds}); do grep -q '^{attribute}:' \"$out\" && break; {again}; done |",
        f"{search} -LLL -b {entry} -s base -f - '(%s)' {attribute} >\"$out\" || true",
        f"grep '^{attribute}: {value}' \"$out\" || {{ cat \"$out\"; echo '{NOT_SEEN}'; exit 1; }} >&2",
    ]


def preceded(server: ServerAddress, commands: str) -> str:
    """Return commands preceded by the host on which they must run, and by the variables that they need.

    A test of each variable comes first: what follows may discard the messages of its tools.
    """
    lines = [f"# on {_named_host(server)}:"] if ON_THE_HOST.search(commands) else []
    if server.socket == "" and f" -D {CONFIG_MANAGER} -W" in commands:
        lines.append(WITHOUT_PASSWORD)
    what = f"of {_one_line(server.name)}; the evidence does not contain it"
    if variable(URI) in commands:
        local = "-Y EXTERNAL" in commands
        example = (
            "ldapi://%2FPATH of its local socket, where it has one, on its host"
            if local
            else "ldap://HOST:PORT or ldaps://HOST:PORT"
        )
        lines += [f"# {URI} must be set to the URL {what}: {example}", _tested(URI, "URL")]
    if variable(HOST) in commands:
        lines += [f"# {HOST} must be set to the host {what}", _tested(HOST, "host")]
    return "\n".join([*lines, commands])


def _tested(name: str, what: str) -> str:
    """Return a command that fails while a variable is empty."""
    return f': "${{{name}:?set it to the {what} of the server first}}"'


def _named_host(server: ServerAddress) -> str:
    if server.session is not None and server.session.is_local and not server.ports:
        return "the server's own host"
    name = _one_line(server.host)
    return name if server.ports or server.session is not None else f"the host of {name}"


def _one_line(name: str) -> str:
    """Return a name for a comment: some shells take a pasted comment for a command."""
    return name if NAMED.fullmatch(name) else "the server"


def port(server: ServerAddress) -> int:
    """Return the port of a server, for tools that take it as an option; 389 if it is unknown."""
    return server.command_port or DEFAULT_PORTS["ldap"]


def variable(name: str) -> str:
    """Return a word that ends a command while a variable is empty: the tools would take an empty URL for a default."""
    return f'"${{{name}:?}}"'


def manager_of(server: ServerAddress, manager: str = "") -> str:
    """Return the DN of the manager; `manager` or the usual one for a server whose configuration does not name it."""
    return (server.manager if server.manager.isprintable() else "") or manager or MANAGER


def quoted(word: str) -> str:
    """Return a word of a command, in double quotes where that is enough."""
    return f'"{word}"' if " " in word and PLAIN.fullmatch(word) else shlex.quote(word)


def _as_in(session: LdapSession, tool: str, *, secure: bool) -> str:
    bind = f"-Q -Y {session.mechanism}" if session.mechanism else "-x"
    password = f"-y {shlex.quote(session.password_file)}" if session.password_file else "-W"
    account = f" -D {quoted(session.dn)} {password}" if session.dn else ""
    start_tls = _start_tls(session, session.url, secure=secure)
    return f"{_environment(session)}{tool} {bind} -H {shlex.quote(session.url)}{start_tls}{account}"


def _tls(server: ServerAddress) -> str:
    return _environment(server.session) if server.session is not None else ""


def _start_tls(session: LdapSession | None, url: str, *, secure: bool) -> str:
    if session is not None and session.start_tls:
        return f" {session.start_tls}"
    return " -ZZ" if secure and url.startswith("ldap://") else ""


def _environment(session: LdapSession) -> str:
    """Return the variables of libldap that precede a command: the tools have no options for them."""
    ca_file = f"LDAPTLS_CACERT={shlex.quote(session.ca_file)} " if session.ca_file else ""
    return f"{ca_file}LDAPTLS_REQCERT=never " if session.insecure else ca_file
