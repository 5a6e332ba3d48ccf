"""Kernel settings, as sysctl prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path


class TestSysctl:
    def test_reads_the_firewall_of_the_ghost_case(self, captures: Path) -> None:
        path = captures / "389ds" / "ghosts-behind-a-firewall" / "sysctl-nf_conntrack.txt"
        (settings,) = facts_of(path.read_bytes())
        assert settings.number("net.netfilter.nf_conntrack_tcp_timeout_established") == 30
        assert (len(settings.values), settings.origin.not_understood) == (17, 0)

    def test_reads_bsd_and_passes_over_noise(self) -> None:
        (settings,) = facts_of(
            "sysctl: permission denied on key 'fs.protected_fifos'\nnet.inet.tcp.keepidle: 7200000\n"
            "net.ipv4.tcp_rmem = 4096\t131072\t6291456\nnet.ipv4.conf.eth0/1.forwarding = 1\n"
            "kernel.domainname = \nwhat\n"
        )
        assert settings.values == {
            "net.inet.tcp.keepidle": "7200000",
            "net.ipv4.tcp_rmem": "4096\t131072\t6291456",
            "net.ipv4.conf.eth0/1.forwarding": "1",
            "kernel.domainname": "",
        }
        assert (settings.number("net.ipv4.tcp_rmem"), settings.origin.not_understood) == (None, 1)

    def test_a_number_beyond_belief_is_none(self) -> None:
        (settings,) = facts_of(f"net.a.b = {'9' * 5000}\n")
        assert settings.number("net.a.b") is None
