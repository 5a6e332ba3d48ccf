"""Reading of one input: recognise it by its head and read it with its format, or report why it is not used."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.bundle import Gap
from ldapdiag.evidence.cut_text import cut_table, is_cut
from ldapdiag.evidence.document import Document, lines_of
from ldapdiag.evidence.formats import HEAD_BYTES, head_of, recognise
from ldapdiag.evidence.server_log_formats import ds389_errors, slapd
from ldapdiag.evidence.server_log_formats.access import LOGS, dialect_of
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.traits import traits_of
from ldapdiag.sources.captures import find
from ldapdiag.sources.files.archives import FILES_OF_A_HOST
from ldapdiag.sources.files.first_bytes import beginning_of, closed_archive, text_of
from ldapdiag.sources.recognition.row_limit import InputLimit, gap_of
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ldapdiag.evidence.format import Format
    from ldapdiag.evidence.origin import Fact
    from ldapdiag.sources.files.input import Input

LOG_IS_JUDGED = "ask for another copy; the part before the damage is used"
"""The next step for a truncated log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputReading:
    """The facts of an input, or the reason why there are none."""

    facts: tuple[Fact, ...] = ()
    useless: str = ""
    """Why the input is not used; empty if it is."""
    is_unknown: bool = False
    """True if no format recognises it."""
    is_known: bool = False
    """True if a format recognises it that no diagnosis uses."""
    is_log: bool = False
    """True if it is an access log; these are read together."""
    files: int = 0
    """The weight of an archive that is not opened."""
    gap: Gap | None = None
    """The gap of a truncated or damaged input."""


HISTORY = b"SQLite format 3\0"


def read(one: Input) -> InputReading:
    """Read an input. OSError propagates to the caller."""
    if one.facts:
        return InputReading(facts=tuple(_placed(fact, one) for fact in one.facts))
    one = one.with_head()
    start = one.head[:HEAD_BYTES]
    if closed := closed_archive(start):  # before its content is recognised, which may be stored as it was
        return InputReading(useless=closed, files=FILES_OF_A_HOST)
    head = head_of(one.name, start, whole=len(start) < HEAD_BYTES)
    dialect = dialect_of(head)
    # Not by any one line: a client can put a line of another format into slapd's log.
    form = (
        slapd.FORMAT
        if dialect and traits_of(dialect.family).logs_messages and slapd.recognises(head)
        else recognise(head)
    )
    if not start and form is None:
        return InputReading(useless="is an empty file")
    if form is None and start.startswith(HISTORY):
        return InputReading(useless="is a database of SQLite; name a history by --record FILE, or see ldapdiag history")
    if form is None:
        what = "unrecognised file type" if text_of(start) is None else "is text, but no known evidence"
        return InputReading(useless=f"{what} ({beginning_of(start)})", is_unknown=True)
    is_log = form.name in LOGS and dialect is not None
    if form.read is None:
        return InputReading(is_log=True) if is_log else InputReading(useless=form.title, is_known=True)
    return read_as(form, form.read, one, is_log=is_log)


def with_facts(one: Input) -> Input:
    """Return an answer of a target with its facts, so that it is read only once; unchanged if it has none.

    Logs, archives and unusable answers are left to gathering, which reports them.
    """
    try:
        reading = read(one)
        return one if reading.is_log else replace(one, facts=reading.facts)
    except Exception:  # noqa: BLE001  gathering reads it again, and reports the reason
        return one


def read_as(form: Format, reader: Callable[[Document], Iterable[Fact]], one: Input, *, is_log: bool) -> InputReading:
    """Read an input, whose head was read, as what it was recognised as. OSError propagates to the caller."""
    limit = InputLimit(is_log=is_log or form.name == ds389_errors.FORMAT.name)
    with one.open() as opened:
        chunks = limit.chunks(opened, lambda: document)
        document = Document(path=one.path, folder=one.folder, raw=chunks, asked=one.asked, taken=one.taken)
        document.source = lines_of(chunks, document.ends_with)
        for fact in reader(document):
            limit.facts.append(fact)  # one by one: the limit counts them while others are read
        if limit.exceeded:
            return InputReading(gap=gap_of(one.label, limit.exceeded))
        if is_cut(document, head_of(one.name, one.head[:HEAD_BYTES], whole=False).lines):
            limit.facts[-1:] = map(cut_table, limit.facts[-1:])
        trouble = opened.trouble() or (find.CHANGED if one.has_changed() else "")
    gap = None
    if trouble and not is_log:  # an access log is read again, and the gap of a truncated one comes from there
        if not find.is_log(one):
            return InputReading(gap=find.incomplete(one, trouble))
        gap = Gap(target=one.label, reason=trouble, how=LOG_IS_JUDGED)
    if limit.facts or is_log:
        facts = tuple(_with_origin(fact, sha256=limit.sha256) for fact in limit.facts)
        return InputReading(facts=facts, is_log=is_log, gap=gap)
    useless = f"looks like {form.title}, but contains no usable evidence ({counted(document.seen, 'line')})"
    return InputReading(useless=useless, gap=gap)


def _placed(fact: Fact, one: Input) -> Fact:
    """Return a fact with the path and folder of its input, which may have changed since it was read."""
    if (fact.origin.path, fact.origin.folder) == (one.path, one.folder):
        return fact
    return _with_origin(fact, path=one.path, folder=one.folder)


def _with_origin(fact: Fact, **changes: Any) -> Fact:  # noqa: ANN401  keys of Origin
    return replace(fact, origin=replace(fact.origin, **changes))  # type: ignore[type-var]
