"""What the remedies on the indexes of 389-ds and DSEE promise; tests/live pastes those of 389-ds on a real one."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts import address_of, origin
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.indexes import Backend, IndexConfiguration, IndexDefinition, ScanLimit
from ldapdiag.evidence.schema.descriptions import attribute_type, schema_of
from ldapdiag.evidence.schema.standard import standard
from ldapdiag.remedy import Needs, RemedyKind
from ldapdiag.servers.ds389 import index_remedies as ds389
from ldapdiag.servers.ds389.index_build import BUILDING
from ldapdiag.servers.dsee import index_remedies as dsee
from ldapdiag.servers.indexes.candidates import Change, IndexPlace
from reading import facts_of

SCHEMA = standard()
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
DS1 = address_of()


def configuration(version=(2, 3, 1), family=Family.DS389, **settings):
    identity = ServerIdentity(family=family, version=version)
    templates = (CN, IndexDefinition(attribute="sn", types=frozenset({"eq"})))
    return IndexConfiguration(origin=origin(), identity=identity, backends=(BACKEND,), templates=templates, **settings)


PRODUCTS = [
    (ds389, configuration()),
    (ds389, configuration((1, 3, 11))),
    (dsee, configuration((11, 1, 1), Family.DSEE)),
    (dsee, configuration((5, 2, 0), Family.DSEE)),
]
EACH = pytest.mark.parametrize(("product", "indexes"), PRODUCTS, ids=["389 2.3", "389 1.3", "DSEE 11", "DSEE 5.2"])


def every_remedy(product, indexes, changes, server=DS1, backend=BACKEND):
    yield product.add_indexes(IndexPlace(server, backend, indexes, SCHEMA), changes)
    yield product.build_indexes(IndexPlace(server, backend, indexes, SCHEMA), [one.attribute for one in changes])
    yield product.drop_indexes(IndexPlace(server, backend, indexes, SCHEMA), changes)


def shell_accepts(text):
    return subprocess.run([shutil.which("sh") or "/bin/sh", "-n"], input=text, text=True, check=False).returncode == 0


@EACH
@pytest.mark.parametrize("changes", [NEW, FURTHER, (*NEW, *FURTHER), (Change("cn", "sub"),), ()])
class TestEveryRemedy:
    def test_is_complete_and_shell(self, product, indexes, changes):
        for remedy in every_remedy(product, indexes, changes):
            assert all((remedy.title, remedy.text, remedy.changes, remedy.risk))
            assert remedy.verify or remedy.kind is RemedyKind.ADVICE
            undo = "" if remedy.undo.startswith("None needed") else remedy.undo
            texts = (undo, remedy.verify, *((remedy.text,) if remedy.kind is RemedyKind.SHELL else ()))
            assert all(shell_accepts(text) for text in texts)
            assert all(text.count("<<") == text.count("<<'") for text in texts)

    def test_names_the_server(self, product, indexes, changes):
        for remedy in every_remedy(product, indexes, changes):
            assert remedy.target == "ds1"
            assert "ds1" in remedy.text or remedy.kind is RemedyKind.ADVICE


@EACH
class TestHostileNames:
    @pytest.mark.parametrize("name", HOSTILE)
    def test_of_attributes_are_left_out(self, product, indexes, name):
        changes = (Change(name, "eq"), Change("displayName", "eq"))
        alone = product.add_indexes(IndexPlace(DS1, BACKEND, indexes, SCHEMA), changes[1:])
        remedy = product.add_indexes(IndexPlace(DS1, BACKEND, indexes, SCHEMA), changes)
        assert (remedy.text, remedy.undo, remedy.verify) == (alone.text, alone.undo, alone.verify)
        assert remedy.brief == alone.brief
        assert "Left out: 1" in remedy.changes
        assert product.add_indexes(IndexPlace(DS1, BACKEND, indexes, SCHEMA), changes[:1]).kind is RemedyKind.ADVICE
        assert product.build_indexes(IndexPlace(DS1, BACKEND, indexes, SCHEMA), [name]) == product.build_indexes(
            IndexPlace(DS1, BACKEND, indexes, SCHEMA), []
        )

    @given(name=st.text(max_size=20))
    def test_of_types_are_left_out(self, product, indexes, name):
        if name not in {"eq", "pres", "sub", "approx"}:
            assert (
                product.add_indexes(IndexPlace(DS1, BACKEND, indexes, SCHEMA), (Change("displayName", name),)).kind
                is RemedyKind.ADVICE
            )

    @pytest.mark.parametrize("name", [one for one in HOSTILE if one != "a_b"])
    def test_of_backends_entries_and_servers_never_get_into_a_command(self, product, indexes, name):
        backend = replace(BACKEND, name=name, entry=f"cn={name},{ENTRY}$(reboot)", suffixes=(name,))
        for remedy in every_remedy(product, indexes, (*NEW, *FURTHER), server=address_of(name), backend=backend):
            assert not any(
                word in text
                for word in ("reboot", "b: c")
                for text in (remedy.text, remedy.undo, remedy.verify, remedy.brief)
            )
            assert shell_accepts(remedy.brief)
            assert remedy.kind is RemedyKind.ADVICE or shell_accepts(remedy.text)

    def test_of_rules_are_left_out(self, product, indexes):
        text = product.add_indexes(
            IndexPlace(DS1, BACKEND, indexes, SCHEMA), (Change("displayName", "eq", "$(reboot)"),)
        ).text
        assert "reboot" not in text


@EACH
class TestWhatIsNeverTouched:
    def test_are_the_servers_own_indexes_and_computed_values(self, product, indexes):
        indexes = replace(indexes, virtual_attributes={"nsrole": "roles"})
        changes = (
            Change("objectClass", "eq"),
            Change("objectClass", "sub"),
            Change("parentid", "eq"),
            Change("nsRole", "eq"),
        )
        for change in (product.add_indexes, product.drop_indexes):
            assert change(IndexPlace(DS1, BACKEND, indexes, SCHEMA), changes).kind is RemedyKind.ADVICE
        assert product.add_indexes_ldif(IndexPlace(DS1, BACKEND, indexes, SCHEMA), changes) is None

    def test_is_what_goes_by_another_name_of_theirs(self, product, indexes):
        names = ("2.5.4.0", "OBJECTCLASS", "entryUUID", "nsTombstoneCSN")
        definitions = tuple(IndexDefinition(attribute=name, types=frozenset({"eq"})) for name in names)
        backend = replace(BACKEND, definitions=definitions)
        for name in names:
            assert (
                product.drop_indexes(IndexPlace(DS1, backend, indexes, SCHEMA), (Change(name, "eq"),)).kind
                is RemedyKind.ADVICE
            )
        assert (
            product.add_indexes(IndexPlace(DS1, BACKEND, indexes, SCHEMA), (Change("2.5.4.0", "sub"),)).kind
            is RemedyKind.ADVICE
        )

    @given(
        changes=st.lists(
            st.builds(
                Change,
                st.sampled_from(["uid", "cn", "mail", "shadowMin", "0.9.2342.19200300.100.1.1"]),
                st.sampled_from(["eq", "sub", "pres"]),
                st.sampled_from(["", "integerOrderingMatch", "caseExactMatch"]),
            ),
            max_size=6,
        )
    )
    def test_are_rules_of_an_existing_index_of_dsee(self, product, indexes, changes):
        """Neither added, nor left out where a change would need one."""
        if product is not dsee:
            return
        for ruled in (product.add_indexes(IndexPlace(DS1, BACKEND, indexes, SCHEMA), changes).text,
                      product.add_indexes_ldif(IndexPlace(DS1, BACKEND, indexes, SCHEMA), changes) or ""):  # fmt: skip
            parts = [one for one in ruled.replace("LDIF\n", "\n\n").split("\n\n") if "nsMatchingRule" in one]
            assert all("shadowMin" in one and "changetype: modify" not in one for one in parts)
        known = {"uid": UID, "0.9.2342.19200300.100.1.1": UID, "cn": CN, "mail": NONE}
        left = sum(one.rule not in {"", *known[one.attribute].rules} for one in changes if one.attribute in known)
        said = product.add_indexes(IndexPlace(DS1, BACKEND, indexes, SCHEMA), changes).changes
        assert (f"Left out: {left} " in said) == (left > 0)


class TestMatchingRules:
    @pytest.mark.parametrize("version", [(2, 3, 1), (1, 3, 11)])
    @pytest.mark.parametrize("types", [("eq",), ("eq", "sub")])
    def test_of_an_existing_index_are_added_with_the_build_in_one_command(self, version, types):
        changes = [Change("uid", type_, "integerOrderingMatch") for type_ in types]
        remedy = ds389.add_indexes(IndexPlace(DS1, BACKEND, configuration(version), SCHEMA), changes)
        assert remedy.text.count("| apply") == 1
        assert "add: nsMatchingRule\nnsMatchingRule: integerOrderingMatch\nLDIF\ntask userRoot uid; }" in remedy.text
        assert ("add: nsIndexType\nnsIndexType: sub\n-\nadd: nsMatchingRule" in remedy.text) is ("sub" in types)
        assert "uid (sub, integerOrderingMatch)" in remedy.title or "sub" not in types
        assert "delete: nsMatchingRule\nnsMatchingRule: integerOrderingMatch\n" in remedy.undo
        assert "\ntask userRoot uid; } | apply\nstate=" in remedy.undo

    def test_that_an_index_has_are_not_added_again(self):
        remedy = ds389.add_indexes(
            IndexPlace(DS1, BACKEND, configuration(), SCHEMA), [Change("uid", "eq", "caseExactMatch")]
        )
        assert "nsMatchingRule: " not in remedy.text

    def test_of_a_new_index_come_with_its_type(self):
        changes = [Change("title", "eq", "caseExactMatch")]
        remedy = ds389.add_indexes(IndexPlace(DS1, BACKEND, configuration(), SCHEMA), changes)
        assert "nsIndexType: eq\nnsMatchingRule: caseExactMatch\n" in remedy.text

    @pytest.mark.parametrize("rule", ["x;reboot", "$(id)", "a b", "a\nb: c"])
    def test_are_left_out_if_they_are_no_names(self, rule):
        remedy = ds389.add_indexes(IndexPlace(DS1, BACKEND, configuration(), SCHEMA), [Change("title", "eq", rule)])
        assert remedy.kind is RemedyKind.ADVICE


@EACH
class TestWhatIsNotTold:
    @pytest.mark.parametrize("name", ["", "a b", "$(id)"])
    def test_makes_a_sentence_instead_of_a_command(self, product, indexes, name):
        backend = replace(BACKEND, name=name, suffixes=(), entry="")
        assert product.add_indexes_ldif(IndexPlace(DS1, backend, indexes, SCHEMA), NEW) is None
        for remedy in (
            product.add_indexes(IndexPlace(DS1, backend, indexes, SCHEMA), (*NEW, *FURTHER)),
            product.build_indexes(IndexPlace(DS1, backend, indexes, SCHEMA), ["uid"]),
            product.drop_indexes(IndexPlace(DS1, backend, indexes, SCHEMA), (Change("cn", "eq"),)),
        ):
            assert remedy.kind is RemedyKind.ADVICE
            assert "\n" not in remedy.text
            assert "the evidence does not contain" in remedy.text
            assert (remedy.undo, remedy.verify) == ("", "")

    @pytest.mark.parametrize("server", ["a b", "$(id)"])
    def test_leaves_a_variable_for_the_address(self, product, indexes, server):
        address = address_of(server)
        for remedy in (
            product.add_indexes(IndexPlace(address, BACKEND, indexes, SCHEMA), (*NEW, *FURTHER)),
            product.build_indexes(IndexPlace(address, BACKEND, indexes, SCHEMA), ["uid"]),
            product.drop_indexes(IndexPlace(address, BACKEND, indexes, SCHEMA), (Change("uid", "eq"),)),
        ):
            for commands in (remedy.text, remedy.undo, remedy.verify):
                assert "a b" not in commands
                assert "$(id)" not in commands
            assert remedy.kind is RemedyKind.ADVICE or "${LDAP_" in remedy.text


class TestOwnSchema:
    """Attribute types that only the server's schema has."""

    BADGE = attribute_type("( 1.2.3.4 NAME ( 'badge' 'badgeNumber' ) SUP name )", {})
    SCHEMA = schema_of([BADGE], origin(), whole=True)

    @pytest.mark.parametrize("product", [ds389, dsee])
    def test_resolves_the_names_of_an_attribute(self, product):
        badge = IndexDefinition(attribute="badge", types=frozenset({"eq"}))
        backend = replace(BACKEND, definitions=(badge,))
        indexes = configuration((11, 1, 1))
        for name in ("badgeNumber", "1.2.3.4", "BADGE"):
            change = (Change(name, "sub"),)
            named, plain = (
                product.add_indexes(IndexPlace(DS1, backend, indexes, self.SCHEMA), one)
                for one in (change, (Change("badge", "sub"),))
            )
            assert named == plain
            assert (
                product.drop_indexes(IndexPlace(DS1, backend, indexes, self.SCHEMA), (Change(name, "eq"),)).kind
                is RemedyKind.SHELL
            )
            assert product.build_indexes(
                IndexPlace(DS1, backend, indexes, self.SCHEMA), [name]
            ) == product.build_indexes(IndexPlace(DS1, backend, indexes, self.SCHEMA), ["badge"])


