"""How long 389-ds builds indexes, as intervals: entries per second measured with 2.3.1 on 2 processors.

eq of an attribute, Berkeley DB      12,000 to 38,000
sub, or eq and sub                   4,100 to 6,500
eq, LMDB                             20,000
eq of three attributes in one task   20,000: a task reads each entry once
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.servers.indexes.build_time import build_seconds, interval
from ldapdiag.wording import number

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.evidence.indexes import Backend
    from ldapdiag.servers.indexes.build_time import Rate

RATE, RATE_SUB = (5_000, 60_000), (2_000, 10_000)
"""Of each attribute, without and with an index of substrings."""
SUBSTRING = "sub"


def build_time(backend: Backend, types: Iterable[Iterable[str]]) -> str:
    """Return a sentence: how long the build of attributes takes, of each its types."""
    rates: list[Rate] = [RATE_SUB if SUBSTRING in one else RATE for one in types]
    read = f"{interval(RATE)} entries per second for an attribute, {interval(RATE_SUB)} with sub"
    if not rates:
        return ""
    if backend.entries is None:
        return f"The build reads {read}; the evidence does not contain the number of entries. "
    seconds = interval(build_seconds(backend.entries, rates))
    return f"The build takes {seconds} s ({number(backend.entries)} entries, {read}). "
