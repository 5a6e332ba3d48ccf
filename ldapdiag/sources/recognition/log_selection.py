"""Access logs among the inputs: recognise them by their heads, so that they are scanned while other inputs are read.

A file that is only an access log needs no other grammar, and importing all grammars takes as long as scanning 100 MB.
slapd's log is read for its messages as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.document import encoding_of
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.log.dialects import NOTICES, recognise
from ldapdiag.sources.files.input import HEAD_BYTES

if TYPE_CHECKING:
    from ldapdiag.evidence.log.dialect import Dialect
    from ldapdiag.sources.files.input import Input

UTF8_MARK = "\ufeff"


def log_dialect(one: Input) -> Dialect | None:
    """Return the dialect of an input that is an access log; None for any other."""
    try:
        return _dialect(one.head[:HEAD_BYTES])
    except Exception:  # noqa: BLE001  the reader reports the bug
        return None


def _dialect(head: bytes) -> Dialect | None:
    is_part = len(head) == HEAD_BYTES
    encoding = encoding_of(head)
    if encoding != "utf-8" or head.startswith(UTF8_MARK.encode()):
        head = head.decode(encoding, errors="backslashreplace").removeprefix(UTF8_MARK).encode()
    dialect = recognise(head[: head.rfind(b"\n") + 1] if is_part else head)
    return None if dialect is None or dialect.name == NOTICES else dialect


def is_more_than_a_log(dialect: Dialect) -> bool:
    """Return whether logs of this dialect also contain messages that are other evidence."""
    return dialect.family is Family.OPENLDAP
