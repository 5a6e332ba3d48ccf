"""The commands that add, build and drop indexes on OpenDJ and PingDirectory: what is in them, and what never is."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts import address_of
from ldapdiag.evidence.document import Document, lines_of
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.indexes import Backend, IndexConfiguration, IndexDefinition
from ldapdiag.evidence.ldif import entries
from ldapdiag.evidence.origin import Origin
from ldapdiag.evidence.schema.standard import standard
from ldapdiag.remedy import Needs, RemedyKind, is_distinguished_name
from ldapdiag.servers.indexes.candidates import Change, IndexPlace
from ldapdiag.servers.opendj import index_remedies as opendj
from ldapdiag.servers.opends.dsconfig_indexes import BACKEND_NAME
from ldapdiag.servers.ping import index_remedies as ping

if TYPE_CHECKING:
    from types import ModuleType

BOTH = pytest.mark.parametrize("product_s", [opendj, ping], ids=["opendj", "ping"])
SCHEMA = standard()
ENTRY = "ds-cfg-backend-id=userRoot,cn=Backends,cn=config"
HOSTILE = ["a;rm -rf /", "$(id)", "cn\ndn: cn=config", "`id`", "cn'", 'cn"', "cn;lang-fr", "", "-x", "ä", "1.2.3"]
DS1 = address_of()


def backend_of(name: str = "userRoot", suffix: str = "dc=example,dc=com", kind: str = "je") -> Backend:
    indexed = (("cn", {"equality"}), ("uid", {"equality"}), ("aci", {"presence"}), ("sn", {"equality", "substring"}))
    definitions = tuple(IndexDefinition(attribute=one, types=frozenset(types)) for one, types in indexed)
    return Backend(name=name, suffixes=(suffix,), definitions=definitions, entry=ENTRY, kind=kind)


def configuration_of(backend: Backend, product: str = "") -> IndexConfiguration:
    identity = ServerIdentity(family=Family.OPENDJ, version=(4, 10, 1), product=product)
    return IndexConfiguration(origin=Origin(path="memory"), identity=identity, backends=(backend,))


def commands(text: str) -> list[list[str]]:
    """Return the words of each command, as a shell takes them apart."""
    return [shlex.split(line) for line in text.splitlines()]


BACKEND = backend_of()
CONFIGURATION = configuration_of(BACKEND)


def test_a_new_attribute_is_created_and_a_known_one_is_added_to() -> None:
    changes = [Change("employeeNumber", "equality"), Change("UID", "substring"), Change("uid", "equality")]
    remedy = opendj.add_indexes(IndexPlace(DS1, BACKEND, CONFIGURATION, SCHEMA), changes)
    create, add, build = commands(remedy.text)
    assert create[1] == "create-backend-index"
    assert create[-4:] == ["--index-name", "employeeNumber", "--set", "index-type:equality"]
    assert add[1] == "set-backend-index-prop"
    assert add[-4:] == ["--index-name", "uid", "--add", "index-type:substring"]
    assert build[0] == "rebuild-index"
    assert build[-6:] == ["--baseDN", "dc=example,dc=com", "--index", "employeeNumber", "--index", "uid"]
    assert (remedy.kind, remedy.needs, remedy.family) == (RemedyKind.SHELL, Needs.REINDEX, Family.OPENDJ)
    assert "offline" in remedy.risk
    assert "each replica" in remedy.risk
    delete, remove = commands(remedy.undo)
    assert (delete[1], delete[-1]) == ("delete-backend-index", "employeeNumber")
    assert remove[-2:] == ["--remove", "index-type:substring"]


def test_what_is_set_already_is_only_built() -> None:
    remedy = opendj.add_indexes(IndexPlace(DS1, BACKEND, CONFIGURATION, SCHEMA), [Change("cn", "equality")])
    assert [words[0] for words in commands(remedy.text)] == ["rebuild-index"]


def test_the_same_as_ldif() -> None:
    changes = [Change("employeeNumber", "equality"), Change("employeeNumber", "ordering"), Change("uid", "substring")]
    ldif = opendj.add_indexes_ldif(IndexPlace(DS1, BACKEND, CONFIGURATION, SCHEMA), changes)
    assert ldif is not None
    records = list(entries(Document(path="memory", source=lines_of([ldif.encode()]))))
    assert [(one.dn, one.changetype) for one in records] == [
        (f"ds-cfg-attribute=employeeNumber,cn=Index,{ENTRY}", "add"),
        (f"ds-cfg-attribute=uid,cn=Index,{ENTRY}", "modify"),
        ("ds-task-id=ldapdiag-1-employeeNumber-uid,cn=Scheduled Tasks,cn=Tasks", "add"),
    ]
    assert records[0].values("ds-cfg-index-type") == ("equality", "ordering")
    assert records[2].values("ds-task-rebuild-index") == ("employeeNumber", "uid")


@BOTH
def test_an_index_is_known_by_every_name_of_its_attribute(product_s: ModuleType) -> None:
    for name in ("userid", "0.9.2342.19200300.100.1.1", "UID"):
        remedies = [
            product_s.add_indexes(IndexPlace(DS1, BACKEND, CONFIGURATION, SCHEMA), [Change(one, "substring")])
            for one in (name, "uid")
        ]
        assert remedies[0] == remedies[1]
        built = [
            product_s.build_indexes(IndexPlace(DS1, BACKEND, CONFIGURATION, SCHEMA), [one]) for one in (name, "uid")
        ]
        assert built[0] == built[1]
    assert (
        product_s.drop_indexes(IndexPlace(DS1, BACKEND, CONFIGURATION, SCHEMA), [Change("2.5.4.0", "presence")]).kind
        is RemedyKind.ADVICE
    )


def test_ping_states_that_nothing_was_tested() -> None:
    change = [Change("uid", "equality")]
    for remedy in (
        ping.add_indexes(IndexPlace(DS1, BACKEND, CONFIGURATION, SCHEMA), change),
        ping.build_indexes(IndexPlace(DS1, BACKEND, CONFIGURATION, SCHEMA), ["uid"]),
        ping.drop_indexes(IndexPlace(DS1, BACKEND, CONFIGURATION, SCHEMA), change),
    ):
        assert "not tested" in remedy.risk


def test_ping_takes_no_ldif() -> None:
    assert ping.add_indexes_ldif(IndexPlace(DS1, BACKEND, CONFIGURATION, SCHEMA), [Change("l", "equality")]) is None


def test_each_product_has_its_own_options() -> None:
    local = backend_of(kind="local-db")
    change = [Change("l", "equality")]
    assert (
        "create-local-db-index"
        in opendj.add_indexes(IndexPlace(DS1, local, configuration_of(local), SCHEMA), change).text
    )
    oracle = opendj.add_indexes(
        IndexPlace(DS1, local, configuration_of(local, "Oracle Unified Directory"), SCHEMA), change
    ).text
    assert "--element-name userRoot" in oracle
    remedies = ping.add_indexes(IndexPlace(DS1, local, configuration_of(local), SCHEMA), change).text
    assert "create-local-db-index" in remedies
    assert "rebuild-index --task --hostname ds1" in remedies


@BOTH
def test_dropping_takes_a_type_or_the_whole_and_comes_back(product_s: ModuleType) -> None:
    changes = [Change("sn", "substring"), Change("uid", "equality")]
    remedy = product_s.drop_indexes(IndexPlace(DS1, BACKEND, CONFIGURATION, SCHEMA), changes)
    assert [words[-1] for words in commands(remedy.text)] == ["index-type:substring", "uid"]
    again = commands(remedy.undo)
    assert [words[-1] for words in again[:-1]] == ["index-type:substring", "index-type:equality"]
    assert again[-1][0] == "rebuild-index"


@BOTH
@pytest.mark.parametrize("attribute", ["aci", "ACI", "objectClass", "entryUUID", "ds-sync-hist"])
def test_the_server_s_own_indexes_are_never_touched(product_s: ModuleType, attribute: str) -> None:
    for act in (product_s.add_indexes, product_s.drop_indexes):
        remedy = act(IndexPlace(DS1, BACKEND, CONFIGURATION, SCHEMA), [Change(attribute, "presence")])
        assert remedy.kind is RemedyKind.ADVICE
        assert attribute.lower() not in remedy.text.lower()


@BOTH
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_counted_and_never_in_a_command(product_s: ModuleType, name: str) -> None:
    changes = [Change(name, "equality"), Change("l", "equality")]
    alone = product_s.add_indexes(IndexPlace(DS1, BACKEND, CONFIGURATION, SCHEMA), changes[:1])
    assert (alone.kind, "dsconfig" in alone.text) == (RemedyKind.ADVICE, False)
    remedy = product_s.add_indexes(IndexPlace(DS1, BACKEND, CONFIGURATION, SCHEMA), changes)
    assert remedy.text == product_s.add_indexes(IndexPlace(DS1, BACKEND, CONFIGURATION, SCHEMA), changes[1:]).text
    assert "Left out: 1" in remedy.changes
    built = product_s.build_indexes(IndexPlace(DS1, BACKEND, CONFIGURATION, SCHEMA), [name, "l"])
    assert built.text == product_s.build_indexes(IndexPlace(DS1, BACKEND, CONFIGURATION, SCHEMA), ["l"]).text


@BOTH
@given(
    name=st.text(max_size=20) | st.just("userRoot"),
    suffix=st.text(max_size=30) | st.text(max_size=30).map("o={}".format),
    attribute=st.text(max_size=20),
    type_=st.text(max_size=9),
)
def test_a_shell_takes_every_command_apart_as_it_was_meant(
    product_s: ModuleType, name: str, suffix: str, attribute: str, type_: str
) -> None:
    backend = backend_of(name, suffix)
    changes = [Change(attribute, type_), Change(attribute, "equality"), Change("l", "equality")]
    remedy = product_s.add_indexes(IndexPlace(DS1, backend, configuration_of(backend), SCHEMA), changes)
    if not (BACKEND_NAME.fullmatch(name) and is_distinguished_name(suffix)):
        assert (remedy.kind, remedy.undo, remedy.verify) == (RemedyKind.ADVICE, "", "")
        assert "the evidence does not contain" in remedy.text
        return
    words = commands(remedy.text)
    assert {one[0] for one in words} == {"dsconfig", "rebuild-index"}
    assert len(words) == remedy.text.count("\n") + 1
    assert all(word.isprintable() for one in words for word in one)
    place = words[-1].index("--baseDN")
    assert words[-1][place + 1] == suffix
    assert words[0][words[0].index("--backend-name") + 1] == name


@given(attribute=st.text(max_size=20), suffix=st.text(max_size=30))
def test_ldif_has_no_line_that_was_not_meant(attribute: str, suffix: str) -> None:
    backend = backend_of(suffix=suffix)
    ldif = opendj.add_indexes_ldif(
        IndexPlace(DS1, backend, configuration_of(backend), SCHEMA), [Change(attribute, "equality")]
    )
    for line in (ldif or "").splitlines():
        assert line.partition(":")[0] in {
            "", "dn", "changetype", "objectClass", "add", "ds-cfg-attribute", "ds-cfg-index-type", "ds-task-id",
            "ds-task-class-name", "ds-task-rebuild-base-dn", "ds-task-rebuild-index",
        }  # fmt: skip
