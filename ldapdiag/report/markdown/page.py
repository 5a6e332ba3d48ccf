"""A report object as Markdown: a diagnosis, the contents of access logs, or a history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.remedy import Needs, step_labels
from ldapdiag.report.candidates import candidates
from ldapdiag.report.changes import change_word, count_parts, former_lines
from ldapdiag.report.charts.terminal import bars
from ldapdiag.report.headline import UNKNOWN, headline, reservation
from ldapdiag.report.history.rows import LASTING, RUNS, lasting_rows, period, remarks, run_rows, title
from ldapdiag.report.indexes.plan_block import unindexed_time
from ldapdiag.report.log.caveats import left_out, limits
from ldapdiag.report.log.caveats import remarks as log_remarks
from ldapdiag.report.log.fleet_text import fleet_sentences
from ldapdiag.report.log.operations_text import load_sentences
from ldapdiag.report.log.quantities import span
from ldapdiag.report.log.tables import SEARCHES, SECTIONS, at_once, unusual
from ldapdiag.report.markdown.writing import ROOM, PageEntry, fenced, fitted, listed, part, parts, prose, size, table
from ldapdiag.report.tables.of_indexes import PLAN, captioned
from ldapdiag.report.tables.of_storage import of_pages
from ldapdiag.report.verdicts import acceptance_of, is_accepted, lines_not_understood
from ldapdiag.wording import between, counted, duration, number, seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

Plain = Mapping[str, Any]

WIDTH = 80
"""Columns of a bar chart."""
ROWS = 8
"""Bars of one chart."""
TABLES = 6
"""Of the storage of servers; the JSON report has them all."""
SENTENCE = 1000
SENTENCES = 30
LANGUAGES = {"shell": "sh", "ldif": "ldif"}


def diagnosis(document: Plain) -> str:
    """Return a report object as Markdown."""
    entries = (PageEntry(full=partial(_full, one), short=partial(_line, one)) for one in document["findings"])
    return fitted(list(_head(document)), entries, list(_tail(document)))


def _full(finding: Plain) -> str:
    return "\n\n".join(_finding(finding))


def _head(document: Plain) -> Iterator[str]:
    found = document["findings"]
    severities = Counter("accepted" if is_accepted(one) else one["severity"] for one in found)
    counts = ", ".join(f"{count:,} {severity}" for severity, count in severities.items())
    yield f"### {counted(len(found), 'finding')} ({counts})" if found else "### No finding"
    if missing := document["shortfall"]:
        yield f"**NOT READ:** {prose(missing['reason'])}; {prose(missing['how'])}"
    elif (first := headline(document)).finding is None:
        yield f"**{first.label}:** {prose(first.text)}" + (f". {prose(first.detail, SENTENCE)}" if first.detail else "")
    elif rest := reservation(document):
        yield f"**{UNKNOWN}:** {prose(rest)}"
    if baseline := document["baseline"]:
        yield f"**Changes:** {prose(', '.join(count_parts(baseline)))}"
    if numbers := _numbers(document):
        yield table(list(numbers), [list(numbers.values())])
    outcomes = Counter(verdict["outcome"] for verdict in document["verdicts"])
    hosts = ", ".join(host["name"] for host in document["hosts"])
    inputs = lines_not_understood(document["evidence"])
    crashed = f", {outcomes['crashed']:,} crashed" if outcomes["crashed"] else ""
    disabled = f", {len(document['disabled']):,} disabled" if document["disabled"] else ""
    passed_over = len(document["passed_over"])
    yield (
        f"{outcomes['clear']:,} clear, {outcomes['not-judged']:,} not judged{crashed}{disabled}. "
        f"Evidence: {counted(len(document['hosts']), 'host')} ({prose(hosts)}), {counted(len(inputs), 'file')}, "
        f"{counted(sum(inputs.values()), 'line')} not understood"
        + (f", {counted(passed_over, 'file')} passed over. " if passed_over else ". ")
        + f"Report of {prose(document['taken_at'])} by ldapdiag {prose(document['tool']['version'])}."
    )
    for plan in document.get("indexes", ()):
        yield from _plan(plan)
    shown = (part for one, tables in of_pages(document) for part in parts(one, tables))
    yield from islice(shown, TABLES)


def _numbers(document: Plain) -> dict[str, str]:
    """Return the main numbers of connections, those that the evidence has."""
    observed: dict[str, Plain] = {}
    for finding in document["findings"]:
        observed.setdefault(finding["check"], finding["observed"])
    idle, load = observed.get("idle-timeout", {}), observed.get("descriptor-headroom", {})
    numbers = {
        f"a middlebox {idle.get('box_action')}": between(idle["box_lower_seconds"], idle["box_upper_seconds"])
        if idle.get("box_upper_seconds") is not None
        else None,
        "longest idle time of a connection not known to be dead": _seconds(idle.get("longest_idle_seconds")),
        "a ghost connection lasts": _seconds(idle.get("ghost_lifetime_seconds")),
        "descriptors in use": f"{number(load['used'])} of {number(load['limit'])}"
        if load.get("used") is not None and load.get("limit")
        else None,
    }
    return {name: value for name, value in numbers.items() if value}


def _seconds(value: float | None) -> str | None:
    return None if value is None else seconds(value)


def _plan(plan: Plain) -> Iterator[str]:
    """Yield the indexes to add at one server, and what they save."""
    if not plan["plan"]:
        return
    log = span(round(plan["log_seconds"] * SECOND))
    possible = "" if plan["configured"] else "This is possible only: the index configuration was not read. "
    yield (
        f"{possible}Of {seconds(plan['etime_seconds'])} of search time in "
        f"{log} of log, {unindexed_time(plan, seconds)} is unindexed; the plan saves "
        f"about {seconds(plan['saves_seconds'])}."
    )
    yield from parts(captioned(plan), [PLAN])


def _line(finding: Plain) -> str:
    changed = f", {prose(change_word(finding))}" if finding["change"] else ""
    decision = f"; {prose(acceptance_of(finding))}" if finding["acceptance"] else ""
    return f"- {finding['severity'].upper()}: {prose(finding['title'])} ({prose(finding['check'])}{changed}){decision}"


def _finding(finding: Plain) -> Iterator[str]:
    yield f"### {'Accepted, ' if is_accepted(finding) else ''}{finding['severity'].upper()}: {prose(finding['title'])}"
    if finding["acceptance"]:
        yield prose(acceptance_of(finding), SENTENCE)
    if rows := list(_chart(finding)):
        yield fenced("\n".join(rows), "text")
    for sentence in finding["detail"].split("\n")[:SENTENCES]:
        yield prose(sentence, SENTENCE)
    if finding["change"]:
        yield f"**{prose(change_word(finding))}**"
    yield f"Check {prose(finding['check'])}, {finding['confidence']}; from {prose(', '.join(finding['origins']))}"
    labels = step_labels(one["alternative"] for one in finding["remedies"])
    for label, remedy in zip(labels, finding["remedies"], strict=True):
        yield from _remedy(f"{label}:" if label == "or" else f"{label}.", remedy)


def _chart(finding: Plain) -> Iterator[str]:
    """Yield bars of the numbers of a finding."""
    observed = finding["observed"]
    if observed.get("client_count") is not None and observed.get("server_count") is not None:
        hosts = " + ".join(observed.get("client_hosts") or [str(observed.get("client"))])
        ends = [(f"at {finding['server']}", observed["server_count"]), (f"at {hosts}", observed["client_count"])]
        yield from bars(ends, WIDTH)
    for key, name in (("by_account", "bind_dn"), ("by_client", "client")):
        if rows := observed.get(key):
            yield from bars([(row[name], row["connections"]) for row in rows[:ROWS]], WIDTH)
            if len(rows) > ROWS:
                yield f"and {len(rows) - ROWS:,} more"
    yield from candidates(observed, verbose=False)


def _remedy(label: str, remedy: Plain) -> Iterator[str]:
    """Yield a remedy: what it changes, its risk, and only then its commands; verification and undo come last."""
    needs = Needs(remedy["needs"]).clause
    yield f"#### {label} {prose(remedy['title'])} (at {prose(remedy['target'])}{needs and f', {needs}'})"
    if remedy["kind"] == "advice":
        yield prose(remedy["text"], SENTENCE)
        return
    yield prose(remedy["changes"], SENTENCE)
    yield f"Risk: {prose(remedy['risk'], SENTENCE)}"
    yield _commands(remedy["brief"] or remedy["text"], LANGUAGES.get(remedy["kind"], "text"))
    for name in ("verify", "undo"):
        if remedy[name]:
            yield f"{name.capitalize()}:"
            yield _commands(remedy[name])


def _commands(text: str, language: str = "") -> str:
    block = fenced(text, language)
    if size(block) <= ROOM:
        return block
    return (
        f"{counted(text.count(chr(10)) + 1, 'line')} that are too long for this page; the report as JSON contains them."
    )


def _tail(document: Plain) -> Iterator[str]:
    """Yield what was not found, not judged and not read."""
    verdicts = document["verdicts"]
    baseline = document["baseline"] or {"gone": (), "not_seen": (), "notes": ()}
    parts = {
        "Gone since the baseline": former_lines(baseline, "gone"),
        "Not seen since the baseline": former_lines(baseline, "not seen"),
        "About the baseline": baseline["notes"],
        "Crashed": _subjects(verdicts, "crashed"),
        "Not judged": _not_judged(verdicts),
        "Site configuration": (document["tool"]["config"] or {}).get("notes", []),
        "Disabled": [f"{one['check']}: {one['reason']}" for one in document["disabled"]],
        "Not read": [f"{gap['target']}: {gap['reason']}; {gap['how'] or ''}".rstrip("; ") for gap in document["gaps"]],
        "Clear": _subjects(verdicts, "clear"),
    }
    for heading, rows in parts.items():
        if rows:
            yield f"### {heading}\n\n{listed(rows)}"


def _subjects(verdicts: list[Plain], outcome: str) -> list[str]:
    return [
        f"{verdict['check']}, {verdict['subject']}: {verdict['reason']}"
        if verdict["subject"]
        else f"{verdict['check']}: {verdict['reason']}"
        for verdict in verdicts
        if verdict["outcome"] == outcome
    ]


def _not_judged(verdicts: list[Plain]) -> list[str]:
    """Return each reason once, with its checks, and how to close it."""
    checks: dict[tuple[str, str], dict[str, None]] = {}
    for verdict in verdicts:
        if verdict["outcome"] == "not-judged":
            checks.setdefault((verdict["reason"], verdict["how"] or ""), {})[verdict["check"]] = None
    return [f"{', '.join(names)}: {reason}; {how}".rstrip("; ") for (reason, how), names in checks.items()]


LONG_TABLE = 10_000
"""Bytes of the table of searches."""


def access_logs(document: Plain) -> str:
    """Return a report object as Markdown."""
    return fitted(list(_log_head(document)), [], list(_tables(document)))


def _log_head(document: Plain) -> Iterator[str]:
    servers = ", ".join(stream["name"] for stream in document["streams"])
    yield f"### Access log of {prose(servers)}"
    if stated := " ".join(limits(document)):
        yield f"**{prose(stated, SENTENCE)}**"
    searches, connections = document["searches"], document["connections"]
    yield table(
        ["searches", "search time", "unindexed", "connections opened", f"open {at_once(document)}"],
        [
            [
                number(searches["total"]),
                duration(searches["etime_seconds"]),
                number(searches["unindexed"]),
                number(connections["opened"]),
                number(connections["peak"]),
            ]
        ],
    )
    apart = [f"Of the searches, {what}." for what in unusual(searches)]
    if sentences := [*apart, *load_sentences(document), *(fleet_sentences(document) if document["fleet"] else ())]:
        yield prose(" ".join(sentences), SENTENCE)
    covered = f"{document['first_time']} to {document['last_time']}" if document["first_time"] else "no record"
    yield (
        f"{prose(', '.join(document['versions']) or 'Version unknown')}, {prose(covered)}, "
        f"{counted(document['lines'], 'line')}, {number(document['lines_not_understood'])} not understood."
    )


def _tables(document: Plain) -> Iterator[str]:
    for _, _, tables in SECTIONS:
        for one in tables:
            yield from parts(document, [one], LONG_TABLE if one is SEARCHES else ROOM)
    gaps = [f"{one['target']}: {one['reason']}" for one in (*document["gaps"], *document["files_not_logs"])]
    copies = [f"{target} {reason}; it is left out" for target, reason in left_out(document)]
    if stated := [*log_remarks(document), *copies, *gaps]:
        yield f"### Remarks\n\n{listed(stated)}"


def history(document: Mapping[str, Any]) -> str:
    """Return a report object as Markdown."""
    return fitted(
        [f"### History {prose(document['file'])}", f"{prose(title(document))}, {period(document)}."],
        [],
        list(_parts(document)),
    )


def _parts(document: Mapping[str, Any]) -> Iterator[str]:
    lasting, runs = ([f"{name[0].lower()}{name[1:]}" for name, _ in columns] for columns in (LASTING, RUNS))
    for server in document["servers"]:
        yield from part(f"{server}: findings of the last run", lasting, lasting_rows(document, server))
        yield from part(f"{server}: runs, the latest first", runs, run_rows(document, server))
    yield from part("Findings about no single server", lasting, lasting_rows(document, None))
    if notes := remarks(document):
        yield f"### Remarks\n\n{listed(notes)}"


MOST_MADE = 2_000
"""Characters of the command."""

PAGES = {"ldapdiag.log": access_logs, "ldapdiag.history": history}
"""By schema; all others are diagnoses."""


def render(document: Mapping[str, Any], made: str = "") -> str:
    """Return a report object as Markdown; `made`, when and by which command, is its last block."""
    text = PAGES.get(document["schema"].partition("/")[0], diagnosis)(document)
    return f"{text}\n{fenced(made[:MOST_MADE], 'text')}\n" if made else text
