"""Ctrl-C in the first imports ends in one line, as later."""

from __future__ import annotations

import subprocess
import sys

import pytest

EARLY = """
import builtins, sys
imported = builtins.__import__
def interrupted(name, *rest, **others):
    if name == sys.argv[1]:
        raise KeyboardInterrupt
    return imported(name, *rest, **others)
from ldapdiag.cli import main
builtins.__import__ = interrupted
main()
"""


@pytest.mark.parametrize("module", ["signal", "ldapdiag.cli.postponed_modules"])
def test_it_is_one_line(module: str) -> None:
    ran = subprocess.run([sys.executable, "-c", EARLY, module], capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (130, b"ldapdiag: interrupted\n")
