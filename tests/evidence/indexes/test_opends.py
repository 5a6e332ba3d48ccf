from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from internal_searches import searched_by
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.indexes import Backend, IndexConfiguration
from ldapdiag.evidence.indexes.entry_count import EntryCount
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path

PLACE = "cn=Index,ds-cfg-backend-id=userRoot,cn=Backends,cn=config"
PING = """dn: ds-cfg-backend-id=userRoot,cn=Backends,cn=config
objectClass: ds-cfg-local-db-backend
ds-cfg-backend-id: userRoot
ds-cfg-base-dn: dc=example,dc=com
ds-cfg-enabled: true
ds-cfg-index-entry-limit: 6000

dn: ds-cfg-attribute=ds-entry-unique-id,cn=Index,ds-cfg-backend-id=userRoot,cn=Backends,cn=config
objectClass: ds-cfg-local-db-index
ds-cfg-attribute: ds-entry-unique-id
ds-cfg-index-type: equality

dn: ds-cfg-attribute=cn,cn=Index,ds-cfg-backend-id=userRoot,cn=Backends,cn=config
objectClass: ds-cfg-local-db-index
ds-cfg-attribute: cn
ds-cfg-index-type: equality
ds-cfg-index-type: substring
ds-cfg-index-entry-limit: 0
ds-cfg-substring-index-entry-limit: 300
ds-cfg-substring-length: 5

dn: cn=manager,cn=Composite Index,ds-cfg-backend-id=userRoot,cn=Backends,cn=config
objectClass: ds-cfg-composite-index
ds-cfg-index-filter-pattern: (manager=?)

dn: cn=two,cn=Composite Index,ds-cfg-backend-id=userRoot,cn=Backends,cn=config
objectClass: ds-cfg-composite-index
ds-cfg-index-filter-pattern: (&(sn=?)(l=?))
"""
"""After PingDirectory's configuration reference; there is none to test with."""


def configuration_of(content: bytes | str) -> IndexConfiguration:
    (found,) = [fact for fact in facts_of(content) if isinstance(fact, IndexConfiguration)]
    return found


def types_of(backend: Backend) -> dict[str, list[str]]:
    return {one.attribute: sorted(one.types) for one in backend.definitions}


TEXT = frozenset({"cn", "givenName", "mail", "sn", "telephoneNumber"})
DESIGNED = {
    name: ["equality", "substring"] if name in TEXT else ["equality"]
    for name in (*TEXT, "ds-sync-conflict", "entryUUID", "member", "objectClass", "uid", "uniqueMember")
} | {"aci": ["presence"], "ds-sync-hist": ["ordering"]}
"""What the laboratory set, and what setup makes."""


class TestCaptures:
    def test_reads_index_entries_alone(self, captures: Path) -> None:
        found = configuration_of((captures / "opendj" / "indexes" / "index-entries.ldif").read_bytes())
        (backend,) = found.backends
        assert (found.identity.family, found.whole, found.origin.not_understood) == (Family.OPENDJ, True, 0)
        assert types_of(backend) == DESIGNED
        assert (backend.name, backend.entry.lower()) == ("userRoot", PLACE.partition(",")[2].lower())
        assert [one.attribute for one in backend.definitions if one.system] == [
            "aci", "ds-sync-conflict", "ds-sync-hist", "entryUUID", "objectClass",
        ]  # fmt: skip

    def test_the_list_of_dsconfig_is_read_alike(self, captures: Path) -> None:
        folder = captures / "opendj" / "indexes"
        listed = configuration_of((folder / "dsconfig-list-backend-indexes.txt").read_bytes())
        (backend,) = listed.backends
        assert types_of(backend) == types_of(configuration_of((folder / "index-entries.ldif").read_bytes()).backends[0])
        assert {one.entry_limit for one in backend.definitions} == {4000}
        assert (listed.identity.family, listed.origin.not_understood) == (Family.OPENDJ, 0)

    def test_reads_a_backend_with_its_indexes(self, captures: Path) -> None:
        found = configuration_of((captures / "opendj" / "unbuilt-index" / "backend.ldif").read_bytes())
        (backend,) = found.backends
        assert (backend.name, backend.suffixes, backend.kind) == ("userRoot", ("dc=example,dc=com",), "je")
        assert types_of(backend)["title"] == ["equality", "substring"]
        listed = captures / "opendj" / "unbuilt-index" / "dsconfig-list-backend-indexes.txt"
        assert types_of(configuration_of(listed.read_bytes()).backends[0]) == types_of(backend)

    def test_the_monitor_shows_the_entries_of_suffixes_that_are_not_the_server_s_own(self, corpus: Path) -> None:
        content = (corpus / "3-opendj-unindexed" / "monitor" / "cn-monitor-subtree.ldif").read_bytes()
        counts = [fact for fact in facts_of(content) if isinstance(fact, EntryCount)]
        assert [(one.suffix, one.entries) for one in counts] == [("dc=example,dc=com", 20211)]


