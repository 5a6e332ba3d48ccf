"""The idle timeout of real servers: whom it cuts although they go on, and whom it leaves alone."""

from __future__ import annotations

import time

import pytest

from lab.applications import OPEN
from lab.host import wait_for
from ldapdiag.finding import Confidence, Finding
from traffic import verdicts_on

HOSTS = ("ldap://ldap", "ssh://ldap", "ssh://app1", "ssh://app2")
ACCESS = "/var/log/dirsrv/slapd-live/access"
LIMIT = 2
CUTS = 25


@pytest.mark.parametrize("family", ["389-ds", "openldap"])
def test_a_pool_that_pauses_for_longer_than_the_timeout_is_cut(laboratory, topology, start, tmp_path, family) -> None:
    if family == "389-ds":
        server = laboratory.ds389(topology.ldap, settings={"nsslapd-idletimeout": str(LIMIT)})
    else:
        server = laboratory.slapd(topology.ldap, configuration=f"idletimeout {LIMIT}\n")
    # 389-ds before issue 6004 closes only while others are active.
    start(topology.app2, "pool", name="foo", count=2, every=0.5)
    pool = start(topology.app1, "pool", count=4, every=LIMIT + 3)

    def ended() -> int:
        return sum(count for fate, count in pool.truth().fates.items() if fate != OPEN)

    wait_for(lambda: ended() >= CUTS, "the server does not close the pool's connections", seconds=90)
    log = topology.ldap.run(["cat", ACCESS]) if family == "389-ds" else server.log.read_text()
    (tmp_path / "access").write_text(log)
    found = [one for one in verdicts_on(tmp_path, "idle-timeout-too-low") if isinstance(one, Finding)]
    (seen,) = [one.observed for one in found]
    assert seen["client"] == topology.address("app1")
    # The pool notices a close when it uses the connection next, and opens another.
    assert CUTS <= seen["cut"] <= ended() + 4
    assert 10 <= seen["reopened"] <= ended()
    assert LIMIT - 1 <= seen["shortest_idle_seconds"] <= LIMIT + 3
    # On a busy machine the server closes late, and the pool uses some in time, which makes it likely that it needs all.
    assert found[0].confidence in (Confidence.POSSIBLE, Confidence.LIKELY)


def test_389ds_leaves_connections_of_a_former_limit_open(laboratory, topology, desk, start) -> None:
    server = laboratory.ds389(topology.ldap)
    start(topology.app2, "pool", name="foo", count=2, every=0.5)
    pool = start(topology.app1, "held", count=12)
    server.modify("dn: cn=config\nchangetype: modify\nreplace: nsslapd-idletimeout\nnsslapd-idletimeout: 3\n")
    time.sleep(18)
    said = desk.diagnose(*HOSTS, *desk.bind)
    (found,) = said.found("idle-timeout-not-enforced")
    seen = found["observed"]
    assert pool.truth().fates == {OPEN: 12}
    assert seen["open_clients"] == {topology.address("app1"): 12}
    assert (seen["timeout_seconds"], found["severity"]) == (3, "medium")
    assert "keeps-old-limit" in seen["reasons"]
