"""What people and clients may have written, by format: in these fields only what is known to be harmless stays.

    secctx=acme_u:object_r:acme_t:s0                                                      conntrack
    2: eth0: <UP> mtu 1500 … group partners                                               ip addr, ip route
    kernel.hostname = ds1                                                                 sysctl
    [20/Nov/2026:08:45:20.7 +0000] - ERR - some_plugin - user jane has left               errors log of 389-ds
    BIND RESULT instanceName="acme" message="no such user jane"                           access logs

A message stays where its reader knows it, a field where it has a number, a DN, a filter or an address, which are
replaced as in all texts. The names of attributes stay: they are what indexes are judged by.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.server_log_formats.slapd import KNOWN, prefix_length
from ldapdiag.evidence.socket_formats import powershell
from ldapdiag.lazy_pattern import pattern
from ldapdiag.sources.anonymising.fields import MECHANISMS, PHRASE, WITHHELD, phrase, replaced

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ldapdiag.sources.anonymising.text_anonymiser import TextAnonymiser

MECHANISM = pattern(rf"\b(?P<before>mech\"?[=:] ?\"?)(?P<name>(?!(?:SIMPLE|implicit|{MECHANISMS})[\s\",])[^\s\",]+)")
QUOTED_FIELD = pattern(r'(?m) (?P<key>\w+)=(?P<value>"(?:[^"\\\n]|\\.|"(?! \w+=|\s*$))*"|\w\S*)')
"""The SDK's server escapes no quote: one ends a value if another field or the end of the line follows."""
CLIENT = pattern(r" from client \[?[\d.:A-Fa-f]+\]?:\d+(?=\W)")
"""In the message on a connection that OpenDJ does not take."""
STATED = frozenset(
    {"dn", "base", "filter", "attrs", "from", "to", "requesterDN", "requesterIP", "authDN", "newRDN", "newSuperior"}
    | {"autoAuthenticatedAs", "authzDN"}
)
"""Fields of OpenDJ and PingDirectory with DNs, filters, addresses and attributes: replaced as in all texts."""
STATED_VALUES = pattern(
    r"[\d.,]*|true|false|base(?:Object)?|one|singleLevel|sub|wholeSubtree|subordinate(?:s|Subtree)?|LDAPS?|HTTPS?|JMX"
    rf"|SIMPLE|SASL|INTERNAL|{MECHANISMS}"
    r"|(?:TLS|SSL)v?[\d.]+|(?:TLS|SSL|AES|CHACHA20|ECDHE|DHE)[-_][A-Z\d_-]+"
    r"|(?:(?:Ping|Identity|UnboundID|Directory|Proxy|Server|Data|Sync)(?: (?!$)|$))+"
)
"""Values of their other fields that stay."""
PROCESS = frozenset({"instanceName", "startupID"})
"""A server and its start, by which the records of several are separated: each keeps a pseudonym of its own."""
ERRORS_389 = pattern(
    r"(?m)^(?P<before>\[[^\]\n]+\] - (?:[A-Z]{3,9} - )?(?:[\w.:()/-]{1,80} - )?)"
    r"(?P<name>(?!Not listening for|(?:slapd started\. +)?Listening |slapd |PR_Accept\(\) failed, Netscape"
    r"|[Mm]ax open connections|Detected Disorderly|Index failed \(error|import [\w.-]+: Import complete"
    r"|[\w.-]+: (?:Indexing attribute|Finished indexing)|[A-Z\d][\w() -]*/[\w.]+ B\S+ (?:\([\w-]+\) )?starting up).*)$"
)
BACKEND = pattern(r"(?P<before> - (?:import )?)(?P<name>(?!userRoot\b|userroot\b)[\w.-]+)(?=: (?:Index|Finish|Import))")
CLIENT_VALUE = pattern(r"(?P<before> VLV \d+:\d+:)(?P<name>[^\d\n].*?)(?= \d+:\d+ \()")
INDEX_KEY = pattern(r"(?P<before> STAT read index: attribute=\S{1,256} key\(\w{1,20}\)=)(?P<name>[^\n]+?)(?= --> )")
CERTIFICATE = pattern(r"(?m)(?P<before> failed to map client certificate to LDAP DN )(?P<name>.*)$")
LOCAL = pattern(r"(?P<before>\bPATH=| from local to )(?P<name>/[^\s)]+)")
DENIED = pattern(r"(?P<before> DENIED from )(?P<name>(?!unknown )[A-Za-z]\S*)")
STRANGE = pattern(r"(?m)^(?P<before>)(?P<name>(?!.*\bconn=|\t\S+:\d+ \(/|\t[\w-]+/[\d.]+ B[\d.]+$|\s*$).+)$")
"""A line that is neither a record of an access log nor of its header."""
STRANGE_389 = pattern(
    r"(?m)^(?P<before>\[[^\]\n]+\] conn=\S+ (?>(?:\(.{1,40}?\) )?(?:op=\S+ )?))(?P<name>(?!(?:fd=\d+ (?:slot=\d|closed"
    r"|Disconnect\b)|(?:SSL|TLS[\d.]*|AUTOBIND|BIND|UNBIND|SRCH|RESULT|ADD|MOD|DEL|MODRDN|CMP|EXT|ABANDON|SORT|VLV|STAT"
    r"|ENTRY|REFERRAL|UNPROCESSED)\b)).+)$"
)
"""A record of a connection that begins with no word of the server."""
STRANGE_SLAPD = pattern(
    r"(?m)(?P<before>\bconn=-?\d+ (?>(?:(?:op|fd)=-?\d+ )?))(?P<name>(?!(?:ACCEPT|closed|TLS|BIND|UNBIND|SRCH|SEARCH"
    r"|RESULT|ADD|MOD|MODRDN|DEL|CMP|EXT|PASSMOD|WHOAMI|ABANDON|CANCEL|STARTTLS|ENTRY|REFERENCE|INTERMEDIATE|PROXYAUTHZ"
    r"|DISCONNECT|deferring)\b).+)$"
)
"""Of slapd likewise."""
OID = pattern(r'(?P<before>\b(?:oid|OID)=)(?P<name>(?!"?\d+(?:\.\d+)+(?:"|\s|$))(?:"[^"\n]*"|\S+))')
"""What a client gave for an OID and is none."""
DETAILS = pattern(r'(?P<before> details=")(?P<name>[^"\n]+)(?=")')
"""What the notes of an operation mean, separated by commas."""
STRANGE_ERROR = pattern(
    r"(?m)^(?P<before>)(?P<name>(?!\[[^\]\n]+\] - |\t\S+:\d+ \(/|\t[\w-]+/[\d.]+ B[\d.]+$|\s*$).+)$"
)
FLAGS = (
    r"global|link|host|site|secondary|temporary|tentative|deprecated|dadfailed|dynamic|noprefixroute|mngtmpaddr|nodad"
    r"|optimistic|permanent|autojoin|home|forever"
)

