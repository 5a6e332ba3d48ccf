"""The audit of three real servers that had the same load and gaps in their indexes, against what was really lacking.

Which attributes had which index is told by whoever set the servers up (the corpus' README), and what was sent by the
programs that sent it (groundtruth/ground_truth.json).
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from incidents import diagnosed, findings, judged
from ldapdiag.analysis.index_plan import IndexPlan
from ldapdiag.finding import NotJudged

if TYPE_CHECKING:
    from pathlib import Path

    from ldapdiag.diagnosis import Diagnosis

DS389, OPENLDAP, OPENDJ = "1-389ds-unindexed", "2-openldap-unindexed", "3-opendj-unindexed"
CONFIGURED = {
    DS389: ("access", "config/dse.ldif"),
    OPENLDAP: ("slapd.stderr.log", "config/slapd.conf"),
    OPENDJ: ("access", "config/index-entries.ldif", "config/backendstat-show-index-status.txt"),
}
SUBSTRING = {DS389: "sub", OPENLDAP: "sub", OPENDJ: "substring"}
EQUALITY = {DS389: "eq", OPENLDAP: "eq", OPENDJ: "equality"}
ORDERING = {DS389: "eq", OPENLDAP: "eq", OPENDJ: "ordering"}


@cache
def audited(corpus: Path, case: str) -> Diagnosis:
    return diagnosed(*(corpus / case / name for name in CONFIGURED[case]))


@cache
def sent(corpus: Path, case: str) -> dict[str, dict[str, Any]]:
    """Return what was sent, by the sender's own name for it."""
    told: dict[str, dict[str, Any]] = json.loads((corpus / case / "groundtruth/ground_truth.json").read_text())[
        "searches"
    ]
    return told


def planned(diagnosis: Diagnosis) -> dict[str, set[str]]:
    """Return the types of the plan, by attribute."""
    (plan,) = diagnosis.facts.every(IndexPlan)
    return {row.attribute.lower(): set(row.types) for row in plan.rows}


def unhelped(diagnosis: Diagnosis, check: str) -> set[str]:
    """Return the filters, without values, that a check finds."""
    return {str(one.observed["shape"]) for one in findings(diagnosis, check).values()}


@pytest.mark.parametrize("case", CONFIGURED)
class TestEveryServer:
    def test_the_attributes_without_an_index_are_named_with_the_types_that_were_asked_for(
        self, corpus: Path, case: str
    ) -> None:
        plan = planned(audited(corpus, case))
        assert plan["displayname"] == {EQUALITY[case], SUBSTRING[case]}
        assert plan["uid"] == {SUBSTRING[case]}
        assert plan["modifytimestamp"] == {ORDERING[case]}

    def test_what_had_an_index_is_not_in_the_plan(self, corpus: Path, case: str) -> None:
        plan = planned(audited(corpus, case))
        assert plan.keys().isdisjoint({"objectclass", "givenname", "sn", "mail", "member"})

    def test_the_plan_is_exact(self, corpus: Path, case: str) -> None:
        (plan,) = audited(corpus, case).facts.every(IndexPlan)
        assert plan.exact
        assert plan.cost == plan.at_least

    def test_negation_is_what_no_index_helps(self, corpus: Path, case: str) -> None:
        shapes = unhelped(audited(corpus, case), "unindexable-filter")
        assert "(&(objectClass=person)(!(displayName=*)))" in shapes
        assert any(shape.startswith("(cn:") for shape in shapes), "the extensible match"

    def test_the_two_orders_of_an_and_of_uid_are_no_finding(self, corpus: Path, case: str) -> None:
        diagnosis = audited(corpus, case)
        told = {
            str(shape)
            for check in ("missing-index", "unindexable-filter", "scan-limit-exceeded", "index-not-built")
            for one in findings(diagnosis, check).values()
            for shape in (one.observed["shapes"] if check == "missing-index" else [one.observed["shape"]])
        }
        assert told.isdisjoint({"(&(uid=?)(employeeNumber=?))", "(&(employeeNumber=?)(uid=?))"})

    def test_the_costliest_of_the_senders_own_record_are_resolved_or_explained(self, corpus: Path, case: str) -> None:
        """Whatever took the sender's clock 20 ms on average and returned little is somewhere in the report."""
        (plan,) = audited(corpus, case).facts.every(IndexPlan)
        known = {row.search.shape.lower() for row in (*plan.resolved, *plan.remaining, *plan.spared)}
        for tag in ("A2-and-displayname-eq", "A3-displayname-eq", "C4-and-not", "C6-ge-modifytimestamp", "C11-uid-sub"):
            told = sent(corpus, case)[tag]
            attribute = told["example"].rsplit("(", 1)[1].lstrip("!").split(">")[0].split("=")[0].lower()
            assert any(f"({attribute}" in shape for shape in known), tag


