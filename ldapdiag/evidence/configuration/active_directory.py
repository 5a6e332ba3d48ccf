r"""LDAP policies of Active Directory, from LDIF or from the output of ntdsutil and PowerShell.

    dn: CN=Default Query Policy,CN=Query-Policies,CN=Directory Service,CN=Windows NT,CN=Services,CN=Configuration,DC=x
    lDAPAdminLimits: MaxConnIdleTime=900
    lDAPAdminLimits: MaxConnections=5000

    ldap policy: show values
    Policy                          Current(New)

    MaxConnections                  5000
    MaxConnIdleTime                 900(600)

    DistinguishedName : CN=Default Query Policy,CN=Query-Policies,…
    lDAPAdminLimits   : {MaxValRange=1500, MaxConnIdleTime=900, MaxConnections=5000…}

The value in brackets was entered but not committed. PowerShell shows four values of a list and then an ellipsis, unless
the list is expanded; dsquery and ldp separate the values by semicolons. A domain controller applies the policy that
queryPolicyObject of its NTDS Settings names, else its site's, else the default policy.
Source: [MS-ADTS] 3.1.1.3.4.6; KB 315071.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.ldif import comparable
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.ldif import Entry

LIMITS = "lDAPAdminLimits"
POINTER = "queryPolicyObject"
DEFAULT_POLICY = "cn=default query policy,"
IDLE, CONNECTIONS = "MaxConnIdleTime", "MaxConnections"
NAMES = (
    "InitRecvTimeout",
    IDLE,
    CONNECTIONS,
    "MaxActiveQueries",
    "MaxBatchReturnMessages",
    "MaxDatagramRecv",
    "MaxDirSyncDuration",
    "MaxNotificationPerConn",
    "MaxPageSize",
    "MaxPercentDirSyncRequests",
    "MaxPoolThreads",
    "MaxQueryDuration",
    "MaxReceiveBuffer",
    "MaxResultSetSize",
    "MaxResultSetsPerConn",
    "MaxTempTableSize",
    "MaxValRange",
    "MaxValRangeTransitive",
    "MinResultSets",
    "SystemMemoryLimitPercent",
    "ThreadMemoryLimit",
)
CHARACTERISTIC = frozenset(
    {"InitRecvTimeout", "MaxDatagramRecv", "MaxNotificationPerConn", "MaxResultSetSize", "MaxValRange"}
)
"""Names that other products do not use; MaxConnections, for one, is also a setting of connection pools."""
MOST_POLICIES = 1000

NAMED = rf"(?:{'|'.join(sorted(NAMES, key=len, reverse=True))})"
ASSIGNED = pattern(rf"\b({NAMED})=(\d{{1,18}})\b")
SHOWN = pattern(rf"\s{{0,64}}({NAMED})\s{{1,64}}(\d{{1,18}})(?:\((\d{{1,18}})\))?\s*")
SHOWN_HEADER = pattern(r"\s{0,64}Policy\s{1,64}Current\(New\)")
PROPERTY = pattern(r"([A-Za-z]\w{0,63})\s{0,64}: ?(.*)")
LDIF_DN = pattern(r"dn::? ?\S")
NOISE = pattern(
    r"\s*(?:-+|\w+(?: \w+)?: .*|\w+\s+\d+(?:\(\d+\))?|Binding to .*|Connected to .*|ldapadminlimits"
    r"|(?:PS )?[A-Za-z]:\\[^>]{0,255}>.*)\s*",
    re.IGNORECASE,
)
"""Rules below headings, ntdsutil's prompts and messages, policies of newer Windows versions, dsquery's heading."""
FOLD = "          "
"""The start of a continuation line in Format-List."""
LONGEST = 1 << 16
CUT = ("…}", "...}")


class Policies:
    """The query policies of one text, by DN; the DN is empty where the text contains none."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.limits: dict[str, dict[str, int]] = {}
        self.whole: set[str] = set()
        self.pointed = False

    def take(self, dn: str, name: str, value: int) -> None:
        """Keep one limit of a policy."""
        if dn in self.limits or len(self.limits) < MOST_POLICIES:
            self.limits.setdefault(dn, {})[name] = value

    def facts(self) -> Iterator[Configuration]:
        """Return the configuration of the default policy, or else of the first policy."""
        if not self.limits:
            return
        chosen = next((dn for dn in self.limits if dn.startswith(DEFAULT_POLICY)), next(iter(self.limits)))
        if self.pointed or len(self.limits) > 1 or (chosen and not chosen.startswith(DEFAULT_POLICY)):
            self.document.note(
                f"There are other query policies than the default: a domain controller applies the one that its "
                f"{POINTER} or its site's names. The limits used are those of {chosen.partition(',')[0][:80]!r}."
            )
        limits = self.limits[chosen]
        yield Configuration(
            origin=self.document.origin(),
            identity=ServerIdentity(family=Family.AD),
            complete=chosen in self.whole,
            idle_timeout_seconds=limits.get(IDLE),
            max_connections=limits.get(CONNECTIONS),
        )


