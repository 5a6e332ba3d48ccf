"""Full tables: what is costly is found wherever it begins, and nobody is called clear for what is not listed."""

from __future__ import annotations

import pytest

import facts
from incidents import judged as judged_facts
from ldapdiag.diagnosis import diagnose
from ldapdiag.evidence.bundle import Bundle
from ldapdiag.evidence.log.scan import Scan
from ldapdiag.evidence.log.tables import Caps
from ldapdiag.finding import Clear, Finding, NotJudged
from ldapdiag_checks import catalogue, connection_churn, costly_search, unclean_closes
from traffic import DISPLAY_NAME, SECOND, Log

BAD = "10.10.1.168"
BY_FILTERS = ("missing-index", "unindexable-filter", "unknown-attribute")


def many_bases(count: int, took: float, caps: Caps | None = None) -> Log:
    log = Log(Scan(caps=caps or Caps()))
    number = log.opens()
    for op in range(count):
        log.searches(number, op, base=b"ou=junk%d,dc=example" % op, took=took)
    return log


@pytest.mark.long
def test_30_000_bases_before_the_one_bad_search() -> None:
    log = many_bases(30_000, 0.0001)
    log.searches(log.opens(BAD), 0, DISPLAY_NAME, took=30.0, notes=b"A")
    found, other = costly_search.judge(facts.server(), log.traffic())
    assert isinstance(found, Finding)
    assert (found.observed["shape"], found.observed["clients"]) == ("(displayName=*?*)", [BAD])
    assert isinstance(other, Clear), "an unlisted one took 0.1 ms"


@pytest.mark.long
def test_60_000_users_before_the_one_bad_client() -> None:
    log = Log()
    for user in range(60_000):
        number = log.opens(f"10.{user >> 14}.{user >> 7 & 127}.{user & 127}")
        log.binds(number, b"uid=u%d,dc=example" % user, took=0.0001)
        log.closes(number)
    bad = log.opens(BAD)
    for op in range(5):
        log.searches(bad, op, DISPLAY_NAME, took=30.0)
    first = log.traffic().workload.client_totals[0]
    assert (first.name, first.count, first.etime) == (BAD, 5, 150 * SECOND)


@pytest.mark.parametrize(("took", "verdict"), [(0.0001, Clear), (0.2, NotJudged)])
def test_checks_of_filters_clear_nobody_for_what_is_not_listed(took, verdict) -> None:
    log = many_bases(100, took, Caps(shapes=10))
    told = diagnose(Bundle(facts=(log.fact(),)), catalogue.CATALOGUE)
    for check in BY_FILTERS:
        verdicts = judged_facts(told, check).values()
        assert any(isinstance(one, Clear) for one in verdicts) is (verdict is Clear), check


@pytest.mark.parametrize("judge", [connection_churn.judge, unclean_closes.judge])
@pytest.mark.parametrize(("visits", "verdict"), [(1, Clear), (60, NotJudged)])
def test_checks_of_clients_clear_nobody_for_what_is_not_listed(judge, visits, verdict) -> None:
    log = Log(Scan(caps=Caps(clients=5)))
    for client in range(8):
        log.visits(visits, f"10.0.0.{client}", lives=70.0, every=71.0)
    (told,) = judge(facts.server(), log.traffic())
    assert isinstance(told, verdict)
