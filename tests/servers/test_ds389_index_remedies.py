"""What the remedies on the indexes of 389-ds and DSEE promise; tests/live pastes those of 389-ds on a real one."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts import origin
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.indexes import Backend, IndexConfiguration, IndexDefinition, ScanLimit
from ldapdiag.remedy import Kind, Needs
from ldapdiag.servers.candidates import Change
from ldapdiag.servers.ds389 import index_remedies as ds389
from ldapdiag.servers.dsee import index_remedies as dsee
from reading import facts_of

SUFFIX = "dc=example,dc=com"
ENTRY = "cn=userRoot,cn=ldbm database,cn=plugins,cn=config"
UID = IndexDefinition(
    attribute="uid",
    types=frozenset({"eq"}),
    rules=("caseExactMatch",),
    scan_limits=(ScanLimit(limit=0, types=frozenset({"eq"}), flags=frozenset({"AND"}), values=("a",)),),
    initial=2,
)
CN = IndexDefinition(attribute="cn", types=frozenset({"pres", "eq", "sub"}))
OBJECT_CLASS = IndexDefinition(attribute="objectclass", types=frozenset({"eq"}), system=True)
NONE = IndexDefinition(attribute="mail", types=frozenset())
BACKEND = Backend(name="userRoot", suffixes=(SUFFIX,), definitions=(UID, CN, OBJECT_CLASS, NONE), entry=ENTRY)
NEW = (Change("displayName", "sub"), Change("displayName", "eq"), Change("employeeNumber", "eq"))
FURTHER = (Change("uid", "sub"),)

HOSTILE = (
    "a;reboot",
    "$(reboot)",
    "`reboot`",
    "a b",
    "a\nb: c",
    "-x",
    "a'b",
    'a"b',
    "",
    "a*",
    "cn,dc=x",
    "1..2",
    "a_b",
)


def configuration(version=(2, 3, 1), family=Family.DS389, **settings):
    identity = ServerIdentity(family=family, version=version)
    templates = (CN, IndexDefinition(attribute="sn", types=frozenset({"eq"})))
    return IndexConfiguration(origin=origin(), identity=identity, backends=(BACKEND,), templates=templates, **settings)


ROOMS = [
    (ds389, configuration()),
    (ds389, configuration((1, 3, 11))),
    (dsee, configuration((11, 1, 1), Family.DSEE)),
    (dsee, configuration((5, 2, 0), Family.DSEE)),
]
EACH = pytest.mark.parametrize(("product", "told"), ROOMS, ids=["389 2.3", "389 1.3", "DSEE 11", "DSEE 5.2"])


def every_remedy(product, told, changes, server="ds1", backend=BACKEND):
    yield product.add_indexes(server, backend, changes, told)
    yield product.build_indexes(server, backend, [one.attribute for one in changes], told)
    yield product.drop_indexes(server, backend, changes, told)


def shell_accepts(text):
    return subprocess.run([shutil.which("sh") or "/bin/sh", "-n"], input=text, text=True, check=False).returncode == 0


@EACH
@pytest.mark.parametrize("changes", [NEW, FURTHER, (*NEW, *FURTHER), (Change("cn", "sub"),), ()])
class TestEveryRemedy:
    def test_is_complete_and_shell(self, product, told, changes):
        for remedy in every_remedy(product, told, changes):
            assert all((remedy.title, remedy.text, remedy.changes, remedy.risk, remedy.verify))
            undo = "" if remedy.undo.startswith("None needed") else remedy.undo
            texts = (undo, remedy.verify, *((remedy.text,) if remedy.kind is Kind.SHELL else ()))
            assert all(shell_accepts(text) for text in texts)
            assert all(text.count("<<") == text.count("<<'") for text in texts)

    def test_names_the_server(self, product, told, changes):
        for remedy in every_remedy(product, told, changes):
            assert remedy.target == "ds1"
            assert "ds1" in remedy.text or remedy.kind is Kind.ADVICE or "INSTANCE_PATH" in remedy.text


@EACH
class TestHostileNames:
    @pytest.mark.parametrize("name", HOSTILE)
    def test_of_attributes_are_left_out(self, product, told, name):
        changes = (Change(name, "eq"), Change("displayName", "eq"))
        alone = product.add_indexes("ds1", BACKEND, changes[1:], told)
        remedy = product.add_indexes("ds1", BACKEND, changes, told)
        assert (remedy.text, remedy.undo, remedy.verify) == (alone.text, alone.undo, alone.verify)
        assert "Left out: 1" in remedy.changes
        assert product.add_indexes("ds1", BACKEND, changes[:1], told).kind is Kind.ADVICE
        assert product.build_indexes("ds1", BACKEND, [name], told) == product.build_indexes("ds1", BACKEND, [], told)

    @given(name=st.text(max_size=20))
    def test_of_types_are_left_out(self, product, told, name):
        if name not in {"eq", "pres", "sub", "approx"}:
            assert product.add_indexes("ds1", BACKEND, (Change("displayName", name),), told).kind is Kind.ADVICE

    @pytest.mark.parametrize("name", [one for one in HOSTILE if one != "a_b"])
    def test_of_backends_entries_and_servers_never_get_into_a_command(self, product, told, name):
        backend = replace(BACKEND, name=name, entry=f"cn={name},{ENTRY}$(reboot)", suffixes=(name,))
        for remedy in every_remedy(product, told, (*NEW, *FURTHER), server=name, backend=backend):
            assert not any(
                word in text for word in ("reboot", "b: c") for text in (remedy.text, remedy.undo, remedy.verify)
            )
            assert remedy.kind is Kind.ADVICE or shell_accepts(remedy.text)

    def test_of_rules_are_left_out(self, product, told):
        text = product.add_indexes("ds1", BACKEND, (Change("displayName", "eq", "$(reboot)"),), told).text
        assert "reboot" not in text


@EACH
class TestWhatIsNeverTouched:
    def test_are_the_servers_own_indexes_and_computed_values(self, product, told):
        told = replace(told, virtual_attributes={"nsrole": "roles"})
        changes = (
            Change("objectClass", "eq"),
            Change("objectClass", "sub"),
            Change("parentid", "eq"),
            Change("nsRole", "eq"),
        )
        for change in (product.add_indexes, product.drop_indexes):
            assert change("ds1", BACKEND, changes, told).kind is Kind.ADVICE
        assert product.add_indexes_ldif("ds1", BACKEND, changes, told) is None

    def test_are_the_rules_of_indexes_that_are_there(self, product, told):
        assert "caseExactMatch" not in product.add_indexes("ds1", BACKEND, FURTHER, told).text


class TestOn389:
    def test_new_indexes_are_added_and_built_by_dsconf(self):
        told = ds389.add_indexes("ds1", BACKEND, NEW, configuration())
        dsconf = 'dsconf -D "cn=Directory Manager" ldap://ds1 backend index'
        assert told.text.splitlines() == [
            f"{dsconf} add --attr displayName --index-type eq --index-type sub userRoot",
            f"{dsconf} add --attr employeeNumber --index-type eq userRoot",
            f"{dsconf} reindex --wait --attr displayName --attr employeeNumber userRoot",
        ]
        assert told.needs is Needs.REINDEX
        assert told.undo == f"{dsconf} delete --attr displayName --attr employeeNumber userRoot"

    def test_a_further_type_and_its_build_are_one_ldapmodify(self):
        text = ds389.add_indexes("ds1", BACKEND, (*FURTHER, *NEW), configuration()).text
        assert text.count("ldapmodify") == 1
        assert text.index("cn=displayName") < text.index("dn: cn=uid") < text.index("dn: cn=ldapdiag-")
        assert text.count("nsIndexAttribute: ") == 3

    def test_an_entry_that_says_none_is_given_types_instead(self):
        text = ds389.add_indexes_ldif("ds1", BACKEND, (Change("mail", "eq"),), configuration())
        assert "replace: nsIndexType\nnsIndexType: eq\n" in text

    def test_an_index_that_is_there_is_only_built(self):
        told = ds389.add_indexes("ds1", BACKEND, (Change("uid", "eq"),), configuration())
        assert (
            told.text == 'dsconf -D "cn=Directory Manager" ldap://ds1 backend index reindex --wait --attr uid userRoot'
        )
        assert told.undo.startswith("None needed")

    def test_a_default_index_is_not_deleted_for_it_would_come_back_empty(self):
        whole = tuple(Change("cn", one) for one in ("eq", "pres", "sub"))
        told = ds389.drop_indexes("ds1", BACKEND, whole, configuration())
        assert "nsIndexType: none" in told.text
        assert "delete" not in told.text
        assert "delete --attr uid" in ds389.drop_indexes("ds1", BACKEND, (Change("uid", "eq"),), configuration()).text

    @pytest.mark.parametrize("changes", [NEW, FURTHER, (*NEW, *FURTHER)])
    def test_the_ldif_is_read_back_as_what_was_wanted(self, changes):
        text = ds389.add_indexes_ldif("ds1", BACKEND, changes, configuration())
        added = [one for one in text.split("\n\n") if "changetype: add" in one and "nsIndexType" in one]
        records = "\n\n".join(one.replace("changetype: add\n", "") for one in added)
        read = facts_of(records, path="ds/x.ldif") if added else []
        definitions = {one.attribute: one.types for fact in read for each in fact.backends for one in each.definitions}
        wanted = {one.attribute for one in changes if one.attribute != "uid"}
        assert definitions == {name: frozenset(one.type for one in changes if one.attribute == name) for name in wanted}

    def test_what_is_dropped_comes_back_with_all_that_was_set(self):
        undo = ds389.drop_indexes("ds1", BACKEND, (Change("uid", "eq"),), configuration()).undo
        record = undo.partition("\n")[2].partition("\n\n")[0].replace("changetype: add\n", "")
        (fact,) = facts_of(record + "\n", path="ds/x.ldif")
        assert fact.backends[0].definitions == (UID,)


class TestOnDsee:
    def test_indexes_are_created_set_and_built(self):
        told = dsee.add_indexes("ds1", BACKEND, (*NEW[:1], *FURTHER), configuration((11, 1, 1), Family.DSEE))
        assert told.text.splitlines() == [
            "dsconf create-index -h ds1 -p 389 dc=example,dc=com displayName",
            (
                "dsconf set-index-prop -h ds1 -p 389 dc=example,dc=com displayName pres-enabled:off eq-enabled:off "
                "sub-enabled:on approx-enabled:off"
            ),
            "dsconf set-index-prop -h ds1 -p 389 dc=example,dc=com uid sub-enabled:on",
            "dsconf reindex -h ds1 -p 389 -t displayName -t uid dc=example,dc=com",
        ]

    def test_before_dsconf_entries_are_written(self):
        text = dsee.add_indexes("ds1", BACKEND, NEW, configuration((5, 2, 0), Family.DSEE)).text
        assert text.startswith("ldapmodify")
        assert "-n userRoot -t displayName -t employeeNumber" in text