class ActiveDirectoryConfiguration:
    """Makes one Configuration from the query policies in LDIF."""

    def __init__(self, document: Document) -> None:
        self.policies = Policies(document)

    def take(self, entry: Entry) -> None:
        """Read the limits of a query policy, or the pointer of a domain controller to one."""
        for value in entry.values(LIMITS):
            if found := ASSIGNED.fullmatch(value.strip()):
                self.policies.take(entry.key, found[1], int(found[2]))
        if LIMITS in entry and entry.closed:
            self.policies.whole.add(entry.key)
        self.policies.pointed = self.policies.pointed or POINTER in entry

    def facts(self) -> Iterator[Configuration]:
        """Return the configuration, if any limit was read."""
        return self.policies.facts()


def recognises(head: Head) -> bool:
    """Recognise the text by ntdsutil's header or by two policies with numbers; LDIF is read by ldif_format."""
    if any(LDIF_DN.match(line) for line in head.lines):
        return False
    found = {name for line in head.lines if len(line) < LONGEST for name in _names_in(line)}
    if len(found) > 1 and (found & CHARACTERISTIC or any(LIMITS.lower() in line.lower() for line in head.lines)):
        return True
    return any(SHOWN_HEADER.match(line) for line in head.lines)


def _names_in(line: str) -> Iterator[str]:
    """Yield the names of policies with a number in this line."""
    if shown := SHOWN.fullmatch(line):
        yield shown[1]
    for name, _ in ASSIGNED.findall(line):
        yield name


def read(document: Document) -> Iterator[Configuration]:
    """Read the limits of each policy."""
    policies = Policies(document)
    dn = ""
    for line in _unfolded(document):
        if shown := SHOWN.fullmatch(line):
            policies.take(dn, shown[1], int(shown[2]))
            if shown[3] is not None:
                document.note(f"A new {shown[1]} of {shown[3]} was entered in ntdsutil but not committed.")
            continue
        if (named := PROPERTY.match(line)) and named[1].lower() in {"distinguishedname", "dn"}:
            dn = comparable(named[2].strip())
        assigned = ASSIGNED.findall(line)
        for name, value in assigned:
            policies.take(dn, name, int(value))
        if line.rstrip().endswith(CUT):
            document.note(
                f"PowerShell truncated the list of {LIMITS}; | Select-Object -ExpandProperty {LIMITS} shows all of it."
            )
        if not (assigned or named or not line.strip() or SHOWN_HEADER.match(line) or NOISE.fullmatch(line)):
            document.misread(line)
    yield from policies.facts()


def _unfolded(document: Document) -> Iterator[str]:
    """Yield lines, joined with their continuation lines: Format-List breaks anywhere, even within a number."""
    parts: list[str] = []
    room = LONGEST
    for line in document.lines:
        if line.startswith(FOLD) and parts and len(line) < room:
            parts.append(line.strip())
            room -= len(line)
            continue
        if parts:
            yield "".join(parts)
        parts = [line[:LONGEST]]
        room = LONGEST
    if parts:
        yield "".join(parts)


FORMAT = Format(
    name="ad-ldap-policies",
    title="LDAP policies of Active Directory, as ntdsutil or PowerShell shows them",
    recognises=recognises,
    read=read,
)
