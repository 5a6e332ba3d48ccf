"""Drill-down on the corpus: a report on one client or account has exactly the rows that the whole report has of it.

Those of the whole report are compared with the load in test_truth_workload.py.
"""

from __future__ import annotations

from typing import Any

import pytest

from command import ldapdiag
from conftest import CORPUS

pytestmark = pytest.mark.skipif(
    not CORPUS.is_dir(), reason="the shared corpus is not beside this checkout (it is in CI)"
)

LOGS = ("1-389ds-unindexed/access", "2-openldap-unindexed/slapd.stderr.log", "3-opendj-unindexed/access")


def report(log: str, *options: str) -> Any:
    return ldapdiag("log", CORPUS / log, "--format", "json", *options).report


def requesters(found: Any) -> dict[tuple[str, str, str], tuple[int, float]]:
    """Return results and seconds by shape, client and account; which spelling is shown depends on the others."""
    return {
        (shape["shape"], one["client"], one["account"].lower()): (one["count"], one["etime_seconds"])
        for shape in found["searches"]["shapes"]
        for one in shape["requesters"]
    }


@pytest.mark.parametrize("log", LOGS)
def test_the_rows_of_a_client_are_those_of_the_whole_report(log: str) -> None:
    whole = requesters(report(log))
    for client in sorted({client for _, client, _ in whole})[:4]:
        found = report(log, "--client", client)
        assert requesters(found) == {key: row for key, row in whole.items() if key[1] == client}
        assert found["operations"]["search"] == sum(row["answered"] for row in found["searches"]["shapes"])


@pytest.mark.parametrize("log", LOGS)
def test_the_rows_of_an_account_are_those_of_the_whole_report(log: str) -> None:
    whole = requesters(report(log))
    for account in sorted({account for _, _, account in whole})[:4]:
        found = report(log, "--account", account.upper() if "=" in account else account)
        assert requesters(found) == {key: row for key, row in whole.items() if key[2] == account}


@pytest.mark.parametrize("log", LOGS)
def test_the_lines_shown_are_those_of_the_slowest_searches_of_a_shape(log: str) -> None:
    shape = next(one for one in report(log)["searches"]["shapes"] if one["answered"] > 10 and one["worst"])
    slowest = report(log, "--shape", shape["worst"]["filter"], "--show-lines", "3")["slowest_lines"]

    text = (CORPUS / log).read_bytes().split(b"\n")
    assert [one["etime_seconds"] for one in slowest] == sorted((one["etime_seconds"] for one in slowest), reverse=True)
    assert slowest[0]["etime_seconds"] == shape["worst"]["etime_seconds"]
    for one in slowest:
        assert one["lines"]
        for line in one["lines"]:
            assert text[line["line"] - 1].decode().rstrip() == line["text"]


def test_conditions_are_combined() -> None:
    whole = report(LOGS[0])
    found = report(LOGS[0], "--client", "127.0.0.0/8", "--code", "11", "--code", "4", "--min-etime", "0.01")

    assert set(found["results"]) <= {"4", "11"}
    assert 0 < sum(found["results"].values()) < sum(whole["results"].values())
    assert all(one["worst"]["etime_seconds"] >= 0.01 for one in found["searches"]["shapes"])


def test_what_does_not_occur_is_named_with_what_is_similar() -> None:
    ran = ldapdiag("log", CORPUS / LOGS[0], "--client", "127.0.0.111", "--account", "uid=quick,dc=example")

    assert ran.code == 0
    assert "no connection of the log has the client 127.0.0.111; similar: 127.0.0.11" in " ".join(ran.text.split())
    assert "no match    no operation" in ran.text


def test_a_filter_that_does_not_occur_is_named_with_how_to_list_those_that_do() -> None:
    ran = ldapdiag("log", CORPUS / LOGS[0], "--shape", "(\x1b[31mno=such)")
    said = " ".join(ran.text.split())
    assert ran.code == 0
    assert "no search that is selected has the filter (" in said
    assert "=?); ldapdiag log --top 100 lists filters" in said
    assert "\x1b" not in ran.text
    shape = report(LOGS[0])["searches"]["shapes"][0]["shape"]
    assert "no search that is selected" not in ldapdiag("log", CORPUS / LOGS[0], "--shape", shape).text


def test_lines_with_control_characters_are_neutralised() -> None:
    ran = ldapdiag("log", CORPUS / "7-traps/389-nasty/access", "--show-lines", "200")

    assert "lines" in ran.text
    assert not {one for one in ran.text if ord(one) < 32 and one != "\n"}
