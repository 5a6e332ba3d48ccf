"""A postponed module is the module for those that imported it, from the first name that they take from it."""

from __future__ import annotations

import subprocess
import sys

from command import PATIENCE

WHO_IMPORTED_IT = """
import sys
from ldapdiag.cli.postponed_modules import UNUSED, postponed
with postponed():
    import typer
    import lzma
    import textwrap as first
    from ipaddress import ip_address
assert ip_address("::1").is_loopback and "ipaddress" in sys.modules  # a name was taken from it
assert not {"lzma", "textwrap", "linecache"} & sys.modules.keys()
import textwrap
assert sys.modules["textwrap"] is textwrap is not first
assert first.dedent is textwrap.dedent and lzma.FORMAT_XZ == 1
try:
    first.nothing
except AttributeError as error:
    assert "textwrap" in str(error)
with postponed():
    import textwrap as third
assert third is textwrap
import inspect
print(inspect.getsource(typer.launch).splitlines()[0])
"""


def test_what_is_postponed_is_there_when_it_is_used() -> None:
    words = [sys.executable, "-c", WHO_IMPORTED_IT]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (ran.stderr, ran.stdout) == ("", "def launch(\n")
