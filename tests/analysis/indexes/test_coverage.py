"""How searches of slapd are found, of a log and a configuration that are written here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from command import ldapdiag
from incidents import diagnosed
from ldapdiag.analysis.indexes.plan import IndexPlan
from ldapdiag.finding import Clear, Finding, NotJudged
from ldapdiag.report.indexes.as_data import plans

if TYPE_CHECKING:
    from pathlib import Path

DATABASE = """database mdb
suffix {suffix}
directory /srv/{name}
index objectClass eq
{lines}
"""
UPPER, LOWER = "dc=com", "dc=example,dc=com"
FULL, ADMIN_LIMIT = 0, 11


def written(conn: int, filter_: str, err: int, entries: int, etime: float) -> str:
    """Return twenty searches of one account."""
    start = f"6b02fe19.{conn:08x} 0x7fd0ab44f6c0 conn={conn}"
    text = f"{start} fd=12 ACCEPT from IP=10.0.0.{conn}:43210 (IP=0.0.0.0:389)\n"
    text += f'{start} op=0 BIND dn="uid=a{conn},dc=com" mech=SIMPLE bind_ssf=0 ssf=0\n'
    for op in range(1, 21):
        text += f'{start} op={op} SRCH base="{UPPER}" scope=2 deref=0 filter="{filter_}"\n'
        text += f"{start} op={op} SEARCH RESULT tag=101 err={err} "
        text += f"qtime=0.000010 etime={etime:.6f} nentries={entries} text=\n"
    return text


def planned(folder: Path, log: str, *, lower: str, upper: str = "") -> set[tuple[str, str]]:
    """Return database and attribute of each line of the plan."""
    (folder / "access.log").write_text(log)
    (folder / "slapd.conf").write_text(
        DATABASE.format(suffix=LOWER, name="lower", lines=f"subordinate\n{lower}")
        + DATABASE.format(suffix=UPPER, name="upper", lines=upper)
        + "rootdn cn=a,dc=com\n"
    )
    (plan,) = diagnosed(folder).facts.every(IndexPlan)
    return {(change.backend.name, change.attribute.lower()) for change in plan.indexes}


@pytest.mark.parametrize(
    ("lower", "upper", "expected"),
    [
        ("", "", {"{1}mdb", "{2}mdb"}),
        ("", "index mail eq", {"{1}mdb"}),
        ("index mail eq", "", {"{2}mdb"}),
        ("index mail eq", "index mail eq", set()),
    ],
)
def test_each_database_that_is_scanned_needs_the_index(tmp_path: Path, lower, upper, expected) -> None:
    log = written(1, "(mail=a@x)", FULL, 2, 0.05)
    assert planned(tmp_path, log, lower=lower, upper=upper) == {(one, "mail") for one in expected}


def test_no_index_is_added_for_a_refused_range_that_it_would_make_slower(tmp_path: Path) -> None:
    log = written(1, "(uidNumber>=100)", FULL, 4000, 0.2) + written(2, "(uidNumber>=100)", ADMIN_LIMIT, 0, 0.001)
    assert planned(tmp_path, log, lower="index uidNumber eq", upper="") == set()


@pytest.mark.parametrize(("seconds", "said"), [(0.05, 1), (0.0005, 0)])
def test_presence_with_an_option_reads_every_entry_with_the_attribute_on_slapd(tmp_path, seconds, said) -> None:
    """Measured with 2.5.13: 403 candidates for the 8 entries with cn;lang-fr."""
    log = written(1, "(uid=joe)", FULL, 1, 0.0002) + written(2, "(cn;lang-fr=*)", FULL, 8, seconds)
    assert planned(tmp_path, log, lower="index uid eq\nindex cn pres", upper="index uid eq\nindex cn pres") == set()
    found = [one.verdict for one in diagnosed(tmp_path).judged if one.check == "unindexable-filter"]
    titles = [one.title for one in found if isinstance(one, Finding)]
    assert len(titles) == said
    assert all("no options, so it tests every entry with cn" in one for one in titles)


@pytest.mark.parametrize(("seconds", "outcome"), [(0.05, NotJudged), (0.0005, Clear)])
def test_slow_searches_of_slapd_are_not_cleared_without_its_configuration(tmp_path, seconds, outcome) -> None:
    """Measured: `no index is missing`, and none of the time without an index, of a log that scanned all the time."""
    (tmp_path / "access.log").write_text(written(1, "(mail=*)", FULL, 487, seconds))
    (found,) = [one.verdict for one in diagnosed(tmp_path).judged if one.check == "missing-index"]
    assert isinstance(found, outcome)
    (plan,) = plans(diagnosed(tmp_path))
    assert plan.get("undecided_etime_seconds", 0) == pytest.approx(20 * seconds if outcome is NotJudged else 0)


def test_pages_that_take_most_of_the_time_fail_a_gate_with_and_without_configuration(tmp_path) -> None:
    (tmp_path / "access.log").write_text(written(1, "(mail=*)", FULL, 500, 4.0))
    assert ldapdiag("indexes", tmp_path).code == 1
    assert planned(tmp_path, written(1, "(mail=*)", FULL, 500, 4.0), lower="", upper="") == set()
    ran = ldapdiag("indexes", tmp_path)
    assert ran.code == 1
    assert "so whether an index helps is not known" in " ".join(ran.text.split())
