"""Steps are numbered, and what does the same as the step before it begins with *or*, in every format."""

from __future__ import annotations

import re
from pathlib import Path

from command import ldapdiag
from ldapdiag.remedy import step_labels

AUDIT = str(Path(__file__).parent.parent.parent / "examples" / "audit")
OTHER_WAY = "Index displayName (eq, sub) by LDIF for ldapmodify"


def test_an_alternative_takes_no_number() -> None:
    assert list(step_labels([False, True, False, True, True])) == ["1", "or", "2", "or", "or"]
    assert list(step_labels([True, False])) == ["1", "2"], "there is nothing that it could replace"


def test_a_plan_as_ldif_is_another_way_of_the_same_step() -> None:
    (found,) = [one for one in ldapdiag("indexes", AUDIT, "--format", "json").report["findings"] if one["remedies"]]
    commands, ldif = found["remedies"]
    assert (commands["alternative"], ldif["alternative"]) == (False, True)
    text = ldapdiag("diagnose", AUDIT, "-v").text
    assert f" or {OTHER_WAY}" in text
    assert "2  Index" not in text
    assert f"#### or: {OTHER_WAY}" in ldapdiag("diagnose", AUDIT, "--format", "markdown").text
    page = ldapdiag("diagnose", AUDIT, "--format", "html").text
    head, _, findings = page.partition('<section id="findings"')
    assert re.search(rf"or: <a [^>]*>{re.escape(OTHER_WAY)}", head)
    assert f"or: <strong>{OTHER_WAY}" in findings
