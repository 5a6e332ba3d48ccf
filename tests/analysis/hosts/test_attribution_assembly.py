from __future__ import annotations

from dataclasses import replace

import facts
from ldapdiag.analysis.hosts.attribution import assemble_hosts
from ldapdiag.evidence.host_facts import KernelSettings


def settings(host: str, taken: float, value: int) -> KernelSettings:
    return KernelSettings(origin=facts.origin(host, "sysctl.txt", taken=taken), values={"max": value})


def test_a_host_is_described_by_its_latest_facts_whatever_their_order() -> None:
    for values in ([settings("fw", 0, 3), settings("fw", 60, 5)], [settings("fw", 60, 5), settings("fw", 0, 3)]):
        (host,) = assemble_hosts([], values, frozenset())
        assert host.kernel is not None
        assert (host.host, host.kernel.values) == ("fw", {"max": 5})


def test_a_fact_of_no_host_makes_none() -> None:
    nowhere = settings("", 0, 3)
    assert list(assemble_hosts([], [replace(nowhere, origin=replace(nowhere.origin, host=""))], frozenset())) == []
