r"""The counters of connection tracking as conntrack -S prints them, one line for each processor.

    cpu=0   \tfound=0 invalid=1325 insert=0 insert_failed=0 drop=0 early_drop=0 error=0 search_restart=0

Source: conntrack-tools src/conntrack.c (ct_stats_attr_to_name).
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from ldapdiag.evidence.flows import TrackingCounters
from ldapdiag.evidence.format import Format, Head
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document

PROCESSOR = pattern(r"cpu=\d{1,5}((?:\s{1,9}[a-z_]{1,32}=\d{1,20})+)\s*", re.ASCII)
LENGTH = 1000


def recognises(head: Head) -> bool:
    """Recognise the counters of a processor at the beginning of a line."""
    return any(PROCESSOR.fullmatch(line[:LENGTH]) for line in head.lines)


def read(document: Document) -> Iterator[TrackingCounters]:
    """Read the sum of each counter."""
    values: Counter[str] = Counter()
    for line in document.lines:
        found = PROCESSOR.fullmatch(line[:LENGTH])
        for pair in found[1].split() if found else ():
            name, _, value = pair.partition("=")
            values[name] += int(value)
        if found is None and line.strip():
            document.misread(line)
    if values:
        yield TrackingCounters(origin=document.origin(), values=values)


FORMAT = Format(name="conntrack-statistics", title="the counters of conntrack -S", recognises=recognises, read=read)
