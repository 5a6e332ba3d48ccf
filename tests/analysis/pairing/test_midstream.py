"""What a packet filter does with the next packet of a connection of which the kernel has no entry."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ldapdiag.analysis.pairing.midstream import passes_without_entry
from ldapdiag.evidence.document import Document
from ldapdiag.evidence.host_formats import iptables_save, nft_ruleset

if TYPE_CHECKING:
    from pathlib import Path

    from ldapdiag.evidence.ruleset import Ruleset

CLIENT, SERVER = "10.77.2.2", ("10.77.1.2", 389)
STATEFUL = "ct state established,related accept"


def chain(
    *rules: str, policy: str = "accept", hook: str = "forward", name: str = "c", kind: str = "filter"
) -> list[str]:
    base = [f"type {kind} hook {hook} priority filter; policy {policy};"] if hook else []
    return [f"chain {name} {{", *base, *rules, "}"]


def listing(*chains: list[str], family: str = "inet") -> list[Ruleset]:
    lines = [f"table {family} fw {{", *(line for one in chains for line in one), "}"] if chains else []
    return list(nft_ruleset.read(Document(path="fw/nft.txt", source=[*lines, nft_ruleset.LAST])))


def passes(*chains: list[str], loose: bool | None = None, family: str = "inet") -> bool | None:
    return passes_without_entry(listing(*chains, family=family), CLIENT, SERVER, loose=loose)


def test_without_a_rule_all_passes() -> None:
    assert passes() is True


@pytest.mark.parametrize("loose", [True, False, None])
@pytest.mark.parametrize("name", ["nft-list-ruleset.txt", "nft-ruleset-verdict-map.txt"])
def test_stateful_rules_that_ask_for_a_syn_drop_it(captures: Path, name: str, loose: bool | None) -> None:  # noqa: FBT001  a case
    source = (captures / "sockets" / name).read_text().splitlines()
    found = list(nft_ruleset.read(Document(path=name, source=source)))
    assert passes_without_entry(found, CLIENT, SERVER, loose=loose) is False


def test_so_do_those_of_iptables(captures: Path) -> None:
    source = (captures / "sockets" / "iptables-save.txt").read_text().splitlines()
    found = list(iptables_save.read(Document(path="iptables-save.txt", source=source)))
    assert passes_without_entry(found, CLIENT, SERVER, loose=True) is False
    assert passes_without_entry(found, "fd77::2", ("fd77::1", 389), loose=True) is None


def test_that_iptables_drops_nothing_does_not_show_that_all_passes() -> None:
    open_ones = Document(path="x", source=["*filter", ":FORWARD ACCEPT [0:0]", "COMMIT"])
    assert passes_without_entry(list(iptables_save.read(open_ones)), CLIENT, SERVER, loose=True) is None


class TestLoose:
    RULES = chain(STATEFUL, "tcp dport 389 ct state new accept", policy="drop")

    def test_a_loose_kernel_makes_an_entry_for_what_is_accepted_as_new(self) -> None:
        assert passes(self.RULES, loose=True) is True

    def test_another_finds_it_invalid(self) -> None:
        assert passes(self.RULES, loose=False) is False

    def test_of_an_unknown_setting_both_count(self) -> None:
        assert passes(self.RULES) is None

    def test_an_invalid_packet_has_to_pass_both_ways(self) -> None:
        assert passes(chain(STATEFUL, "tcp dport 389 accept", policy="drop"), loose=False) is False
        both = chain(STATEFUL, "tcp dport 389 accept", "tcp sport 389 accept", policy="drop")
        assert passes(both, loose=False) is True


class TestStateless:
    def test_ports_alone_pass_whatever_the_table_has(self) -> None:
        rules = chain("tcp dport 389 accept", "tcp sport 389 accept", policy="drop")
        assert {passes(rules, loose=loose) for loose in (True, False, None)} == {True}

    def test_so_does_what_is_exempt_from_tracking(self) -> None:
        raw = chain("tcp dport 389 notrack", "tcp sport 389 notrack", hook="prerouting", name="raw")
        rules = chain("ct state established,untracked accept", "ct state invalid drop", policy="drop")
        assert passes(raw, rules, loose=False) is True
        assert passes(rules, loose=False) is False


class TestUnknown:
    @pytest.mark.parametrize("match", ['iifname "lan"', "meta mark 1", "ip saddr @known", "limit rate 3/second"])
    def test_what_a_packet_does_not_show_leads_both_ways(self, match: str) -> None:
        assert passes(chain(f"{match} accept", policy="drop"), loose=True) is None
        assert passes(chain(f"{match} ct state established accept", policy="drop"), loose=True) is False

    def test_nothing_forwarded_comes_from_loopback(self) -> None:
        assert passes(chain('iifname "lo" accept', policy="drop"), loose=True) is False

    def test_a_chain_that_is_missing_may_do_anything(self) -> None:
        assert passes(chain("jump elsewhere", policy="accept"), loose=True) is None

    def test_a_listing_that_was_cut_may_lack_the_rule_that_drops(self) -> None:
        lines = ["table inet fw {", *chain(STATEFUL)]
        found = list(nft_ruleset.read(Document(path="x", source=lines)))
        assert passes_without_entry(found, CLIENT, SERVER, loose=True) is None


class TestChains:
    def test_jump_comes_back_and_goto_does_not(self) -> None:
        sub = chain("tcp dport 636 accept", hook="", name="sub")
        assert passes(chain("jump sub", "drop"), sub, loose=True) is False
        assert passes(chain("goto sub", "drop"), sub, loose=True) is True

    def test_every_chain_has_to_accept(self) -> None:
        assert (
            passes(chain("accept"), chain("ct state invalid drop", name="d", hook="postrouting"), loose=False) is False
        )

    def test_those_of_other_families_and_hooks_do_not_count(self) -> None:
        assert passes(chain("drop"), family="ip6") is True
        assert passes(chain("drop", hook="input")) is True

    @pytest.mark.parametrize("to", ["a", "b"])
    def test_a_circle_ends(self, to: str) -> None:
        loop = [chain(f"jump {to}", hook="", name="a"), chain("jump a", hook="", name="b")]
        assert passes(chain("jump a"), *loop, loose=True) is None
