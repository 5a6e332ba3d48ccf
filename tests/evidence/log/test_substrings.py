"""Substring lengths, largest results, index lookups and modified attributes, with either scanner."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.filter_tree import assertions, parse, parse_shape
from ldapdiag.evidence.filters import shape
from ldapdiag.evidence.log.combine import combine
from ldapdiag.evidence.log.dialects import named
from ldapdiag.evidence.log.shape_row import MOST_LENGTHS
from ldapdiag.evidence.log.substrings import MOST_SUBSTRINGS, has_substrings, lengths
from ldapdiag.evidence.log.tables import Caps
from log.comparable import plain
from log.scanners import SCANNERS, merged, need_native, scanned
from log.vectors import HINTS

if TYPE_CHECKING:
    from pathlib import Path

    from ldapdiag.evidence.log.segment import Segment
    from ldapdiag.evidence.log.tables import ShapeRow

TEXT, STDERR = named("389-text"), named("openldap-stderr")
STAMP = b"[20/Nov/2026:08:00:00.000000000 +0000] conn=1 op=%d "
each_scanner = pytest.mark.parametrize("scanner", SCANNERS)


def searched(*results: tuple[bytes, int, int, bytes]) -> bytes:
    """Return the log of searches: filter, code, entries, notes."""
    lines = []
    for op, (text, err, entries, notes) in enumerate(results):
        lines += [
            STAMP % op + b'SRCH base="dc=x" scope=2 filter="%b" attrs=ALL\n' % text,
            STAMP % op + b"RESULT err=%d tag=101 nentries=%d etime=0.000000001%b\n" % (err, entries, notes),
        ]
    return b"".join(lines)


def read(scanner: str, data: bytes, caps: Caps | None = None) -> Segment:
    if scanner == "native":
        need_native()
    return scanned(scanner, TEXT, data, caps=caps or Caps())


def row_of(segment: Segment, text: bytes) -> ShapeRow:
    return segment.shapes[shape(text), b"dc=x", 2]


# -- lengths

values = st.lists(
    st.text("ab*\\0cé", max_size=12).map(lambda text: re.sub(r"[*\\]", lambda found: f"\\{ord(found[0]):02x}", text)),
    min_size=1,
    max_size=5,
).map("*".join)
leaves = st.builds(
    "({}{}={})".format, st.sampled_from(["cn", "objectClass", "mail;lang-fr"]), st.sampled_from(["", ">", "~"]), values
)
filters = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds("(!{})".format, inner),
        st.builds(lambda operator, members: f"({operator}{''.join(members)})", st.sampled_from("&|"), st.lists(inner)),
    ),
    max_leaves=12,
)


@given(filters)
def test_the_lengths_are_those_of_the_filters_tree(text: str) -> None:
    """Two readers of one filter, written apart: neither knows the other."""
    tree = parse(text)
    assert tree
    expected = "".join(str(min(length or 0, 9)) for one in assertions(tree) for length in one.pieces)
    assert lengths(text.encode()).decode() == (expected if len(expected) <= MOST_SUBSTRINGS else "")


@given(st.lists(leaves, min_size=1, max_size=6).map(lambda members: f"(&{''.join(members)})"))
def test_a_shape_has_a_substring_for_each_length(text: str) -> None:
    bare = shape(text.encode())
    tree = parse_shape(bare.decode())
    assert tree
    assert len(lengths(text.encode())) == sum(len(one.pieces) for one in assertions(tree))
    assert has_substrings(bare) or not lengths(text.encode())


@given(st.binary(max_size=80))
def test_any_bytes_have_few_lengths_or_none(text: bytes) -> None:
    assert re.fullmatch(rb"[1-9]{0,32}", lengths(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (rb"(displayName=*J\C3\B6rg \C3\84\E6\97\A5\E6\9C\AC*)", b"9"),
        (rb"(cn=*\e6\9C\aC*)", b"3"),
        (b"(cn=" + b"x" * 600 + b"*yy)", b"92"),
        (b"cn=jean*", b"4"),
        (b" ( & (cn=jean*) (sn=*x) ) ", b"41"),
        (b"(cn=jean*", b"4"),
        (b"(cn=jean*...", b""),
        (b"(cn=" + b"*a" * 32 + b")", b"1" * 32),
        (b"(cn=" + b"*a" * 33 + b")", b""),
    ],
)
def test_lengths(text: bytes, expected: bytes) -> None:
    assert lengths(text) == expected


# -- rows


@each_scanner
def test_a_row_counts_short_and_long_substrings_apart(scanner: str) -> None:
    segment = read(
        scanner, searched((b"(cn=j*)", 0, 900, b" notes=A"), (b"(cn=jean*)", 0, 3, b""), (b"(cn=jose*)", 4, 500, b""))
    )
    assert row_of(segment, b"(cn=j*)").substring_lengths == {
        b"1": [1, 1, 1, 900],
        b"4": [1, 1, 0, 3],
        b"!4": [1, 1, 0, 500],
    }


@each_scanner
def test_rows_without_substrings_have_no_lengths(scanner: str) -> None:
    segment = read(scanner, searched((b"(cn=*)", 0, 1, b""), (b"(uid=a)", 0, 1, b""), (b"(objectClass=a)", 0, 1, b"")))
    assert [row.substring_lengths for row in segment.shapes.values()] == [{}, {}, {}]


@each_scanner
def test_a_filter_longer_than_the_limit_has_no_lengths(scanner: str) -> None:
    text = b"(&" + b"(cn=*%b*)" % (b"x" * 100) * 12 + b")"
    assert row_of(read(scanner, searched((text, 0, 1, b""))), text).substring_lengths == {b"": [1, 1, 0, 1]}


@each_scanner
def test_a_result_without_its_request_has_no_lengths(scanner: str) -> None:
    (row,) = read(scanner, searched((b"(cn=j*)", 0, 1, b"")).splitlines(keepends=True)[1]).shapes.values()
    assert (row.answered, row.substring_lengths, row.most_entries) == (1, {}, 1)


@each_scanner
def test_a_request_of_an_earlier_chunk_is_measured_with_its_result(scanner: str) -> None:
    if scanner == "native":
        need_native()
    total = merged(scanner, TEXT, searched((b"(cn=j*)", 0, 1, b"")).splitlines(keepends=True))
    assert row_of(total, b"(cn=j*)").substring_lengths == {b"1": [1, 1, 0, 1]}


@each_scanner
def test_beyond_the_cap_lengths_are_unknown_and_the_sum_is_exact(scanner: str) -> None:
    count = 3 * MOST_LENGTHS
    texts = [
        b"(&(a=%b*)(b=%b*)(c=%b*))" % (b"x" * (n % 9 + 1), b"x" * (n // 9 % 9 + 1), b"x" * (n // 81 + 1))
        for n in range(count)
    ]
    once = read(scanner, searched(*((text, 0, 2, b"") for text in texts)))
    parts = [searched(*((text, 0, 2, b"") for text in texts[at : at + 60])) for at in range(0, count, 60)]
    for segment in (once, merged(scanner, TEXT, parts)):
        row = row_of(segment, texts[0])
        assert len(row.substring_lengths) == MOST_LENGTHS + 1
        assert row.substring_lengths[b""] == [count - MOST_LENGTHS, count - MOST_LENGTHS, 0, 2]
        assert sum(cell[0] for cell in row.substring_lengths.values()) == row.answered == count
        assert segment.caps_hit == ["pieces"]


@each_scanner
def test_two_substrings_of_any_length_are_below_the_cap(scanner: str) -> None:
    texts = [b"(cn=%b*%b)" % (b"x" * (n % 9 + 1), b"y" * (n // 9 + 1)) for n in range(81)]
    segment = read(scanner, searched(*((text, 0, 2, b"") for text in texts)))
    assert len(row_of(segment, texts[0]).substring_lengths) == 81
    assert segment.caps_hit == []


# -- the largest result


@each_scanner
@pytest.mark.parametrize(
    ("results", "complete", "limited"),
    [
        ([(0, 7, b""), (0, 3, b"")], 7, -1),
        ([(0, 0, b"")], 0, -1),
        ([(0, 7, b" notes=U,F"), (4, 500, b""), (3, 2, b""), (11, 9, b" notes=A")], 7, 500),
        ([(0, 1000, b" notes=P,A"), (0, 9, b" notes=P pr_idx=0 pr_cookie=-1")], -1, 1000),
        ([(4, 50, b" notes=P")], -1, 50),
        ([(53, 0, b" notes=A"), (32, 0, b""), (50, 8, b" notes=P")], -1, -1),
    ],
)
def test_a_limited_result_is_no_complete_one(
    scanner: str, results: list[tuple[int, int, bytes]], complete: int, limited: int
) -> None:
    segment = read(scanner, searched(*((b"(uid=a)", *one) for one in results)))
    row = row_of(segment, b"(uid=a)")
    assert (row.most_entries, row.most_limited) == (complete, limited)


# -- look-ups


def looked_up(number: int, key: bytes, ids: int) -> bytes:
    return STAMP % number + b"STAT read index: attribute=a%d key(sub)=%b --> count %d\n" % (number, key, ids)


@each_scanner
def test_look_ups_are_counted_by_attribute_and_never_by_key(scanner: str) -> None:
    data = b"".join(looked_up(1, b"secret%d --> count 1000000" % n, n) for n in range(3, 9))
    segment = read(scanner, data)
    assert segment.lookups == {(b"a1", b"sub"): [6, 8, 3]}
    assert b"secret" not in repr(plain(segment)).encode()


@each_scanner
def test_too_many_attributes_are_counted_as_other(scanner: str) -> None:
    data = b"".join(looked_up(n, b"x", n) for n in range(10))
    total = merged(scanner, TEXT, [data, data], caps=Caps(shapes=3))
    assert total.lookups[b"other", b"other"] == [16, 7, 0]
    assert {name for name, _ in total.lookups} == {b"a8", b"a9", b"other"}
    assert sum(cell[0] for cell in total.lookups.values()) == 20
    assert total.caps_hit == ["lookups"]


@each_scanner
def test_servers_add_up(scanner: str) -> None:
    one, other = (read(scanner, looked_up(1, b"x", ids)) for ids in (5, 90))
    assert combine(one, other).lookups == {(b"a1", b"sub"): [2, 90, 5]}


@each_scanner
def test_the_statistics_of_the_load(scanner: str, corpus: Path) -> None:
    """corpus/README.md, 1: without an index all entries of the suffix are candidates, and `uid` names one of them."""
    data = (corpus / "1-389ds-unindexed/access.level260-plugin-statlog").read_bytes()
    expected = read(scanner, data).lookups
    logged = re.findall(rb" op=\d+ STAT read index: attribute=([a-zA-Z]+)", data)
    assert Counter(
        {name: sum(cell[0] for key, cell in expected.items() if key[0] == name) for name, _ in expected}
    ) == Counter(name.lower() for name in logged)
    everything = max(cell[1] for cell in expected.values())
    assert everything > 20_000
    for unindexed in ((b"displayname", b"eq"), (b"employeenumber", b"eq")):
        assert expected[unindexed][1] > 0.99 * everything
        assert expected[unindexed][2] > 0.99 * everything
    assert expected[b"uid", b"eq"][1:] == [1, 1]


# -- modified attributes


def modified(op: int, attributes: bytes) -> bytes:
    return b'6b000aac.00000000 0x1 conn=7 op=%d MOD dn="uid=a"\n6b000aac.00000000 0x1 conn=7 op=%d MOD attr=%b\n' % (
        op,
        op,
        attributes,
    )


@each_scanner
def test_a_modification_counts_once_for_each_attribute(scanner: str) -> None:
    if scanner == "native":
        need_native()
    data = modified(1, b"member CN;lang-fr cn;binary member") + modified(2, b" Member  ") + modified(3, b"")
    assert scanned(scanner, STDERR, data).modified == {b"member": 2, b"cn": 1}


@each_scanner
def test_too_many_modified_attributes_are_counted_as_other(scanner: str) -> None:
    if scanner == "native":
        need_native()
    data = modified(1, b" ".join(b"a%d" % n for n in range(9)))
    segment = scanned(scanner, STDERR, data, caps=Caps(shapes=4))
    assert segment.modified == {b"a6": 1, b"a7": 1, b"a8": 1, b"other": 6}
    assert segment.caps_hit == ["modified"]


TELLINGS = {
    "slapd.stderr.log": "openldap-stderr",
    "syslog-traditional.log": "openldap-syslog",
    "syslog-iso.log": "openldap-syslog-iso",
}


@each_scanner
@pytest.mark.parametrize("log", TELLINGS)
def test_the_load_modified_descriptions(scanner: str, log: str, corpus: Path) -> None:
    """workload.py modified 60 descriptions and was denied 4; the captures' makers set an idle timeout besides."""
    if scanner == "native":
        need_native()
    writes = json.loads((corpus / "2-openldap-unindexed/groundtruth/ground_truth.json").read_text())["writes"]
    expected = scanned(scanner, named(TELLINGS[log]), (corpus / "2-openldap-unindexed" / log).read_bytes(), HINTS)
    assert expected.modified[b"description"] == writes["MOD rc=0"] + writes["MOD-denied rc=50"]
    assert expected.modified.keys() == {b"description", b"olcidletimeout"}
