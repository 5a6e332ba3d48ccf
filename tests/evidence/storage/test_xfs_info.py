"""The geometry of XFS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.storage import XfsGeometry
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path


def test_the_geometry_of_xfs(captures: Path) -> None:
    (found,) = facts_of((captures / "storage" / "xfs-default" / "xfs_info.txt").read_bytes())
    assert isinstance(found, XfsGeometry)
    assert (found.device, found.log, found.block_bytes) == ("/dev/loop0", "internal log", 4096)
    assert found.origin.not_understood == 0
