"""Caveats: limits of the evidence that affect how far the numbers can be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from ldapdiag.analysis.log.omissions import bound_in_words
from ldapdiag.evidence.log.stamps import when
from ldapdiag.report.log.quantities import instant
from ldapdiag.report.log.selected import no_match_sentence
from ldapdiag.wording import counted, number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ldapdiag.report.table import Plain

ALIKE = 2
"""Caveats of one kind that are printed; the others are counted."""

CAPS = {
    "shapes": "filters",
    "clients": "clients",
    "accounts": "accounts",
    "attribution": "combinations of filter, client and account",
    "targets": "targets of other operations",
    "refused": "refused clients",
    "clear_binds": "clients and DNs with BINDs in the clear",
    "bound": "clients' ports with their accounts",
    "ciphers": "ciphers",
    "results": "result codes",
    "servers": "addresses of the server",
    "instances": "servers",
    "stopped": "codes with notes",
    "pending": "operations at once",
    "pages": "paged searches of a connection",
    "codes": "close codes",
    "notes": "notes",
    "not_indexed": "attributes without an index",
    "pieces": "substring lengths",
    "sorts": "sort keys",
    "reported": "combinations of used indexes",
    "lookups": "indexed attributes",
    "modified": "modified attributes",
    "noticed": "filters in the errors log",
    "connections": "connections open at once",
}
"""Names of the caps."""


def caveats(document: Plain) -> Iterator[tuple[str, str]]:
    """Yield pairs of label and sentence for a screen."""
    yield from _limits(document)
    if document["stopped"]:
        yield "stopped", "reading was interrupted; the report covers what was read until then"
    yield from _of_streams(document)


def _limits(document: Plain) -> Iterator[tuple[str, str]]:
    for sentence in _far_records(document):
        yield "times", sentence
    if misread := document["lines_not_understood"]:
        samples = document["lines_not_understood_samples"]
        sample = f"; first: {samples[0]}" if samples else ""
        yield "not read", f"{number(misread)} of {number(document['lines'])} lines not understood{sample}"
        if why := _unread_time(samples):
            yield "", f"the {why}"
    if document["lost_lines"]:
        lines = counted(document["lost_lines"], "lost line")
        yield "lost", f"the log reports {lines}; their operations are not counted"
    if document["caps_hit"]:
        names = ", ".join(CAPS.get(name, name) for name in document["caps_hit"])
        yield "full", f"too many different {names}: the cheapest are counted as 'other'; totals are exact"
        for one in islice(document["unlisted"], ALIKE):
            yield "", bound_in_words(one["table"], one["most_seconds"], one["most"])
    if document["whole_seconds"]:
        yield "clock", "durations in this log are whole seconds; shorter ones show as 0 s"


def _unread_time(samples: Iterable[str]) -> str:
    """Return which form of time in the lines is not read, and what to do, if it is that of a setting."""
    from ldapdiag.evidence.log.local_times import unread_time  # noqa: PLC0415  import late: most logs are understood

    return next(filter(None, (unread_time(one.encode()) for one in samples)), "")


def _far_records(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence on records that are left out of the time axis."""
    for far in (document["timeline"] or {}).get("left_out", ()):
        (is_, it) = ("is", "it is") if far["records"] == 1 else ("are", "they are")
        day, last_day = far["from"][:10], _day_before(far["to"])
        of = f"of {day}" if day == last_day else f"between {day} and {last_day}"
        yield (
            f"{counted(far['records'], 'record')} {is_} {of}, far from all others: {it} counted, but not on the "
            "time axis"
        )


def _day_before(end: str) -> str:
    """Return the day of the last instant before an end."""
    return f"{when(instant(end) - 1):%Y-%m-%d}"


def _of_streams(document: Plain) -> Iterator[tuple[str, str]]:
    copies = [f"{target} {reason}" for target, reason in left_out(document)]
    gaps = [f"{gap['target']}: {gap['reason']}" for gap in document["gaps"]]
    for label, sentences in (("left out", copies), ("gaps", gaps), ("remarks", remarks(document))):
        for place, sentence in enumerate(sentences[:ALIKE]):
            yield "" if place else label, sentence
        if len(sentences) > ALIKE:
            yield "", f"and {number(len(sentences) - ALIKE)} more"


def limits(document: Plain) -> Iterator[str]:
    """Yield a sentence on each limit, to be read before the numbers of a page."""
    for sentence in document["unreliable"]:
        yield f"{sentence}."
    if logged := document.get("logged"):
        yield f"{logged[0].upper()}{logged[1:]}."
    if document["stopped"]:
        yield "Interrupted: this is what was read until then."
    if document["no_match"]:
        yield f"Nothing matches: {no_match_sentence(document['no_match'])}."
    if document["selection"] is not None:
        yield "Only selected operations are counted; counts of connections are those of the whole log."
    for _, sentence in _limits(document):
        yield f"{sentence[0].upper()}{sentence[1:]}."


def remarks(document: Plain) -> list[str]:
    """Return the remarks that are not stated before the numbers."""
    return [one for one in document["remarks"] if one not in document["unreliable"]]


def left_out(document: Plain) -> Iterator[tuple[str, str]]:
    """Yield the files that are not counted, as copies of others are, each with the reason."""
    for stream in document["streams"]:
        for one in stream["copies_left_out"]:
            yield one["target"], one["reason"]
