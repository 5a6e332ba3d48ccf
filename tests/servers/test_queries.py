from __future__ import annotations

from dataclasses import fields

import pytest

from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.document import Document, lines_of
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.filter_tree import And, Assertion, AssertionKind, Not, Or, parse
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.evidence.ldif import SECRETS, comparable, entries
from ldapdiag.servers.queries import (
    ASKED,
    CONFIG,
    INDEXES,
    MONITOR,
    ROOT_DSE_QUERY,
    SCHEMA,
    base_of,
    product_of,
    queries_of,
)
from ldapdiag.sources.live.ldap.entries import lines_of as ldif_lines
from reading import facts_of

ALL = {"*", "+"}


def narrowed(content, family, file):
    """Return of an LDIF text what the questions for one file ask for."""
    wanted = {name.lower() for query in queries_of(family) if query.file == file for name in query.attributes}
    text = []
    for entry in entries(Document(path="h/a.ldif", source=lines_of([content]))):
        text.append(ldif_lines(b"dn", entry.dn.encode()))
        for name, values in entry.attributes.items():
            if name in wanted or wanted & ALL:
                text += [ldif_lines(name.encode(), value.encode()) for value in values]
        text.append(b"\n")
    return b"".join(text)


def answered(content, family, file):
    """Return of an LDIF text what the questions for one file ask for, of the entries that their filters pick."""
    asked = [query for query in queries_of(family) if query.file == file]
    text = []
    for query in asked:
        wanted = {name.lower() for name in query.attributes}
        for entry in entries(Document(path="h/a.ldif", source=lines_of([content]))):
            if not entry.key.endswith(comparable(query.base)) or not matches(parse(query.filter), entry):
                continue
            text.append(ldif_lines(b"dn", entry.dn.encode()))
            for name in wanted & entry.attributes.keys():
                text += [ldif_lines(name.encode(), value.encode()) for value in entry.values(name)]
            text.append(b"\n")
    return b"".join(text)


def matches(node, entry):
    """Tell whether an entry has what a filter of equality and presence wants."""
    match node:
        case And(members):
            return all(matches(one, entry) for one in members)
        case Or(members):
            return any(matches(one, entry) for one in members)
        case Not(member):
            return not matches(member, entry)
        case Assertion(kind=AssertionKind.PRESENCE):
            return node.attribute in entry
        case Assertion(kind=AssertionKind.EQUALITY):
            return node.value.lower() in map(str.lower, entry.values(node.attribute))
    raise AssertionError(node)


