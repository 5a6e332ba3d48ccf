"""Limits of a report object on access logs: what its numbers leave out, as the caveats of the text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.report.log.caveats import CAPS
from ldapdiag.report.log.selected import no_match_sentence
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def limits(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence on each limit, to be read before the numbers."""
    if document["stopped"]:
        yield "Interrupted: this is what was read until then."
    if document["no_match"]:
        yield f"Nothing matches: {no_match_sentence(document['no_match'])}."
    if document["selection"] is not None:
        yield "Only selected operations are counted; counts of connections are those of the whole log."
    if document["lost_lines"]:
        yield f"The log reports {counted(document['lost_lines'], 'lost line')}; their operations are not counted."
    if document["caps_hit"]:
        names = ", ".join(CAPS.get(name, name) for name in document["caps_hit"])
        yield f"Too many different {names}: the cheapest are counted as 'other'; totals are exact."
    if document["lines_not_understood"]:
        yield f"{counted(document['lines_not_understood'], 'line')} not understood."
    for far in (document["timeline"] or {}).get("left_out", ()):
        (are, they) = ("is", "it is") if far["records"] == 1 else ("are", "they are")
        yield (
            f"{counted(far['records'], 'record')} from {far['from']} to {far['to']} {are} far from all others: "
            f"{they} counted, but not on the time axis."
        )


def left_out(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the files that are not counted, as copies of others are, each with the reason."""
    for stream in document["streams"]:
        for one in stream["tellings_left_out"]:
            yield one["target"], one["reason"]
