"""What holds for every format of host facts: no bytes crash it, and no capture is recognised twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.document import Document
from ldapdiag.evidence.formats import formats, head_of
from ldapdiag.evidence.host_formats import capture_times, descriptors, nstat, proc_limits, sysctl

if TYPE_CHECKING:
    from pathlib import Path

    from ldapdiag.evidence.format import Format

ALL = [reader.FORMAT for reader in (capture_times, descriptors, nstat, proc_limits, sysctl)]

NO_EVIDENCE = {"backendstat-list-indexes.offline.txt", "verify-index.txt"}
"""Captures of a tool that failed: no format knows them."""


class TestAll:
    @pytest.mark.parametrize("form", ALL, ids=lambda form: form.name)
    @given(data=st.binary(max_size=300))
    def test_no_bytes_crash_any(self, form: Format, data: bytes) -> None:
        document = Document(path="x", source=data.decode("latin-1").split("\n"))
        assert form.read
        list(form.read(document))
        assert 0 <= document.missed <= document.seen
        form.recognises(head_of("captured-fd", data, whole=True))

    def test_no_capture_is_recognised_twice(self, captures: Path) -> None:
        for path in sorted(path for path in captures.rglob("*") if path.suffix in {".ldif", ".txt", ".log", ".conf"}):
            head = head_of(path.name, path.read_bytes()[: 1 << 16], whole=False)
            known = 0 if path.name in NO_EVIDENCE else 1
            assert len([form.name for form in formats() if form.recognises(head)]) == known, path
