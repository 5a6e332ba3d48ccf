"""Which databases answer a search."""

from __future__ import annotations

import pytest

from facts import address_of
from ldapdiag.analysis.indexes.server_indexes import ServerIndexes
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.indexes import Backend, IndexConfiguration
from ldapdiag.evidence.origin import Origin
from ldapdiag.evidence.schema.standard import standard

ABOVE = Backend(name="above", suffixes=("o=Acme Widgets",), definitions=())


def answering(family: Family, base: str, *, glued: bool = False, below: bool = True) -> list[str]:
    lower = Backend(name="below", suffixes=("ou=branch, o=acme widgets",), definitions=(), glued=glued)
    configuration = IndexConfiguration(
        origin=Origin(path="x"), identity=ServerIdentity(family=family), backends=(ABOVE, lower)
    )
    server = ServerIndexes(
        server="ldap",
        host="ldap",
        address=address_of("ldap"),
        configuration=configuration,
        schema=standard(),
        entries={},
    )
    return [one.name for one in server.backends(base, below=below)]


@pytest.mark.parametrize(
    ("family", "glued", "found"),
    [
        (Family.DS389, False, ["above", "below"]),
        (Family.OPENLDAP, False, ["above"]),
        (Family.OPENLDAP, True, ["above", "below"]),
    ],
)
def test_slapd_searches_the_databases_that_are_glued_to_one(family, glued, found) -> None:
    assert answering(family, "o=acme widgets", glued=glued) == found
    assert answering(family, "o=acme widgets", glued=glued, below=False) == ["above"]
    assert answering(family, "uid=a,ou=branch,o=acme widgets", glued=glued) == ["below"]