class TestOn389:
    def test_definition_and_build_are_one_ldapmodify_and_the_check_follows(self):
        remedy = ds389.add_indexes(IndexPlace(DS1, BACKEND, configuration(), SCHEMA), (*FURTHER, *NEW))
        text = remedy.text
        steps = text[: text.index("\nset -eu\n")]
        assert steps.count("apply") == 1
        order = ["dn: cn=displayName", "dn: cn=uid", "task userRoot uid displayName employeeNumber", "wait_for_build"]
        order += [f"check_answers {SUFFIX} uid", f"check_answers {SUFFIX} displayName", "answers_right"]
        assert sorted(order, key=steps.index) == order
        assert remedy.needs is Needs.REINDEX
        assert remedy.undo.startswith("ldapmodify -c ")
        assert [one for one in remedy.undo.splitlines() if one.startswith("dn: ")] == [
            f"dn: cn={one},cn=index,{ENTRY}" for one in ("displayName", "employeeNumber", "uid")
        ]

    def test_the_password_is_asked_for_once_and_in_no_list_of_processes(self):
        for remedy in every_remedy(ds389, configuration(), (Change("uid", "eq"), Change("cn", "sub"))):
            assert remedy.text.count("\nask_password\n") == 1
            assert not any(one in remedy.text for one in (" -W", " -w "))

    def test_a_rule_of_an_existing_index_is_added_with_its_build(self):
        """Without it even equality would find nothing after a restart; the same holds for taking the rule back."""
        ruled = replace(BACKEND, definitions=(IndexDefinition(attribute="uidNumber", types=frozenset({"eq"})),))
        changes = (Change("uidNumber", "eq", "integerOrderingMatch"),)
        remedy = ds389.add_indexes(IndexPlace(DS1, ruled, configuration(), SCHEMA), changes)
        assert "add: nsMatchingRule\nnsMatchingRule: integerOrderingMatch\nLDIF\ntask userRoot uidNumber" in remedy.text
        assert "'(uidNumber=@)' '(uidNumber>=@)' '(uidNumber<=@)'" in remedy.text
        assert (
            "delete: nsMatchingRule\nnsMatchingRule: integerOrderingMatch\nLDIF\ntask userRoot uidNumber" in remedy.undo
        )

    def test_an_entry_with_type_none_gets_types_instead(self):
        text = ds389.add_indexes_ldif(IndexPlace(DS1, BACKEND, configuration(), SCHEMA), (Change("mail", "eq"),))
        assert "replace: nsIndexType\nnsIndexType: eq\n" in text
        undo = ds389.add_indexes(IndexPlace(DS1, BACKEND, configuration(), SCHEMA), (Change("mail", "eq"),)).undo
        assert "replace: nsIndexType\nnsIndexType: none\n" in undo

    def test_an_index_that_is_there_is_only_built(self):
        indexes = ds389.add_indexes(IndexPlace(DS1, BACKEND, configuration(), SCHEMA), (Change("uid", "eq"),))
        assert "{\ntask userRoot uid; } | apply\n" in indexes.text
        assert "LDIF" not in indexes.text
        assert indexes.undo.startswith("None needed")

    def test_a_default_index_is_not_deleted_for_it_would_come_back_empty(self):
        whole = tuple(Change("cn", one) for one in ("eq", "pres", "sub"))
        indexes = ds389.drop_indexes(IndexPlace(DS1, BACKEND, configuration(), SCHEMA), whole)
        assert "nsIndexType: none" in indexes.text
        assert "changetype: delete" not in indexes.text
        assert "Do not delete it" in indexes.changes
        others = ds389.drop_indexes(IndexPlace(DS1, BACKEND, configuration(), SCHEMA), (Change("uid", "eq"),))
        assert "dn: cn=uid,cn=index," in others.text
        assert "changetype: delete" in others.text
        again = replace(BACKEND, definitions=())
        undo = ds389.add_indexes(IndexPlace(DS1, again, configuration(), SCHEMA), (Change("sn", "eq"),)).undo
        assert "replace: nsIndexType\nnsIndexType: none" in undo

    @pytest.mark.parametrize(
        ("kind", "version", "mentioned"),
        [("bdb", (2, 3, 1), ""), ("mdb", (2, 3, 1), "this LMDB"), ("", (2, 3, 1), "an LMDB"), ("", (1, 4, 3), "")],
    )
    def test_the_risk_names_what_a_stop_costs_on_lmdb(self, kind, version, mentioned):
        backend = replace(BACKEND, kind=kind)
        risk = ds389.build_indexes(IndexPlace(DS1, backend, configuration(version), SCHEMA), ["uid"]).risk
        assert ("389ds#7539" in risk) == bool(mentioned)
        worst, *_ = risk.split(". ")
        assert mentioned in worst
        assert ("lose every entry" in worst and "back up first" in worst) if mentioned else "find nothing" in worst
        assert "let nothing restart it" in risk

    def test_the_few_lines_add_build_and_wait_with_one_ldapmodify(self):
        text = ds389.add_indexes(IndexPlace(DS1, BACKEND, configuration(), SCHEMA), (*NEW, *FURTHER)).brief
        assert text.count("ldapmodify -c ") == 1
        change, wait = text.split("\necho 'waiting for")
        assert "\nLDIF\ncase $code in\n" in change
        assert change.index("nsIndexType") < change.index("nsIndexAttribute")
        assert '-b "cn=$task,cn=index,cn=tasks,cn=config" -s base' in wait
        assert "seq 720" in wait

    def test_the_task_of_each_build_by_commands_is_kept_for_a_day(self):
        remedy = ds389.add_indexes(IndexPlace(DS1, BACKEND, configuration(), SCHEMA), NEW)
        written = subprocess.run(
            ["sh", "-c", f'{BUILDING}\nsay() {{ echo "$*"; }}\ntask=t; task userRoot cn'],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        assert "\ntask userRoot displayName" in remedy.text
        assert "\nttl: 86400\n" in written
        assert "\nttl: 86400\nLDIF\n" in remedy.brief

    def test_of_an_attribute_that_may_be_a_number_there_are_no_few_lines(self):
        unknown = (Change("acmeNumber", "eq"),)
        assert ds389.add_indexes(IndexPlace(DS1, BACKEND, configuration(), SCHEMA), unknown).brief == ""

    def test_one_attribute_of_two_databases_is_built_by_two_tasks(self):
        names = [
            ds389.add_indexes_ldif(
                IndexPlace(DS1, replace(BACKEND, name=name), configuration(), SCHEMA), NEW
            ).rpartition("dn: ")[2]
            for name in ("userRoot", "other")
        ]
        assert len({one.splitlines()[0] for one in names}) == 2

    @pytest.mark.parametrize("changes", [NEW, FURTHER, (*NEW, *FURTHER)])
    def test_the_ldif_is_read_back_as_what_was_wanted(self, changes):
        text = ds389.add_indexes_ldif(IndexPlace(DS1, BACKEND, configuration(), SCHEMA), changes)
        added = [one for one in text.split("\n\n") if "changetype: add" in one and "nsIndexType" in one]
        records = "\n\n".join(one.replace("changetype: add\n", "") for one in added)
        read = facts_of(records, path="ds/x.ldif") if added else []
        definitions = {one.attribute: one.types for fact in read for each in fact.backends for one in each.definitions}
        wanted = {one.attribute for one in changes if one.attribute != "uid"}
        assert definitions == {name: frozenset(one.type for one in changes if one.attribute == name) for name in wanted}

    def test_what_is_dropped_comes_back_with_all_that_was_set(self):
        undo = ds389.drop_indexes(IndexPlace(DS1, BACKEND, configuration(), SCHEMA), (Change("uid", "eq"),)).undo
        record = undo.partition("\n")[2].partition("\n\n")[0].replace("changetype: add\n", "")
        (fact,) = facts_of(record + "\n", path="ds/x.ldif")
        assert fact.backends[0].definitions == (UID,)


SEARCH_TOOL = """#!/bin/sh
case "$*" in
*nsRoleFilter*) printf '%s\\n' 'dn: cn=tin,dc=example,dc=com' '{found}' ;;
esac
exit 0
"""


@EACH
@pytest.mark.parametrize(
    ("found", "is_kept"),
    [
        ("", False),
        ("nsRoleFilter: (title=uid)", False),
        ("nsRoleFilter: (&(cn=x)(UID=tin))", True),
        ("nsRoleFilter: (userid>=tin)", True),
        ("nsRoleFilter:: KMOkPXgp", True),
        ("nsRoleFilter: uid=tin", True),
        ("nsViewFilter: ( uid =tin)", True),
        ("nsRoleFilter: title=uid", False),
        ("nsRoleFilter: xuid=tin", False),
        ("nsViewFilter: (uid;lang-de=tin)", True),
    ],
)
def test_an_index_that_a_definition_in_the_database_names_is_not_dropped(tmp_path, product, indexes, found, is_kept):
    remedy = product.drop_indexes(IndexPlace(DS1, BACKEND, indexes, SCHEMA), (Change("uid", "eq"),))
    assert remedy.kind is RemedyKind.SHELL
    record = f'#!/bin/sh\necho "$0" >> {tmp_path}/changed\n'
    for tool, text in (
        ("ldapsearch", SEARCH_TOOL.format(found=found)), ("ldapmodify", record), ("dsconf", record)
    ):  # fmt: skip
        (tmp_path / tool).write_text(text)
        (tmp_path / tool).chmod(0o755)
    (tmp_path / "password").write_text("secret")
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "LDAP_PASSWORD_FILE": str(tmp_path / "password")}
    done = subprocess.run(["sh", "-c", remedy.text], env=environment, capture_output=True, text=True, check=False)
    assert (tmp_path / "changed").exists() is not is_kept, done.stderr
    assert ("names u" in done.stderr, "State: nothing is changed" in done.stderr) == (is_kept, is_kept)
    assert (done.returncode == 0) is not is_kept, done.stderr


