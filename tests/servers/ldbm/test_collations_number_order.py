from __future__ import annotations

import pytest

import facts
from ldapdiag.evidence.indexes import IndexDefinition
from ldapdiag.evidence.schema import AttributeType, Schema
from ldapdiag.servers.ldbm.collations import INTEGER, sorts_as_text


def schema(*, ordering: str = "", syntax: str = INTEGER, whole: bool = True) -> Schema:
    one = AttributeType(oid="1.2.3", names=("number",), syntax=syntax, ordering=ordering)
    return Schema(origin=facts.origin(), types={"number": one}, whole=whole)


@pytest.mark.parametrize(
    ("known", "rules", "as_text"),
    [
        (schema(), (), True),
        (schema(), ("integerOrderingMatch",), False),
        (schema(), ("2.5.13.15",), False),
        (schema(), ("caseExactMatch",), True),
        (schema(ordering="integerorderingmatch"), (), False),
        (schema(ordering="integerorderingmatch", whole=False), (), True),
        (schema(syntax="1.3.6.1.4.1.1466.115.121.1.15"), (), False),
    ],
)
def test_the_order_of_numbers(known: Schema, rules: tuple[str, ...], *, as_text: bool) -> None:
    assert (
        sorts_as_text("number", IndexDefinition(attribute="number", types=frozenset({"eq"}), rules=rules), known)
        is as_text
    )
