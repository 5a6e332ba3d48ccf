r"""slapd's log at level stats (256), alone or with others (filter, sync), of OpenLDAP 2.3 to 2.7.

    conn=1001 fd=16 ACCEPT from IP=127.0.0.11:32917 (IP=0.0.0.0:13390)
    conn=1001 op=0 BIND dn="uid=quickr,ou=services,dc=example,dc=com" method=128
    conn=1001 op=0 BIND dn="uid=quickr,ou=services,dc=example,dc=com" mech=SIMPLE bind_ssf=0 ssf=0    if it succeeded
    conn=1001 op=0 BIND dn="" method=163                   by SASL; if it succeeded: mech=GSSAPI bind_ssf=56 ssf=56
    conn=1001 op=0 RESULT tag=97 err=0 qtime=0.000022 etime=0.000166 text=
    conn=1001 op=1 SRCH base="dc=example,dc=com" scope=2 deref=3 filter="(cn=*jos*)"
    conn=1001 op=1 SRCH attr=cn mail
    <= mdb_substring_candidates: (displayName) not indexed                     2.4: always; 2.5+: level filter (32)
    conn=1001 op=1 SEARCH RESULT tag=101 err=4 qtime=0.000011 etime=0.005531 nentries=100 text=
    conn=1001 op=2 EXT oid=1.3.6.1.4.1.4203.1.11.3        and a second line with its name: WHOAMI
    conn=1001 op=2 RESULT oid= err=0 qtime=0.000004 etime=0.000031 text=
    conn=1001 op=3 MOD dn="uid=joe,dc=example,dc=com"
    conn=1001 op=3 MOD attr=description cn;lang-fr         and more such lines, of 4096 bytes each
    conn=1001 fd=16 TLS established tls_ssf=256 ssf=256 tls_proto=TLSv1.3 tls_cipher=TLS_AES_256_GCM_SHA384
    conn=1001 op=4 UNBIND
    conn=1001 fd=16 closed                                 or: closed (idletimeout)

qtime and etime are new in 2.5; etime includes qtime, so their difference is the time without the wait (optime). A DN is
written in normal form, with \ before a quote; quotes in a filter are not escaped, so a filter ends at the last quote of
the line. conn=-1 is internal.
The prefixes of a message are in syslog.py. Sources: servers/slapd/{connection,bind,search,result,extended}.c
(Debug(LDAP_DEBUG_STATS)), servers/slapd/back-mdb/filterindex.c.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.log import operation_kinds
from ldapdiag.evidence.log.connection import SASL, SIMPLE, UNKNOWN, OperationResult
from ldapdiag.evidence.log.pattern import lines_like
from ldapdiag.evidence.log.refusal_messages import ACCEPT_FAILED, BEYOND_TABLE, DENIED
from ldapdiag.evidence.log.stamps import duration
from ldapdiag.evidence.log.syslog import LOST, PREFIXES, Prefix
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Callable

    from ldapdiag.evidence.log.scan import Scan

    Match = re.Match[bytes]

ESCAPED = rb'[^"\\\n]*+(?>(?:\\.[^"\\\n]*+)*)'
"""A DN between quotes."""
END = rb"[\ \r]*+(?:\n|\Z)"

MESSAGE = rb"""
(?: conn=(?P<conn>\d{1,18}+)\ (?:
      op=(?P<op>\d{1,18}+)\ (?:
          SRCH\ base="(?P<base>%(escaped)s)"\ scope=(?P<scope>[0-3])\ deref=\d
          \ filter="(?P<filter>[^\n]*)"%(end)s(?P<search>)
        | (?>(?:SEARCH\ )?)RESULT\ (?:tag=(?P<tag>\d{1,9}+)|oid=\S*+)\ err=(?P<err>-?\d{1,9}+)
          (?>(?:\ qtime=(?P<qtime>-?\d{1,9}+\.\d{1,9}+)\ etime=(?P<etime>-?\d{1,9}+\.\d{1,9}+))?)
          (?>(?:\ nentries=(?P<entries>\d{1,18}+))?) \ text=[^\n]*+(?:\n|\Z)(?P<result>)
        | BIND\ dn="(?P<dn>%(escaped)s)"\ (?:method=(?P<method>\d{1,9}+)%(end)s(?P<bind>)
          | mech=(?P<mechanism>\S*+)[^\n]*+(?:\n|\Z)(?P<bound>))
        | (?P<what>ADD|MOD|MODRDN|DEL|CMP)\ dn="(?P<target>%(escaped)s)"[^\n]*+(?:\n|\Z)(?P<request>)
        | EXT\ oid=(?P<oid>\S*+)[^\n]*+(?:\n|\Z)(?P<extended>)
        | UNBIND%(end)s(?P<unbind>)
        | ABANDON\ msg=\d++%(end)s(?P<abandon>)
        | MOD\ attr=(?P<attributes>[^\n]*+)(?:\n|\Z)(?P<modified>)
        | (?:SRCH\ attr=|BIND\ (?:authcid=|anonymous\ )|STARTTLS|PASSMOD|WHOAMI|CANCEL[ ]
            |PROXYAUTHZ\ |ENTRY\ |REF\ |INTERMEDIATE\ |DISCONNECT\ |[a-z])[^\n]*+(?:\n|\Z)(?P<detail>)
      )
    | fd=\d++\ (?:
          ACCEPT\ from\ (?: IP=(?:\[(?P<v6>[^\]\s]{1,99}+)\]|(?P<v4>[^:\s]{1,99}+)):\d++
                            \ \(IP=(?P<server>[^)\s]{0,99}+)\)
                          | PATH=[^\n]*+)%(end)s(?P<accept>)
        | closed(?>(?:\ \((?P<reason>[^)\n]{0,99}+)\))?)%(end)s(?P<close>)
        | TLS\ established\ tls_ssf=(?P<bits>\d{1,9}+)\ ssf=\d++
          (?>(?:\ tls_proto=(?P<protocol>\S{1,99}+)\ tls_cipher=(?P<cipher>\S{1,99}+))?)%(end)s(?P<tls>)
      )
    )
  | conn=(?:-1|18446744073709551615|4294967295)\ op=\d++\ (?:
        (?:SRCH\ base|ADD\ dn|MOD\ dn|MODRDN\ dn|DEL\ dn|CMP\ dn|BIND\ dn|EXT\ oid)=[^\n]*+(?:\n|\Z)(?P<internal>)
      | [^\n]*+(?:\n|\Z)(?P<internal_detail>))
  | <=\ \w{1,9}_(?P<index>\w{1,30}+(?<=_candidates)):\ \((?P<attribute>[^)\n]{1,256}+)\)
    \ (?:not\ indexed|index_param\ failed\ \(18\))%(end)s(?P<not_indexed>)
  | @\(\#\)\ \$OpenLDAP:\ slapd\ (?P<version>\S{1,64}+)[^\n]*+(?:\n|\Z)(?P<banner>)
  | %(denied)s%(end)s(?P<denied>)
  | (?:%(accept_failed)s(?P<why>[^)\n]{0,99})[^\n]*+(?:\n|\Z) | %(beyond_table)s%(end)s)(?P<exhausted>)
  | %(lost)s
  | (?!conn=)[^\n]*+(?:\n|\Z)(?P<trace>)
)
""" % {
    b"escaped": ESCAPED,
    b"end": END,
    b"lost": LOST,
    b"denied": DENIED.encode(),
    b"accept_failed": ACCEPT_FAILED.encode(),
    b"beyond_table": BEYOND_TABLE.encode(),
}
"""The empty groups name the kind of a line; `lastgroup` is the one that matched."""

SIGNATURE = (
    rb"(?:conn=\d{1,18}+\ (?:op|fd)=\d|@\(\#\)\ \$OpenLDAP:\ slapd\ |slapd\ starting\b|<=\ \w{3,4}_\w{1,30}+:\ \()"
)
"""The beginning of messages that no other program writes."""

REQUESTS = {
    b"ADD": operation_kinds.ADD,
    b"MOD": operation_kinds.MODIFY,
    b"MODRDN": operation_kinds.MODRDN,
    b"DEL": operation_kinds.DELETE,
    b"CMP": operation_kinds.COMPARE,
}
METHODS = {b"128": SIMPLE, b"163": SASL}
"""The authentication choice of a BIND, as its tag (RFC 4511, 4.2)."""
MECHANISMS = {b"SIMPLE": SIMPLE, b"": SASL}
"""Names for what is no mechanism of SASL."""


def _accept(log: Scan, time: int, line: Match) -> None:
    conn, v4, v6, server = line.group("conn", "v4", "v6", "server")
    log.opened(int(conn), time, v4 or v6 or b"local", server or b"")


def _close(log: Scan, time: int, line: Match) -> None:
    log.closed(int(line["conn"]), time, line["reason"] or b"")


def _bind(log: Scan, time: int, line: Match) -> None:
    conn, op, dn, method = line.group("conn", "op", "dn", "method")
    log.bind(int(conn), int(op), time, dn, METHODS.get(method, method))


def _bound(log: Scan, time: int, line: Match) -> None:
    conn, op, dn, mechanism = line.group("conn", "op", "dn", "mechanism")
    log.bind_confirmed(int(conn), int(op), time, dn, MECHANISMS.get(mechanism, mechanism))


def _search(log: Scan, time: int, line: Match) -> None:
    conn, op, base, scope, text = line.group("conn", "op", "base", "scope", "filter")
    log.search(int(conn), int(op), time, base, int(scope), text)


def _request(log: Scan, time: int, line: Match) -> None:
    log.request(int(line["conn"]), int(line["op"]), time, REQUESTS[line["what"]], line["target"])


def _extended(log: Scan, time: int, line: Match) -> None:
    log.request(int(line["conn"]), int(line["op"]), time, operation_kinds.EXTENDED, line["oid"])


def _tls(log: Scan, time: int, line: Match) -> None:
    conn, bits, protocol, cipher = line.group("conn", "bits", "protocol", "cipher")
    log.tls(int(conn), time, protocol or b"TLS", cipher or b"%b-bit" % bits)


def _result(log: Scan, time: int, line: Match) -> None:
    conn, op, tag, err, qtime, etime, entries = line.group("conn", "op", "tag", "err", "qtime", "etime", "entries")
    kind = operation_kinds.EXTENDED if tag is None else operation_kinds.OF_TAG.get(int(tag), operation_kinds.UNKNOWN)
    elapsed, wait = _elapsed(etime), _elapsed(qtime)
    optime = None if elapsed is None or wait is None else max(0, elapsed - wait)
    result = OperationResult(int(op), time, kind, int(err), elapsed, wait, optime, int(entries or 0))
    log.result(int(conn), result)


def _elapsed(seconds: bytes | None) -> int | None:
    """Return nanoseconds of b"0.005531"; None where there is no time, or a negative one (the clock was set back)."""
    return None if seconds is None or seconds.startswith(b"-") else duration(seconds)


def _unbind(log: Scan, time: int, line: Match) -> None:
    log.unbind(int(line["conn"]), int(line["op"]), time)


def _abandon(log: Scan, time: int, line: Match) -> None:
    log.abandon(int(line["conn"]), int(line["op"]), time, None)


def _internal(log: Scan, _: int, __: Match) -> None:
    log.internal()


def _not_indexed(log: Scan, _: int, line: Match) -> None:
    log.not_indexed(line["attribute"], line["index"].removesuffix(b"_candidates"))


def _modified(log: Scan, _: int, line: Match) -> None:
    log.modified_attributes(line["attributes"].rstrip(b" \r"))


def _banner(log: Scan, time: int, line: Match) -> None:
    log.server_started(time, line["version"])


def _denied(log: Scan, time: int, line: Match) -> None:
    log.refused(time, line["denied_client"], b"DENIED")


def _exhausted(log: Scan, time: int, line: Match) -> None:
    log.refused(time, UNKNOWN, line["why"] or b"beyond descriptor table size")


def _lost(log: Scan, _: int, line: Match) -> None:
    log.lost(int(line["lost_by_pid"] or line["lost_by_rate"] or line["suppressed"]))


HANDLERS: dict[str | None, Callable[[Scan, int, Match], None]] = {
    "search": _search,
    "result": _result,
    "accept": _accept,
    "close": _close,
    "bind": _bind,
    "bound": _bound,
    "request": _request,
    "extended": _extended,
    "tls": _tls,
    "denied": _denied,
    "exhausted": _exhausted,
    "unbind": _unbind,
    "abandon": _abandon,
    "internal": _internal,
    "not_indexed": _not_indexed,
    "modified": _modified,
    "banner": _banner,
    "lost": _lost,
}
"""By kind of line. Others are passed over: details of a request, other programs, the server's trace."""


