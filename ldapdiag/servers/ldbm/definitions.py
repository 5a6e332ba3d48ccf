r"""Shell text that changes nothing where a definition in the database names an attribute: the server searches by it.

    in_no_definition dc=example,dc=com carLicense vehicleLicense       the suffix, the attribute, its other names

Filters of views (389-ds) and of filtered roles (389-ds and DSEE) are in the databases, where no dse.ldif shows them.
Roles are subentries, which a search finds only where its filter names their class (Oracle 820-4811, "Roles"). A filter
may lack the outer parentheses, as in the example of Red Hat Directory Server 8.0, "Filtered Role Definition":

    nsRoleFilter: o=sales managers
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.remedy import is_attribute_type
from ldapdiag.servers.indexes.index_answers import suffix_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.indexes import Backend
    from ldapdiag.evidence.schema import Schema

NAMED_IS_KEPT = "The commands change nothing where the filter of a view or a role in the database names the attribute."
DEFINITIONS = r"""in_no_definition() {
below=$1; shift
[ -n "$below" ] || { say "the suffix of the database is not known" >&2; return 1; }
found=$(search -b "$below" '(|(objectClass=nsView)(objectClass=ldapSubEntry))' nsViewFilter nsRoleFilter) || {
say "the filters of views and roles below $below cannot be read (exit code $?)" >&2; return 1; }
found=$(printf '%s\n' "$found" | sed -n 's/^ns[A-Za-z]*Filter:\(.*\)/\1/p')
for name; do
! printf '%s\n' "$found" | grep -i -e "[( ]$name *[;:~<>=]" -e '^: ' >&2 || {
say "The filter above, of a view or a role, names $1 or is not ASCII: the server searches by it. Keep the index." >&2
return 1; }
done
}"""
"""It needs `search` (ldapsearch with its connection options)."""


def in_no_definition(backend: Backend, attribute: str, schema: Schema, unknown: str = "") -> Iterator[str]:
    """Yield the commands that end a block where a definition in the database names an attribute.

    `unknown` is the word of a command that stands for a suffix which the evidence does not contain.
    """
    others = sorted(name for name in schema.names(attribute) if name != attribute.lower() and is_attribute_type(name))
    for suffix in suffix_words(backend, unknown):
        yield " ".join(["in_no_definition", suffix, attribute, *others])
