"""Gathering: everything the operator named, read or asked, in one bundle; a failure becomes a gap, never an abort."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from io import UnsupportedOperation
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.bundle import Bundle, Gap, PassedOver
from ldapdiag.sources.files.find import find
from ldapdiag.sources.files.input import Input
from ldapdiag.sources.files.unpacking import unpacked
from ldapdiag.sources.files.unreadable import legible, unreadable
from ldapdiag.sources.logs.border import Period
from ldapdiag.sources.progress import SILENCE
from ldapdiag.sources.recognition.log_discovery import LogsMet
from ldapdiag.sources.recognition.log_selection import Turn, turn_of
from ldapdiag.sources.targets import Directory, sorted_out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import BinaryIO

    from ldapdiag.sources.collection_options import Terms
    from ldapdiag.sources.live.sampling import Gathered
    from ldapdiag.sources.progress import Progress
    from ldapdiag.sources.recognition.reading import Read
    from ldapdiag.sources.targets import Target


NAMES_SHOWN = 3
"""Unknown files of a folder that its gap names."""


@dataclass(slots=True)
class Basket:
    """What has been gathered so far."""

    facts: list[Any] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    passed_over: list[PassedOver] = field(default_factory=list)
    read: set[tuple[int, int]] = field(default_factory=set)
    """(device, inode) of files read, so that no file counts twice."""
    logs: LogsMet = field(default_factory=LogsMet)
    unknown: list[str] = field(default_factory=list)
    """The files of the folder just read that are no evidence we know."""
    rest: list[tuple[str, list[Input | Gap | PassedOver], list[str]]] = field(default_factory=list)
    """What was named, what of it is still to be read, and which of its files are no evidence we know."""


def gather(
    evidence: Iterable[str],
    *,
    ldap_ports: Iterable[int] = (),
    terms: Terms | None = None,
    progress: Progress = SILENCE,
    stop: Event | None = None,
    since: int | None = None,
    meanwhile: Callable[[], object] | None = None,
) -> Bundle:
    """Read files and folders, and look at targets, into a bundle; no evidence named means this host.

    `terms` say how targets are asked, `progress` hears of each file and target, and `stop`, when set, ends the looking
    early: what was had by then is in the bundle, with a gap. Of access logs, only what came at or after `since` counts
    (nanoseconds since 1970). `meanwhile` is done, perhaps, while others than this thread read logs.
    """
    targets, paths = sorted_out(evidence)
    stop = stop or Event()
    basket = Basket(logs=LogsMet(Period(since=since) if since is not None else None))
    if targets:
        gathered = ask(targets, terms, stop=stop, progress=progress)
        basket.gaps.extend(gathered.gaps)
        for piece in gathered.pieces:
            if piece.location is None:
                _read(piece, basket)
            else:
                _read_found(unpacked(piece, again=True), basket, progress)
        basket.unknown.clear()
    for named in paths:
        _sort(named, basket, progress)

    def others() -> None:
        _read_rest(basket, progress)
        if meanwhile is not None:
            meanwhile()

    basket.logs.meanwhile = others
    _read_logs(basket, progress, stop)
    _read_rest(basket, progress)
    return Bundle(
        facts=tuple(basket.facts),
        gaps=tuple(basket.gaps),
        passed_over=tuple(basket.passed_over),
        ldap_ports=frozenset(ldap_ports) | named_ports(targets),
    )


def named_ports(targets: Iterable[Target]) -> frozenset[int]:
    """Return the ports of the directories that were named: whoever listens there serves LDAP."""
    return frozenset(target.place.port for target in targets if isinstance(target, Directory) and target.place.port)


def ask(targets: Sequence[Target], terms: Terms | None, *, stop: Event, progress: Progress) -> Gathered:
    """Ask the targets side by side, and return what they said."""
    from ldapdiag.sources.collection_options import Terms  # noqa: PLC0415  import late
    from ldapdiag.sources.live.collectors import parties_of  # noqa: PLC0415
    from ldapdiag.sources.live.sampling import look_live  # noqa: PLC0415  import late: ldap3 and pyroute2 are slow

    terms = terms or Terms()
    terms = replace(terms, ldap_ports=terms.ldap_ports | named_ports(targets))
    return look_live(parties_of(targets, terms, stop), terms, stop=stop, progress=progress)


def _sort(named: str, basket: Basket, progress: Progress) -> None:
    """Read what must be read at once, set logs aside, and keep the rest for when these are scanned."""
    rest: list[Input | Gap | PassedOver] = []
    for found in find(named):
        turn = _turn_of(found)
        if turn is Turn.AFTER:
            rest.append(found)
        elif isinstance(found, Input) and found.location is not None and turn is Turn.ASIDE:
            progress(found.path)
            if not _is_known(Path(found.location).stat(), basket):
                basket.logs.lying[found.location] = found
        else:
            _read_found([found], basket, progress)
    basket.rest.append((named, rest, basket.unknown))
    basket.unknown = []


def _turn_of(found: Input | Gap | PassedOver) -> Turn:
    try:
        return turn_of(found) if isinstance(found, Input) else Turn.AFTER
    except Exception:  # noqa: BLE001  reading it tells of the trouble
        return Turn.NOW


def _read_rest(basket: Basket, progress: Progress) -> None:
    """Read what is still to be read; once."""
    rest, basket.rest = basket.rest, []
    for named, pieces, unknown in rest:
        basket.unknown = unknown
        _read_found(pieces, basket, progress)
        _tell_unknown(named, basket)


def _read_found(pieces: Iterable[Input | Gap | PassedOver], basket: Basket, progress: Progress) -> None:
    for found in pieces:
        match found:
            case Gap():
                basket.gaps.append(found)
            case PassedOver():
                basket.passed_over.append(found)
            case Input():
                progress(found.path)
                _read(found, basket)


def _read(piece: Input, basket: Basket) -> None:
    from ldapdiag.sources.recognition.reading import read  # noqa: PLC0415  import late, with every grammar

    try:
        with piece.open() as stream:
            if not _seen(stream, basket):
                _keep(piece, read(piece, stream, basket.logs), basket)
    except OSError as error:
        basket.gaps.append(unreadable(piece.label, error))
    except Exception as error:  # noqa: BLE001  a reader's bug must not cost the rest of the evidence
        basket.gaps.append(_crashed(piece.label, error))


def _crashed(target: str, error: Exception) -> Gap:
    return Gap(
        target=target,
        reason=f"the reader crashed ({type(error).__name__}: {error}); this is a bug in ldapdiag",
        how="please report it with the file's first lines",
    )


def _read_logs(basket: Basket, progress: Progress, stop: Event) -> None:
    try:
        for told in basket.logs.read(progress, stop):
            match told:
                case Gap():
                    basket.gaps.append(told)
                case PassedOver():
                    basket.passed_over.append(told)
                case AccessLog():
                    basket.facts.append(told)
    except Exception as error:  # noqa: BLE001  as in _read
        basket.gaps.append(_crashed("the access logs", error))


def _seen(stream: BinaryIO, basket: Basket) -> bool:
    """Tell whether this very file was read before, under another name."""
    try:
        status = os.fstat(stream.fileno())
    except UnsupportedOperation:  # it is in memory
        return False
    return _is_known(status, basket)


def _is_known(status: os.stat_result, basket: Basket) -> bool:
    identity = (status.st_dev, status.st_ino)
    known = identity in basket.read
    basket.read.add(identity)
    return known


def _keep(piece: Input, said: Read, basket: Basket) -> None:
    """Keep the facts, or why there are none: a gap when the operator named the file, a line in the list when not."""
    basket.facts.extend(said.facts)
    if not said.useless:
        return
    if piece.named and not said.known:
        how = "see 'ldapdiag diagnose --help' for what is read"
        basket.gaps.append(Gap(target=piece.label, reason=said.useless, how=how))
        return
    basket.passed_over.append(PassedOver(target=piece.label, reason=said.useless))
    if said.unknown:
        basket.unknown.append(piece.path.rpartition("/")[2])


def _tell_unknown(named: str, basket: Basket) -> None:
    """Add one gap for all the files of a folder that are no evidence we know: some were meant to be read."""
    from ldapdiag.evidence.formats import formats  # noqa: PLC0415  import late, with every grammar

    names, basket.unknown = basket.unknown, []
    if not names:
        return
    more = ", …" if len(names) > NAMES_SHOWN else ""
    files = "1 file in it is" if len(names) == 1 else f"{len(names)} files in it are"
    basket.gaps.append(
        Gap(
            target=legible(named),
            reason=f"{files} none of the {len(list(formats()))} kinds of evidence I know "
            f"({', '.join(names[:NAMES_SHOWN])}{more})",
            how="-v lists them",
        )
    )
