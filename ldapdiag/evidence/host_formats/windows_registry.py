r"""Thresholds with which a domain controller logs searches (event 1644), from its registry.

    Windows Registry Editor Version 5.00                                          regedit, reg export

    [HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services\NTDS\Parameters]
    "Expensive Search Results Threshold"=dword:00000001

    HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services\NTDS\Diagnostics         reg query
        15 Field Engineering    REG_DWORD    0x5

AD LDS has the same below ADAM_instance. Other values are passed over. Source: KB3060643; reg(1) of Windows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.host_facts import EventThresholds
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document

KEY = pattern(
    r"\[?HKEY_LOCAL_MACHINE\\SYSTEM\\[^\\]{1,40}\\Services\\(?:NTDS|ADAM_[^\\]{1,60})\\(?:Parameters|Diagnostics)\]?\s*"
)
ANY_KEY = pattern(r"\[?-?HKEY_[A-Z_]{1,40}(?:\\[^\n]{0,400})?")
VALUE = pattern(r'(?:"([^"]{1,100})"=dword:|\s{1,9}(\S.{0,99}?)\s{2,9}REG_DWORD\s{1,9}0x)([0-9A-Fa-f]{1,8})\s*')
NAMES = {
    "15 field engineering": "level",
    "expensive search results threshold": "visited",
    "inefficient search results threshold": "visited_in_vain",
    "search time threshold (msecs)": "milliseconds",
}


def recognises(head: Head) -> bool:
    """Recognise an export of the registry by one of these keys."""
    return any(KEY.fullmatch(line) for line in head.lines)


def read(document: Document) -> Iterator[EventThresholds]:
    """Read the values; of a repeated one the last line counts."""
    values: dict[str, int] = {}
    is_wanted = False
    for line in document.lines:
        if ANY_KEY.match(line):
            is_wanted = KEY.fullmatch(line) is not None
        elif is_wanted and (found := VALUE.fullmatch(line)) and (name := NAMES.get((found[1] or found[2]).lower())):
            values[name] = int(found[3], 16)
    yield EventThresholds(origin=document.origin(), **values)


FORMAT = Format(name="windows-registry", title="an export of the registry of Windows", recognises=recognises, read=read)
