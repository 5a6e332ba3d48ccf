"""wrong-answers-possible: the states of an index, by the times of its entry, the errors log and the starts."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

import facts
from audits import Audit
from incidents import diagnosed_facts
from indexes_389 import DATABASES, LIST, index
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.index_answers import IndexAnswers, ProbedIndex
from ldapdiag.evidence.indexes import Backend, IndexConfiguration, IndexDefinition
from ldapdiag.evidence.indexes.index_tasks import IndexTask
from ldapdiag.evidence.ldif import comparable
from ldapdiag.evidence.origin import Span
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from reading import facts_of

if TYPE_CHECKING:
    from collections.abc import Iterable

LOADED, EARLIER, CHANGED, LATER, LAST = "02:00:00", "04:00:00", "05:00:00", "06:00:00", "07:00:00"
"""When the database was added, and times before and after the change of an index."""
MANAGER, ITSELF = "cn=Directory Manager", DATABASES
CREATED, MODIFIED = "created", "modified"


def backend(*entries: str) -> str:
    return (
        f"dn: cn=userRoot,{DATABASES}\ncn: userRoot\nnsslapd-suffix: dc=example,dc=com\n"
        f"createTimestamp: {stamp(LOADED)}\n\n{LIST}{''.join(entries)}"
    )


def stamp(clock: str) -> str:
    return f"20261122{clock.replace(':', '')}Z"


def entry(*lines: str, created: str = CHANGED, modified: str = "", creator: str = MANAGER, rule: str = "") -> str:
    """Return the entry of an index on employeeNumber."""
    times = [f"createTimestamp: {stamp(created)}"] if created else []
    times += [f"modifyTimestamp: {stamp(modified or created)}", f"creatorsName: {creator}"]
    rules = [f"nsMatchingRule: {rule}"] if rule else []
    return index("nsIndexType: eq", *rules, *times, *lines, attribute="employeeNumber")


START = "main - 389-Directory/2.3.1 B2025.016.1616 starting up"
STOPPED = "main - slapd stopped."
RECOVERED = "bdb_start - Detected Disorderly Shutdown last time Directory Server was running, recovering database."


def errors(*events: tuple[str, str], logs_ends: bool = True) -> str:
    """Return an errors log of lines at times; as the server does, it has the end of each process before the next."""
    begun, lines = False, [BANNER]
    for clock, text in events:
        if text == START and begun and logs_ends:
            lines.append(line(clock, STOPPED))
        begun |= text == START
        lines.append(line(clock, text))
    return "".join(lines)


BANNER = "\t389-Directory/2.3.1 B2025.016.1616\n"


def line(clock: str, text: str) -> str:
    return f"[22/Nov/2026:{clock} +0000] - INFO - {text}\n"


BUILD = "bdb_db2index - userRoot: Indexing attribute: employeeNumber"
FINISHED = "bdb_db2index - userRoot: Finished indexing."
OPENED = (LOADED, "bdb_start_autotune - found 24731708k physical memory")
FAILED = "task_index_thread - Index failed (error -1)"
BEGUN = (LOADED, START)


def facts_at(texts: Iterable[str], *more: Any) -> list[Any]:
    read = [fact for text in texts for fact in facts_of(text)]
    return [*(replace(one, origin=facts.origin("ldap", f"{type(one).__name__}.txt")) for one in read), *more]


def verdicts(*evidence: Any) -> list[Verdict]:
    judged = diagnosed_facts(list(evidence)).judged
    return [one.verdict for one in judged if one.check == "wrong-answers-possible"]


def judged(configuration: str, *events: tuple[str, str], more: Iterable[Any] = ()) -> Verdict:
    """Return the one verdict on a server with one index."""
    (one,) = verdicts(*facts_at([backend(configuration), *([errors(*events)] if events else [])], *more))
    return one


def finding(*evidence: Any, **more: Any) -> Finding:
    one = judged(*evidence, **more)
    assert isinstance(one, Finding), one
    return one


def test_defined_and_never_built_and_restarted() -> None:
    one = finding(entry(), BEGUN, (LATER, START))
    assert (one.severity, one.confidence) == (Severity.CRITICAL, Confidence.LIKELY)
    assert one.observed == {
        "server": "ldap",
        "backend": "userRoot",
        "attribute": "employeeNumber",
        "types": ["eq"],
        "rules": [],
        "state": "never-built",
        "changed": "2026-11-22T05:00:00Z",
        "samples": None,
        "missing": None,
        "reason": one.observed["reason"],
    }
    proof, build = one.remedies
    assert "(employeeNumber=@)" in proof.text
    assert "employeeNumber" in build.text


def test_a_default_index_that_a_start_added_again() -> None:
    one = finding(entry(creator=ITSELF), BEGUN, (CHANGED, START))
    assert (one.observed["state"], one.confidence) == ("recreated", Confidence.LIKELY)


def test_a_default_index_that_was_added_again_may_have_been_built_since() -> None:
    one = finding(entry(creator=ITSELF))
    assert (one.severity, one.confidence) == (Severity.HIGH, Confidence.POSSIBLE)


@pytest.mark.parametrize("ends", [[(LATER, START)], [(LATER, FAILED), (LAST, START)]])
def test_an_interrupted_build(ends: list[tuple[str, str]]) -> None:
    one = finding(entry(), BEGUN, (CHANGED, BUILD), *ends)
    assert (one.observed["state"], one.severity) == ("interrupted", Severity.CRITICAL)


@pytest.mark.parametrize(("rule", "severity"), [("integerOrderingMatch", Severity.HIGH), ("", Severity.MEDIUM)])
def test_changed_since_it_was_built(rule: str, severity: Severity) -> None:
    index_entry = entry(created=LOADED, modified=CHANGED, rule=rule)
    one = finding(index_entry, BEGUN, (EARLIER, BUILD), (EARLIER, FINISHED), (LATER, START))
    assert (one.observed["state"], one.severity, one.confidence) == ("changed", severity, Confidence.POSSIBLE)


def test_a_matching_rule_spoils_answers_at_once() -> None:
    one = finding(entry(created="", modified=CHANGED, rule="caseExactMatch"), BEGUN, (LATER, "a - line"))
    assert one.observed["state"] == "changed"


@pytest.mark.parametrize(
    ("index_entry", "events"),
    [
        pytest.param(entry(), [BEGUN, (LATER, BUILD), (LATER, FINISHED), (LAST, START)], id="built since"),
        pytest.param(
            entry(), [BEGUN, (LATER, "x - import userRoot: Import complete.  Processed 9 entries"), (LAST, START)],
            id="imported since",
        ),
        pytest.param(entry(), [BEGUN, (LATER, BUILD)], id="being built"),
        pytest.param(entry(created=LOADED), [BEGUN, (LATER, START)], id="as old as its database"),
        pytest.param(entry(created=LOADED, creator=ITSELF), [BEGUN, (LATER, START)], id="an original default index"),
    ],
)  # fmt: skip
def test_clear(index_entry: str, events: list[tuple[str, str]]) -> None:
    assert isinstance(judged(index_entry, *events), Clear)


TEMPLATE = "dn: cn=sn,cn=default indexes,cn=config,cn=ldbm database,cn=plugins,cn=config\ncn: sn\n"


def test_a_default_index_without_an_entry_is_added_again_empty() -> None:
    """dse.ldif has the entry that a start added only after the next change of cn=config."""
    template = f"{TEMPLATE}nsSystemIndex: false\nnsIndexType: eq\nnsIndexType: pres\n\n"
    told = verdicts(*facts_at([backend(entry(created=LOADED), template), errors(BEGUN, (LATER, START))]))
    (one,) = [each for each in told if isinstance(each, Finding)]
    assert (one.severity, one.confidence) == (Severity.HIGH, Confidence.POSSIBLE)
    assert (one.observed["state"], one.observed["attribute"], one.observed["changed"]) == ("absent", "sn", None)
    text = one.remedies[0].text
    assert "nsIndexType: pres\nnsIndexType: eq\nLDIF\ntask userRoot sn; } | apply" in text


def test_a_live_server_that_does_not_list_a_default_index_adds_it_at_the_next_start() -> None:
    told = facts_at([backend(entry(created=LOADED), f"{TEMPLATE}nsIndexType: eq\n\n"), errors(BEGUN, (LATER, START))])
    asked = "LDAP searches for indexes at ldap://ds1"
    (one,) = verdicts(*(replace(each, origin=replace(each.origin, asked=asked)) for each in told))
    assert isinstance(one, Finding)
    assert (one.observed["attribute"], one.observed["state"], one.severity) == ("sn", "unused", Severity.HIGH)
    assert "nsIndexType: eq\nLDIF\ntask userRoot sn; } | apply" in one.remedies[0].text


@pytest.mark.parametrize(
    "told",
    [
        pytest.param([f"{TEMPLATE}nsSystemIndex: true\nnsIndexType: eq\n\n"], id="the server's own"),
        pytest.param([f"{TEMPLATE}nsIndexType: eq\n\n", index("nsIndexType: none", attribute="SN")], id="type none"),
    ],
)
def test_a_default_index_that_a_start_does_not_add(told: list[str]) -> None:
    assert isinstance(judged("".join([entry(created=LOADED), *told]), BEGUN, (LATER, START)), Clear)


def test_an_index_with_a_time_beside_others_without_is_not_as_old_as_the_database() -> None:
    """Entries that were written while the server was stopped have no times."""
    loaded = f"dn: cn=userRoot,{DATABASES}\ncn: userRoot\nnsslapd-suffix: dc=example,dc=com\n\n{LIST}"
    older = index("nsIndexType: eq")
    told = verdicts(*facts_at([f"{loaded}{entry()}{older}", errors(BEGUN, (LATER, START))]))
    assert [one.observed["state"] for one in told if isinstance(one, Finding)] == ["never-built"]


@pytest.mark.parametrize("events", [[(LATER, "a - line")], [(CHANGED, BUILD), (LATER, FAILED)]])
def test_an_index_that_is_not_used_yet_is_to_be_built_before_the_next_start(events: list[tuple[str, str]]) -> None:
    one = finding(entry(), BEGUN, *events)
    assert (one.observed["state"], one.severity, one.confidence) == ("unused", Severity.HIGH, Confidence.LIKELY)
    (build,) = one.remedies
    assert "employeeNumber" in build.text


def test_right_answers_of_an_index_that_is_not_used_yet_prove_nothing() -> None:
    assert finding(entry(), BEGUN, (LATER, "a - line"), more=[answers(5, 0)]).observed["state"] == "unused"


def test_right_answers_prove_nothing_where_no_start_since_the_change_is_known() -> None:
    """Not used yet, the index does not matter to them."""
    one = judged(entry(), BEGUN, more=[answers(5, 0)])
    assert isinstance(one, NotJudged)
    assert "a probe finds all entries" in one.reason


def test_an_index_that_was_changed_and_not_used_since_is_named() -> None:
    """Which attribute of its entry was changed is not known: a scan limit needs no build."""
    one = judged(entry(created=LOADED, modified=CHANGED), BEGUN, (LATER, "a - line"))
    assert isinstance(one, Clear)
    assert one.reason.endswith("before the next start: employeeNumber")


BUSY = (BEGUN, OPENED, *((clock, "a - line") for clock in ("04:59:00", "04:59:50", "05:00:20")))
"""No pause of a minute around the change of the index."""


def monitored(clock: str) -> list[Any]:
    """Return what cn=monitor shows of the last start."""
    started = f"dn: cn=monitor\nversion: 389-Directory/2.3.1 B2025.016.1616\nstarttime: {stamp(clock)}\n"
    return facts_at([f"{started}currenttime: {stamp('23:00:00')}\ncurrentconnections: 1\n\n"])


@pytest.mark.parametrize(
    ("text", "more", "why"),
    [
        pytest.param(
            errors(BEGUN) + errors((LAST, START)), [], "another file begins then", id="a rotated file is not named"
        ),
        pytest.param(
            errors(BEGUN, (LAST, START), logs_ends=False), [], "not its end before", id="the server could not log"
        ),
        pytest.param(errors(BEGUN, (LAST, START)), monitored(LATER), "a start of the", id="a start is missing"),
        pytest.param(
            errors(BEGUN, (CHANGED, START), (LAST, START), logs_ends=False), [], "so a build may be", id="several gaps"
        ),
        pytest.param(
            errors(*BUSY, ("05:00:50", START), logs_ends=False), [], "not its end before", id="less than a minute",
        ),
    ],
)  # fmt: skip
def test_a_gap_in_the_errors_log_proves_nothing(text: str, more: list[Any], why: str) -> None:
    """In the gap the index may have been built."""
    (one,) = verdicts(*facts_at([backend(entry()), text], *more))
    assert isinstance(one, NotJudged)
    assert why in one.reason
    assert "--probe-answers" in (one.how or "")


@pytest.mark.parametrize(
    ("text", "more"),
    [
        pytest.param(errors(BEGUN, (LAST, START)), [], id="nothing was to be logged"),
        pytest.param(errors(BEGUN, (LATER, "a - line")) + errors((LATER, STOPPED), (LAST, START)), [], id="rotated"),
        pytest.param(errors(BEGUN, (LAST, START), (LAST, RECOVERED), logs_ends=False), [], id="a crash"),
        pytest.param(
            errors(*BUSY, ("05:00:50", START), ("05:00:50", RECOVERED), logs_ends=False), [],
            id="a crash within a minute of a line",
        ),
        pytest.param(errors(BEGUN, (LAST, START)), monitored(LAST), id="the last start is logged"),
        pytest.param(errors((LOADED, "a - line")) + errors(("03:00:00", START), (LAST, START)), [], id="earlier"),
    ],
)  # fmt: skip
def test_a_whole_errors_log_without_a_build_proves_it(text: str, more: list[Any]) -> None:
    (one,) = verdicts(*facts_at([backend(entry()), text], *more))
    assert isinstance(one, Finding)
    assert one.observed["state"] == "never-built"
    assert "--probe-answers" in one.detail


@pytest.mark.parametrize(
    ("index_entry", "events"),
    [
        pytest.param(entry(), [], id="no errors log"),
        pytest.param(entry(), [(LATER, START)], id="an errors log that begins later"),
        pytest.param(entry(), [BEGUN], id="an errors log that ends before"),
        pytest.param(index("nsIndexType: eq", attribute="employeeNumber"), [BEGUN, (LATER, START)], id="no times"),
    ],
)
def test_not_judged(index_entry: str, events: list[tuple[str, str]]) -> None:
    one = judged(index_entry, *events)
    assert isinstance(one, NotJudged)
    assert "employeeNumber" in one.reason
    assert "--probe-answers" in (one.how or "")


def test_an_index_added_soon_after_its_database_may_be_empty_if_no_log_reaches_back() -> None:
    """An import may have filled the database in between."""
    database = entry("objectClass: top", created=LOADED).replace("employeeNumber", "uid")
    texts = [backend(database, entry(created="02:01:00"))]
    (one,) = verdicts(*facts_at([*texts, errors((LATER, START))]))
    assert isinstance(one, NotJudged)
    (one,) = verdicts(*facts_at([*texts, errors(BEGUN, (LATER, START))]))
    assert isinstance(one, Clear)
    imported = ("02:00:30", "x - import userRoot: Import complete.  Processed 9 entries")
    (one,) = verdicts(*facts_at([*texts, errors(BEGUN, imported, (LATER, START))]))
    assert isinstance(one, Finding)
    assert one.observed["state"] == "never-built"


def answers(samples: int, missing: int, attribute: str = "employeeNumber", name: str = "userRoot") -> IndexAnswers:
    one = ProbedIndex(backend=name, attribute=attribute, samples=samples, missing=missing)
    return IndexAnswers(origin=facts.origin("ldap", "index-answers.txt"), indexes=(one,))


def test_a_wrong_answer_proves_it_whatever_the_log_shows() -> None:
    built = [BEGUN, (LATER, BUILD), (LATER, FINISHED), (LAST, START)]
    one = finding(entry(), *built, more=[answers(5, 1)])
    assert (one.severity, one.confidence) == (Severity.CRITICAL, Confidence.CERTAIN)
    assert (one.observed["samples"], one.observed["missing"]) == (5, 1)


def test_right_answers_outweigh_the_log() -> None:
    assert isinstance(judged(entry(), BEGUN, (LATER, START), more=[answers(3, 0)]), Clear)


def test_one_right_answer_does_not_outweigh_an_interrupted_build() -> None:
    assert finding(entry(), BEGUN, (CHANGED, BUILD), (LATER, START), more=[answers(1, 0)])


def slapd(*more: Any, family: Family = Family.OPENLDAP, names: Iterable[str] = ("mail",)) -> list[Verdict]:
    database = Backend(
        name="{1}mdb",
        suffixes=(comparable("dc=example,dc=com"),),
        definitions=tuple(IndexDefinition(attribute=name, types=frozenset({"eq"})) for name in names),
    )
    identity = ServerIdentity(family=family)
    return verdicts(
        IndexConfiguration(origin=facts.origin("ldap", "config.ldif"), identity=identity, backends=(database,)), *more
    )


def test_slapd_is_judged_by_a_probe_only() -> None:
    (without,) = slapd()
    assert isinstance(without, NotJudged)
    (right,) = slapd(answers(1, 0, "mail", "{1}mdb"))
    assert isinstance(right, Clear)
    (wrong,) = slapd(answers(4, 4, "mail", "{1}mdb"))
    assert isinstance(wrong, Finding)
    assert wrong.confidence is Confidence.CERTAIN


def test_the_indexes_of_slapd_are_counted_and_the_probe_is_named() -> None:
    (one,) = slapd(names=["mail", "uid", "cn", "sn"])
    assert isinstance(one, NotJudged)
    assert one.reason == "all 4 indexes: OpenLDAP records nowhere whether an index was built"
    assert (one.how or "").startswith("ldapdiag indexes ldap://HOST --probe-answers")
    (probed, *_) = slapd(answers(3, 0, "mail", "{1}mdb"), names=["mail", "uid", "cn", "sn"])
    assert isinstance(probed, NotJudged)
    assert probed.reason.startswith("uid, cn, sn: ")


def test_opendj_uses_an_index_only_when_it_is_built() -> None:
    (one,) = slapd(family=Family.OPENDJ)
    assert isinstance(one, Clear)


def ranges(notes: bytes, filter_: str = "(uidNumber>=5000)") -> list[Verdict]:
    audit = Audit()
    audit.has("uidNumber", "eq")
    audit.asks(filter_, notes)
    outcomes = diagnosed_facts(audit.facts()).judged
    return [
        one.verdict for one in outcomes if one.check == "wrong-answers-possible" and isinstance(one.verdict, Finding)
    ]


def test_a_range_of_numbers_without_a_note_was_read_in_the_order_of_text() -> None:
    (one,) = ranges(b"")
    assert isinstance(one, Finding)
    assert (one.observed["state"], one.severity, one.confidence) == ("text-order", Severity.HIGH, Confidence.LIKELY)
    assert "integerOrderingMatch" in one.remedies[0].text


def test_a_range_of_numbers_with_a_note_is_right_and_slow() -> None:
    assert ranges(b"A") == []


@pytest.mark.parametrize("filter_", ["(uidNumber=5000)", "(&(uid=joe)(uidNumber>=5000))", "(cn>=b)"])
def test_other_searches_do_not_depend_on_the_order_of_numbers(filter_: str) -> None:
    assert ranges(b"", filter_) == []


TASK = (
    "dn: cn=t,cn=index,cn=tasks,cn=config\nnsInstance: userroot\nnsIndexAttribute: employeeNumber\n"
    f"createTimestamp: {stamp(LATER)}\n"
)


@pytest.mark.parametrize("code", ["", "nsTaskExitCode: 0\n"])
def test_a_task_that_builds_or_has_built_it(code: str) -> None:
    asked = "LDAP searches for tasks at ldap://ds1"
    tasks = [replace(one, origin=replace(one.origin, asked=asked)) for one in facts_at([f"{TASK}{code}\n"])]
    assert isinstance(judged(entry(), BEGUN, (EARLIER, START), more=tasks), Clear)


def test_a_file_with_a_task_shows_only_that_it_began() -> None:
    """The server writes dse.ldif when a task is added, and keeps it there for some minutes after its end."""
    tasks = facts_at([f"{TASK}\n"])
    one = judged(entry(), BEGUN, (EARLIER, START), more=tasks)
    assert isinstance(one, NotJudged)
    assert "its end is not in the evidence" in one.reason
    assert isinstance(judged(entry(), BEGUN, (LATER, BUILD), (LATER, FINISHED), more=tasks), Clear)


def test_a_file_with_a_task_that_a_start_has_ended_says_nothing_else_than_the_log() -> None:
    crash = [BEGUN, (LATER, BUILD), (LAST, START), (LAST, RECOVERED)]
    assert finding(entry(), *crash, more=facts_at([f"{TASK}\n"])).observed["state"] == "interrupted"


def test_a_task_that_failed_does_not_build_it() -> None:
    failed = facts_at([f"{TASK}nsTaskExitCode: -1\n\n"])
    assert finding(entry(), BEGUN, (LATER, START), more=failed).observed["state"] == "never-built"


def test_the_online_indexer_of_slapd_must_not_be_disturbed() -> None:
    queue = "dn: cn=Runqueue,cn=Threads,cn=Monitor\nmonitoredInfo: {0}mdb_online_index(dc=example,dc=com)\n\n"
    (one,) = slapd(*(fact for fact in facts_at([queue]) if isinstance(fact, IndexTask)))
    assert isinstance(one, NotJudged)
    assert "restart" in one.reason


@pytest.mark.parametrize(("hour", "outcome"), [(5.5, Clear), (6.5, Finding)])
def test_a_probe_from_before_the_build_proves_nothing(hour: float, outcome: type[Verdict]) -> None:
    (probe,) = facts_at([], answers(5, 5))
    taken = datetime(2026, 11, 22, tzinfo=UTC) + timedelta(hours=hour)
    probe = replace(probe, origin=replace(probe.origin, taken=Span(start=taken, end=taken)))
    assert isinstance(judged(entry(), BEGUN, (LATER, BUILD), (LATER, FINISHED), more=[probe]), outcome)
