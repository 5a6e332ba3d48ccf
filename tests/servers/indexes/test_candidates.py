"""A database that remembers what it was asked, and its copies."""

from __future__ import annotations

from dataclasses import replace

from indexes_389 import BACKEND, LIST, index, limits, read
from ldapdiag.evidence.filter_tree import parse
from ldapdiag.evidence.schema.standard import standard
from ldapdiag.servers.ds389.candidates import forecast
from ldapdiag.servers.indexes.candidates import Amount, Database, IndexUse, UnknownFrequencies

SUFFIX = "dc=example,dc=com"


class ManyEntries(UnknownFrequencies):
    """Each value has a thousand entries."""

    def of(self, assertion):  # noqa: ARG002  a protocol
        return Amount(1000, 1000)

    def below(self, base, scope):  # noqa: ARG002  a protocol
        return Amount(9000, 9000)


def test_what_one_remembers_is_not_true_of_another_configuration():
    text = BACKEND + LIST + index("nsIndexType: eq", attribute="sn")
    few, many = (read(text + limits(f"nsslapd-idlistscanlimit: {limit}")) for limit in (500, 5000))
    asked = parse("(sn=x)")
    assert asked is not None
    one = Database(configuration=few, backend=few.backends[0], schema=standard(), frequencies=ManyEntries())
    other = replace(one, configuration=many)
    for _ in range(2):
        assert forecast(asked, SUFFIX, "sub", one).index_use is IndexUse.UNINDEXED
        assert forecast(asked, SUFFIX, "sub", other).index_use is IndexUse.INDEXED


def test_what_is_remembered_of_an_index_is_not_true_of_other_indexes():
    text = BACKEND + LIST + index("nsIndexType: eq", attribute="sn") + limits("nsslapd-idlistscanlimit: 5000")
    configuration = read(text)
    asked = parse("(sn=x)")
    assert asked is not None
    one = Database(
        configuration=configuration,
        backend=configuration.backends[0],
        schema=standard(),
        frequencies=ManyEntries(),
    )
    other = one.with_indexes_of(replace(one.backend, definitions=()))
    for _ in range(2):
        assert forecast(asked, SUFFIX, "sub", one).index_use is IndexUse.INDEXED
        assert forecast(asked, SUFFIX, "sub", other).index_use is IndexUse.UNINDEXED
