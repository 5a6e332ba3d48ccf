"""Packet filters by nft and iptables: what is read of each rule, and that no text of a comment is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.document import Document
from ldapdiag.evidence.formats import HEAD_BYTES, head_of, recognise
from ldapdiag.evidence.host_formats import iptables_save, nft_ruleset
from ldapdiag.evidence.ruleset import Field, Match, Rule, Ruleset, Verdict

if TYPE_CHECKING:
    from pathlib import Path

ESTABLISHED = Match(Field.STATE, ("established", "related"))
SYN = Match(Field.FLAGS, ("fin,syn,rst,ack", "syn"))
NEW = Match(Field.STATE, ("new",))
LDAP = Match(Field.DESTINATION_PORT, ("389", "636"))


def of(path: Path) -> Ruleset:
    text = path.read_bytes()
    form = recognise(head_of(path.name, text[:HEAD_BYTES], whole=True))
    assert form is not None
    assert form.read is not None
    (ruleset,) = form.read(Document(path=path.name, source=text.decode().splitlines()))
    assert isinstance(ruleset, Ruleset)
    assert ruleset.origin.not_understood == 0
    return ruleset


def by_nft(*lines: str) -> Ruleset | None:
    return next(iter(nft_ruleset.read(Document(path="fw/nft.txt", source=lines))), None)


def rule(text: str) -> Rule:
    (found,) = nft_ruleset.rules_of(text)
    return found


def test_a_firewall_by_nft(captures: Path) -> None:
    ruleset = of(captures / "sockets" / "nft-list-ruleset.txt")
    (chain,) = ruleset.chains
    assert (chain.family, chain.hook, chain.policy, chain.translates) == ("inet", "forward", Verdict.DROP, False)
    assert chain.rules == (
        Rule((ESTABLISHED,), Verdict.ACCEPT),
        Rule((Match(Field.STATE, ("invalid",)),), Verdict.DROP),
        Rule((LDAP, SYN, NEW), Verdict.ACCEPT),
        Rule((), Verdict.DROP),
    )
    assert (ruleset.tracking, ruleset.whole) == ({"ip", "ip6"}, True)


def test_a_verdict_map_is_a_rule_for_each_element(captures: Path) -> None:
    (chain,) = of(captures / "sockets" / "nft-ruleset-verdict-map.txt").chains
    states = [(one.matches[0].values, one.verdict) for one in chain.rules[:3]]
    assert states == [
        (("invalid",), Verdict.DROP),
        (("established",), Verdict.ACCEPT),
        (("related",), Verdict.ACCEPT),
    ]


def test_the_same_rules_by_iptables_and_by_nft(captures: Path) -> None:
    """iptables-save and nft list ruleset of one kernel (iptables 1.8.9, nft 1.0.6)."""
    chains = [
        {chain.name: chain for chain in of(captures / "sockets" / name).chains if chain.table == "filter"}
        for name in ("iptables-save.txt", "nft-list-ruleset-of-iptables.txt")
    ]
    for found in chains:
        forward = found["FORWARD"]
        assert (forward.hook, forward.policy, found["refuse"].hook) == ("forward", Verdict.DROP, "")
        first, loopback, accepted, jump = forward.rules
        assert (set(first.matches[0].values), first.verdict) == (set(ESTABLISHED.values), Verdict.ACCEPT)
        assert loopback == Rule((Match(Field.INTERFACE, ("lo",)),), Verdict.ACCEPT)
        assert {LDAP, SYN, NEW, Match(Field.SOURCE, ("10.77.2.0/24",))} < set(accepted.matches)
        assert (accepted.verdict, jump.verdict, jump.target) == (Verdict.ACCEPT, Verdict.JUMP, "refuse")
        assert [one.verdict for one in found["refuse"].rules] == [Verdict.NEXT, Verdict.DROP]


def test_iptables_does_not_list_the_rules_of_nft(captures: Path) -> None:
    ruleset = of(captures / "sockets" / "iptables-save.txt")
    assert (ruleset.whole, ruleset.tracking) == (False, {"ip"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tcp flags != syn drop", (Match(Field.FLAGS, (nft_ruleset.EVERY_FLAG, "syn"), negated=True),)),
        ("tcp flags & (fin | syn) == syn drop", (Match(Field.FLAGS, ("fin,syn", "syn")),)),
        ("tcp flags ! syn / fin,syn drop", (Match(Field.FLAGS, ("fin,syn", "syn"), negated=True),)),
        ("ct state != established,related drop", (ESTABLISHED._replace(negated=True),)),
        ("ip6 daddr fd77::/64 drop", (Match(Field.DESTINATION, ("fd77::/64",)),)),
        ("icmp type echo-request drop", (Match(Field.PROTOCOL, ("icmp",)),)),
        ('log prefix "accept ct state new" level info drop', ()),
        ('counter packets 1 bytes 60 drop comment "x; accept"', ()),
    ],
)
def test_conditions_of_nft(text: str, expected: tuple[Match, ...]) -> None:
    assert rule(text) == Rule(expected, Verdict.DROP)


@pytest.mark.parametrize(
    "text", ["limit rate 3/minute drop", "meta mark 0x1 drop", "ip saddr 10.0.0.1 meta mark 1 drop", "vlan id 3 drop"]
)
def test_what_is_not_understood_may_hold_or_not(text: str) -> None:
    found = rule(text)
    assert (found.matches[-1].field, found.verdict) == (Field.UNKNOWN, Verdict.DROP)


def test_a_map_of_verdicts_with_a_name_may_lead_anywhere() -> None:
    assert rule("ct state vmap @states").verdict is Verdict.UNKNOWN


def test_an_empty_ruleset_is_one_if_it_was_read_to_its_end() -> None:
    assert by_nft() is None
    empty = by_nft(nft_ruleset.LAST)
    assert empty is not None
    assert (empty.chains, empty.whole) == ((), True)


@pytest.mark.parametrize(
    "lines",
    [
        ("table inet fw {", "\tchain forward {", "\t\ttype filter hook forward priority 0; policy accept;"),
        ("table inet fw {", "\tchain forward { type filter hook forward priority 0; ct state invalid drop; }", "}"),
    ],
    ids=["cut", "another form"],
)
def test_a_listing_that_is_not_whole_shows_it(lines: tuple[str, ...]) -> None:
    found = by_nft(*lines, nft_ruleset.LAST)
    assert found is not None
    assert not found.whole


def test_rules_to_be_loaded_are_not_those_in_force(corpus: Path) -> None:
    text = (corpus / "5a-ghost-389ds" / "fw" / "nft.rules").read_bytes()
    form = recognise(head_of("nft.rules", text, whole=True))
    assert form is not None
    assert (form.name, form.read) == ("nft-rules", None)


@given(st.lists(st.text(max_size=60), max_size=20))
def test_no_text_raises(lines: list[str]) -> None:
    for reader in (nft_ruleset.read, iptables_save.read):
        list(reader(Document(path="fw/x", source=["table ip x {", "\tchain a {", "*filter", ":A DROP", *lines])))
    for line in lines:
        list(nft_ruleset.rules_of(line))
        list(iptables_save.read(Document(path="fw/x", source=["*filter", ":A DROP", f"-A A {line}"])))
