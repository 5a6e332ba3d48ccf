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
    r"\[?HKEY_LOCAL_MACHINE\\SYSTEM\\[^\\]{1,40}\\Services\\(NTDS|ADAM_[^\\]{1,60})\\(?:Parameters|Diagnostics)\]?\s*"
)
ANY_KEY = pattern(r"\[?-?HKEY_[A-Z_]{1,40}(?:\\[^\n]{0,400})?")
VALUE = pattern(r'(?:"([^"]{1,100})"=dword:|\s{1,9}(\S.{0,99}?)\s{2,9}REG_DWORD\s{1,9}0x)([0-9A-Fa-f]{1,8})\s*')
NAMES = {
    "15 field engineering": "level",
    "expensive search results threshold": "visited",
    "inefficient search results threshold": "visited_in_vain",
    "search time threshold (msecs)": "milliseconds",
}
MOST_SERVICES = 20
"""Limit of the services whose values are kept apart."""


def recognises(head: Head) -> bool:
    """Recognise an export of the registry by one of these keys."""
    return any(KEY.fullmatch(line) for line in head.lines)


def read(document: Document) -> Iterator[EventThresholds]:
    """Read the values; of a repeated one the last line counts, and of several services AD DS, else the first."""
    services: dict[str, dict[str, int]] = {}
    values: dict[str, int] | None = None
    for line in document.lines:
        if ANY_KEY.match(line):
            key = KEY.fullmatch(line)
            service = key[1] if key and (key[1] in services or len(services) < MOST_SERVICES) else None
            values = None if service is None else services.setdefault(service, {})
        elif values is not None and (found := VALUE.fullmatch(line)):
            name = NAMES.get((found[1] or found[2]).lower())
            values |= {name: int(found[3], 16)} if name else {}
    used = "NTDS" if "NTDS" in services else next(iter(services), "")
    others = tuple(sorted(services.keys() - {used}))
    yield EventThresholds(origin=document.origin(), service=used, others=others, **services.get(used, {}))


FORMAT = Format(name="windows-registry", title="an export of the registry of Windows", recognises=recognises, read=read)
