"""Build hook of hatchling: the manual page and the completions, which the program prints, are installed with it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SHARED = {
    "man": "share/man/man1/ldapdiag.1",
    "completion bash": "share/bash-completion/completions/ldapdiag",
    "completion zsh": "share/zsh/site-functions/_ldapdiag",
    "completion fish": "share/fish/vendor_completions.d/ldapdiag.fish",
}
"""Commands that print a file, and where it is installed below the prefix: `/usr`, `~/.local`, a virtual environment."""


class SharedFiles(BuildHookInterface[Any]):
    """Adds to a wheel what `ldapdiag man` and `ldapdiag completion` print; Typer is all that they need."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the files; an editable installation (`make demo`) goes without."""
        self._made = TemporaryDirectory()
        if version == "editable":
            return
        roots = (self.root, str(Path(self.root) / "checks"), os.environ.get("PYTHONPATH", ""))  # pip's own comes last
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, roots))}
        for arguments, place in SHARED.items():
            command = [sys.executable, "-m", "ldapdiag", *arguments.split()]
            made = Path(self._made.name) / arguments
            made.write_bytes(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)
            build_data["shared_data"][str(made)] = place

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the files, which are in the wheel."""
        self._made.cleanup()