class TestWhatIsAskedFor:
    @pytest.mark.parametrize(
        ("family", "file", "capture"),
        [
            (Family.DS389, MONITOR, "389ds/held-43/cn-monitor-base.ldif"),
            (Family.DS389, CONFIG, "389ds/held-43/cn-config.ldif"),
            (Family.DS389, INDEXES, "389ds/indexes/userRoot-subtree.ldif"),
            (Family.DS389, INDEXES, "389ds/indexes/ldbm-config.ldif"),
            (Family.OPENLDAP, MONITOR, "openldap/held-42/cn-Monitor-subtree.ldif"),
            (Family.OPENLDAP, CONFIG, "openldap/held-42/cn-config.ldif"),
            (Family.OPENLDAP, CONFIG, "openldap/indexes/olcDbIndex.wrapped.ldif"),
            (Family.OPENLDAP, SCHEMA, "openldap/indexes/cn-subschema.part.ldif"),
            (Family.OPENDJ, MONITOR, "opendj/held-39/cn-monitor-subtree.ldif"),
            (Family.OPENDJ, CONFIG, "opendj/configured/cn-config.ldif"),
            (Family.AD, CONFIG, "windows/ldifde-query-policy.ldif"),
        ],
    )
    def test_gives_the_same_facts_as_the_whole_capture(self, captures, family, file, capture):
        content = (captures / capture).read_bytes()
        whole, asked = facts_of(content), facts_of(narrowed(content, family, file))
        assert len(whole) == len(asked) > 0
        for one, other in zip(whole, asked, strict=True):
            assert type(one) is type(other)
            for field in fields(one):
                if field.name != "origin":
                    assert getattr(one, field.name) == getattr(other, field.name), field.name

    @pytest.mark.parametrize("family", ASKED)
    def test_is_never_a_password_nor_a_whole_configuration(self, family):
        for query in queries_of(family):
            assert not {name.lower() for name in query.attributes} & SECRETS
            assert query.file == MONITOR or not ALL & set(query.attributes)
            assert query.how or not query.required

    @pytest.mark.parametrize("family", ASKED)
    def test_of_connections_comes_after_the_counters(self, family):
        files = [(query.file, query.lists_connections) for query in queries_of(family)]
        assert (MONITOR, True) not in files or files.index((MONITOR, False)) < files.index((MONITOR, True))

    @pytest.mark.parametrize("family", ASKED)
    def test_of_indexes_and_schema_comes_last_and_is_no_gap(self, family):
        rest = [query for query in queries_of(family) if query.file in {INDEXES, SCHEMA}]
        assert tuple(rest) == queries_of(family)[len(queries_of(family)) - len(rest) :]
        assert not any(query.required for query in rest)
        assert bool(rest) == (family is not Family.IBM)

    @pytest.mark.parametrize("family", ASKED)
    def test_is_a_filter_that_can_be_read(self, family):
        for query in queries_of(family):
            assert parse(query.filter) is not None, query.filter

    @pytest.mark.parametrize(
        ("family", "capture"),
        [
            (Family.DS389, "1-389ds-unindexed/config/dse.ldif"),
            (Family.OPENDJ, "public/config/oud-workflow-element-index.ldif"),
            (Family.OPENDJ, "3-opendj-unindexed/config/index-entries.ldif"),
        ],
    )
    def test_of_indexes_gives_the_same_facts_as_the_whole_file(self, corpus, family, capture):
        content = (corpus / capture).read_bytes()
        picked = answered(content, family, INDEXES)
        (whole,) = [fact for fact in facts_of(content) if isinstance(fact, IndexConfiguration)]
        (asked,) = [fact for fact in facts_of(picked) if isinstance(fact, IndexConfiguration)]
        for field in fields(asked):
            if field.name not in {"origin", "identity"}:
                assert getattr(whole, field.name) == getattr(asked, field.name), field.name

    def test_of_indexes_is_no_second_word_on_connections(self, corpus):
        content = (corpus / "public/config/opendj-config.ldif").read_bytes()
        assert [type(fact) for fact in facts_of(content)] == [Configuration]
        assert facts_of(answered(content, Family.OPENDJ, INDEXES)) == []

    def test_of_every_family_is_something(self):
        assert ASKED.keys() == set(Family)


class TestWhoseItIs:
    @pytest.mark.parametrize(
        ("root", "family"),
        [
            ({"vendorversion": ("389-Directory/2.3.1 B2025",)}, Family.DS389),
            ({"vendorversion": ("Sun-Directory-Server/11.1.1.7.0",)}, Family.DSEE),
            ({"vendorname": ("ForgeRock AS.",), "vendorversion": ("OpenDJ Server 4.10.1",)}, Family.OPENDJ),
            ({"vendorversion": ("PingDirectory 9.3.0.0",)}, Family.PING),
            ({"objectclass": ("top", "OpenLDAProotDSE")}, Family.OPENLDAP),
            ({"monitorcontext": ("cn=Monitor",)}, Family.OPENLDAP),
            ({"isglobalcatalogready": ("TRUE",)}, Family.AD),
            ({"ibmdirectoryversion": ("6.4",)}, Family.IBM),
        ],
    )
    def test_is_identified_by_the_root_dse(self, root, family):
        assert product_of(root).family is family

    def test_is_unknown_without_evidence(self):
        assert product_of({"objectclass": ("top",), "vendorname": ("Acme",)}) is None

    def test_every_identifying_attribute_is_requested(self):
        asked = {name.lower() for name in ROOT_DSE_QUERY.attributes}
        assert {"vendorname", "vendorversion", "monitorcontext", "configcontext", "isglobalcatalogready"} <= asked
        assert {"domaincontrollerfunctionality", "ibmdirectoryversion", "dsservicename"} <= asked

    def test_a_context_of_its_own_is_where_it_is_asked(self):
        monitor, *_ = queries_of(Family.OPENLDAP)
        assert base_of(monitor, {}) == "cn=Monitor"
        assert base_of(monitor, {"monitorcontext": ("cn=Watch",)}) == "cn=Watch"
        policy, *_ = queries_of(Family.AD)
        assert base_of(policy, {}) is None
        assert base_of(policy, {"configurationnamingcontext": ("CN=C,DC=x",)}).endswith(",CN=Services,CN=C,DC=x")
