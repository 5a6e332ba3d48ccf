"""Schemas of one server add up."""

from __future__ import annotations

from ldapdiag.evidence.origin import Origin
from ldapdiag.evidence.schema import AttributeType, Schema
from ldapdiag.evidence.schema.descriptions import merged, schema_of
from ldapdiag.evidence.schema.standard import standard


def schema(*, whole: bool = False, **types: str) -> Schema:
    """Make a schema of names and their supertypes."""
    made = [AttributeType(oid=f"oid-{name}", names=(name,), sup=sup) for name, sup in types.items()]
    return schema_of(made, Origin(path="here"), whole=whole)


class TestMerging:
    def test_beside_a_whole_one_nothing_counts(self) -> None:
        found = merged([schema(a="x", b=""), schema(whole=True, a="y"), standard()])
        assert found is not None
        assert (found.whole, found.types["a"].sup, found.find("b"), found.find("cn")) == (True, "y", None, None)

    def test_excerpts_add_up_the_earlier_first(self) -> None:
        found = merged([schema(a="x"), schema(a="y", cn=""), standard()])
        assert found is not None
        assert (found.whole, found.types["a"].sup, found.types["cn"].sup, found.primary("commonName")) == (
            False,
            "x",
            "",
            "cn",
        )

    def test_of_nothing_is_nothing(self) -> None:
        assert merged([]) is None
