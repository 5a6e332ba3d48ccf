"""The values of the page of a diagnosis, from its report object: its lead, actions, numbers, tables and listing."""

from __future__ import annotations

from collections import Counter
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.report.candidates import timeout
from ldapdiag.report.changes import FORMER, change_word, count_parts
from ldapdiag.report.headline import CLEAR, first_step, headline, reservation
from ldapdiag.report.html import figures
from ldapdiag.report.html.evidence import appendix, period, sheets, sources
from ldapdiag.report.html.listing import IN_FULL, clear_checks, listing
from ldapdiag.report.html.values import PageTable, page_tables, table
from ldapdiag.report.indexes.plan_block import unindexed_time
from ldapdiag.report.not_judged import lacks_of
from ldapdiag.report.table import listed
from ldapdiag.report.tables.of_indexes import OF_A_PAGE, captioned
from ldapdiag.report.tables.of_storage import of_pages
from ldapdiag.report.verdicts import acceptance_of, is_accepted
from ldapdiag.wording import are, between, counted, duration, number, rounded, seconds, size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ldapdiag.report.headline import FirstStep
    from ldapdiag.report.html.listing import ListedFindings
    from ldapdiag.report.not_judged import Lack

SEVERITIES = ("critical", "high", "medium", "low", "info")
ACTIONS = 7

NAMES = 4
"""Servers named in the head, and reasons in a row."""
CRASHED = 50
LACKS = 40
FORMER_ROWS = 200
COLLECT = 3
"""Evidence to collect first, named in the head of a report without a remedy."""


