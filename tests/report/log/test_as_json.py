"""The JSON report on an access log: the keys of the contract, and the same bytes for the same log."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from conversations import PEOPLE, SECOND, START, Conversations, founding_story, read_log
from ldapdiag.evidence.bundle import Gap, PassedOver
from ldapdiag.report.log import as_json

CONTRACT = (Path(__file__).parents[3] / "docs" / "contract.md").read_text()


def report(talk, **more):
    return json.loads(as_json.render(as_json.document(read_log(talk.segment(), **more))))


def keys(value):
    """Yield the keys of all objects whose keys are names of ours, not what a log holds."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            if key not in {"by_client", "by_account", "closed_by_code", "notes", "noted", "errors", "results"}:
                yield from keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner)


def test_every_key_stands_in_the_contract():
    part = CONTRACT.partition("## JSON of `ldapdiag log`")[2].partition("\n## ")[0]
    talk = founding_story()
    talk.bind(2, b"uid=x", err=49)
    talk.scan.not_indexed(b"cn", b"equality")
    others = (PassedOver(target="copy", reason="tells the same"),)
    document = report(talk, copies=others, passed_over=others, gaps=(Gap(target="a", reason="b"),))
    del document["connections"]["clients"][0]["used_again"]["from_seconds"]
    names = {key for key in keys(document) if not re.fullmatch(r"\d+|[A-Z]\d", key)}
    words = set(re.findall(r"\w+", part))
    assert names - words - {"schema"} == set()


def test_the_founding_story_is_the_first_shape():
    first = report(founding_story())["searches"]["shapes"][0]
    assert first["shape"] == "(&(objectClass=person)(displayName=?*))"
    assert (first["base"], first["scope"], first["count"], first["etime_seconds"]) == (PEOPLE.decode(), "sub", 3, 90)
    assert (first["clients"], first["accounts"]) == (["10.10.1.168"], ["uid=quickr,ou=services,dc=example,dc=com"])
    assert (first["notes"], first["unindexed"]) == ({"A": 3}, 3)
    assert (first["worst"]["connection"], first["worst"]["operation"]) == (1, 1)
    assert first["worst"]["filter"] == "(&(objectClass=person)(displayName=joe*))"
    assert first["p50_seconds"] == first["p95_seconds"] == pytest.approx(30, rel=0.04)


def test_connections_balance():
    talk = founding_story()
    talk.open(50)
    talk.operation[77] = 5
    talk.search(77)
    talk.close(77)
    document = report(talk)["connections"]
    assert document["opened"] + document["open_before"] == document["closed"] + document["open_at_end"] == 5
    assert sum(document["by_account"].values()) == 5
    assert sum(document["by_client"].values()) == document["opened"] == 4
    assert (
        sum(one["count"] for one in document["closes"])
        == sum(document["closed_by_code"].values())
        == document["closed"]
    )


def test_the_same_log_gives_the_same_bytes_whatever_the_order_of_its_tables():
    one, other = founding_story().segment(), founding_story().segment()
    for name in ("shapes", "attribution", "clients", "accounts", "closed"):
        table = getattr(other, name)
        rows = list(table.items())
        table.clear()
        table.update(reversed(rows))
    assert as_json.render(as_json.document(read_log(one))) == as_json.render(as_json.document(read_log(other)))


def test_times_are_as_fine_as_the_log_s_clock():
    talk = founding_story()
    assert report(talk)["first_time"] == "2026-11-20T08:45:21.000000000Z"
    talk = founding_story()
    talk.scan.resolution(1000)
    assert report(talk)["first_time"] == "2026-11-20T08:45:21.000000Z"
    talk = founding_story()
    talk.scan.resolution(SECOND)
    document = report(talk, since=START)
    assert (document["first_time"], document["since"], document["until"]) == (
        "2026-11-20T08:45:21Z",
        "2026-11-20T08:45:20.000000000Z",
        None,
    )


def test_the_zone_is_null_where_the_format_has_none():
    talk = founding_story()
    assert report(talk)["time_zone"] is None
    talk = founding_story()
    talk.scan.clock(None)
    assert report(talk)["time_zone"] is None
    for zone in (b"+0100", b"+0000"):
        talk.scan.clock(zone)
    assert report(talk)["time_zone"] == "+0000, +0100"


def test_nanoseconds_are_not_lost_in_a_sum():
    talk = Conversations()
    talk.open(1)
    for _ in range(10):
        talk.search(1, etime=100_000_001)
    assert '"etime_seconds": 1.00000001,' in as_json.render(as_json.document(read_log(talk.segment())))


def test_a_report_of_a_log_that_goes_on_is_one_line():
    document = as_json.document(read_log(founding_story().segment()))
    assert json.loads(as_json.line(document)) == json.loads(as_json.render(document))
    assert as_json.line(document).count("\n") == 1


def test_idle_times_are_counted_by_edge():
    talk = Conversations()
    talk.open(1)
    talk.now += 130 * SECOND
    talk.search(1)
    (client,) = report(talk)["connections"]["clients"]
    assert client["used_again"]["from_seconds"] == {"1": 1, "130": 1}
    assert (client["used_again"]["count"], client["used_again"]["longest_seconds"]) == (2, 131)


def test_there_is_no_worst_where_nothing_was_answered():
    talk = Conversations()
    talk.open(1)
    talk.scan.search(1, 1, talk.now, PEOPLE, 2, b"(uid=a)")
    (shape,) = report(talk)["searches"]["shapes"]
    assert (shape["count"], shape["answered"], shape["worst"]) == (1, 0, None)


def test_the_total_of_a_filter_is_the_sum_of_its_bases():
    talk = Conversations()
    talk.open(1, b"10.0.0.1", b"cn=app")
    for tenant in range(30):
        talk.search(1, b"(description=x)", SECOND * tenant, base=b"ou=t%d,dc=example" % tenant)
    talk.search(1, b"(uid=x)", SECOND)
    searches = report(talk)["searches"]
    (total,) = searches["filters"]
    rows = [one for one in searches["shapes"] if one["shape"] == "(description=?)"]
    assert (total["shape"], total["base"], total["bases"], len(rows)) == ("(description=?)", None, 30, 30)
    for key in ("count", "answered", "etime_seconds"):
        assert total[key] == sum(one[key] for one in rows)
    assert total["worst"] == max((one["worst"] for one in rows), key=lambda worst: worst["etime_seconds"])
    assert total["requesters"] == rows[0]["requesters"]
