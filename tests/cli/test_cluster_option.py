"""The option --cluster warns of a connection that anyone on the way can change."""

from __future__ import annotations

from contextlib import nullcontext
from threading import Event
from types import SimpleNamespace

import pytest

from ldapdiag.cli.cluster_option import cluster_executor
from ldapdiag.sources.cluster import dask_executor


@pytest.mark.parametrize(("named", "warnings"), [("tcp://10.1.2.3", 1), ("tls://10.1.2.3", 0), ("local:1", 0)])
def test_an_address_without_tls_is_a_warning(monkeypatch: pytest.MonkeyPatch, named: str, warnings: int) -> None:
    monkeypatch.setattr(dask_executor, "dask_executor", lambda *_: nullcontext(SimpleNamespace(dashboard="")))
    written: list[str] = []
    with cluster_executor(named, SimpleNamespace(write=written.append), Event()):  # type: ignore[arg-type]  a notice is a line
        assert ["has no TLS" in one for one in written] == [True] * warnings