class TestOnDsee:
    def test_indexes_are_created_set_and_built(self):
        indexes = dsee.add_indexes(
            IndexPlace(DS1, BACKEND, configuration((11, 1, 1), Family.DSEE), SCHEMA), (*NEW[:1], *FURTHER)
        )
        lines = indexes.text.splitlines()
        begin = next(place for place, line in enumerate(lines) if line.startswith("dsconf "))
        assert lines[begin : begin + 4] == [
            "dsconf create-index -h ds1 -p 389 dc=example,dc=com displayName",
            (
                "dsconf set-index-prop -h ds1 -p 389 dc=example,dc=com displayName pres-enabled:off eq-enabled:off "
                "sub-enabled:on approx-enabled:off"
            ),
            "dsconf set-index-prop -h ds1 -p 389 dc=example,dc=com uid sub-enabled:on",
            "dsconf reindex -h ds1 -p 389 -t displayName -t uid dc=example,dc=com",
        ]
        assert 'export LDAP_ADMIN_USER="cn=Directory Manager" LDAP_ADMIN_PWF="$password_copy"' in lines[:begin]
        answers = [line for line in lines if line.startswith(("check_answers ", "answers_right"))]
        assert answers[:-1] == [
            "check_answers dc=example,dc=com displayName '(displayName=@*)' '(displayName=*@*)' '(displayName=*@)'",
            "check_answers dc=example,dc=com uid '(uid=@)' '(uid=@*)' '(uid=*@*)' '(uid=*@)'",
            "answers_right",
        ]

    def test_before_dsconf_entries_are_written(self):
        indexes = configuration((5, 2, 0), Family.DSEE)
        remedy = dsee.add_indexes(IndexPlace(DS1, BACKEND, indexes, SCHEMA), NEW)
        assert remedy.kind is RemedyKind.ADVICE, "the directory of the build script is not known"
        assert "db2index.pl" in remedy.text
        text = dsee.add_indexes_ldif(IndexPlace(DS1, BACKEND, indexes, SCHEMA), NEW)
        assert text.startswith("# This does not build the indexes. Then run: db2index.pl")
        assert text.count("changetype: add") == 2

    def test_what_was_not_tested_is_marked_so(self):
        for remedy in every_remedy(dsee, configuration((11, 1, 1), Family.DSEE), (*NEW, *FURTHER)):
            assert "not tested" in remedy.risk
