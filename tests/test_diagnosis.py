"""The engine: every check, every host, and no way to end without a verdict."""

from __future__ import annotations

import sys
from asyncio import CancelledError
from collections.abc import Iterator
from dataclasses import dataclass
from threading import Event
from typing import ClassVar

import pytest

import facts
from command import INCIDENT, ldapdiag
from ldapdiag.catalogue import chosen, installed_checks
from ldapdiag.check import check
from ldapdiag.diagnosis import diagnose
from ldapdiag.errors import UsageError
from ldapdiag.evidence.bundle import Bundle, Missing
from ldapdiag.evidence.flows import FlowTable
from ldapdiag.evidence.host_facts import KernelSettings
from ldapdiag.finding import Clear, Confidence, Crashed, Finding, NotJudged, Severity, Verdict

KERNELS = [facts.settings(name, max=100) for name in ("app1", "fw")]
FLOWS = facts.flows(facts.at_server(3))


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """A fact that a provider joins."""

    kind: ClassVar[str] = "joined"
    host: str
    number: int = 0


def verdicts_of(judge, *known):
    """Return what a check says of these facts."""
    bundle = Bundle(facts=tuple(facts.nobodys(fact) for fact in known))
    return [one.verdict for one in diagnose(bundle, (check(judge),)).judged]


def of_each(kernel: KernelSettings) -> Iterator[Verdict]:
    """Need one fact."""
    yield Clear(subject=kernel.origin.host, reason="seen")


def with_the_box(kernel: KernelSettings, flows: FlowTable | None = None) -> Iterator[Verdict]:
    """Use another if it is there."""
    yield Clear(subject=kernel.origin.host, reason="both" if flows else "alone")


def of_both(kernel: KernelSettings, flows: FlowTable) -> Iterator[Verdict]:
    """Need both of one host."""
    yield Clear(subject=kernel.origin.host, reason=str(len(flows.state)))


def of_all(kernels: tuple[KernelSettings, ...]) -> Iterator[Verdict]:
    """Take all there are."""
    yield Clear(subject="site", reason=str(len(kernels)))


def of_joined(joined: Joined) -> Iterator[Verdict]:
    """Need what a provider joins."""
    yield Clear(subject=joined.host, reason=str(joined.number))


class TestRuns:
    def test_once_for_each_host_that_has_the_fact(self) -> None:
        assert [one.subject for one in verdicts_of(of_each, *KERNELS)] == ["app1", "fw"]

    def test_with_optional_evidence_where_it_is(self) -> None:
        told = {one.subject: one.reason for one in verdicts_of(with_the_box, *KERNELS, FLOWS)}
        assert told == {"app1": "alone", "fw": "both"}

    def test_once_with_all_facts(self) -> None:
        assert [one.reason for one in verdicts_of(of_all, *KERNELS)] == ["2"]

    def test_once_even_when_there_are_none(self) -> None:
        assert [one.reason for one in verdicts_of(of_all)] == ["0"]


class TestMissingEvidence:
    def test_is_one_verdict_without_subject_that_tells_how(self) -> None:
        (verdict,) = verdicts_of(of_each)
        assert verdict == NotJudged(
            subject=None,
            reason="no kernel-settings in the evidence",
            missing=("kernel-settings",),
            how=KernelSettings.how,
        )

    def test_on_one_host_names_that_host(self) -> None:
        app1, fw = verdicts_of(of_both, *KERNELS, FLOWS)
        assert (type(app1), app1.subject, app1.missing) == (NotJudged, "app1", ("flow-table",))
        assert (type(fw), fw.reason) == (Clear, "3")

    def test_of_a_provider_is_handed_down(self, monkeypatch) -> None:
        def provide(flows: FlowTable) -> Joined:
            return Joined(host=flows.origin.host)

        monkeypatch.setattr("ldapdiag.diagnosis.PROVIDERS", {Joined: provide})
        (verdict,) = verdicts_of(of_joined, *KERNELS)
        assert (verdict.subject, verdict.missing, verdict.how) == (None, ("flow-table",), FlowTable.how)

    def test_is_told_as_the_provider_tells_it(self, monkeypatch) -> None:
        def provide(kernel: KernelSettings) -> Joined | Missing:
            name = kernel.origin.host
            return Joined(host=name) if name == "fw" else Missing(host=name, reason="no box here", how="look elsewhere")

        monkeypatch.setattr("ldapdiag.diagnosis.PROVIDERS", {Joined: provide})
        app1, fw = verdicts_of(of_joined, *KERNELS)
        assert (type(app1), app1.subject, app1.reason, app1.how) == (NotJudged, "app1", "no box here", "look elsewhere")
        assert isinstance(fw, Clear)

    def test_that_the_host_never_has_is_named_only_where_no_host_has_it(self, monkeypatch) -> None:
        def provide(kernel: KernelSettings) -> Joined | Missing:
            name = kernel.origin.host
            return Joined(host=name) if name == "fw" else Missing(host=name, reason="a proxy", inapplicable=True)

        monkeypatch.setattr("ldapdiag.diagnosis.PROVIDERS", {Joined: provide})
        assert [type(one) for one in verdicts_of(of_joined, *KERNELS)] == [Clear]
        assert [one.reason for one in verdicts_of(of_joined, KERNELS[0])] == ["a proxy"]


