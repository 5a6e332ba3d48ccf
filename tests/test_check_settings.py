"""The settings of checks: declared as parameters, read from a configuration, in order, and the same by default."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sick_site
from ldapdiag.check import Check, MainNumber, Worse, check
from ldapdiag.check_setting import Exempt, Threshold
from ldapdiag.cost_thresholds import COST_LIMITS, Cost, CostLimits, rests_on_one, severity_of_cost
from ldapdiag.diagnosis import diagnose
from ldapdiag.errors import UsageError
from ldapdiag.exempt_accounts import NO_ACCOUNTS, ExemptAccounts, comparable_name
from ldapdiag.finding import Clear, Severity, Verdict
from ldapdiag_checks import missing_index


@check(number=MainNumber("count", worse=Worse.LESS))
def judge(
    *,
    critical_percent: Annotated[float, Threshold("%", "so much is critical", most=100)] = 95.0,
    high_percent: Annotated[float, Threshold("%", "so much is high", most=100)] = 80.0,
    medium_left: Annotated[int, Threshold("days", "fewer left is medium")] = 30,
    critical_left: Annotated[int, Threshold("days", "fewer left is critical")] = 3,
    exempt_accounts: Annotated[ExemptAccounts, Exempt("not counted")] = NO_ACCOUNTS,
) -> Iterator[Verdict]:
    """Something."""
    numbers = f"{critical_percent:g} {high_percent:g} {medium_left} {critical_left}"
    yield Clear(subject="x", reason=f"{numbers} {','.join(exempt_accounts.accounts)}")


def said(one: Check[...]) -> str:
    (verdict,) = one()
    assert isinstance(verdict, Clear)
    return verdict.reason


def test_a_check_lists_its_settings_and_its_main_number() -> None:
    assert judge.number == MainNumber("count", worse=Worse.LESS)
    assert judge.needs == ()
    assert [one.shown(one.default) for one in judge.settings] == ["95 %", "80 %", "30 days", "3 days", "none"]


def test_another_value_is_in_force_and_the_check_itself_keeps_its_own() -> None:
    other = judge.configured({"high_percent": 70, "exempt_accounts": ["cn=a", "anonymous"]})
    assert (said(other), said(judge)) == ("95 70 30 3 cn=a,anonymous", "95 80 30 3 ")
    assert said(other.configured({})) == said(judge)


@check
def judge_cost(
    *, limits: CostLimits = COST_LIMITS, least: Annotated[int, Threshold("", "fewer are clear")] = 1
) -> Iterator[Verdict]:
    """Something that several checks judge alike."""
    yield Clear(subject="x", reason=f"{limits.high_seconds:g} {limits.medium_load:g} {least}")


def test_settings_that_checks_share_are_settings_of_each() -> None:
    assert [one.name for one in judge_cost.settings] == [*CostLimits._fields, "least"]
    assert judge_cost.needs == ()
    other = judge_cost.configured({"high_seconds": 70, "least": 2})
    assert (said(other), said(judge_cost)) == ("70 1 2", "60 1 1")
    assert said(other.configured({"medium_load": 3})) == "60 3 1"
    with pytest.raises(UsageError, match="is stricter than"):
        judge_cost.configured({"medium_seconds": 90})


class Bare(NamedTuple):
    """A group with a field that is no setting."""

    seconds: float = 1.0


def test_a_group_of_what_is_no_setting_and_one_that_is_not_keyword_only_are_refused() -> None:
    def bare(*, limits: Bare = Bare()) -> Iterator[Verdict]:  # noqa: B008  as a check has it
        yield Clear(subject="x", reason=f"{limits}")

    def positional(limits: CostLimits = COST_LIMITS) -> Iterator[Verdict]:
        yield Clear(subject="x", reason=f"{limits}")

    with pytest.raises(TypeError, match="seconds: a number with a Threshold"):
        check(bare)
    with pytest.raises(TypeError, match="high_percent: a setting is keyword-only"):
        check(positional)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"high_percnt": 70}, "Did you mean 'high_percent'?"),
        ({"high_percent": "70"}, "it needs a number (%)"),
        ({"high_percent": True}, "it needs a number (%)"),
        ({"high_percent": float("nan")}, "it needs a number (%)"),
        ({"high_percent": 101, "critical_percent": 100}, "from 0 to 100"),
        ({"high_percent": -1}, "from 0 to 100"),
        ({"high_percent": 10**400}, "from 0 to 100"),
        ({"medium_left": 2.5}, "whole number (days)"),
        ({"exempt_accounts": "cn=a"}, "needs a list"),
        ({"exempt_accounts": ["joe"]}, "no distinguished name"),
        ({"exempt_accounts": [""]}, "no distinguished name"),
        ({"high_percent": 96}, "high_percent (96 %) is stricter than critical_percent (95 %)"),
        ({"critical_percent": 79}, "is stricter than"),
        ({"critical_left": 31}, "is stricter than"),
    ],
)
def test_a_value_that_is_not_valid_is_an_error(values, message) -> None:
    with pytest.raises(UsageError) as error:
        judge.configured(values)
    assert message in str(error.value)
    assert str(error.value).startswith(f"{judge.id}: ")


def test_the_same_value_for_two_severities_is_valid() -> None:
    assert said(judge.configured({"high_percent": 95})).startswith("95 95")


def test_a_setting_without_a_default_of_its_kind_is_a_bug() -> None:
    def bad(*, hours: Annotated[float, Threshold("h", "so long")] = 24) -> Iterator[Verdict]:
        yield Clear(subject="x", reason=f"{hours}")

    with pytest.raises(TypeError, match="hours"):
        check(bad)


class TestExemptAccounts:
    @pytest.mark.parametrize(
        "same",
        [
            "uid=joe+cn=J. Doe,ou=people,dc=example",
            "UID=Joe + CN=j.  doe , OU=People, DC=example",
            "cn=J. Doe+uid=joe,ou=people,dc=example",
            "0.9.2342.19200300.100.1.1=joe+2.5.4.3=J. Doe,ou=people,domainComponent=example",
            r"uid=\6aoe+cn=J\2E\20Doe,ou=people,dc=example",
            'uid="joe"+cn=J. Doe,ou=people,dc=example',
        ],
    )
    def test_are_compared_as_distinguished_names(self, same) -> None:
        assert same in ExemptAccounts(("uid=joe+cn=J. Doe,ou=people,dc=example",))

    @pytest.mark.parametrize(
        "other",
        ["uid=joe", "uid=joe,ou=people", r"uid=joe\,ou=people,dc=example", "anonymous", "", "uid=jo e,dc=example"],
    )
    def test_are_no_others(self, other) -> None:
        assert other not in ExemptAccounts(("uid=joe,ou=people,dc=example", "uid=joe,dc=example"))

    def test_escapes_of_utf_8_are_the_letters(self) -> None:
        assert comparable_name(r"cn=Lu\C4\8Di\C4\87") == comparable_name("CN=lučić")

    @given(st.text(alphabet='ab=,+\\" 2cC;é'))
    def test_any_text_of_a_log_has_one_form(self, text) -> None:
        assert comparable_name(text) == comparable_name(text.upper().lower()) or "é" in text

    def test_are_left_out_of_counts(self) -> None:
        assert ExemptAccounts(("cn=a",)).without({"CN=A": 3, "cn=b": 1}) == {"cn=b": 1}


@pytest.mark.parametrize(
    ("share", "seconds", "severity"),
    [
        (0.5, 60, "high"),
        (0.5, 59, "medium"),
        (0.49, 60, "medium"),
        (0.1, 10, "medium"),
        (0.1, 9, "low"),
        (0.09, 99, "low"),
    ],
)
def test_searches_are_as_severe_as_their_cost(share, seconds, severity) -> None:
    idle_night = Cost(share, seconds, searches=50, log_seconds=36_000)
    assert str(severity_of_cost(idle_night, CostLimits(50, 60, 5, 10, 10, 1))) == severity


@pytest.mark.parametrize(
    ("cost", "severity"),
    [
        (Cost(1.0, 4.1, 162, 4.25), "high"),
        (Cost(0.49, 4.1, 162, 4.25), "medium"),
        (Cost(1.0, 4.1, 9, 4.25), "low"),  # a few searches are no load, however short the log is
        (Cost(1.0, 0.99, 162, 1.0), "low"),
        (Cost(1.0, 5.0, 10, 100), "high"),
        (Cost(1.0, 4.9, 10, 100), "medium"),
        (Cost(1.0, 4.9, 10, 491), "low"),
        (Cost(0.09, 4.9, 10, 5), "low"),
        (Cost(1.0, 2.0, 10, 0), "high"),
    ],
)
def test_a_loaded_server_makes_searches_more_severe(cost, severity) -> None:
    assert str(severity_of_cost(cost, CostLimits(50, 60, 5, 10, 10, 1))) == severity


def test_other_thresholds_change_severities_and_nothing_else_of_a_finding() -> None:
    lax = missing_index.judge.configured({"high_seconds": 100_000, "medium_seconds": 100_000})
    before, after = (diagnose(sick_site.bundle(), [one]) for one in (missing_index.judge, lax))
    assert before.findings
    assert Severity.LOW not in {one.severity for one in before.findings}
    assert after.findings == tuple(replace(one, severity=Severity.LOW) for one in before.findings)


@pytest.mark.parametrize(
    ("cost", "slowest", "part", "without"),
    [
        (Cost(0.9, 100, 50, 36_000), 99.0, None, "low"),
        (Cost(0.9, 100, 50, 36_000), 3.0, None, ""),
        (Cost(0.5, 61, 50, 36_000), 20.0, None, "medium"),
        (Cost(0.5, 61, 50, 36_000), 20.0, 0.5, ""),  # an index saves half a second of its 20
        (Cost(0.9, 100, 1, 36_000), 100.0, None, ""),
        (Cost(0.0, 0.0, 10, 36_000, refused=10, failing=10), 0.0, None, ""),
        (Cost(0.9, 5, 50, 36_000), 5.0, None, ""),
    ],
)
def test_a_severity_that_rests_on_one_search_is_said_to(
    cost: Cost, slowest: float, part: float | None, without: str
) -> None:
    sentence = rests_on_one(severity_of_cost(cost, COST_LIMITS), cost, slowest, COST_LIMITS, part)
    assert sentence.endswith(f"without that one it is {without}.") if without else not sentence
