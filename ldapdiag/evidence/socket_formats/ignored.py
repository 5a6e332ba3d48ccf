r"""Formats without evidence for a diagnosis, which are recognised only to give the reason why a file is ignored.

Total: 313                                                                            ss -s
TCP:   703 (estab 310, closed 391, orphaned 0, timewait 0)
[1795164751.359827]\t    [NEW] tcp      6 120 SYN_SENT src=10.77.3.2 dst=10.77.1.2     conntrack -E
conntrack v1.4.7 (conntrack-tools): 42 flow entries have been shown.                  conntrack -L, on stderr
flush ruleset                                                                         rules for nft -f
LOGINFO:Log file created at: 01/Dec/2026:05:11:02 (1796101862)                        access.rotationinfo of 389-ds
"""

from __future__ import annotations

import re
from functools import partial

from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.host_formats import nft_ruleset
from ldapdiag.lazy_pattern import pattern

SUMMARY = pattern(r"TCP: +\d+ \(estab \d+")
EVENT = pattern(r"(?:\[\d+\.\d+ *\])?\s*\[(?:NEW|UPDATE|DESTROY)\] (?:ipv[46] +\d+ +)?\w+ +\d+ ")
COUNT = pattern(r"conntrack v[\d.]+ \(conntrack-tools\): (?!0 flow entries)")
RULES = pattern(r"(?:add )?table (?:(?:ip6?|inet|arp|bridge|netdev) )?\S{1,64} \{")

ROTATION = pattern(r"LOGINFO:(?:Log file created at|Previous Log File): ?\S")


def _has(line: re.Pattern[str], head: Head) -> bool:
    return any(line.match(text) for text in head.lines)


def _begins_with(line: re.Pattern[str], head: Head) -> bool:
    first = next((text for text in head.lines if text.strip() and not text.startswith(("#", "flush "))), "")
    return line.match(first) is not None


def _is_nothing_but(line: re.Pattern[str], head: Head) -> bool:
    texts = [text for text in head.lines if text.strip()]
    return bool(texts) and all(line.match(text) for text in texts)


FORMATS = (
    Format(
        name="ss-summary",
        title="a summary of ss -s: it counts sockets and lists none",
        recognises=partial(_has, SUMMARY),
        read=None,
    ),
    Format(
        name="conntrack-events",
        title="the events of conntrack -E: changes of flows, not the current ones, which conntrack -L lists",
        recognises=partial(_has, EVENT),
        read=None,
    ),
    Format(
        name="conntrack-count",
        title="the line conntrack -L writes to stderr: a count; the flows are on stdout",
        recognises=partial(_is_nothing_but, COUNT),
        read=None,
    ),
    Format(
        name="nft-rules",
        title="rules to be loaded by nft -f: those in force are listed by nft list ruleset",
        recognises=lambda head: _begins_with(RULES, head) and not nft_ruleset.recognises(head),
        read=None,
    ),
    Format(
        name="389-ds-rotation",
        title="the list of the rotated logs, which 389-ds keeps: the logs themselves are read",
        recognises=partial(_is_nothing_but, ROTATION),
        read=None,
    ),
)
