"""The head of a page: the verdict in one sentence, what to do first, the numbers to quote, and the counts."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any

from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.report.headline import CLEAR, first_step, headline, reservation
from ldapdiag.report.html.listing import IN_FULL
from ldapdiag.report.indexes.plan_block import unindexed_time
from ldapdiag.report.verdicts import is_accepted
from ldapdiag.wording import are, between, counted, duration, number, seconds, size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ldapdiag.report.headline import FirstStep
    from ldapdiag.report.html.listing import ListedFindings

SEVERITIES = ("critical", "high", "medium", "low", "info")
ACTIONS = 7


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
