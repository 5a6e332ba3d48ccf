"""Whether an index of 389-ds sorts numbers as text (10 before 9): ranges then miss entries, or examine all."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ldapdiag.evidence.indexes import IndexDefinition
    from ldapdiag.evidence.schema import Schema

INTEGER = "1.3.6.1.4.1.1466.115.121.1.27"
RULE = "integerOrderingMatch"
SORTED_AS_NUMBERS = frozenset({RULE.lower(), "2.5.13.15"})


def sorts_as_text(name: str, definition: IndexDefinition | None, schema: Schema) -> bool:
    """Return whether the keys of a number are sorted as text; `definition` is None for an index without any rule.

    Keys have the order of the attribute's own ordering rule, if the schema names one. Measured with 2.3.1:
    (shadowMax>=990) of the values 0 to 3019 returns 10 entries instead of 2030; a range whose keys, in the order of
    text, are more than the scan limit is a scan, and right.
    """
    has_order = schema.whole and schema.ordering(name)  # 389-ds gives uidNumber none; the standard schema does
    if schema.syntax(name) != INTEGER or has_order:
        return False
    return definition is None or not {rule.lower() for rule in definition.rules} & SORTED_AS_NUMBERS
