"""A file on another host: what somebody captured there, or a log."""

from __future__ import annotations


def test_a_file_is_read_where_it_lies_and_belongs_to_its_host(laboratory, topology, desk, start) -> None:
    laboratory.slapd(topology.ldap)
    start(topology.app1, "held", count=5)
    topology.app1.run("ss -tan > '/run/what app1 has.txt'")
    said = desk.diagnose("ssh://ldap", "ssh://app1/run/what%20app1%20has.txt", "--apart", "0.1")
    assert {one["origin"] for one in said.report["evidence"]} >= {"app1/what app1 has.txt"}
    assert said.outcomes("ghost-connections") == {"clear"}


def test_a_file_that_is_not_there_is_a_gap(desk) -> None:
    code, out, err = desk.run("diagnose", "ssh://app1/run/nowhere;id")
    assert (code, out) == (2, "")
    assert "ssh://app1/run/nowhere;id" in err
    assert "no such file" in err.lower()
    assert "uid=" not in err
