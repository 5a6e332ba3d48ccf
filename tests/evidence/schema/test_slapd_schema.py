"""slapd's schema files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.formats import head_of, recognise
from ldapdiag.evidence.schema.slapd_schema import FORMAT
from reading import facts_of


class TestSchemaFiles:
    def test_reads_types_and_macros(self) -> None:
        (found,) = facts_of(
            "# core\n#attributetype ( 1.1 NAME 'no' )\nobjectIdentifier My 1.2.3\nobjectidentifier MyAt My:4\n"
            "attributetype ( MyAt:5\n\tNAME 'mine'\n\tSUP name )\nobjectclass ( My:6 NAME 'o' MAY mine )\n"
        )
        assert (set(found.types), found.whole) == ({"mine", "1.2.3.4.5"}, False)

    def test_counts_what_it_does_not_understand_and_shows_nothing_of_it(self) -> None:
        (found,) = facts_of("attributetype ( 1.2 NAME 'a' )\nattributetype ( hunter2\n", form=FORMAT)
        assert (found.origin.not_understood, "hunter2" in repr(found)) == (1, False)

    def test_slapd_conf_may_hold_some_itself(self) -> None:
        _, found = facts_of("attributetype ( 1.2 NAME 'a' )\ndatabase mdb\nsuffix dc=x\n")
        assert set(found.types) == {"a", "1.2"}

    @pytest.mark.parametrize("text", ["attributetypes ( 1.2 )\n", "objectclass x\n", "attributetype ( 1 )\nsuffix x\n"])
    def test_is_nothing_else(self, text: str) -> None:
        assert recognise(head_of("x.schema", text.encode(), whole=True), (FORMAT,)) is None

    @given(st.binary(max_size=300))
    def test_no_bytes_crash_it(self, data: bytes) -> None:
        for fact in facts_of(b"attributetype ( 1.2 NAME 'a' )\n" + data, form=FORMAT):
            assert fact.origin.lines == fact.origin.understood + fact.origin.not_understood
