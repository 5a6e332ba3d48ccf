"""Paths that a process names, reached from outside its root."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ldapdiag.sources.live.local import processes

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_links_are_followed_within_the_root_of_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container's /var/run is a link to /run: its own, not ours."""
    root = tmp_path / "42" / "root"
    (root / "run" / "slapd").mkdir(parents=True)
    (root / "run" / "slapd" / "ldapi").touch()
    (root / "var").mkdir()
    (root / "var" / "run").symlink_to("/run")
    (root / "run" / "near").symlink_to("../run/slapd")
    (root / "loop").symlink_to("/loop")
    monkeypatch.setattr(processes, "PROC", tmp_path)
    reached = f"{root}/run/slapd/ldapi"
    assert processes.host_path(42, "/run/slapd/ldapi") == reached
    assert processes.host_path(42, "/var/run/slapd/ldapi") == reached
    assert processes.host_path(42, "/loop/ldapi") is None, "our own file of that name is another machine's"
    assert processes.host_path(42, "/run/near/ldapi") == reached
    assert processes.host_path(42, "/run/../../../run/slapd/ldapi") == reached


def test_with_the_root_of_the_host_a_path_stays() -> None:
    assert processes.host_path(os.getpid(), "/run/slapd/ldapi") == "/run/slapd/ldapi"
