r"""The packet filter of a Linux host as nft prints it.

    table inet firewall {
            chain forward {
                    type filter hook forward priority filter; policy accept;
                    meta l4proto != tcp accept
                    ct state vmap { established : accept, related : accept, invalid : drop }
                    tcp flags syn / fin,syn,rst,ack ct state new tcp dport { 389, 636 } accept
                    counter packets 3 bytes 180 jump refuse
            }
    }
    # end of ruleset                                                        (the collection script: read to its end)

What is not understood of a rule is a condition that may hold or not. Named sets and interfaces are such matches, but
for the loopback interface. Comments and log prefixes are any text. Source: nft(8), nftables src/rule.c.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.ruleset import MOST_RULES, NOT_READ, UNKNOWN, Chain, Field, Match, Rule, Ruleset, Verdict
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ldapdiag.evidence.document import Document

TABLE = pattern(r"table (?:(ip|ip6|inet|arp|bridge|netdev) )?([\w./-]{1,128}) \{(?: # .*)?")
CHAIN = pattern(r"chain ([\w./-]{1,128}) \{(?: # .*)?")
BASE = pattern(r"type (\w+) hook (\w+) .{0,200}?;(?: policy (accept|drop);)?")
LAST = "# end of ruleset"
LOADED = frozenset({"#!/usr/sbin/nft", "flush", "include", "define"})
LONGEST_RULE = 1 << 16
MOST_ELEMENTS = 1000

QUOTED = pattern(r'"[^"]*"')
VALUE = r"(?:\{[^{}]*\}|[^\s{}]+)"
COMPARED = rf"(?:(==|!=) )?(?!vmap )({VALUE})"
VMAP = pattern(r"(.+?) vmap \{([^{}]*)\}(.*)")
VERDICT = pattern(r"(accept|drop|return|continue|reject|queue|notrack|(?:jump|goto) ([\w./-]{1,128}))\b.*")
VERDICT_IN = pattern(r"(?<= )" + VERDICT.pattern.removesuffix(".*"))
DIVERTING = pattern(r"\b(?:vmap|tproxy|synproxy|fwd|xt target)\b")
HARMLESS_TARGET = pattern(r'\bxt target "(?:CHECKSUM|CLASSIFY|CONNMARK|DSCP|LOG|MARK|NFLOG|SET|TCPMSS|TOS|TRACE)"')
"""Of iptables; REJECT is printed in the same way, where nft cannot translate it."""
STATEMENT = pattern(
    r"counter(?: packets \d+ bytes \d+| name \S+)?|log(?: (?:prefix|level|group|snaplen|queue-threshold|flags) \S+)*"
    r"|comment \S+|(?:meta|ct) \w+ set \S+(?: (?:and|or|xor|\|) \S+)*|flow add \S+"
)
FLAGS = r"\(?([a-z]+(?: ?[|,] ?[a-z]+)*|0x0)\)?"
FLAG_TEST = pattern(rf"tcp flags (?:& {FLAGS} (==|!=) {FLAGS}|(!=? ?)?([a-z,]+) / ([a-z,]+))(?= |$)")
SELECTORS = (
    (pattern(rf"ct state {COMPARED}"), Field.STATE),
    (pattern(rf"ct status {COMPARED}"), Field.STATUS),
    (pattern(rf"(?:meta l4proto|ip protocol|ip6 nexthdr) {COMPARED}"), Field.PROTOCOL),
    (pattern(rf"meta nfproto {COMPARED}"), Field.VERSION),
    (pattern(rf"ip6? saddr {COMPARED}"), Field.SOURCE),
    (pattern(rf"ip6? daddr {COMPARED}"), Field.DESTINATION),
    (pattern(rf"(?:tcp|th) sport {COMPARED}"), Field.SOURCE_PORT),
    (pattern(rf"(?:tcp|th) dport {COMPARED}"), Field.DESTINATION_PORT),
    (pattern(rf"tcp flags {COMPARED}"), Field.ANY_FLAG),
    (pattern(rf"(?:meta )?[io]if(?:name)? {COMPARED}"), Field.INTERFACE),
    (pattern(rf"(?:meta|ct) (?:mark|zone|direction|pkttype) {COMPARED}"), Field.UNKNOWN),
    (pattern(r"limit rate (over )?(\d+ ?\w*/\w+)(?: burst \d+ \w+)?"), Field.UNKNOWN),
)
OTHER_PROTOCOL = pattern(rf"(udp|udplite|sctp|dccp|icmp|icmpv6|esp|ah) \w+ {COMPARED}")
EVERY_FLAG = "fin,syn,rst,psh,ack,urg"
TRACKING = pattern(r"(?:^| )(?:ct |synproxy|flow add|masquerade|[sd]nat |redirect)")
DORMANT = pattern(r"flags [\w, ]*\bdormant\b.*")
LINK_FAMILIES = frozenset({"netdev", "bridge"})
FAMILIES = {"inet": ("ip", "ip6"), "ip": ("ip",), "ip6": ("ip6",)}


def recognises(head: Head) -> bool:
    """Recognise the first table and the tabs of nft, or the last line of an empty one; rules to be loaded differ."""
    texts = [line for line in head.lines if line.strip()]
    begun = next((line for line in texts if not line.startswith("#")), "")
    listed = TABLE.fullmatch(begun) and all(line.startswith(("\t", "}", "table ", "#")) for line in texts)
    return texts == [LAST] or bool(listed and not LOADED.intersection(line.partition(" ")[0] for line in texts))


def read(document: Document) -> Iterator[Ruleset]:
    """Read the chains that see IP packets; the objects beside them, and tables that are switched off, are ignored."""
    tables = _Tables()
    ended = False
    for line in _statements(document):
        ended = ended or line == LAST
        if line and not line.startswith("#") and not tables.take(line):
            tables.garbled = True
            document.misread(line)
    if tables.chains or ended:
        yield Ruleset(
            origin=document.origin(),
            chains=tuple(tables.chains),
            tracking=frozenset(tables.tracking),
            whole=tables.closed and not tables.garbled and tables.count <= MOST_RULES,
        )


class _Tables:
    """The chains while their text is read."""

    def __init__(self) -> None:
        self.chains: list[Chain] = []
        self.tracking: set[str] = set()
        self.count = 0
        self.garbled = False
        """A chain begins in another form than nft prints, or a line is outside of all tables."""
        self._table: tuple[str, str] | None = None
        self._chain: str | None = None
        self._base: re.Match[str] | None = None
        self._is_dormant = False
        """The kernel has taken the chains of the table from their hooks."""
        self._rules: list[Rule] = []
        self._depth = 0
        """Of the braces of an object that is no chain."""

    @property
    def closed(self) -> bool:
        """Return whether every table was read to its end."""
        return self._table is None

    def take(self, line: str) -> bool:
        """Read a line; return whether it has a place there."""
        if self._table is None:
            opened = TABLE.fullmatch(line)
            self._table = (opened[1] or "ip", opened[2]) if opened else None
            self._is_dormant = False
            return opened is not None
        if self._chain is None:
            self._take_object(line)
        elif line == "}":
            self._close_chain(*self._table, self._chain)
        elif base := BASE.fullmatch(line):
            self._base = base
        else:
            self._take_rule(line, self._table[0])
        return True

    def _take_object(self, line: str) -> None:
        begun = None if self._depth else CHAIN.fullmatch(line)
        if begun:
            self._chain, self._base, self._rules = begun[1], None, []
            return
        self._is_dormant = self._is_dormant or bool(not self._depth and DORMANT.fullmatch(line))
        self.garbled = self.garbled or (not self._depth and line.startswith("chain "))
        shown = QUOTED.sub('""', line)
        self._depth += shown.count("{") - shown.count("}")
        if self._depth < 0:
            self._table, self._depth = None, 0

    def _take_rule(self, line: str, family: str) -> None:
        self.count += 1
        if not self._is_dormant and TRACKING.search(QUOTED.sub('""', line)):
            self.tracking.update(FAMILIES.get(family, ()))
        if self.count <= MOST_RULES:
            self._rules.extend(rules_of(line))
        elif self._rules[-1:] != [NOT_READ]:
            self._rules.append(NOT_READ)

    def _close_chain(self, family: str, table: str, name: str) -> None:
        base = self._base
        if (family in FAMILIES or family in LINK_FAMILIES) and not self._is_dormant:
            self.chains.append(
                Chain(
                    family=family,
                    table=table,
                    name=name,
                    hook=base[2] if base else "",
                    translates=bool(base and base[1] == "nat"),
                    policy=Verdict(base[3] or "accept") if base else Verdict.ACCEPT,
                    rules=tuple(self._rules),
                )
            )
        self._chain = None


def _statements(document: Document) -> Iterator[str]:
    """Yield the lines without indentation; a set that continues on further lines is one line."""
    carry = ""
    for line in document.lines:
        carry = f"{carry} {line.strip()}" if carry else line.strip()
        if carry.endswith(",") and carry.count("{") > carry.count("}") and len(carry) < LONGEST_RULE:
            continue
        yield carry
        carry = ""
    if carry:
        yield carry


def rules_of(text: str) -> Iterator[Rule]:
    """Yield the rules that a line stands for: a map of verdicts is one for each element."""
    if len(text) > LONGEST_RULE:
        yield NOT_READ
        return
    text = HARMLESS_TARGET.sub("counter", text)
    text = QUOTED.sub(lambda found: '"lo"' if found[0] == '"lo"' else '""', text)
    mapped = VMAP.fullmatch(text)
    if mapped is None:
        yield _rule(text)
        return
    before, elements, after = mapped[1], mapped[2].split(","), mapped[3].strip()
    for element in elements[:MOST_ELEMENTS]:
        value, _, verdict = element.partition(" : ")
        yield _rule(f"{before} {value.strip()} {after} {verdict.strip()}".replace("  ", " "))
    if len(elements) > MOST_ELEMENTS:
        yield NOT_READ


def _rule(text: str) -> Rule:
    matches: list[Match] = []
    rest = text.strip()
    while rest:
        if found := VERDICT.fullmatch(rest):
            return Rule(tuple(matches), _verdict(found[1]), found[2] or "")
        if done := STATEMENT.match(rest):
            rest = rest[done.end() :].lstrip()
            continue
        condition, length = _condition(rest)
        if not length:
            return _unclear(matches, rest)
        matches.append(condition)
        rest = rest[length:].lstrip()
    return Rule(tuple(matches), Verdict.NEXT)


def _unclear(matches: list[Match], rest: str) -> Rule:
    """Return a rule of which the rest is not understood, but for its verdict."""
    found = None if DIVERTING.search(rest) else VERDICT_IN.search(rest)
    if found is None:
        return Rule((*matches, UNKNOWN), Verdict.UNKNOWN if DIVERTING.search(rest) else Verdict.NEXT)
    return Rule((*matches, UNKNOWN), _verdict(found[1]), found[2] or "")


def _verdict(text: str) -> Verdict:
    word = text.partition(" ")[0]
    return {"reject": Verdict.DROP, "continue": Verdict.NEXT, "queue": Verdict.UNKNOWN}.get(word) or Verdict(word)


def _condition(text: str) -> tuple[Match, int]:
    """Return the first condition of a text, and its length; 0 if it is not understood."""
    if test := FLAG_TEST.match(text):
        mask, value = (test[1], test[3]) if test[1] else (test[6], test[5])
        negated = test[2] == "!=" or bool(test[4])
        return Match(Field.FLAGS, (_flags(mask), _flags(value)), negated), test.end()
    if other := OTHER_PROTOCOL.match(text):
        return Match(Field.PROTOCOL, (other[1],)), other.end()
    for selector, field in SELECTORS:
        if found := selector.match(text):
            values = _values(found[2])
            if field is Field.ANY_FLAG and found[1]:
                return Match(Field.FLAGS, (EVERY_FLAG, _flags(found[2])), found[1] == "!="), found.end()
            return Match(field, values, found[1] == "!="), found.end()
    return UNKNOWN, 0


def _values(text: str) -> tuple[str, ...]:
    """Return the elements of a set, or the one value; a named set is a value that nothing equals for certain."""
    elements: Iterable[str] = text.strip("{}").split(",") if text.startswith("{") else text.split(",")
    found = [element.strip().strip('"') or "?" for element in elements if element.strip()]
    return (*found[:MOST_ELEMENTS], *(["?"] if len(found) > MOST_ELEMENTS else []))


def _flags(text: str) -> str:
    return "" if text == "0x0" else ",".join(re.findall(r"[a-z]+", text))


FORMAT = Format(name="nft-ruleset", title="a packet filter of nft", recognises=recognises, read=read)
