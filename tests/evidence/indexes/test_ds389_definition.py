from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes_389 import index, read, the_index
from ldapdiag.evidence.indexes import ScanLimit


class TestAnIndex:
    @pytest.mark.parametrize(
        ("lines", "types"),
        [
            (["nsIndexType: PRES", "nsindextype: Eq"], {"pres", "eq"}),
            (["nsIndexType: pres, eq,sub"], {"pres", "eq", "sub"}),
            (["nsIndexType: equality", "nsIndexType: substring", "nsIndexType: approximate"], {"eq", "sub", "approx"}),
            (["nsIndexType: subtree"], {"subtree"}),
            (["nsIndexType: eq", "nsIndexType: none"], set()),
            (["nsIndexType: phonetic"], set()),
            ([], set()),
        ],
    )
    def test_has_the_types_in_its_entry(self, lines: list[str], types: set[str]) -> None:
        assert the_index(*lines).types == types

    def test_has_matching_rules_and_lengths(self) -> None:
        found = the_index(
            "nsIndexType: sub",
            "nsMatchingRule: nsSubStrBegin=2",
            "nsMatchingRule: caseIgnoreIA5Match",
            "nsMatchingRule: NSSUBSTREND=4",
            "nsSubStrMiddle: 5",
        )
        assert found.rules == ("caseIgnoreIA5Match",)
        assert (found.initial, found.middle, found.final) == (2, 5, 4)

    def test_its_own_lengths_go_before_those_among_the_rules(self) -> None:
        found = the_index("nsSubStrBegin: 4", "nsMatchingRule: nsSubStrBegin=2", "nsSubStrEnd: 0", "nsSubStrMiddle: x")
        assert (found.initial, found.middle, found.final) == (4, None, None)

    def test_is_the_servers_own_if_it_says_so_or_the_server_needs_it(self) -> None:
        assert the_index("nsSystemIndex: TRUE").system
        assert the_index("nsSystemIndex: false", attribute="ParentID").system
        assert not the_index("nsSystemIndex: false").system

    def test_loses_its_options_and_keeps_its_spelling(self) -> None:
        text = index("nsIndexType: eq").replace("cn: uid\n", "cn: displayName;lang-fr\n")
        assert read(text).backends[0].definitions[0].attribute == "displayName"
        assert the_index(attribute="2.16.840.1.113730.3.1.241").attribute == "2.16.840.1.113730.3.1.241"

    @pytest.mark.parametrize("name", ["uid$(reboot)", "u id", "1.2.", "'", "-uid", "a" * 200, "é"])
    def test_whose_name_is_no_attribute_type_is_passed_over(self, name: str) -> None:
        hostile = index("nsIndexType: eq").replace("cn: uid", f"cn: {name}")
        found = read(index("nsIndexType: eq", attribute="mail") + hostile)
        assert [one.attribute for one in found.backends[0].definitions] == ["mail"]
        assert "not an attribute type" in found.origin.notes[0]
        assert name not in found.origin.notes[0]

    def test_of_repeated_parts_the_last_counts(self) -> None:
        found = read(index("nsIndexType: eq") + index("nsIndexType: sub", attribute="UID"))
        (definition,) = found.backends[0].definitions
        assert definition.types == {"sub"}

    def test_does_not_say_whether_it_is_built(self) -> None:
        assert the_index("nsIndexType: eq").built is None


AND, EQ, SUB = frozenset({"AND"}), frozenset({"eq"}), frozenset({"sub"})
LITERALS = st.lists(st.text("abcXYZ0 ,*()\\=é", min_size=1, max_size=8), max_size=4)


def escaped(value: str) -> str:
    r"""Return a value as in a filter, and with no blank or comma of its own."""
    return "".join(
        f"\\{octet:02x}" if octet < 48 or octet > 122 or octet in b"\\=" else chr(octet) for octet in value.encode()
    )


class TestScanLimits:
    @given(
        st.integers(-1, 1 << 31),
        st.sampled_from([EQ, SUB]),
        st.sampled_from([AND, frozenset()]),
        LITERALS,
        st.permutations(range(4)),
    )
    def test_are_read_as_they_are_written(
        self,
        limit: int,
        types: frozenset[str],
        flags: frozenset[str],
        literals: list[str],
        order: list[int],
    ) -> None:
        words = [f"limit={limit}", f"type={next(iter(types))}"]
        words += [
            *(["flags=AND"] if flags else []),
            *([f"values={','.join(map(escaped, literals))}"] if literals else []),
        ]
        text = "  ".join(words[at] for at in order if at < len(words))
        expected = ScanLimit(limit=limit, types=types, flags=flags, values=tuple(literals))
        assert scanned(text) == (expected,)

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("limit=0 type=eq flags=AND values=person", ScanLimit(limit=0, types=EQ, flags=AND, values=("person",))),
            ("type=eq,pres limit=-1", ScanLimit(limit=-1, types=EQ | {"pres"})),
            ("limit=5000", ScanLimit(limit=5000)),
            ("limit=7 type=sub values=*abc*", ScanLimit(limit=7, types=SUB, values=("*abc*",))),
        ],
    )
    def test_are_read(self, text: str, expected: ScanLimit) -> None:
        assert scanned(text) == (expected,)

    @pytest.mark.parametrize(
        "text",
        """type=eq|limit=|limit=x|limit=-2|limit=1 limit=2|limit=1 type=approx|limit=1 type=ordering|limit=1 flags=OR|
        limit=1 values=a|limit=1 type=eq,pres values=a|limit=1 what=ever|limit|""".replace("\n        ", "").split("|"),
    )
    def test_one_that_the_server_refuses_leaves_none(self, text: str) -> None:
        found = read(index("nsIndexType: eq", "nsIndexIDListScanLimit: limit=9", f"nsIndexIDListScanLimit: {text}"))
        assert found.backends[0].definitions[0].scan_limits == ()
        assert "nsIndexIDListScanLimit for uid" in found.origin.notes[0]

    def test_of_a_type_that_is_not_indexed_are_refused(self) -> None:
        assert the_index("nsIndexType: eq", "nsIndexIDListScanLimit: limit=1 type=sub").scan_limits == ()


def scanned(text: str) -> tuple[ScanLimit, ...]:
    types = [f"nsIndexType: {one}" for one in ("pres", "eq", "sub")]
    return the_index(*types, f"nsIndexIDListScanLimit: {text}").scan_limits