def diagnosis_values(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the template of a diagnosis prints."""
    findings, verdicts = document["findings"], document["verdicts"]
    shown = listing(findings)
    read = sources(document["evidence"])
    first = first_of(document)
    steps = actions(shown, first)
    return {
        "version": document["tool"]["version"],
        "scanner": document["tool"]["scanner"],
        "names": _names(document),
        "hosts": len(document["hosts"]),
        "files": len(read),
        "not_understood": sum(one.not_understood for one in read),
        "period": period(read),
        "lead": lead(document),
        "actions": steps,
        "first_words": first.text if first is not None and first.remedy is None else "",
        "first_anchor": steps[0][0].anchor if steps else "",
        "counts": list(counts(document)),
        "numbers": key_numbers(document),
        "listing": shown,
        "hero": figures.hero(document),
        "charts": figures.of_sections(document),
        "charts_of": figures.in_findings([one.finding for one in shown.full], document),
        "tables_of": candidate_tables(one.finding for one in shown.full),
        "index_tables": index_tables(document.get("indexes") or ()),
        "storage_tables": storage_tables(document),
        "collect": [] if steps else lacks_of(verdicts)[:COLLECT],
        "sheets": sheets(findings),
        "box_actions": [remedy for each in shown.full for remedy in each.remedies if remedy.remedy["where"] == "box"],
        "since": " · ".join(count_parts(document["baseline"])) if document["baseline"] else "",
        "changed": [change_word(one.finding) for one in shown.full],
        "former_tables": list(_former_tables(document["baseline"])),
        "baseline_notes": (document["baseline"] or {}).get("notes", ()),
        "clear": clear_checks(verdicts),
        "missing": _missing(verdicts),
        "crashed": [verdict for verdict in verdicts if verdict["outcome"] == "crashed"][:CRASHED],
        "disabled": document["disabled"],
        "notes": (document["tool"]["config"] or {}).get("notes", ()),
        "acceptance_of": acceptance_of,
        "is_accepted": is_accepted,
        "evidence_tables": list(appendix(document, read)),
    }


def _names(document: Mapping[str, Any]) -> str:
    """Return the servers that findings and evidence name."""
    named = (one["server"] for key in ("findings", "evidence") for one in document[key])
    hosts = (host["name"] for host in document["hosts"] if "server" in host["roles"])
    names = list(dict.fromkeys(name for name in (*hosts, *named) if name))
    return listed(names, NAMES)


def _former_tables(baseline: Mapping[str, Any] | None) -> Iterator[PageTable]:
    """Yield a table of the earlier findings that are gone, and one of those that are not seen."""
    columns = [("Severity", False), ("Finding", False), ("Check", False), ("Why", False)]
    for became, key in FORMER.items() if baseline else ():
        rows = [[one["severity"], one["title"], one["check"], one["reason"]] for one in (baseline or {})[key]]
        if rows:
            caption = f"Findings of the baseline that are {became}"
            yield table(caption, columns, rows, most=FORMER_ROWS, what="findings are")


def _missing(verdicts: Iterable[Mapping[str, Any]]) -> PageTable:
    columns = [("Evidence that is lacking", False), ("Checks", False), ("How to collect it", False)]
    caption = "By the evidence that is lacking; what the most checks lack comes first"
    return table(
        caption, columns, map(_lack_row, lacks_of(verdicts, reasons_apart=True)), most=LACKS, what="reasons are"
    )


def _lack_row(lack: Lack) -> list[str]:
    more = f" (and {counted(lack.alike, 'subject')} alike)" if lack.alike else ""
    return [f"{lack.reason}{more}", ", ".join(lack.checks), lack.how or ""]


TABLES = 40


def storage_tables(document: Mapping[str, Any]) -> list[PageTable]:
    """Return the tables of volumes and settings, and what the charts of a probe do not show."""
    found = (page_tables(one, tables) for one, tables in of_pages(document, beside_charts=True))
    return list(islice(chain.from_iterable(found), TABLES))


SERVERS = 10


def index_tables(plans: Sequence[Mapping[str, Any]]) -> Sequence[PageTable]:
    """Return the tables of each server, without empty ones."""
    return [one for plan in plans[:SERVERS] for one in page_tables(captioned(plan), OF_A_PAGE)]


MOST = 5
"""Findings of a page with such a table."""


def candidate_tables(findings: Iterable[Mapping[str, Any]]) -> Sequence[Sequence[PageTable]]:
    """Return the tables of each finding: one of a finding with a replay, none of others."""
    left, found = MOST, []
    for finding in findings:
        tables = _candidate_tables(finding) if left else ()
        found.append(tables)
        left -= len(tables)
    return found


def _candidate_tables(finding: Mapping[str, Any]) -> Sequence[PageTable]:
    """Return the timeouts that the access log is long enough to judge."""
    observed = finding["observed"]
    period = observed.get("log_seconds") or 0
    rows = [row for row in observed.get("replay") or () if row["timeout_seconds"] < period]
    if not rows:
        return ()
    columns = [("Idle timeout", False), ("Live connections cut a day", True), ("Most connections at once", True)]
    return [
        table(
            f"Idle timeouts, replayed on {duration(period)} of access log",
            [*columns, ("Descriptor-hours freed", True), ("First cut", False)],
            (_row(row, observed["recommended_seconds"]) for row in rows),
        )
    ]


def _row(row: Mapping[str, Any], recommended: int | None) -> list[str]:
    name = timeout(row["timeout_seconds"])
    low, high = row["cut_per_day"], row["most_cut_per_day"]
    client = row["first_client"]
    return [
        f"{name} (recommended)" if row["timeout_seconds"] == recommended else name,
        rounded(high) if low == high else f"{rounded(low)} to {rounded(high)}",
        "not known" if row["peak"] is None else number(row["peak"]),
        f"{row['freed_seconds'] / 3600:,.1f}",
        "" if client is None else f"{row['first_account'] or 'anonymous'} from {client}",
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """The verdict on the whole report."""

    badge: str
    """A word; colour only adds to it."""
    style: str
    """The class of the badge."""
    title: str
    sentences: Sequence[str]
    is_finding: bool
    """It is the first finding, whose explanation follows there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """A remedy in one line, with the anchor of its commands."""

    title: str
    target: str
    needs: str
    anchor: str
    is_alternative: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """A number of verdicts, with the anchor of the first."""

    text: str
    anchor: str


def lead(document: Mapping[str, Any]) -> Lead:
    """Return the verdict: missing evidence first, then the worst finding, then by the rule of the text."""
    if missing := document["shortfall"]:
        return _lead("not read", missing["reason"], missing["how"])
    first = headline(document)
    if (worst := first.finding) is not None:
        return Lead(
            badge=worst["severity"],
            style=worst["severity"],
            title=worst["title"],
            sentences=[*worst["detail"].split("\n")[:1], *filter(None, [reservation(document)])],
            is_finding=True,
        )
    if first.label != CLEAR:
        return _lead(first.label.lower(), first.text, *([first.detail] if first.detail else []))
    outcomes = Counter(verdict["outcome"] for verdict in document["verdicts"])
    clear, open_ = counted(outcomes["clear"], "subject"), counted(outcomes["not-judged"], "subject")
    rest = f"; {open_} {are(outcomes['not-judged'])} not judged, for lack of evidence" if outcomes["not-judged"] else ""
    return _lead(first.label, first.text, f"{clear} {are(outcomes['clear'])} clear{rest}.")


def _lead(badge: str, title: str, *sentences: str) -> Lead:
    return Lead(badge=badge, style="plain", title=title, sentences=sentences, is_finding=False)


def first_of(document: Mapping[str, Any]) -> FirstStep | None:
    """Return what to do first about the worst finding: a remedy, or a text alone; None without such a finding."""
    first = headline(document)
    return first_step(document, first) if first.finding is not None else None


def actions(shown: ListedFindings, first: FirstStep | None) -> Sequence[Sequence[Action]]:
    """Return the steps to do: the remedy of the first one, then in the order of the findings.

    Each is there once, with its alternatives behind it.
    """
    found: dict[tuple[str, str], Action] = {}
    for one in (remedy for each in shown.full if not is_accepted(each.finding) for remedy in each.remedies):
        title, target, is_alternative = one.remedy["title"], one.remedy["target"], one.label == "or"
        action = Action(title=title, target=target, needs=one.needs, anchor=one.anchor, is_alternative=is_alternative)
        found.setdefault((title, target), action)
    steps: list[list[Action]] = []
    for action in islice(found.values(), ACTIONS):
        if action.is_alternative and steps:
            steps[-1].append(action)
        else:
            steps.append([action])
    remedy = first.remedy if first is not None else None
    return sorted(steps, key=lambda one: remedy is None or (one[0].title, one[0].target) != _named(remedy))


def _named(remedy: Mapping[str, Any]) -> tuple[str, str]:
    return remedy["title"], remedy["target"]


def counts(document: Mapping[str, Any]) -> Iterator[Count]:
    """Yield the number of findings by severity, and of the other verdicts."""
    severities = ["accepted" if is_accepted(finding) else finding["severity"] for finding in document["findings"]]
    for severity in (*SEVERITIES, "accepted"):
        if many := severities.count(severity):
            first = severities.index(severity)
            anchor = f"finding-{first + 1}" if first < IN_FULL else "findings"
            yield Count(text=f"{number(many)} {severity}", anchor=anchor)
    if not severities:
        yield Count(text="0 findings", anchor="findings")
    outcomes = Counter(verdict["outcome"] for verdict in document["verdicts"])
    for outcome, name in (("clear", "clear"), ("not-judged", "not judged"), ("crashed", "crashed")):
        if outcomes[outcome] or outcome != "crashed":
            yield Count(text=f"{number(outcomes[outcome])} {name}", anchor=outcome)
    if disabled := document["disabled"]:
        yield Count(text=f"{number(len(disabled))} disabled", anchor="disabled")


def key_numbers(document: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    """Return the numbers to quote, each with its name; those that the evidence does not contain are left out."""
    return [
        *_idle_numbers(document["findings"]),
        *_index_numbers(document.get("indexes") or ()),
        *_probe_numbers(document.get("probes") or ()),
    ][:8]


def _idle_numbers(findings: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    observed: Mapping[str, Any] = next(
        (finding["observed"] for finding in findings if finding["check"] == "idle-timeout"), {}
    )
    if (upper := observed.get("box_upper_seconds")) is not None:
        yield f"a middlebox {observed['box_action']}", between(observed["box_lower_seconds"], upper)
    for key, name in (
        ("longest_idle_seconds", "longest idle time of a connection not known to be dead"),
        ("ghost_lifetime_seconds", "a ghost connection lasts"),
        ("recommended_seconds", "recommended idle timeout of the server"),
    ):
        if (value := observed.get(key)) is not None:
            yield name, seconds(value)


def _index_numbers(servers: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for server in servers:
        yield f"of access log, {server['server']}", duration(server["log_seconds"])
        yield f"searches, {server['server']}", number(server["searches"])
        yield f"of search time, {server['server']}", duration(server["etime_seconds"])
        yield f"of it unindexed, {server['server']}", unindexed_time(server)


def _probe_numbers(probes: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield the medians that a server is compared with."""
    for probe in probes:
        place = probe["mount_point"] or probe["directory"]
        for write, call in (("overwrite", "fdatasync"), ("append", "fsync")):
            for row in (row for row in probe["syncs"] if (row["write"], row["call"]) == (write, call)):
                yield (
                    f"sync of an {write} of {size(row['block_bytes'])}, {place}",
                    duration(row["sync"]["p50_seconds"]),
                )