@dataclass(frozen=True, slots=True)
class Slapd:
    """The dialect of slapd's messages with one kind of prefix."""

    prefix: Prefix
    signature: re.Pattern[bytes]
    record: re.Pattern[bytes]
    FAMILY: Family = Family.OPENLDAP

    @classmethod
    def with_prefix(cls, prefix: Prefix) -> Slapd:
        """Compile the grammar of a record."""
        # The second line of the version, and a container's own messages, begin with a blank.
        unstamped = rb"(?!\Z)(?>(?:[\t\ ][^\n]*+)?)\r?+(?:\n|\Z)(?P<unstamped>)|(?P<misread>[^\n]++\n?+)"
        return cls(
            prefix=prefix,
            signature=pattern(rb"^" + prefix.pattern + SIGNATURE, re.VERBOSE | re.MULTILINE),
            record=pattern(prefix.pattern + MESSAGE + rb"|" + unstamped, re.VERBOSE),
        )

    @property
    def NAME(self) -> str:  # noqa: N802  as in the modules of other dialects
        """Return the name of the dialect: `openldap-stderr`, `openldap-syslog`."""
        return self.prefix.name

    def recognised(self, head: bytes) -> int:
        """Return how many lines have this prefix and a message that only slapd writes."""
        return lines_like(self.signature, head)

    def scan(self, data: bytes, log: Scan) -> None:
        """Read whole records."""
        log.lines += data.count(b"\n") + (not data.endswith(b"\n") and data != b"")
        clock = self.prefix.clock(log)
        passed_over = 0
        for line in self.record.finditer(data):
            handle = HANDLERS.get(line.lastgroup)
            if handle is not None:
                try:
                    handle(log, clock(*line.group("second", "fraction", "zone")), line)
                except ValueError:  # a stamp like Feb 31
                    log.misread(line[0].rstrip(b"\r\n"))
            elif line.lastgroup == "misread":
                log.misread(line[0].rstrip(b"\r\n"))
            else:
                passed_over += 1
        log.passed_over(passed_over)


DIALECTS = tuple(Slapd.with_prefix(prefix) for prefix in PREFIXES)
