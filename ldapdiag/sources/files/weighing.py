"""The weight of a folder that is passed over: how many files in it are evidence, by their first bytes."""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from ldapdiag.evidence.formats import head_of, recognise
from ldapdiag.evidence.server_log_formats.access import LOGS

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_FILES = 200
"""Limit of files that are looked at: a folder that weighs more than the evidence read weighs enough."""

MOST_ENTRIES = 2000
HEAD_BYTES = 1 << 12

TOO_GENERAL = frozenset({"sysctl"})
"""Formats that files of other programs have, too: `name = value`."""


def evidence_in(folder: Path) -> int:
    """Return the number of files in a folder and its sub-folders that a format of evidence recognises."""
    return sum(_is_evidence(file) for file in islice(_files(folder), MOST_FILES))


def _files(folder: Path) -> Iterator[Path]:
    """Yield regular files, without following links."""
    entries = (Path(at) / name for at, _, names in os.walk(folder) for name in names)
    for file in islice(entries, MOST_ENTRIES):
        if file.is_file() and not file.is_symlink():
            yield file


def _is_evidence(file: Path) -> bool:
    with suppress(OSError), file.open("rb") as opened:
        start = opened.read(HEAD_BYTES)
        form = recognise(head_of(file.name, start, whole=len(start) < HEAD_BYTES)) if start else None
        return form is not None and form.name not in TOO_GENERAL and (form.read is not None or form.name in LOGS)
    return False
