"""Midstream: whether a packet filter passes the next packet of a connection of which the kernel has no entry.

With `nf_conntrack_tcp_loose` that packet begins a new entry, so its state is new; without, it is invalid; by a rule it
may be untracked. Each rule is followed with three values, because a ruleset does not show everything: what may hold or
not leads both ways, and the answer is unknown unless both agree.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import lru_cache, partial
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING

from ldapdiag.evidence.ruleset import MOST_RULES, Chain, Field, Match, Rule, Ruleset, Verdict
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

HOOKS = ("prerouting", "forward", "postrouting")
LINK_FAMILIES = frozenset({"netdev", "bridge"})
LINK_HOOKS = frozenset({"ingress", "egress"})
ESTABLISHED, NEW, INVALID, UNTRACKED = "established", "new", "invalid", "untracked"
STATES = frozenset({ESTABLISHED, NEW, "related", INVALID, UNTRACKED})
EPHEMERAL = (1024, 65535)
"""Of a client's port only this is known."""
PORTS = {"ldap": 389, "ldaps": 636}
PROTOCOLS = {"tcp": True, "6": True, "all": True}
SET = frozenset({"ack"})
FLAGS = frozenset({"fin", "syn", "rst", "ack", "urg"})
"""Known of a packet in the middle of a connection; `psh` is not."""
MOST_STEPS = 100_000
"""Rules that one packet is led past."""
DEEPEST = 16
"""Linux refuses deeper jumps (NFT_JUMP_STACK_SIZE)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packet:
    """A packet in the middle of a TCP connection; None: any port of a client."""

    source: str
    source_port: int | None
    destination: str
    destination_port: int | None
    state: str

    @property
    def version(self) -> str:
        """Return its family: ip or ip6."""
        return "ip6" if ":" in self.source else "ip"

    @property
    def reversed(self) -> Packet:
        """Return a packet of the other end."""
        return Packet(
            source=self.destination, source_port=self.destination_port, destination=self.source,
            destination_port=self.source_port, state=self.state,
        )  # fmt: skip


def passes_without_entry(
    rulesets: Sequence[Ruleset], client: str, server: tuple[str, int], *, loose: bool | None
) -> bool | None:
    """Return whether a connection without an entry goes on with its next packet; None where that is not known.

    A rule that drops decides alone. That all is accepted needs a listing of all rules. Rules that drop the packets of a
    connection with an entry as well carry no such connection, and decide nothing.
    """
    address, port = server
    state = {True: NEW, False: INVALID, None: ""}[loose]
    packet = Packet(source=client, source_port=None, destination=address, destination_port=port, state=state)
    chains = [chain for ruleset in rulesets for chain in ruleset.chains if chain.family in {"inet", packet.version}]
    ends = (packet, packet.reversed)
    exempt = [_untracked(chains, end) for end in ends]
    tracked = (state,) if state else (NEW, INVALID)
    if exempt[0] is not exempt[1]:
        return _passes_half_tracked(rulesets, chains, dict(zip(ends, exempt, strict=True)), tracked)
    if not exempt[0] and False in [_passes(chains, replace(end, state=ESTABLISHED)) for end in ends]:
        return None
    states = {UNTRACKED: exempt[0]} | dict.fromkeys(tracked, _not(exempt[0]))
    answers = {_goes_on(chains, packet, one) for one, may_be in states.items() if may_be is not False}
    if answers == {True} and any(ruleset.whole for ruleset in rulesets):
        return None if _may_drop_at_a_device(rulesets, packet, states) else True
    return False if answers == {False} else None


def _passes_half_tracked(
    rulesets: Sequence[Ruleset], chains: Sequence[Chain], exempt: Mapping[Packet, bool | None], tracked: Sequence[str]
) -> bool | None:
    """Return whether both directions pass where the rules exempt one alone from tracking; None where one may not.

    No entry was ever complete, so packets that are dropped now were dropped at first, too: that decides nothing.
    """
    states = {True: (UNTRACKED,), False: tuple(tracked), None: (UNTRACKED, *tracked)}
    passes = all(_passes(chains, replace(one, state=state)) for one, is_it in exempt.items() for state in states[is_it])
    if not passes or not any(ruleset.whole for ruleset in rulesets):
        return None
    return None if _may_drop_at_a_device(rulesets, next(iter(exempt)), (UNTRACKED, *tracked)) else True


def _may_drop_at_a_device(rulesets: Sequence[Ruleset], packet: Packet, states: Iterable[str]) -> bool:
    """Return whether a chain of a device or bridge may drop a packet; which of them are on the path is not known."""
    chains = [chain for ruleset in rulesets for chain in ruleset.chains]
    at_devices = [
        chain for chain in chains if chain.hook and (chain.family in LINK_FAMILIES or chain.hook in LINK_HOOKS)
    ]
    packets = [replace(end, state=state) for state in states for end in (packet, packet.reversed)]
    return any(Verdict.DROP in _Walk(chains, one).through(chain) for chain in at_devices for one in packets)


def _goes_on(chains: Sequence[Chain], packet: Packet, state: str) -> bool | None:
    """Return whether the connection goes on; the first packet accepted as new, of either end, makes an entry."""
    ends = [_passes(chains, replace(one, state=state)) for one in (packet, packet.reversed)]
    if state == NEW:
        return _any(ends)
    return _not(_any(map(_not, ends)))


def _untracked(chains: Sequence[Chain], packet: Packet) -> bool | None:
    """Return whether a rule exempts the packets of this direction from connection tracking."""
    found = []
    for chain in chains:
        if chain.hook == "prerouting" and not chain.translates:
            verdicts = _Walk(chains, packet, notrack=True).through(chain)
            found.append(Verdict.NOTRACK in verdicts and (len(verdicts) == 1 or None))
    return _any(found)


def _passes(chains: Sequence[Chain], packet: Packet) -> bool | None:
    """Return whether every chain of the forwarding path accepts a packet."""
    verdicts = [
        _Walk(chains, packet).through(chain) for chain in chains if chain.hook in HOOKS and not chain.translates
    ]
    if {Verdict.DROP} in verdicts:
        return False
    return None if any(Verdict.DROP in verdict for verdict in verdicts) else True


class _Walk:
    """The way of one packet through the chains of its table."""

    def __init__(self, chains: Sequence[Chain], packet: Packet, *, notrack: bool = False) -> None:
        self._chains = {(chain.family, chain.table, chain.name): chain for chain in chains}
        self._tests, self._notrack, self._steps = _tests(packet), notrack, MOST_STEPS

    def through(self, chain: Chain) -> set[Verdict]:
        """Return the verdicts that a base chain may have for the packet."""
        found = self._in(chain, 0)
        if Verdict.UNKNOWN in found:
            return {Verdict.ACCEPT, Verdict.NOTRACK if self._notrack else Verdict.DROP}
        return {chain.policy if one in {Verdict.NEXT, Verdict.RETURN} else one for one in found}

    def _in(self, chain: Chain, depth: int) -> set[Verdict]:
        """Return the verdicts that a chain may have, among them NEXT where it comes to its end."""
        found: set[Verdict] = set()
        for rule in chain.rules:
            self._steps -= 1
            if self._steps < 0 or depth > DEEPEST:
                return {Verdict.UNKNOWN}
            holds = self._holds(rule)
            if holds is False:
                continue
            verdicts = self._verdicts(rule, chain, depth)
            found |= verdicts - {Verdict.NEXT}
            if holds and Verdict.NEXT not in verdicts:
                return found
        return found | {Verdict.NEXT}

    def _verdicts(self, rule: Rule, chain: Chain, depth: int) -> set[Verdict]:
        if rule.verdict is Verdict.NOTRACK:
            return {Verdict.NOTRACK if self._notrack else Verdict.NEXT}
        if rule.verdict not in {Verdict.JUMP, Verdict.GOTO}:
            return {rule.verdict}
        target = self._chains.get((chain.family, chain.table, rule.target))
        if target is None:
            return {Verdict.UNKNOWN}
        ends = Verdict.NEXT if rule.verdict is Verdict.JUMP else Verdict.RETURN
        return {ends if one in {Verdict.NEXT, Verdict.RETURN} else one for one in self._in(target, depth + 1)}

    def _holds(self, rule: Rule) -> bool | None:
        """Return whether all matches of a rule hold for the packet."""
        is_open = False
        for condition in rule.matches:
            answer = self._fulfils(condition)
            if answer is False:
                return False
            is_open = is_open or answer is None
        return None if is_open else True

    def _fulfils(self, condition: Match) -> bool | None:
        """Return whether the packet fulfils a condition."""
        test = self._tests.get(condition.field)
        if condition.field is Field.FLAGS:
            found = _has_flags(*condition.values)
        else:
            found = _any(map(test, condition.values)) if test and condition.values else None
        return _not(found) if condition.negated else found


def _tests(packet: Packet) -> Mapping[Field, Callable[[str], bool | None]]:
    """Return what tests a packet for one value of a field."""
    return {
        Field.STATE: lambda value: value == packet.state if value in STATES else None,
        Field.STATUS: lambda _: None if packet.state == ESTABLISHED else False,
        Field.PROTOCOL: lambda value: PROTOCOLS.get(value, False if value.isascii() and value.isalnum() else None),
        Field.VERSION: lambda value: {"ipv4": "ip", "ipv6": "ip6"}.get(value) == packet.version,
        Field.SOURCE: partial(_is_within, _address(packet.source)),
        Field.DESTINATION: partial(_is_within, _address(packet.destination)),
        Field.SOURCE_PORT: partial(_is_port, packet.source_port),
        Field.DESTINATION_PORT: partial(_is_port, packet.destination_port),
        Field.ANY_FLAG: lambda value: None if value not in FLAGS else value in SET,
        Field.INTERFACE: lambda value: False if value == "lo" else None,
    }


def _has_flags(mask: str, value: str) -> bool | None:
    """Return whether, of the flags of a mask, exactly these are set."""
    compared, wanted = set(mask.split(",")) - {""}, set(value.split(",")) - {""}
    if any((flag in SET) != (flag in wanted) for flag in compared & FLAGS):
        return False
    return True if compared <= FLAGS and wanted <= compared else None


def _address(text: str) -> IPv4Address | IPv6Address | None:
    with suppress(ValueError):
        return ip_address(text)
    return None


@lru_cache(maxsize=MOST_RULES)
def _ends(text: str) -> tuple[int, int, int] | None:
    """Return IP version, first and last address of a network or range, which each client is compared with, or None."""
    first, dash, last = text.partition("-")
    try:
        if not dash:
            network = ip_network(text, strict=False)
            return network.version, int(network.network_address), int(network.broadcast_address)
        low, high = ip_address(first), ip_address(last)
    except ValueError:
        return None
    return (low.version, int(low), int(high)) if low.version == high.version else (0, 0, 0)


def _is_within(address: IPv4Address | IPv6Address | None, network: str) -> bool | None:
    """Return whether an address is in a network or range; None where the text is neither."""
    ends = _ends(network)
    if address is None or ends is None:
        return None
    version, low, high = ends
    return address.version == version and low <= int(address) <= high


def _is_port(port: int | None, text: str) -> bool | None:
    """Return whether a port, or any port of a client, is in a range."""
    ends = [
        PORTS.get(one, int(one) if one.isascii() and one.isdigit() and len(one) < 6 else -1) for one in text.split("-")
    ]
    if len(ends) > 2 or -1 in ends:
        return None
    low, high = ends[0], ends[-1]
    if port is not None:
        return low <= port <= high
    if low <= EPHEMERAL[0] and high >= EPHEMERAL[1]:
        return True
    return False if high < EPHEMERAL[0] else None


def _any(answers: Iterable[bool | None]) -> bool | None:
    """Return whether one of these holds, with three values."""
    found = set(answers)
    return True if True in found else None if None in found else False


def _not(answer: bool | None) -> bool | None:  # noqa: FBT001  the operand of a logic with three values
    return None if answer is None else not answer