FIELDS: Mapping[str, tuple[tuple[re.Pattern[str], str], ...]] = {
    "conntrack": (
        (pattern(r"(?P<before> (?!(?:src|dst)=)[a-z-]+=)(?P<name>[^\s\d]\S*)"), WITHHELD),
        (pattern(r"(?P<before> (?:secctx|labels|helper)=)(?P<name>\S+)"), WITHHELD),
    ),
    "conntrack-xml": (
        (pattern(r"(?P<before><(?!(?:src|dst|state)>)[\w-]+>)(?P<name>[^<\n]*[A-Za-z][^<\n]*)"), WITHHELD),
    ),
    "f5-connections": (
        (
            pattern(
                r"(?m)^(?P<before>  (?!(?:TMM|Type|Protocol|Idle Time|Idle Timeout|Slot|Acceleration) )"
                r"[A-Z]\w*(?: [A-Z]\w*)? +)(?P<name>\S.*)$"
            ),
            WITHHELD,
        ),
    ),
    "routes": (
        (
            pattern(
                r"(?P<before> (?:table|proto|realm|group|link-netns) )"
                r"(?P<name>(?!(?:main|local|default|kernel|static|boot|dhcp|ra|redirect)\b)[A-Za-z]\S*)"
            ),
            "value_of",
        ),
        (pattern(r"(?m)(?P<before>^ +(?:altname|alias) )(?P<name>.+)$"), WITHHELD),
        (pattern(rf"(?m)(?P<before>\binet6? .* )(?P<name>(?!(?:{FLAGS})\b)[A-Za-z]\S*)(?=[ \\]*$)"), "interface"),
        (pattern(r"(?m)(?P<before>^\d+: [^\s@]+@)(?P<name>[^\s:]+)"), "interface"),
    ),
    "sysctl": (
        (
            pattern(r"(?m)^(?P<before>[^\s:=]+(?: = |: ))(?P<name>(?!(?:cubic|reno|bbr2?|htcp|dctcp)$).*[A-Za-z].*)$"),
            WITHHELD,
        ),
        (pattern(r"\b(?P<before>(?:conf|neigh)/)(?P<name>[^\s/]+)"), "interface"),
    ),
    "proc-threads": ((pattern(r"(?P<before>/stat:\d+ \()(?P<name>.*)(?=\) [A-Z] )"), "program"),),
    "descriptors": (
        (pattern(r"(?m)^(?P<before>[a-z-]{10}\S? +\d+ )(?P<name>\S+ +\S+)(?= +\d+ )"), WITHHELD + " -"),
        (pattern(r"(?P<before> -> )(?P<name>(?!(?:socket|pipe|anon_inode):|/dev/null$).+)"), WITHHELD),
    ),
    "boot-time": ((pattern(r"(?m)^(?P<before>)(?P<name>(?!.*\bsystem boot\b)[A-Za-z_]\S* .*)$"), WITHHELD),),
    "windows-registry": (
        (
            pattern(r'(?m)(?P<before>^"[^"\n]+"=|  REG_(?:EXPAND_|MULTI_)?SZ  +)(?P<name>(?!dword:).+)$'),
            f'"{WITHHELD}"',
        ),
        (pattern(r"(?P<before>\\ADAM_)(?P<name>[^\\\]\s]+)"), "value_of"),
    ),
    **dict.fromkeys(("opendj-text", "ping-text"), ((STRANGE, WITHHELD),)),
    "dsee-text": ((STRANGE, WITHHELD), (OID, WITHHELD), (MECHANISM, WITHHELD)),
    "389-errors": ((STRANGE_ERROR, WITHHELD), (ERRORS_389, WITHHELD), (BACKEND, "value_of")),
    "389-text": (
        (STRANGE, WITHHELD),
        (STRANGE_389, WITHHELD),
        (CERTIFICATE, WITHHELD),
        (CLIENT_VALUE, WITHHELD),
        (INDEX_KEY, "value_of"),
        (LOCAL, "path"),
        (MECHANISM, WITHHELD),
        (OID, WITHHELD),
    ),
    "slapd-log": (
        (LOCAL, "path"),
        (DENIED, "host"),
        (MECHANISM, WITHHELD),
        (OID, WITHHELD),
        (STRANGE_SLAPD, WITHHELD),
    ),
}
"""Fields (`before`, `name`), and what becomes of them: a text, or a method of TextAnonymiser."""
ADDRESS = pattern(r"\d*|[\dA-Fa-f]*[:.][\dA-Fa-f:.]*(?:%\d+)?")


