"""A directory server that did not answer, written by ldapdiag itself when it queries one.

    ldapdiag-probe 1
    target: ldap://ldap
    address: 10.77.1.2
    port: 389
    outcome: refused                                (or unreachable, unresolved, timed-out, no-answer, closed)
    seconds: 0.004

A local socket has no address, and port 0; a name that has none has no address.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import normalise_address, port_number
from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.ldap_probe import LdapProbe, ProbeOutcome
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document

FIRST = "ldapdiag-probe 1"
LINE = pattern(r"(target|address|port|outcome|seconds): ?(\S{0,300})", re.ASCII)
SECONDS = pattern(r"\d{1,9}(?:\.\d{1,6})?", re.ASCII)


def recognises(head: Head) -> bool:
    """Recognise the file by its first line."""
    return head.lines[:1] == (FIRST,)


def read(document: Document) -> Iterator[LdapProbe]:
    """Read the probe; without an outcome there is none."""
    values: dict[str, str] = {}
    for line in document.lines:
        if found := LINE.fullmatch(line):
            values.setdefault(found[1], found[2])
        elif line != FIRST and line.strip():
            document.misread(line)
    outcome, target = values.get("outcome", ""), values.get("target", "")
    if outcome in set(ProbeOutcome) and target:
        seconds = values.get("seconds", "")
        yield LdapProbe(
            origin=document.origin(),
            target=target,
            address=normalise_address(address) if (address := values.get("address", "")) else "",
            port=port_number(values.get("port", "0")),
            outcome=ProbeOutcome(outcome),
            seconds=float(seconds) if SECONDS.fullmatch(seconds) else 0.0,
        )


def as_text(target: str, address: str, port: int, outcome: ProbeOutcome, seconds: float) -> str:
    """Return the file of a probe."""
    lines = (FIRST, f"target: {target}", f"address: {address}", f"port: {port}", f"outcome: {outcome}")
    return "\n".join([*lines, f"seconds: {seconds:.3f}", ""])


FORMAT = Format(name="ldap-probe", title="a directory server that did not answer", recognises=recognises, read=read)
