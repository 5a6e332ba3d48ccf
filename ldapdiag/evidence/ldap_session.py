"""LdapSession: how a directory server was reached and bound to, in the words of ldapsearch(1); never a password.

    LDAP searches for indexes at ldaps://ds1:1636 with -H ldaps://ds1:1636 -x -D 'cn=Directory Manager' -y /root/pw

The collector writes these options behind the question that an input answers (Origin.asked), so a capture has them, too.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import replace

from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern

SEPARATOR = " with -H "
LONGEST = 8192
"""Characters of the options; longer ones are not the collector's."""
URL = pattern(
    r"ldaps?://(?:[A-Za-z0-9_][A-Za-z0-9_.-]{0,253}|\[[0-9A-Fa-f:.]{2,45}(?:%[A-Za-z0-9._-]{1,15})?\])(?::\d{1,5})?"
    r"|ldapi://%2[Ff][A-Za-z0-9._%~-]{1,400}",
    re.ASCII,
)
MECHANISMS = frozenset({"EXTERNAL", "GSSAPI"})
FLAGS = frozenset({"-x", "-W", "-Z", "-ZZ", "--insecure"})
VALUES = frozenset({"-D", "-y", "-Y", "--ca-file"})


@dataclass(frozen=True, slots=True, kw_only=True)
class LdapSession:
    """The address and the bind of a session. Empty: not given."""

    url: str
    """ldap://HOST:PORT, ldaps://HOST:PORT or ldapi://%2FPATH."""
    dn: str = ""
    """The bind DN of a simple bind."""
    password_file: str = ""
    """Empty with a bind DN: the password was typed."""
    mechanism: str = ""
    """EXTERNAL or GSSAPI; empty: a simple or anonymous bind."""
    start_tls: str = ""
    """-Z, -ZZ or empty."""
    ca_file: str = ""
    insecure: bool = False
    """Any certificate was accepted."""

    @property
    def is_bound(self) -> bool:
        """Return whether it is more than an anonymous bind."""
        return bool(self.dn or self.mechanism)

    @property
    def is_local(self) -> bool:
        """Return whether it uses a local socket, which only the server's own host has."""
        return self.url.startswith("ldapi:")

    def after(self, question: str) -> str:
        """Return the question that an input answers, followed by the options of the session."""
        words = ["-Y", self.mechanism] if self.mechanism else ["-x"]
        if self.dn:
            words += ["-D", _quoted(self.dn)]
            words += ["-y", _quoted(self.password_file)] if self.password_file else ["-W"]
        words += [self.start_tls] if self.start_tls else []
        words += ["--ca-file", _quoted(self.ca_file)] if self.ca_file else []
        words += ["--insecure"] if self.insecure else []
        return f"{question}{SEPARATOR}{self.url} {' '.join(words)}"


def _quoted(text: str) -> str:
    """Return a text in quotes, also where a shell needs none: a DN without them would seem to go on after its end."""
    return f"'{text}'" if shlex.quote(text) == text else shlex.quote(text)


def question_of(asked: str) -> str:
    """Return the question alone, without the options of the session."""
    return asked.partition(SEPARATOR)[0]


def as_from_others(asked: str) -> str:
    """Return the question and its session as a capture may have them, which another person may have made.

    A command that was made with them would send a local file as the password, or trust a certificate, by their word.
    """
    session = session_of(asked)
    if session is None:
        return asked
    return replace(session, password_file="", ca_file="", insecure=False).after(question_of(asked))


def session_of(asked: str) -> LdapSession | None:
    """Return the session of the question that an input answers; None if there is none, or it is not well-formed."""
    url, _, rest = asked.partition(SEPARATOR)[2].partition(" ")
    if not URL.fullmatch(url) or len(rest) > LONGEST or not rest.isprintable():
        return None
    try:
        words = iter(shlex.split(rest))
    except ValueError:
        return None
    given: dict[str, str] = {}
    for word in words:
        if word not in FLAGS | VALUES:
            return None
        given[word] = next(words, "") if word in VALUES else word
    mechanism = given.get("-Y", "")
    if mechanism not in {"", *MECHANISMS}:
        return None
    return LdapSession(
        url=url,
        dn=given.get("-D", ""),
        password_file=given.get("-y", ""),
        mechanism=mechanism,
        start_tls=given.get("-ZZ", given.get("-Z", "")),
        ca_file=given.get("--ca-file", ""),
        insecure="--insecure" in given,
    )
