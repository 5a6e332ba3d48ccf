"""The values of the page of a diagnosis, from its report object."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from ldapdiag.report.candidates import timeout
from ldapdiag.report.changes import FORMER, change_word, count_parts
from ldapdiag.report.html import figures, lead
from ldapdiag.report.html.evidence import appendix, period, sheets, sources
from ldapdiag.report.html.listing import clear_checks, listing
from ldapdiag.report.html.values import PageTable, page_tables, table
from ldapdiag.report.not_judged import lacks_of
from ldapdiag.report.table import listed
from ldapdiag.report.tables.of_indexes import OF_A_PAGE, captioned
from ldapdiag.report.tables.of_storage import of_pages
from ldapdiag.report.verdicts import acceptance_of, is_accepted
from ldapdiag.wording import counted, duration, number, rounded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ldapdiag.report.not_judged import Lack

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
    first = lead.first_of(document)
    actions = lead.actions(shown, first)
    return {
        "version": document["tool"]["version"],
        "scanner": document["tool"]["scanner"],
        "names": _names(document),
        "hosts": len(document["hosts"]),
        "files": len(read),
        "not_understood": sum(one.not_understood for one in read),
        "period": period(read),
        "lead": lead.lead(document),
        "actions": actions,
        "first_words": first.text if first is not None and first.remedy is None else "",
        "first_anchor": actions[0][0].anchor if actions else "",
        "counts": list(lead.counts(document)),
        "numbers": lead.key_numbers(document),
        "listing": shown,
        "hero": figures.hero(document),
        "charts": figures.of_sections(document),
        "charts_of": figures.in_findings([one.finding for one in shown.full], document),
        "tables_of": candidate_tables(one.finding for one in shown.full),
        "index_tables": index_tables(document.get("indexes") or ()),
        "storage_tables": storage_tables(document),
        "collect": [] if actions else lacks_of(verdicts)[:COLLECT],
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