class TestABug:
    """A bug is a verdict of its own: never clear, and never silence."""

    def test_in_a_check_is_told_with_its_place(self) -> None:
        def judge(kernel: KernelSettings) -> Iterator[Verdict]:
            """Divide by zero on one host."""
            yield Clear(subject=kernel.origin.host, reason=str(1 // (kernel.origin.host != "app1")))

        app1, fw = verdicts_of(judge, *KERNELS)
        assert (type(app1), app1.subject) == (Crashed, "app1")
        assert app1.reason.startswith("ZeroDivisionError")
        assert app1.where.startswith("test_diagnosis.py:")
        assert isinstance(fw, Clear)

    def test_after_a_verdict_keeps_both(self) -> None:
        def judge(kernel: KernelSettings) -> Iterator[Verdict]:
            """Stumble on the second subject."""
            yield Clear(subject=kernel.origin.host, reason="fine")
            raise RuntimeError("no second")

        assert [type(one) for one in verdicts_of(judge, KERNELS[0])] == [Clear, Crashed]

    def test_is_to_say_nothing(self) -> None:
        def judge(_: KernelSettings) -> Iterator[Verdict]:
            """Find nothing worth saying."""
            yield from ()

        assert verdicts_of(judge, KERNELS[0]) == [
            Crashed(subject="app1", reason="the check yielded no verdict (package tests)")
        ]

    @pytest.mark.parametrize("nonsense", [None, True, "fine"])
    def test_is_to_say_what_is_no_verdict(self, nonsense) -> None:
        def judge(_: KernelSettings) -> Iterator[Verdict]:
            """Answer with something else."""
            yield nonsense

        (verdict,) = verdicts_of(judge, KERNELS[0])
        assert isinstance(verdict, Crashed)
        assert "is no verdict" in verdict.reason

    def test_that_does_not_end_crashes_the_check_of_another_package(self, monkeypatch) -> None:
        monkeypatch.setattr("ldapdiag.diagnosis.PATIENCE", 0.05)
        monkeypatch.setattr("ldapdiag.diagnosis._stuck", {})
        end = Event()

        def waiting(kernel: KernelSettings) -> Iterator[Verdict]:
            end.wait(20)
            yield Clear(subject=kernel.origin.host, reason="late")

        (crashed, again) = verdicts_of(waiting, *KERNELS)
        end.set()
        assert isinstance(crashed, Crashed)
        assert "did not end within 0.05 s (package tests)" in crashed.reason
        assert isinstance(again, Crashed)
        assert "has not ended for an earlier subject" in again.reason

    def test_that_cancels_itself_crashes_the_check_of_another_package(self) -> None:
        def cancelled(_: KernelSettings) -> Iterator[Verdict]:
            raise CancelledError("by asyncio")
            yield

        (crashed,) = verdicts_of(cancelled, KERNELS[0])
        assert isinstance(crashed, Crashed)
        assert "CancelledError: by asyncio (package tests)" in crashed.reason

    def test_that_yields_without_end_is_given_up(self, monkeypatch) -> None:
        monkeypatch.setattr("ldapdiag.diagnosis.PATIENCE", 0.05)
        monkeypatch.setattr("ldapdiag.diagnosis._stuck", {})
        ended = Event()

        def endless(kernel: KernelSettings) -> Iterator[Verdict]:
            try:
                while True:
                    yield Clear(subject=kernel.origin.host, reason="again")
            finally:
                ended.set()

        assert [type(one) for one in verdicts_of(endless, KERNELS[0])] == [Crashed]
        assert ended.wait(20)

    def test_in_a_provider_crashes_who_depends_on_it(self, monkeypatch) -> None:
        def provide(kernel: KernelSettings) -> Joined:
            return Joined(host=kernel.origin.host, number=1 // 0)

        monkeypatch.setattr("ldapdiag.diagnosis.PROVIDERS", {Joined: provide})
        bundle = Bundle(facts=(facts.nobodys(KERNELS[1]),))
        diagnosis = diagnose(bundle, (check(of_joined), check(of_each)))
        crashed, clear = (one.verdict for one in diagnosis.judged)
        assert (type(crashed), crashed.subject) == (Crashed, "fw")
        assert crashed.reason == "Joined: ZeroDivisionError: integer division or modulo by zero"
        assert isinstance(clear, Clear)
        assert [one.verdict for one in diagnosis.crashed] == [crashed]


class TestProviders:
    def test_run_at_most_once_a_host_however_many_ask(self, monkeypatch) -> None:
        asked = []

        def provide(kernel: KernelSettings) -> Joined:
            asked.append(kernel.origin.host)
            return Joined(host=kernel.origin.host)

        monkeypatch.setattr("ldapdiag.diagnosis.PROVIDERS", {Joined: provide})
        bundle = Bundle(facts=tuple(facts.nobodys(kernel) for kernel in KERNELS))
        diagnose(bundle, (check(of_joined), check(of_joined)))
        assert asked == ["app1", "fw"]


def test_findings_come_worst_first() -> None:
    def judge(kernel: KernelSettings) -> Iterator[Verdict]:
        """Find something of each severity."""
        for severity in (Severity.LOW, Severity.CRITICAL, Severity.MEDIUM):
            yield Finding(
                subject=kernel.origin.host,
                severity=severity,
                confidence=Confidence.CERTAIN,
                title="",
                detail="",
                observed={},
            )

    diagnosis = diagnose(Bundle(facts=(facts.nobodys(KERNELS[0]),)), (check(judge),))
    assert [str(one.severity) for one in diagnosis.findings] == ["critical", "medium", "low"]


STRANGER = '''
"""A stranger's checks."""

from ldapdiag.check import check
from ldapdiag.evidence.host_facts import KernelSettings
from ldapdiag.finding import Clear


@check
def judge(kernel: KernelSettings):
    """Something a stranger knows."""
    yield Clear(subject=kernel.origin.host, reason="the stranger saw it")


CATALOGUE = (judge,)
'''


class TestAStrangersPackage:
    @pytest.fixture(autouse=True)
    def installed(self, tmp_path, monkeypatch) -> None:
        (tmp_path / "acme_rotten_backups.py").write_text(STRANGER)
        info = tmp_path / "acme_ldapdiag-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-ldapdiag\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[ldapdiag.checks]\nacme = acme_rotten_backups:CATALOGUE\n")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "acme_rotten_backups", raising=False)

    def test_adds_its_checks_after_ours(self) -> None:
        ids = [one.id for one in installed_checks()]
        assert (ids[0], ids[-1]) == ("ghost-connections", "acme-rotten-backups")

    def test_is_judged_like_ours(self) -> None:
        stranger = chosen(installed_checks(), ["acme-rotten-backups"])
        diagnosis = diagnose(Bundle(facts=(facts.nobodys(KERNELS[0]),)), stranger)
        assert [one.verdict.reason for one in diagnosis.judged] == ["the stranger saw it"]


@pytest.mark.parametrize("command", ["diagnose", "indexes", "storage", "checks"])
def test_without_an_installed_check_every_command_fails_and_states_the_cure(command, monkeypatch) -> None:
    monkeypatch.setattr("ldapdiag.catalogue.entry_points", lambda **_: ())
    ran = ldapdiag(command, *([] if command == "checks" else [INCIDENT]))
    assert (ran.code, ran.out) == (2, b"")
    assert ran.complaints[-1].startswith("ldapdiag: no check is installed: ")
    assert "pip install" in ran.complaints[-1]


def test_a_check_nobody_has_is_an_error_that_says_where_to_look() -> None:
    with pytest.raises(UsageError, match="ldapdiag checks"):
        chosen(installed_checks(), ["acme-rotten-backups"])


class TestASignature:
    @pytest.mark.parametrize("hint", [int | str | None, tuple[int, int], "int | bytes"])
    def test_that_names_no_evidence_is_refused(self, hint) -> None:
        def judge(_fact) -> Iterator[Verdict]:
            """Want too much."""
            yield from ()

        judge.__annotations__["_fact"] = hint
        with pytest.raises(TypeError, match="parameter _fact"):
            check(judge)

    def test_without_annotation_is_refused(self) -> None:
        def judge(_fact):
            """Say nothing of what it wants."""
            yield from ()

        with pytest.raises(TypeError, match="no annotation"):
            check(judge)
