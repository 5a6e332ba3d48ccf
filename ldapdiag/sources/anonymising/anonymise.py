"""Anonymised captures: pseudonyms for DNs, addresses, host names, mail addresses and filter values.

Equal values and equal prefixes stay equal in all files (pseudonyms.py), so `diagnose` gives the same report with other
names. The mapping is returned; it belongs beside the capture, never in it. Each file is read twice, and kept in memory
meanwhile: a name found in one file is replaced in all. A MiB of access log takes 3 seconds.
"""

from __future__ import annotations

import re
from dataclasses import field, replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.bundle import Gap
from ldapdiag.evidence.ldap_session import as_from_others
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern
from ldapdiag.sources.anonymising.contents import anonymised_content
from ldapdiag.sources.anonymising.pseudonyms import Pseudonyms
from ldapdiag.sources.anonymising.text_anonymiser import GRAMMAR, TextAnonymiser
from ldapdiag.sources.files.unreadable import unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from collections.abc import Set as AbstractSet

    from ldapdiag.sources.captures.manifest import ClockOffset
    from ldapdiag.sources.files.input import Input

MAX_BYTES = 512 << 20
"""Size of one file; a larger one is left out."""

HOST_NAME = pattern(rb"^name: *(\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Anonymised:
    """A capture with pseudonyms, and the key to them."""

    pieces: tuple[Input, ...]
    gaps: tuple[Gap, ...]
    offsets: Mapping[str, ClockOffset] = field(default_factory=dict)
    mapping: Mapping[str, str] = field(default_factory=dict)
    """Original to pseudonym. It reverses the anonymisation: keep it private."""


def anonymise(
    pieces: Iterable[Input],
    *,
    secret: bytes,
    gaps: Iterable[Gap] = (),
    offsets: Mapping[str, ClockOffset] | None = None,
) -> Anonymised:
    """Return a capture with pseudonyms; the same secret gives the same pseudonyms. An unreadable file becomes a gap."""
    pseudonyms = Pseudonyms(secret)
    anonymiser = TextAnonymiser(pseudonyms)
    pieces, gaps = tuple(pieces), list(gaps)
    hosts = {_host(piece) for piece in pieces}
    for host in hosts:
        anonymiser.add_host(host)
    readable = tuple(piece for piece in pieces if _learn_names(piece, anonymiser, gaps))
    folders: dict[str, str] = {}
    renamed = tuple(_renamed(piece, anonymiser, folders) for piece in readable)
    return Anonymised(
        pieces=renamed,
        gaps=tuple(_gap(gap, anonymiser, hosts) for gap in gaps),
        offsets={_target(name, anonymiser, hosts): offset for name, offset in (offsets or {}).items()},
        mapping=dict(sorted(pseudonyms.mapping.items())),
    )


def _host(piece: Input) -> str:
    return piece.folder.rstrip("/").rpartition("/")[2]


def _learn_names(piece: Input, anonymiser: TextAnonymiser, gaps: list[Gap]) -> bool:
    """Learn the names in a file; return False, and add a gap, when it cannot be read."""
    try:
        with piece.open() as stream:
            content = stream.read(MAX_BYTES + 1)
    except OSError as error:
        gaps.append(unreadable(piece.label, error))
        return False
    if len(content) > MAX_BYTES:
        reason = f"left out of the anonymised capture: larger than {MAX_BYTES >> 20} MiB"
        gaps.append(Gap(target=piece.label, reason=reason, how="collect it without --anonymise"))
        return False
    if content.startswith(b"ldapdiag-host ") and (named := HOST_NAME.search(content)):
        anonymiser.add_host(named[1].decode(errors="backslashreplace"))
    anonymised_content(content, piece.path, anonymiser)
    return True


def _renamed(piece: Input, anonymiser: TextAnonymiser, folders: dict[str, str]) -> Input:
    """Return a file with pseudonyms in its content, its path and its origin."""
    host = anonymiser.host(_host(piece))
    around = piece.folder.rstrip("/").rpartition("/")[0]
    # A number alone would be the name of a snapshot.
    outer = folders.setdefault(around, f"folder-{len(folders) + 1}")
    path = f"{host}/{anonymiser.text(piece.path.rpartition('/')[2])}"
    with piece.open() as stream:
        content = anonymised_content(stream.read(MAX_BYTES), piece.path, anonymiser)
    return replace(
        piece.with_content(content),
        path=path,
        folder=f"{outer}/{host}",
        label=path,
        asked=_message(as_from_others(piece.asked), anonymiser, {_host(piece)}),
    )


def _target(name: str, anonymiser: TextAnonymiser, hosts: AbstractSet[str]) -> str:
    """Return the pseudonym of a target: a host name, or `ssh://joe@app1`."""
    return anonymiser.host(name) if name in hosts else _message(name, anonymiser, hosts)


def _gap(gap: Gap, anonymiser: TextAnonymiser, hosts: AbstractSet[str]) -> Gap:
    how = _message(gap.how, anonymiser, hosts) if gap.how else gap.how
    return Gap(target=_target(gap.target, anonymiser, hosts), reason=_message(gap.reason, anonymiser, hosts), how=how)


def _message(text: str, anonymiser: TextAnonymiser, hosts: AbstractSet[str]) -> str:
    """Return a message of ldapdiag with pseudonyms, also for host names too short to be replaced in evidence."""
    names = "|".join(re.escape(name) for name in sorted(hosts - GRAMMAR, key=len, reverse=True) if name)
    if names:
        text = re.sub(rf"(?<![\w.@/-])(?:{names})(?=[\s,;:-]|$)", lambda found: anonymiser.host(found[0]), text)
    return anonymiser.text(text)
