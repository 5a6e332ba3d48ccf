"""Fields of texts that have a name in any form, by format: in them what is not known to be harmless is replaced.

    BIND dn="user"  authzid="u:user"  text=no such user          logs: a client may write anything there
    cgroup:/user.slice/jdoe.service                              ss -e
    backend=acme_ldap (id=3 mode=tcp)                            sessions of HAProxy

Of HAProxy's configuration the directives stay that the reader knows; all others are withheld.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.host_formats.ps import COMMANDS, LSTART
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from ldapdiag.sources.anonymising.text_anonymiser import TextAnonymiser

WITHHELD = "(withheld)"
PHRASE = pattern(
    r"(?:(?:administrative|by|client|closed|connection|credentials|disconnect|element|error|exceeded|filter|from|fully"
    r"|idle|invalid|i/o|limit|maximum|missing|other|paged|partially|plugin|problem|protocol|rejected|request|schema"
    r"|search|security|server|shutdown|size|termination|time|timeout|unbind|unindexed)(?: (?!$)|$))*",
    re.IGNORECASE,
)
"""Why a connection was closed (DisconnectReason of OpenDJ), or what a note means (389-ds)."""
MECHANISMS = (
    r"GSSAPI|GSS-SPNEGO|EXTERNAL|PLAIN|LOGIN|ANONYMOUS|OTP|NTLM|DIGEST-MD5|CRAM-MD5|OAUTHBEARER|SCRAM-SHA-\d+(?:-PLUS)?"
)
"""Of SASL; a client may give any other name."""
QUOTED = pattern(
    r'\b(?P<before>(?:dn|base|auth[cz]id|(?:bind|target|base)_?dn)"?(?:=|: ?)"(?:u:|dn:)?)'
    r'(?P<name>[^"=\s][^"=]*)(?=")',
)
"""What a client gave for a DN, or as an identity, and is no DN."""
HEADER = pattern(r"(?m)^(?P<before>\t)(?P<name>[A-Za-z][\w.-]*)(?=:\d+ \(/)")
AGREEMENT = pattern(r'(?P<before>\bagmt="[^"\n]*" \()(?P<name>[A-Za-z][\w.-]*)(?=:\d+\))')
"""The other server of a replication agreement, in the log of errors of 389-ds."""
INDEX_KEY = pattern(r"(?P<before>(?:^Over index-entry-limit keys:|\]) \[)(?P<name>[^\]\n]+)(?=\])", re.MULTILINE)
RAW_NAME = pattern(r"(?m)(?P<before>(?:^Index: |  )/)(?P<name>\S.*?)(?=/[A-Za-z\d][\w.-]*\.[^./\s][^/\s]*(?:\s|$))")
"""The suffix in the name of an index that backendstat prints; what follows it is no part of a DN."""
MESSAGE = pattern(r"(?m)(?P<before> text=| RESULT err=\d+ tag=\d+ (?:\w+=\S+ ){1,9}?- | etime=\d+, )(?P<name>\S.*)$")
SECRET = pattern(r"(?mi)(?P<before>\b(?:credentials|secretkey|password)=|^rootpw\s+)(?P<name>\"[^\"\n]*\"|\S+)")
CGROUP = pattern(r"(?P<before> cgroup:)(?P<name>/\S+)")
PROXY_NAME = pattern(r"\b(?P<before>(?:frontend|backend|server|listener|fe|be|srv)=)(?P<name>(?!GLOBAL\b)\w[\w.:-]*)")
OWNERS = {
    "ss": pattern(r'(?P<before>\(")(?P<name>[^"]+)(?=",)'),
    "lsof": pattern(r"(?m)^(?P<before>)(?P<name>\S+)(?= +\d+ )"),
    "lsof-fields": pattern(r"(?m)(?P<before>(?:^|\0)[cL])(?P<name>[^\0\n]+)"),
    "netstat-bsd": pattern(r"(?P<before>(?: +\d+){4} +)(?P<name>\S.*?)(?=:\d+ +[\da-f]{5} +[\da-f]{8} )"),
    "netstat-solaris": pattern(r"(?m)^(?P<before>\S+ +\S+ +[A-Za-z]\S* +\d+ )(?P<name>\S+)(?=(?: +\d+){4} +[A-Z])"),
    "netstat-windows": pattern(r"(?m)^(?P<before> {1,2}\[?)(?P<name>(?<=\[)[^\]\n]+|[A-Za-z][\w.-]*(?=\r?$))"),
    "netstat": pattern(
        r"(?m)(?P<before>\d/)(?P<name>[A-Za-z][\w.-]*)(?=[ :]*$| +(?:off|on|keepalive|timewait|unkn)\b)"
    ),
}
"""The program that owns a socket."""
ACCOUNTS = {
    "lsof": pattern(r"(?m)^(?P<before>\S+ +\d+ +(?:\d+ +)?)(?P<name>(?=\S*[A-Za-z])\S+)(?= +(?:\d+\w?|[a-zA-Z]{3})\s)"),
    "netstat-solaris": pattern(r"(?m)^(?P<before>\S+ +\S+ +)(?P<name>[A-Za-z]\S*)(?= +\d+ +\S+(?: +\d+){4} )"),
}
"""The account of that program."""

COLUMNS = frozenset({"PID", "PPID", "STARTED", "ELAPSED", "TIME", "STAT", "S", "STATE", "NETNS"})
"""Of ps, whose values are not names of people or hosts."""
NUMERIC = pattern(r"[\d.:-]+")
PROPERTY = pattern(r"(?P<before>(?P<name>[A-Za-z][\w-]*)?(?:\s*:\s|\t)\s*)(?P<value>\S.*)")
PROFILE_NAME = pattern(r"(?P<before>\bltm profile \w+ )(?P<name>[^\s{]+)")
PROFILE_LINE = pattern(r"(?m)^([ \t]*)(?!ltm profile |[ \t]|\}|idle-timeout )\S.*$")

SECTION = pattern(r"\s*(?:global|defaults|frontend|backend|listen|cache|mailers|peers|resolvers|ring|userlist)\b")
NAMING = frozenset({"frontend", "backend", "listen", "default_backend", "use_backend", "peers", "userlist"})
READ = frozenset({"timeout", "clitimeout", "srvtimeout", "contimeout", "mode", "maxconn", "balance"})
ADDRESSED = {"server": 3, "bind": 2}
"""How many words of a directive stay: with the name of a server, and an address."""


def before_names(text: str, kind: str, anonymiser: TextAnonymiser) -> str:
    """Return a text with pseudonyms in the fields of its format, before names elsewhere are replaced."""
    if kind == "haproxy.cfg":
        return "".join(_directive(line, anonymiser) for line in text.splitlines(keepends=True))
    if kind == "haproxy-sessions":
        return replaced(PROXY_NAME, text, anonymiser.value_of)
    if kind == "ss":
        return replaced(CGROUP, text, anonymiser.path)
    text = replaced(AGREEMENT, without_secrets(text, anonymiser), anonymiser.host)
    return replaced(HEADER, MESSAGE.sub(_withheld, text), anonymiser.host)


def without_secrets(text: str, anonymiser: TextAnonymiser) -> str:
    """Return a text without passwords, and with pseudonyms for identities."""
    return replaced(QUOTED, SECRET.sub(_withheld, text), anonymiser.value_of)


def programs(text: str, kind: str, anonymiser: TextAnonymiser) -> str:
    """Return a socket table with pseudonyms for accounts, and for the programs that few hosts have."""
    text = replaced(ACCOUNTS[kind], text, anonymiser.value_of) if kind in ACCOUNTS else text
    return replaced(OWNERS[kind], text, anonymiser.program) if kind in OWNERS else text


def replaced(fields: re.Pattern[str], text: str, name: Callable[[str], str]) -> str:
    """Return a text with `name` applied to the group `name` of each match, behind its group `before`."""
    return fields.sub(lambda found: found["before"] + name(found["name"]), text)


def phrase(value: str) -> str:
    """Return what a server writes if it is its own phrase."""
    return value if PHRASE.fullmatch(value) else WITHHELD


def _withheld(found: re.Match[str]) -> str:
    return found["before"] + WITHHELD


def process_list(text: str, anonymiser: TextAnonymiser) -> str:
    """Return the output of ps with pseudonyms for accounts and programs, and without their arguments."""
    columns: list[str] = []
    lines = []
    for line in text.splitlines(keepends=True):
        words = line.split()
        if "PID" in words and words[-1] in COMMANDS:
            columns = words
            lines.append(line)
            continue
        started = 5 if LSTART.search(line) else 1
        each = [name for name in columns for _ in range(started if name == "STARTED" else 1)]
        parts = re.split(r"(\S+)", line, maxsplit=len(each)) if each else [anonymiser.text(line)]
        for at, name in zip(range(1, len(parts), 2), each, strict=False):
            if name in COMMANDS:
                parts[at:] = [anonymiser.program(parts[at].rpartition("/")[2]), "\n"]
            elif name not in COLUMNS and not NUMERIC.fullmatch(parts[at]):
                parts[at] = anonymiser.value_of(parts[at])
        lines.append("".join(parts))
    return "".join(lines)


def properties(text: str, anonymiser: TextAnonymiser, *, kept: Collection[str]) -> str:
    """Return what dsconf or dsconfig prints, without the values of the properties that are not read."""
    name, lines = "", []
    for line in text.splitlines(keepends=True):
        row = PROPERTY.match(line)
        name = row["name"] or name if row else ""
        is_value = row and row["value"].strip() not in {"", "-", "Value(s)"} and name not in kept
        lines.append(f"{row['before']}{WITHHELD}\n" if row and is_value else anonymiser.text(line))
    return "".join(lines)


def index_status(text: str, anonymiser: TextAnonymiser) -> str:
    """Return what backendstat prints with pseudonyms for suffixes and for the keys of indexes."""
    return replaced(RAW_NAME, replaced(INDEX_KEY, text, anonymiser.value_of), anonymiser.dn)


def idle_profiles(text: str, anonymiser: TextAnonymiser) -> str:
    """Return the TCP profiles of an F5 with pseudonyms for their names, and their idle timeouts alone."""

    def name(found: str) -> str:
        return "/".join(part if part in {"", "Common"} else anonymiser.value_of(part) for part in found.split("/"))

    text = replaced(PROFILE_NAME, text, name)
    return PROFILE_LINE.sub(lambda found: found[1] + f"# {WITHHELD}", text)


def _directive(line: str, anonymiser: TextAnonymiser) -> str:
    """Return a line of HAProxy's configuration; what follows the words that are read is left out."""
    bare = line.strip()
    start, end = line[: len(line) - len(line.lstrip())], line[len(line.rstrip()) :]
    words = bare.split()
    first = words[0] if words else ""
    if first in NAMING:
        new = " ".join([first, *map(anonymiser.value_of, words[1:2])])
    elif first in ADDRESSED:
        *names, place = words[1 : ADDRESSED[first]] or [""]
        host, colon, port = place.rpartition(":")
        is_host = colon and host.strip("*[]") and "/" not in host and "@" not in host and "," not in host
        place = f"{anonymiser.host(host)}{colon}{port}" if is_host else anonymiser.text(place)
        new = " ".join([first, *map(anonymiser.value_of, names), place])
    else:
        new = bare if first in READ or not words or SECTION.fullmatch(bare) else f"# {WITHHELD}"
    return start + new + end
