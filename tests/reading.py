"""Reading a text in a test as gathering does: recognised by its head, then read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.document import Document, lines_of
from ldapdiag.evidence.formats import HEAD_BYTES, head_of, recognise

if TYPE_CHECKING:
    from ldapdiag.evidence.format import Format


def facts_of(content: bytes | str, *, form: Format | None = None, path: str = "host/file.txt") -> list[Any]:
    """Return the facts of a text, read by `form` or by the format that recognises it."""
    data = content.encode() if isinstance(content, str) else content
    if form is None:
        form = recognise(head_of(path.rpartition("/")[2], data[:HEAD_BYTES], whole=len(data) <= HEAD_BYTES))
        assert form is not None, f"nothing recognises {data[:60]!r}"
    assert form.read is not None, f"{form.name} is known but never read"
    document = Document(path=path, source=lines_of([data]), raw=[data], folder=path.rpartition("/")[0])
    return list(form.read(document))
