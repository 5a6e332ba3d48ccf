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
queryPolicyObject of its NTDS Settings names, else its site's, else the default policy. What a text does not show of
that is not guessed: of several policies, only limits that are equal in all of them are used.
Source: [MS-ADTS] 3.1.1.3.4.6 and 6.1.1.2.4.1.2 (dSHeuristics); KB 315071.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.family import Family, ServerIdentity, identify
from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.ldif import comparable
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.ldif import Entry

LIMITS = "lDAPAdminLimits"
POINTER = "queryPolicyObject"
HEURISTICS = "dSHeuristics"
SERVICE = "dsServiceName"
VENDOR = ("vendorName", "vendorVersion")
OF_ROOT = (*VENDOR, SERVICE)
"""Attributes of the root DSE: of Samba, its name and version; the settings of the domain controller."""
DEFAULT_POLICY = "cn=default query policy,"
CONTROLLER, SITE = "cn=ntds settings,", "cn=ntds site settings,"
"""The entries whose queryPolicyObject names a policy: of one domain controller, and of its site."""
IDLE, CONNECTIONS = "MaxConnIdleTime", "MaxConnections"
CEILINGS = {
    "MaxPageSize": 20_000,
    "MaxQueryDuration": 1_200,
    "MaxReceiveBuffer": 20_971_520,
    "MaxTempTableSize": 100_000,
    "MaxValRange": 5_000,
}
"""The most that a domain controller applies since Windows Server 2008, whatever its policy has. Source: KB 2009267."""
LIFTS_CEILINGS = 18
"""The character of dSHeuristics that is 1 where the ceilings do not apply: fLDAPBypassUpperBoundsOnLimits."""
NOT_ENFORCED = frozenset({"MaxActiveQueries"})
"""Listed by each policy, and without effect since Windows Server 2003."""
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
    """The query policies of one text, by DN, and what shows which of them applies; a text may lack the DN (empty)."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.limits: dict[str, dict[str, int]] = {}
        self.whole: set[str] = set()
        self.named: dict[str, str] = {}
        """The policies that the settings of domain controllers and sites name; empty: none."""
        self.service = ""
        """The settings of the domain controller that wrote the text, if its root DSE is in it."""
        self.identity = ServerIdentity(family=Family.AD)
        self.unlimited = False

    def take(self, dn: str, name: str, value: int) -> None:
        """Keep one limit of a policy."""
        if dn in self.limits or len(self.limits) < MOST_POLICIES:
            self.limits.setdefault(dn, {})[name] = value

    def point(self, dn: str, policy: str) -> None:
        """Keep which policy the settings of a domain controller or a site name."""
        if dn.startswith((CONTROLLER, SITE)) and len(self.named) < MOST_POLICIES:
            self.named[dn] = comparable(policy.strip())

    def facts(self) -> Iterator[Configuration]:
        """Return the limits in force, of as many policies as may apply."""
        if not self.limits:
            return
        applying = self._applying()
        known = [self.limits[dn] for dn in applying if dn in self.limits]
        limits = dict(known[0]) if known and len(known) == len(applying) else {}
        for other in known[1:]:
            limits = {name: value for name, value in limits.items() if other.get(name) == value}
        self._note(applying, limits)
        most = {} if self.unlimited else CEILINGS
        yield Configuration(
            origin=self.document.origin(),
            identity=self.identity,
            complete=len(applying) == 1 and applying <= self.whole,
            idle_timeout_seconds=limits.get(IDLE),
            max_connections=limits.get(CONNECTIONS),
            query_limits=tuple(
                (name, min(value, most.get(name, value)))
                for name, value in sorted(limits.items())
                if name not in {IDLE, CONNECTIONS, *NOT_ENFORCED}
            ),
        )

    def _applying(self) -> set[str]:
        """Return the policies of the domain controllers in the text; without any, those that some may have."""
        controllers = {self.service} & self.named.keys() or {dn for dn in self.named if dn.startswith(CONTROLLER)}
        default = next((dn for dn in self.limits if dn.startswith(DEFAULT_POLICY)), "")
        if self.identity.product and default:
            return {default}  # Samba 4.17 kept idle connections beyond the policy that its NTDS Settings named
        if controllers:
            return {self.named[dn] or self.named.get(_site_of(dn)) or default for dn in controllers}
        return set(self.limits) | set(filter(None, self.named.values()))

    def _note(self, applying: set[str], limits: Mapping[str, int]) -> None:
        """Note what keeps a limit from being known, and limits that are above the ceilings."""
        name = min(applying - self.limits.keys(), default=min(applying)).partition(",")[0][:80]
        if not applying <= self.limits.keys():
            self.document.note(
                f"A domain controller applies another query policy, and this text does not contain it: {name!r}."
            )
        elif len(applying) > 1:
            self.document.note(
                f"{len(applying)} query policies may apply, and only limits that are equal in all of them are used: a "
                f"domain controller applies the one that {POINTER} of its NTDS Settings names, else of its site's."
            )
        elif name and not name.startswith(DEFAULT_POLICY.rstrip(",")):
            self.document.note(f"The limits are those of the query policy {name!r}, not of the default one.")
        for policy in () if self.unlimited else sorted(CEILINGS.keys() & limits.keys()):
            if limits[policy] > CEILINGS[policy]:
                self.document.note(
                    f"{policy} is {limits[policy]:,}, and a domain controller applies at most {CEILINGS[policy]:,} "
                    f"(character {LIFTS_CEILINGS} of {HEURISTICS} is not 1)."
                )


def _site_of(controller: str) -> str:
    """Return the settings of a controller's site: CN=NTDS Settings,CN=dc1,CN=Servers,CN=Berlin,CN=Sites,…."""
    return SITE + ",".join(controller.split(",")[3:])


class ActiveDirectoryConfiguration:
    """Makes one Configuration from the query policies in LDIF."""

    def __init__(self, document: Document) -> None:
        self.policies = Policies(document)

    def take(self, entry: Entry) -> None:
        """Read the limits of a query policy, and what shows which policy applies to a domain controller."""
        for value in entry.values(LIMITS):
            if found := ASSIGNED.fullmatch(value.strip()):
                self.policies.take(entry.key, found[1], int(found[2]))
        if LIMITS in entry and entry.closed:
            self.policies.whole.add(entry.key)
        self.policies.point(entry.key, entry.first(POINTER))
        if not entry.key and SERVICE in entry and entry.closed:
            self.policies.service = comparable(entry.first(SERVICE))
            brand = identify(" ".join(entry.first(name) for name in VENDOR))
            self.policies.identity = brand if brand and brand.family is Family.AD else self.policies.identity
        self.policies.unlimited |= entry.first(HEURISTICS)[LIFTS_CEILINGS - 1 : LIFTS_CEILINGS] == "1"

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
            policies.point(dn, "")
        if named and named[1].lower() == POINTER.lower():
            policies.point(dn, named[2])
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