class TestOn389:
    def test_ranges_mean_equality(self, corpus: Path) -> None:
        assert planned(audited(corpus, DS389))["employeenumber"] == {"eq"}

    def test_lists_over_the_limit_are_their_own_cause(self, corpus: Path) -> None:
        shapes = unhelped(audited(corpus, DS389), "scan-limit-exceeded")
        assert {"(objectClass=person)", "(telephoneNumber=*)"} <= shapes

    def test_short_substrings_are_their_own_cause(self, corpus: Path) -> None:
        diagnosis = audited(corpus, DS389)
        found = findings(diagnosis, "substring-too-short").values()
        count = sent(corpus, DS389)["C9-short-initial"]["sent"] + sent(corpus, DS389)["C10-short-any"]["sent"]
        found = [one for one in found if one.observed["attribute"] == "cn"]
        assert {str(one.observed["shape"]) for one in found} == {"(cn=?*)", "(cn=*?*)"}
        assert sum(one.observed["searches"] for one in found) == count

    def test_every_entry_has_an_object_class(self, corpus: Path) -> None:
        assert "(objectClass=*)" in unhelped(audited(corpus, DS389), "unindexable-filter")

    def test_an_unknown_attribute_is_told(self, corpus: Path) -> None:
        (found,) = findings(audited(corpus, DS389), "unknown-attribute").values()
        assert found.observed["attribute"] == "notanattr"
        assert found.observed["searches"] == sent(corpus, DS389)["C14-unknown-attr"]["sent"]


class TestOnOpenldap:
    def test_an_attribute_without_an_ordering_rule_is_no_missing_index(self, corpus: Path) -> None:
        diagnosis = audited(corpus, OPENLDAP)
        assert "employeenumber" not in planned(diagnosis)
        assert "(?employeeNumber>=?)" in unhelped(diagnosis, "unknown-attribute")

    def test_keys_are_longer_there(self, corpus: Path) -> None:
        """Three characters in the middle are too few for slapd, so that the great OR has no index to wait for."""
        assert "(|(cn=*?*)(givenName=*?*)(displayName=*?*))" in unhelped(
            audited(corpus, OPENLDAP), "substring-too-short"
        )


class TestOnOpendj:
    def test_ranges_mean_ordering(self, corpus: Path) -> None:
        assert planned(audited(corpus, OPENDJ))["employeenumber"] == {"ordering"}

    def test_keys_over_the_entry_limit_are_their_own_cause(self, corpus: Path) -> None:
        assert "(objectClass=person)" in unhelped(audited(corpus, OPENDJ), "scan-limit-exceeded")


@pytest.mark.parametrize("case", CONFIGURED)
def test_without_the_configuration_nothing_is_found_missing(corpus: Path, case: str) -> None:
    diagnosis = diagnosed(corpus / case / CONFIGURED[case][0])
    assert findings(diagnosis, "missing-index") == {}
    assert any(isinstance(one, NotJudged) for one in judged(diagnosis, "missing-index").values())
