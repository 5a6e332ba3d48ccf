"""Index audits of a domain controller: each row of the table in candidates.py, and an example beside it that is not."""

from __future__ import annotations

import pytest

from forest import ALL, SCHEMA, Events, facts_of_forest, schema_ldif
from incidents import diagnosed_facts, findings
from ldapdiag.finding import Confidence, Finding, NotJudged
from ldapdiag.servers.products import UNTESTED
from ldapdiag.sources.gathering import gather

ANCESTORS, CHILDREN = "Ancestors_index:90000:N;", "PDNT_index:56:N;"
MISSING, NOT_BUILT, UNINDEXABLE = "missing-index", "index-not-built", "unindexable-filter"
SHORT, LIMIT, UNKNOWN = "substring-too-short", "scan-limit-exceeded", "unknown-attribute"
NETSTAT = "  Proto  Local Address          Foreign Address        State           PID"
CHECKS = (MISSING, NOT_BUILT, UNINDEXABLE, SHORT, LIMIT, UNKNOWN)


def audited(folder, *events, schema=None):
    """Return check, attribute and types of all that is found about indexes."""
    diagnosis = diagnosed_facts(facts_of_forest(folder, *events, schema=schema or schema_ldif()))
    return {
        (check, one.observed["attribute"], *one.observed.get("types", ())): one
        for check in CHECKS
        for one in findings(diagnosis, check).values()
    }


def event(filter_, **how):
    return {"filter_": filter_, **how}


