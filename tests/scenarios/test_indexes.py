"""The audit of three real servers that had the same load and gaps in their indexes, against what was really lacking.

Which attributes had which index is told by whoever set the servers up (the corpus' README), and what was sent, and how
long the sender waited, by the programs that sent it (groundtruth/ground_truth.json, ops.jsonl).
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from command import ldapdiag
from incidents import diagnosed, findings, judged
from ldapdiag.analysis.indexes.coverage import IndexCoverage
from ldapdiag.analysis.indexes.plan import IndexPlan
from ldapdiag.evidence.filters import shape
from ldapdiag.finding import Confidence, NotJudged
from ldapdiag.report.indexes.as_data import plans

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ldapdiag.analysis.indexes.search_coverage import SearchCoverage
    from ldapdiag.diagnosis import Diagnosis

DS389, OPENLDAP, OPENDJ = "1-389ds-unindexed", "2-openldap-unindexed", "3-opendj-unindexed"
CONFIGURED = {
    DS389: ("access", "config/dse.ldif"),
    OPENLDAP: ("slapd.stderr.log", "config/slapd.conf"),
    OPENDJ: ("access", "config/index-entries.ldif", "config/backendstat-show-index-status.txt"),
}

PRESENCE, EQUALITY, SUBSTRING, RANGE, APPROXIMATE = "presence", "equality", "substring", "range", "approximate"
INDEXED = {
    **dict.fromkeys(("cn", "sn", "givenname", "mail", "telephonenumber"), frozenset({PRESENCE, EQUALITY, SUBSTRING})),
    **dict.fromkeys(("uid", "member", "objectclass"), frozenset({PRESENCE, EQUALITY})),
}
"""What had an index on all three servers (the corpus' README, "Index design"); every entry has an objectClass."""
TYPES = {
    DS389: {EQUALITY: "eq", SUBSTRING: "sub", RANGE: "eq", APPROXIMATE: "approx", PRESENCE: "pres"},
    OPENLDAP: {EQUALITY: "eq", SUBSTRING: "sub", RANGE: "eq", APPROXIMATE: "approx", PRESENCE: "pres"},
    OPENDJ: {
        EQUALITY: "equality",
        SUBSTRING: "substring",
        RANGE: "ordering",
        APPROXIMATE: "approximate",
        PRESENCE: "presence",
    },
}
"""What the servers call the index that answers such an assertion."""
SHORTEST = {DS389: 3, OPENLDAP: 4, OPENDJ: 1}
"""Characters of a substring's middle that an index begins with (389-ds: 3 or 4 of nsSubStr*; slapd: substr_any_len)."""
NOT_INSTANT_MS, NOT_NOTHING = 5, 0.005
"""What counts as costly: milliseconds that the sender waited on average, and the share of all its waiting."""
REFUSED = ("11", "50")
"""adminLimitExceeded; insufficientAccessRights, with which OpenDJ refuses a search without an index."""
UNKNOWN_TO_ALL = {"notanattr"}
"""In no schema: C14's design."""

ASSERTION = re.compile(r"\(([\w-]+)(?:;[\w-]+)*(:[^=()]*)?([<>~]?)=([^()]*)\)")
NEGATED = re.compile(r"\(!\([^()]*\)\)")


@cache
def audited(corpus: Path, case: str) -> Diagnosis:
    return diagnosed(*(corpus / case / name for name in CONFIGURED[case]))


@cache
def bare(corpus: Path, case: str) -> Diagnosis:
    """Return what the log alone tells."""
    return diagnosed(corpus / case / CONFIGURED[case][0])


@cache
def sent(corpus: Path, case: str) -> dict[str, dict[str, Any]]:
    """Return the searches that were sent, by the sender's own name for them."""
    truth = json.loads((corpus / case / "groundtruth/ground_truth.json").read_text())
    return {name: told for name, told in truth["searches"].items() if told["op"] == "SRCH"}


def planned(diagnosis: Diagnosis) -> dict[str, set[str]]:
    """Return the types of the plan, by attribute."""
    (plan,) = diagnosis.facts.every(IndexPlan)
    return {row.attribute.lower(): set(row.types) for row in plan.indexes}


def told_shapes(diagnosis: Diagnosis, check: str) -> set[str]:
    """Return the filters, without values, that a check finds."""
    found = [one.observed for one in findings(diagnosis, check).values()]
    return {shape for one in found for shape in one.get("shapes", [one.get("shape")])}


def asked(filter_: str) -> Iterator[tuple[str, str, int]]:
    """Yield the assertions of a filter that an index could answer: attribute, kind, longest piece of a substring."""
    for attribute, extensible, operator, value in ASSERTION.findall(NEGATED.sub("", filter_)):
        if extensible:
            yield attribute.lower(), extensible, 0
            continue
        kind = {"": EQUALITY, "~": APPROXIMATE}.get(operator, RANGE)
        if not operator and "*" in value:
            kind = PRESENCE if value == "*" else SUBSTRING
        yield attribute.lower(), kind, max(map(len, value.split("*")))


def lacking(corpus: Path, case: str) -> dict[str, set[str]]:
    """Return what no index was there for though its searches were costly, from the sender's record and clock alone."""
    searches = [one for one in sent(corpus, case).values() if one["scope"] != "BASE"]
    waited = sum(one["ms_total"] for one in sent(corpus, case).values())
    costly = [
        one
        for one in searches
        if set(REFUSED) & one["rc"].keys()
        or (one["ms_total"] >= NOT_INSTANT_MS * one["sent"] and one["ms_total"] >= NOT_NOTHING * waited)
    ]
    told: dict[str, set[str]] = {}
    for attribute, kind, longest in (each for one in costly for each in asked(one["example"])):
        useless = (kind == SUBSTRING and longest < SHORTEST[case]) or (kind.startswith(":") and case != DS389)
        if kind not in INDEXED.get(attribute, ()) and attribute not in UNKNOWN_TO_ALL and not useless:
            told.setdefault(attribute, set()).add(TYPES[case].get(kind, kind.strip(":")))  # 389-ds: nsMatchingRule
    return told


RESOLVED, SPARED = "resolved", "spared"
UNINDEXABLE, TOO_SHORT, UNKNOWN = "unindexable", "substring-too-short", "unknown-attribute"
LIMIT, PERHAPS, PAGES = "limit-exceeded", "limit-perhaps", "perhaps-pages"
CHECKS = {
    RESOLVED: "missing-index",
    UNINDEXABLE: "unindexable-filter",
    TOO_SHORT: "substring-too-short",
    LIMIT: "scan-limit-exceeded",
    PERHAPS: "scan-limit-exceeded",
}
FINE = frozenset[str]()
FATES: dict[str, tuple[set[str] | frozenset[str], ...]] = {
    # really unindexed and really slow: displayName, NOT, ranges, extensible, substrings of uid
    "A1-quickr-or": ({RESOLVED}, {RESOLVED, TOO_SHORT}, {RESOLVED}),
    "A2-and-displayname-eq": ({RESOLVED}, {RESOLVED}, {RESOLVED}),
    "A3-displayname-eq": ({RESOLVED}, {RESOLVED}, {RESOLVED}),
    "A4-displayname-initial": ({RESOLVED}, {RESOLVED}, {RESOLVED}),
    "C1-pres-unindexed": ({PERHAPS}, {PAGES}, {PERHAPS}),
    "C3-not-eq": ({UNINDEXABLE}, {UNINDEXABLE}, {UNINDEXABLE}),
    "C4-and-not": ({UNINDEXABLE}, {UNINDEXABLE}, {UNINDEXABLE}),
    "C5-ge-employeenumber": ({RESOLVED}, FINE, {RESOLVED}),
    "C6-ge-modifytimestamp": ({RESOLVED}, {RESOLVED}, {RESOLVED}),
    "C8-extensible": ({RESOLVED}, {UNINDEXABLE}, {UNINDEXABLE}),
    "C11-uid-sub": ({RESOLVED}, {RESOLVED}, {RESOLVED}),
    "D1-lookthrough": ({RESOLVED}, {RESOLVED, TOO_SHORT}, {RESOLVED}),  # with C20, whose pieces are longer
    "E4-root-full": ({TOO_SHORT}, {TOO_SHORT}, {RESOLVED}),
    "G2-ldaps": ({RESOLVED}, {RESOLVED}, {RESOLVED}),
    "G3-ipv6": ({RESOLVED}, {RESOLVED}, {RESOLVED}),
    "D2-timelimit": ({RESOLVED}, {TOO_SHORT}, {RESOLVED}),
    # not a missing index although the server notes it
    "C2-pres-indexed-big": ({PERHAPS}, FINE, {PERHAPS}),
    "C9-short-initial": ({TOO_SHORT}, {TOO_SHORT}, FINE),
    "C10-short-any": ({TOO_SHORT}, {TOO_SHORT}, FINE),
    "C12-oc-person": ({PERHAPS}, FINE, {LIMIT}),
    "C18-oc-star": ({UNINDEXABLE}, {UNINDEXABLE}, {UNINDEXABLE}),
    # not a problem
    "B1-uid-eq": (FINE, FINE, FINE),
    "B2-mail-sub": (FINE, FINE, FINE),
    "B3-and-indexed-unindexed": (FINE, FINE, FINE),
    "B4-and-unindexed-first": (FINE, FINE, FINE),
    "B6-member-eq": (FINE, FINE, FINE),
    "C7-subtype": (FINE, FINE, FINE),
    "C13-oc-group": (FINE, FINE, FINE),
    "C17-or-indexed": (FINE, FINE, FINE),
    "E5-nosuch": (FINE, FINE, FINE),
    "G1-anon": (FINE, FINE, FINE),
    # in no schema: 389-ds and slapd find nothing at once, OpenDJ looks at every entry
    "C14-unknown-attr": (FINE, FINE, {UNKNOWN}),
    # no index, and it costs next to nothing, or else the sender's clock says so (lacking)
    "C15-onelevel-small": (FINE, {SPARED}, FINE),
    "C16-approx": ({SPARED}, {SPARED}, {RESOLVED}),
}
"""What becomes of the searches of each name, by the three servers: what the corpus' README and their `design` say."""
SCOPES = {"SUBTREE": "sub", "LEVEL": "one"}


def covered(corpus: Path, case: str, name: str) -> list[SearchCoverage]:
    """Return the searches of a name in the audit; slapd marks with ? what it does not understand."""
    told = sent(corpus, case)[name]
    wanted = shape(told["example"].encode()).decode(), told["base"], SCOPES[told["scope"]]
    (coverage,) = audited(corpus, case).facts.every(IndexCoverage)
    found = [
        row
        for row in coverage.searches
        if (row.group.shape.replace("(?", "("), row.group.base, row.group.scope) == wanted
    ]
    assert sum(row.count for row in found) >= told["sent"], f"{name}: {wanted}"
    return found


def fate(plan: IndexPlan, row: SearchCoverage) -> str | None:
    """Return what the audit says of searches: the plan ends them, or why not; None: they do no harm."""
    if row in plan.resolved:
        return RESOLVED
    if row in plan.remaining:
        return str(row.obstacle.cause) if row.obstacle else "nothing told"
    return SPARED if row in plan.below_threshold else None


@pytest.mark.parametrize("case", CONFIGURED)
class TestEveryServer:
    def test_the_plan_is_what_was_lacking_and_no_more(self, corpus: Path, case: str) -> None:
        assert planned(audited(corpus, case)) == lacking(corpus, case)

    def test_what_had_an_index_or_needs_none_is_not_in_the_plan(self, corpus: Path, case: str) -> None:
        """The attributes that an advice which counts the notes of 389-ds would name."""
        wanted = planned(audited(corpus, case))
        harmless = {"telephonenumber", "objectclass", "givenname", "sn", "mail", "member", "notanattr"}
        assert wanted.keys().isdisjoint(harmless | ({"employeenumber"} if case == OPENLDAP else set()))
        assert wanted.get("cn", set()) <= {TYPES[case][APPROXIMATE], "2.5.13.5"}
        assert wanted["uid"] == {TYPES[case][SUBSTRING]}

    def test_the_plan_is_exact(self, corpus: Path, case: str) -> None:
        (plan,) = audited(corpus, case).facts.every(IndexPlan)
        assert plan.exact
        assert plan.cost == plan.lower_bound

    @pytest.mark.parametrize("name", FATES)
    def test_each_kind_of_search_is_resolved_or_explained(self, corpus: Path, case: str, name: str) -> None:
        diagnosis = audited(corpus, case)
        (plan,) = diagnosis.facts.every(IndexPlan)
        rows = covered(corpus, case, name)
        fates = {one for row in rows if (one := fate(plan, row)) is not None}
        assert fates == FATES[name][list(CONFIGURED).index(case)]
        for one in fates & CHECKS.keys():
            assert {row.group.shape for row in rows} & told_shapes(diagnosis, CHECKS[one]), one

    def test_all_that_was_sent_has_its_fate_written_down(self, corpus: Path, case: str) -> None:
        """But for what asks one entry, or the server's own place."""
        fates = {shape(sent(corpus, case)[name]["example"].encode()) for name in FATES}
        others = [one for one in sent(corpus, case).values() if one["scope"] != "BASE" and one["base"] != "cn=config"]
        assert {one["example"] for one in others if shape(one["example"].encode()) not in fates} == set()

    def test_what_does_no_harm_is_no_finding(self, corpus: Path, case: str) -> None:
        diagnosis = audited(corpus, case)
        told = {one for check in CHECKS.values() for one in told_shapes(diagnosis, check)}
        told |= told_shapes(diagnosis, "index-not-built")
        assert told.isdisjoint({"(&(uid=?)(employeeNumber=?))", "(&(employeeNumber=?)(uid=?))", "(uid=?)", "(mail=?*)"})

    def test_the_causes_in_json_are_reasons_not_to_use_an_index(self, corpus: Path, case: str) -> None:
        for diagnosis in (audited(corpus, case), bare(corpus, case)):
            (told,) = plans(diagnosis)
            rows = [*told["no_index_helps"], *told["not_built"], *told["not_worth_an_index"], *told["harmless"]]
            assert rows
            assert {"indexed", "not-looked-up"}.isdisjoint({row["cause"] for row in rows})

    def test_without_the_configuration_nothing_is_found_to_be_set_wrongly(self, corpus: Path, case: str) -> None:
        diagnosis = bare(corpus, case)
        for check in ("missing-index", "scan-limit-exceeded", "index-not-built", "substring-too-short"):
            assert findings(diagnosis, check) == {}, check
        (possible,) = judged(diagnosis, "missing-index").values()
        assert isinstance(possible, NotJudged)
        assert possible.missing == ("index-configuration",)
        (told,) = plans(diagnosis)
        assert (told["configured"], {row["backend"] for row in told["plan"]}) == (False, {None})


class TestOn389:
    def test_short_substrings_are_counted_with_what_was_sent(self, corpus: Path) -> None:
        found = findings(audited(corpus, DS389), "substring-too-short").values()
        count = sent(corpus, DS389)["C9-short-initial"]["sent"] + sent(corpus, DS389)["C10-short-any"]["sent"]
        on_cn = [one for one in found if one.observed["attribute"] == "cn"]
        assert {str(one.observed["shape"]) for one in on_cn} == {"(cn=?*)", "(cn=*?*)"}
        assert sum(one.observed["searches"] for one in on_cn) == count

    def test_an_unknown_attribute_is_told(self, corpus: Path) -> None:
        (found,) = findings(audited(corpus, DS389), "unknown-attribute").values()
        assert found.observed["attribute"] == "notanattr"
        assert found.observed["searches"] == sent(corpus, DS389)["C14-unknown-attr"]["sent"]


class TestOnOpenldap:
    def test_an_attribute_without_an_ordering_rule_is_told(self, corpus: Path) -> None:
        assert told_shapes(audited(corpus, OPENLDAP), "unknown-attribute") == {
            "(?employeeNumber>=?)",
            "(?notanattr=?)",
        }

    def test_keys_are_longer_there(self, corpus: Path) -> None:
        """Three characters in the middle are too few for slapd: of such an OR no index would end the scan."""
        lines = (corpus / OPENLDAP / "groundtruth/ops.jsonl").read_text().splitlines()
        great = [one["filter"] for line in lines if (one := json.loads(line))["tag"] == "A1-quickr-or"]
        short = sum(len(filter_.split("*")[1]) < SHORTEST[OPENLDAP] for filter_ in great)
        (plan,) = audited(corpus, OPENLDAP).facts.every(IndexPlan)
        rows = covered(corpus, OPENLDAP, "A1-quickr-or")
        assert {fate(plan, row): row.count for row in rows} == {RESOLVED: len(great) - short, TOO_SHORT: short}


class TestOnOpendj:
    @pytest.mark.parametrize("witness", ["debugsearchindex.txt", "backendstat-show-index-status.txt"])
    def test_the_servers_own_word_on_a_list_over_its_limit_makes_it_certain(self, corpus: Path, witness: str) -> None:
        told = (corpus / OPENDJ / name for name in ("access", "config/index-entries.ldif", f"config/{witness}"))
        found = findings(diagnosed(*told), "scan-limit-exceeded").values()
        (person,) = [one for one in found if one.observed["shape"] == "(objectClass=person)"]
        assert person.confidence is Confidence.CERTAIN

    def test_an_attribute_in_no_schema_that_nobody_has_needs_no_index(self, corpus: Path) -> None:
        told = sent(corpus, OPENDJ)["C14-unknown-attr"]
        (plan,) = audited(corpus, OPENDJ).facts.every(IndexPlan)
        (row,) = [one for one in plan.remaining if one.group.shape == "(notanattr=?)"]
        assert (row.count, row.group.entries) == (told["sent"], told["entries"]) == (told["sent"], 0)


def test_slapd_has_no_index_that_is_not_configured(tmp_path: Path) -> None:
    """A poll by entryCSN scans without one (test_two_databases.py): slapd makes none by itself."""
    conf = "database mdb\nsuffix dc=example,dc=com\ndirectory /var/lib/ldap\nindex objectClass eq\n"
    (tmp_path / "slapd.conf").write_text(conf)
    poll = 'SRCH base="dc=example,dc=com" scope=2 deref=0 filter="(entryCSN>={number:04})"'
    lines = ["6aa00000.00000000 0x7f conn=1000 fd=12 ACCEPT from IP=10.0.0.1:1 (IP=0.0.0.0:389)"]
    for number in range(1, 601):
        stamp, operation = f"{0x6AA00000 + 60 * number:x}.00000000 0x7f", f"conn=1000 op={number}"
        lines.append(f"{stamp} {operation} {poll.format(number=number)}")
        lines.append(f"{stamp} {operation} SEARCH RESULT tag=101 err=0 qtime=0.000010 etime=0.400000 nentries=7 text=")
    (tmp_path / "slapd.log").write_text("\n".join(lines) + "\n")
    (told,) = ldapdiag("indexes", tmp_path, "--format", "json").report["indexes"]
    assert [(row["attribute"].lower(), row["types"]) for row in told["plan"]] == [("entrycsn", ["eq"])]