def without_free_words(text: str, kind: str, anonymiser: TextAnonymiser) -> str:
    """Return a text of a format without what is in its free fields."""
    for fields, action in FIELDS.get(kind, ()):
        method = getattr(anonymiser, action, None)
        text = replaced(fields, text, method or (lambda _, action=action: action))
    if kind == "389-text":
        return replaced(DETAILS, text, lambda details: ",".join(map(phrase, details.split(","))))
    if kind in {"opendj-text", "ping-text"}:
        return QUOTED_FIELD.sub(lambda found: _stated(found, anonymiser), text)
    if kind == "slapd-log":
        return "".join(map(_of_slapd, text.splitlines(keepends=True)))
    if kind == "powershell-csv":
        return "".join(_rows(text, anonymiser))
    return text


def _stated(found: re.Match[str], anonymiser: TextAnonymiser) -> str:
    if found["key"] in PROCESS:
        return f' {found["key"]}="{anonymiser.value_of(found["value"].strip(chr(34)))}"'
    value = found["value"].strip('"')
    stays = found["key"] in STATED or STATED_VALUES.fullmatch(value) or PHRASE.fullmatch(value)
    client = CLIENT.search(found["value"])
    return found[0] if stays else f' {found["key"]}="{WITHHELD}{client[0] if client else ""}"'


def _of_slapd(line: str) -> str:
    length = prefix_length(line)
    return line if KNOWN.match(line, length) or line.isspace() else f"{line[:length]}{WITHHELD}\n"


def _rows(text: str, anonymiser: TextAnonymiser) -> Iterator[str]:
    """Yield the lines of PowerShell's table; each header begins another one."""
    delimiter, names = "", dict[int, str]()
    for line in text.splitlines():
        cells = powershell.values_of(line, delimiter) if delimiter else []
        if (header := powershell.header_of(line)) is not None:
            delimiter, columns = header
            names = {place: name for name, place in columns.items()}
            yield f"{line}\n"
        elif line.startswith(powershell.TYPE_LINE):
            yield f"{powershell.TYPE_LINE}{WITHHELD}\n"
        elif names and len(cells) > max(names):
            new = (_cell(names.get(at, ""), cell, anonymiser) for at, cell in enumerate(cells))
            yield delimiter.join(f'"{one}"' for one in new) + "\n"
        else:
            yield f"{WITHHELD if line else ''}\n"


def _cell(name: str, cell: str, anonymiser: TextAnonymiser) -> str:
    if name in powershell.OWNERS:
        return anonymiser.program(cell).replace('"', '""')
    stays = cell.lower() in powershell.STATES if name == powershell.STATE else ADDRESS.fullmatch(cell)
    return cell if stays or not cell else WITHHELD
