"""Conversations: what clients and a server say to each other, as a Segment and as a report has it."""

from __future__ import annotations

from ldapdiag.analysis.log.workload import Workload
from ldapdiag.evidence.access_log import LogStream
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.log.connection import OperationResult
from ldapdiag.evidence.log.operation_kinds import BIND, SEARCH
from ldapdiag.evidence.log.scan import Scan
from ldapdiag.report.log.content import LogContent

START = 1_795_164_320_000_000_000
"""2026-11-20 08:45:20 UTC."""
SECOND = 1_000_000_000
PEOPLE = b"ou=people,dc=example,dc=com"


class Conversations:
    """One server's log, in the making; a second goes by with every line."""

    def __init__(self):
        self.scan = Scan()
        self.now = START
        self.operation = {}

    def open(self, number, client=b"10.10.1.168", account=b"uid=quickr,ou=services,dc=example,dc=com"):
        self.scan.opened(number, self._tick(), client)
        self.operation[number] = 0
        if account:
            self.bind(number, account)

    def bind(self, number, account, err=0):
        op = self._next(number)
        self.scan.bind(number, op, self._tick(), account)
        self.scan.result(number, OperationResult(op, self._tick(), BIND, err, 100_000))

    def search(
        self, number, filter_=b"(uid=joe)", etime=1_000_000, notes=b"", *, base=PEOPLE, scope=2, err=0, wait=None
    ):
        op = self._next(number)
        self.scan.search(number, op, self._tick(), base, scope, filter_)
        self.now += etime
        self.scan.result(number, OperationResult(op, self._tick(), SEARCH, err, etime, wait, None, 1, notes))

    def close(self, number, code=b"U1"):
        self.scan.closed(number, self._tick(), code)

    def segment(self):
        self.scan.lines += 1
        return self.scan.finish()

    def _next(self, number):
        self.operation[number] += 1
        return self.operation[number] - 1

    def _tick(self):
        self.now += SECOND
        return self.now


def read_log(segment, family=Family.DS389, **more):
    """Return what a report is made of."""
    stream = LogStream(
        name="slapd-ds1/access",
        dialect="389-text",
        family=family,
        files=("slapd-ds1/access",),
        server_processes=segment.server_processes,
        peak=segment.peak,
        notes=more.pop("notes", ()),
        copies=more.pop("copies", ()),
    )
    return LogContent(workload=Workload(segment, family), streams=(stream,), **more)


def founding_story():
    """One application looks for people by displayName, for half a minute each; everybody else is quick."""
    talk = Conversations()
    talk.open(1)
    for number, client in enumerate((b"10.10.1.169", b"10.10.1.170"), 2):
        talk.open(number, client, b"uid=hr-sync,ou=services,dc=example,dc=com")
        for _ in range(50):
            talk.search(number)
    for name in (b"joe*", b"jane*"):
        talk.search(1, b"(&(objectClass=person)(displayName=%b))" % name, 30 * SECOND, b"A")
    talk.search(1, b"(&(objectclass=person)(displayname=jim*))", 30 * SECOND, b"A")
    for number in (1, 2, 3):
        talk.close(number, b"U1" if number > 1 else b"B1")
    return talk