A, C, T = "fATTINDEX", "fPDNTATTINDEX", "fTUPLEINDEX"
ROWS = {
    "1 base": (event("(title=x)", scope="base"), set()),
    "1 but not of one entry": (event("(title=x)"), {(MISSING, "title", A)}),
    "2 few visited": (event("(title=x)", visited=900), set()),
    "2 most returned": (event("(title=x)", returned=ALL // 2), set()),
    "2 but more are": (event("(title=x)", visited=1100), {(MISSING, "title", A)}),
    "3 AND": (event("(&(objectClass=user)(title=x))", used=ANCESTORS, preventing="title"), {(MISSING, "title", A)}),
    "3 AND with an indexed part": (event("(&(cn=x)(title=y))", used="idx_cn:1:N;", visited=1), set()),
    "3 range": (event("(title>=x)", preventing="title"), {(MISSING, "title", A)}),
    "3 beginning": (event("(title=x*)", preventing="title"), {(MISSING, "title", A)}),
    "3 one level": (event("(title=x)", used=CHILDREN, scope="onelevel"), {(MISSING, "title", C)}),
    "4 OR": (event("(|(title=x)(company=y))"), {(MISSING, "title", A), (MISSING, "company", A)}),
    "4 OR with an indexed part": (event("(|(cn=x)(company=y))"), {(MISSING, "company", A)}),
    "4 OR with what no index answers": (event("(|(title=x)(!(company=y)))"), {(UNINDEXABLE, "company")}),
    "5 middle": (event("(displayName=*smith*)"), {(MISSING, "displayName", T)}),
    "5 end": (event("(displayName=*smith)"), {(MISSING, "displayName", T)}),
    "5 one level": (
        event("(displayName=*smith*)", used=CHILDREN, scope="onelevel"), {(MISSING, "displayName", T)},
    ),
    "5 one level with both indexes": (
        event("(info=*smith*)", used=CHILDREN, scope="onelevel"), {(LIMIT, "info")},
    ),
    "5 but the index is there": (event("(description=*smith*)", used="idx_T:3:N;", visited=3), set()),
    "6 short": (event("(description=*sm*)"), {(SHORT, "description")}),
    "6 short without an index": (event("(displayName=*sm*)"), {(SHORT, "displayName")}),
    "6 but three characters": (event("(displayName=*smi*)"), {(MISSING, "displayName", T)}),
    "7 negation": (event("(!(title=x))"), {(UNINDEXABLE, "title")}),
    "7 every entry": (event("(objectClass=*)"), {(UNINDEXABLE, "objectClass")}),
    "7 boolean": (event("(showInAdvancedViewOnly=TRUE)"), {(UNINDEXABLE, "showInAdvancedViewOnly")}),
    "7 but with a positive part": (event("(&(title=x)(!(company=y)))"), {(MISSING, "title", A)}),
    "8 bitwise": (event("(userAccountControl&2)"), {(UNINDEXABLE, "userAccountControl")}),
    "8 but an equality": (event("(userAccountControl=2)", used="idx_userAccountControl:1:N;", visited=9), set()),
    "9 in chain": (event("(member<==>CN=x)", preventing="member"), {(UNINDEXABLE, "member")}),
    "9 but direct members": (event("(member=CN=x)", used="link_index:1:N;", visited=1), set()),
    "9 but a walk for them": (event("(member=CN=x)", preventing="member"), {(LIMIT, "member")}),
    "10 undefined": (event("(UNDEFINED)"), {(UNKNOWN, "")}),
    "10 not in the export": (event("(titel=x)"), set()),
    "10 not in the export, beside another": (event("(&(titel=x)(title=x))"), {(MISSING, "title", A)}),
    "10 but beside another": (event("(|(UNDEFINED)(title=x))"), {(UNKNOWN, ""), (MISSING, "title", A)}),
    "11 secret": (event("(unicodePwd=x)"), {(UNINDEXABLE, "unicodePwd")}),
    "11 constructed": (event("(tokenGroups=x)"), {(UNINDEXABLE, "tokenGroups")}),
    "11 not replicated": (event("(lastLogon>=5)"), {(UNINDEXABLE, "lastLogon")}),
    "11 not replicated, but indexed": (event("(uSNChanged>=5)", used="idx_uSNChanged:1:N;", visited=9), set()),
    "11 defunct": (event("(oldAttribute=x)"), {(UNINDEXABLE, "oldAttribute")}),
    "11 but stored, replicated and in use": (event("(pager=x)"), {(MISSING, "pager", A)}),
    "12 not built": (event("(cn=x)", preventing="cn"), {(NOT_BUILT, "cn")}),
    "12 not built, in an AND": (event("(&(cn=x)(title=y))", preventing="cn title"), {(NOT_BUILT, "cn")}),
    "12 but expected to be large": (event("(cn=x)"), {(LIMIT, "cn")}),
    "12 but negated": (event("(&(objectClass=a)(!(cn=x)))", preventing="cn"), {(UNINDEXABLE, "cn")}),
    "13 another part": (
        event("(&(objectCategory=person)(company=x))", used="idx_objectCategory:9000:N;", visited=9000),
        {(MISSING, "company", A)},
    ),
    "13 no other part": (event("(&(cn=x)(l=y))", used="idx_l:9000:N;", visited=9000), {(LIMIT, "cn")}),
    "13 one level": (
        event("(l=x)", used=CHILDREN, scope="onelevel"), {(MISSING, "l", C)},
    ),
    "14 catalog": (event("(employeeNumber=x)", base=""), {(UNKNOWN, "employeeNumber")}),
    "14 but in it": (event("(initials=x)", base=""), {(MISSING, "initials", A)}),
    "14 but one domain": (event("(employeeNumber=x)"), {(MISSING, "employeeNumber", A)}),
    "15 few visited": (event("(cn=x)", used="idx_cn:12:N;", visited=12, milliseconds=4600), set()),
}  # fmt: skip


@pytest.mark.parametrize(("asked", "expected"), ROWS.values(), ids=ROWS)
def test_a_row_of_the_decision_table_and_what_is_beside_it(asked, expected, tmp_path):
    events = Events()
    events.ask(**asked)
    found = audited(tmp_path, events)
    assert set(found) == expected
    untested = {one.confidence for one in found.values() if one.observed.get("types")}
    assert Confidence.CERTAIN not in untested, "no rule was compared with Windows"
    stated = {UNTESTED in one.detail for key, one in found.items() if key[0] in {MISSING, SHORT, UNINDEXABLE}}
    assert stated <= {True}


def test_events_of_old_servers_which_have_neither_times_nor_indexes_are_no_all_clear(tmp_path):
    events = Events()
    events.ask("(title=x)", is_old=True)
    events.ask("(!(company=y))", is_old=True)
    found = audited(tmp_path, events)
    assert set(found) == {(MISSING, "title", A), (UNINDEXABLE, "company")}
    assert "visits 90,000 entries and returns 1; their time is not in the log" in found[MISSING, "title", A].title


def test_without_a_schema_nothing_is_called_missing_and_the_filters_that_no_index_answers_are_found(tmp_path):
    events = Events()
    events.ask("(title=x)", preventing="title")
    events.ask("(!(company=y))")
    events.ask("(userAccountControl&2)")
    diagnosis = diagnosed_facts(facts_of_forest(tmp_path, events))
    assert not findings(diagnosis, MISSING)
    (possible,) = [one.verdict for one in diagnosis.judged if one.check == MISSING]
    assert isinstance(possible, NotJudged)
    assert "perhaps for lack of title fATTINDEX" in possible.reason
    unhelped = {one.observed["attribute"] for one in findings(diagnosis, UNINDEXABLE).values()}
    assert unhelped == {"company", "userAccountControl"}
    assert set(audited(tmp_path, events)) == {  # with it, row 16 does not apply
        (MISSING, "title", A), *((UNINDEXABLE, name) for name in unhelped),
    }  # fmt: skip


@pytest.mark.parametrize(("name", "flags"), [("cn", 1), ("title", 0), ("title", 1)])
def test_an_index_that_later_searches_of_a_filter_use_is_neither_missing_nor_unbuilt(name, flags, tmp_path):
    events = Events()
    events.ask(f"({name}=x)", preventing=name)
    events.ask(f"({name}=x)", visited=1, used=f"idx_{name}:1:N;")
    diagnosis = diagnosed_facts(facts_of_forest(tmp_path, events, schema=schema_ldif(flags={name: flags})))
    assert not any(findings(diagnosis, check) for check in (MISSING, NOT_BUILT, LIMIT, UNINDEXABLE))
    (verdict,) = [one.verdict for one in diagnosis.judged if one.check == NOT_BUILT]
    assert isinstance(verdict, NotJudged)
    assert f"20 use idx_{name}" in verdict.reason


@pytest.mark.parametrize("is_within_an_entry", [False, True])
def test_an_attribute_behind_the_end_of_a_cut_schema_is_not_judged(is_within_an_entry, tmp_path):
    events = Events()
    events.ask("(title=x)", preventing="title")
    attributes = {name: SCHEMA[name] for name in ("objectClass", "cn", "searchFlags")}
    cut = schema_ldif(attributes) + "dn: CN=Tit" * is_within_an_entry
    diagnosis = diagnosed_facts(facts_of_forest(tmp_path, events, schema=cut))
    for check in (MISSING, NOT_BUILT, UNINDEXABLE, LIMIT, UNKNOWN):
        verdicts = [one.verdict for one in diagnosis.judged if one.check == check]
        assert verdicts
        assert all(isinstance(one, NotJudged) for one in verdicts), check


def test_the_schema_of_the_forest_is_that_of_each_domain_controller_and_its_events_decide_for_each(tmp_path):
    one, other = Events("DC1"), Events("DC2")
    one.ask("(cn=x)", preventing="cn")
    other.ask("(cn=x)", visited=1, used="idx_cn:1:N;")
    other.ask("(title=x)", preventing="title")
    found = audited(tmp_path, one, other)
    assert {(key, one.server) for key, one in found.items()} == {
        ((NOT_BUILT, "cn"), "DC1"),
        ((MISSING, "title", A), "DC2"),
    }


@pytest.mark.parametrize(
    ("filter_", "words"),
    [
        ("(member<==>CN=x)", "tokenGroups"),
        ("(userAccountControl&2)", "An index of userAccountControl would not be used"),
        ("(!(title=x))", "(sAMAccountType=805306368)(!(title=?))"),
        ("(objectClass=*)", "(sAMAccountType=805306368)) for"),
    ],
)
def test_what_no_index_answers_has_the_filter_that_one_does(filter_, words, tmp_path):
    events = Events()
    events.ask(filter_)
    (finding,) = audited(tmp_path, events).values()
    assert isinstance(finding, Finding)
    (remedy,) = finding.remedies
    assert words in remedy.text
    assert "uid=joe" not in remedy.text


@pytest.mark.parametrize(("second_port", "confidence"), [(3269, Confidence.POSSIBLE), (389, None)])
def test_clients_whose_sockets_are_all_at_the_global_catalog_do_not_find_what_it_lacks(
    second_port, confidence, tmp_path
):
    events = Events()
    events.ask("(employeeNumber=x)", preventing="employeeNumber")
    rows = [(3268, 1), (3268, 2), (3268, 3), (second_port, 3)]
    sockets = [f"  TCP    10.0.0.1:{own}   10.1.1.{client}:{50000 + own}   ESTABLISHED   700" for own, client in rows]
    (tmp_path / "netstat-ano.txt").write_text("\n".join(["Active Connections", "", NETSTAT, *sockets, ""]))
    found = audited(tmp_path, events)
    one = found.get((UNKNOWN, "employeeNumber"))
    assert (one and one.confidence) == confidence
    assert (MISSING, "employeeNumber", A) in found, "the index is another question"


@pytest.mark.parametrize("schema", [None, schema_ldif()])
def test_an_index_that_the_server_used_is_not_proposed_whatever_the_schema(schema, tmp_path):
    events = Events()
    events.ask("(title=x)", used="idx_title:90000:N;")
    diagnosis = diagnosed_facts(facts_of_forest(tmp_path, events, schema=schema))
    assert not any(findings(diagnosis, check) for check in CHECKS)
    reasons = [one.verdict.reason for one in diagnosis.judged if one.check == MISSING]
    assert any("used an index of title" in reason for reason in reasons) is (schema is not None)


@pytest.mark.parametrize("schema", [None, schema_ldif(SCHEMA | {"canonicalName": {}})], ids=["none", "no systemFlags"])
def test_constructed_attributes_are_known_without_a_schema_that_marks_them(schema, tmp_path):
    events = Events()
    events.ask("(canonicalName=x)", preventing="canonicalName", returned=0)
    events.ask("(aNR=smith)", visited=1, used="idx_cn:1:N;")
    diagnosis = diagnosed_facts(facts_of_forest(tmp_path, events, schema=schema))
    found = [one for check in CHECKS for one in findings(diagnosis, check).values()]
    assert [one.observed["attribute"] for one in found] == ["canonicalName"]
    assert "constructed" in found[0].title


def test_schemas_of_two_controllers_that_differ_are_a_delay_of_replication_and_one_schema_is_no_proof(tmp_path):
    for server, flags in (("dc1", 1), ("dc2", 0)):
        (tmp_path / server).mkdir()
        events = Events(server.upper())
        events.ask("(cn=x)", visited=1, used="idx_cn:1:N;")
        facts_of_forest(tmp_path / server, events, schema=schema_ldif(flags={"title": flags}))
    (one,) = findings(diagnosed_facts(gather([str(tmp_path)]).facts), "index-drift").values()
    assert one.observed == {"attribute": "title", "types": [A], "servers": {"dc1": [A], "dc2": []}}
    assert "replication is late or fails" in one.detail
    (tmp_path / "dc2" / "schema.ldf").unlink()
    diagnosis = diagnosed_facts(gather([str(tmp_path)]).facts)
    (verdict,) = [one.verdict for one in diagnosis.judged if one.check == "index-drift"]
    assert isinstance(verdict, NotJudged), "the same text at both servers is equal to itself"