class TestPing:
    def test_reads_its_own_settings(self) -> None:
        found = configuration_of(PING)
        (backend,) = found.backends
        assert (found.identity.family, backend.kind, backend.entry_limit) == (Family.PING, "local-db", 6000)
        cn = next(one for one in backend.definitions if one.attribute == "cn")
        assert (cn.entry_limit, cn.middle, [one.limit for one in cn.scan_limits]) == (0, 5, [300])

    def test_a_composite_index_of_one_attribute_is_a_type_and_others_are_told_of(self) -> None:
        found = configuration_of(PING)
        assert types_of(found.backends[0])["manager"] == ["composite"]
        assert any("more than one attribute" in note for note in found.origin.notes)

    def test_reads_the_list_of_its_documentation(self) -> None:
        table = (
            "Local DB Index     : Type    : index-type\n-------------------:---------:--------------------\n"
            "cn                 : generic : equality, substring\nds-entry-unique-id : generic : equality\n"
        )
        found = configuration_of(table)
        assert (found.identity.family, found.backends[0].kind) == (Family.PING, "local-db")
        assert types_of(found.backends[0]) == {"cn": ["equality", "substring"], "ds-entry-unique-id": ["equality"]}


class TestRest:
    def test_oracle_s_backends_are_workflow_elements(self) -> None:
        element = "ds-cfg-workflow-element-id=userRoot,cn=Workflow elements,cn=config"
        found = configuration_of(
            f"dn: {element}\nobjectClass: ds-cfg-db-local-backend-workflow-element\nds-cfg-enabled: true\n"
            "ds-cfg-workflow-element-id: userRoot\nds-cfg-base-dn: dc=example,dc=com\n\n"
            f"dn: ds-cfg-attribute=cn,cn=Index,{element}\nobjectClass: ds-cfg-local-db-index\n"
            "ds-cfg-attribute: cn\nds-cfg-index-type: equality\n"
        )
        assert [(one.name, one.suffixes) for one in found.backends] == [("userRoot", ("dc=example,dc=com",))]

    def test_a_disabled_backend_is_left_out(self) -> None:
        assert configuration_of(PING.replace("enabled: true", "enabled: false")).backends == ()

    def test_the_server_s_internal_searches_are_read(self) -> None:
        plugin = (
            "dn: cn=U,cn=Plugins,cn=config\nobjectClass: ds-cfg-unique-attribute-plugin\nds-cfg-enabled: true\n"
            "ds-cfg-type: uid\n"
        )
        virtual = (
            "dn: cn=V,cn=Virtual Attributes,cn=config\nobjectClass: ds-cfg-user-defined-virtual-attribute\n"
            "ds-cfg-enabled: true\nds-cfg-attribute-type: status\n"
        )
        found = configuration_of(
            f"{PING}\n{plugin}\n{virtual}\n{plugin.replace('true', 'false').replace('uid', 'mail')}"
        )
        assert searched_by(found.internal_searches)["uid"] == "uniqueness"
        assert "member" in searched_by(found.internal_searches)
        assert "mail" not in searched_by(found.internal_searches)
        assert set(found.virtual_attributes) == {"status"}

    @pytest.mark.parametrize(
        ("name", "line", "attribute"),
        [
            ("exact-match-identity-mapper", "", "uid"),
            ("exact-match-identity-mapper", "ds-cfg-match-attribute: mail", "mail"),
            ("fingerprint-certificate-mapper", "", "ds-certificate-fingerprint"),
            (
                "subject-attribute-to-user-attribute-certificate-mapper",
                "ds-cfg-subject-attribute-mapping: e:mail",
                "mail",
            ),
            ("purge-expired-data-plugin", "ds-cfg-datetime-attribute: expires", "expires"),
        ],
    )
    def test_what_an_entry_makes_it_search_for(self, name: str, line: str, attribute: str) -> None:
        entry = f"dn: cn=M,cn=config\nobjectClass: ds-cfg-{name}\nds-cfg-enabled: true\n{line}"
        found = searched_by(configuration_of(f"{PING}\n{entry}\n").internal_searches)
        assert found.keys() == {"member", "uniquemember", attribute}

    @pytest.mark.parametrize("name", ["backendstat-list-indexes.offline.txt", "verify-index.txt"])
    def test_error_messages_of_tools_are_no_evidence(self, captures: Path, name: str) -> None:
        with pytest.raises(AssertionError, match="nothing recognises"):
            facts_of((captures / "opendj" / "indexes" / name).read_bytes())

    @given(st.lists(st.sampled_from([*PING.splitlines(), "", "ds-cfg-index-entry-limit: -5", f"dn: {'x=,' * 50}"])))
    def test_no_order_of_lines_breaks_it(self, lines: list[str]) -> None:
        content = "\n".join(["dn: cn=config", *lines])
        for fact in facts_of(content):
            assert fact.origin.lines == content.count("\n") + bool(content.rpartition("\n")[2])

    @given(st.text(alphabet=":-, acnBdkI\n", max_size=300))
    def test_no_table_breaks_the_list(self, text: str) -> None:
        heading = "Backend Index : index-type : index-entry-limit\n---:---:---\n"
        for fact in facts_of(heading + text):
            assert fact.origin.understood <= fact.origin.lines
            assert all(one.types <= {"equality"} for backend in fact.backends for one in backend.definitions)
