"""Extras: the command that installs a library which ldapdiag can do without, beside the ldapdiag that runs."""

from __future__ import annotations

import json
import shlex
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from urllib.parse import unquote, urlsplit

from ldapdiag.errors import UsageError


def require(library: str, what: str, extra: str) -> None:
    """Raise UsageError where a library of an extra is not installed; `what` needs it."""
    if find_spec(library) is None:
        raise UsageError(f"{what} needs {library}, which is not installed: {install_command(extra)}")


def install_command(extra: str = "") -> str:
    """Return the command that installs ldapdiag with an extra, from where it was installed.

    An installation from a folder records it (PEP 610, direct_url.json): the source tree, which no index lists.
    """
    source, option = "ldapdiag", ""
    with suppress(PackageNotFoundError, ValueError, KeyError, TypeError):
        found = json.loads(distribution("ldapdiag").read_text("direct_url.json") or "{}")
        address = urlsplit(found["url"])
        if address.scheme == "file":
            source = unquote(address.path)
            option = "-e " if found.get("dir_info", {}).get("editable") else ""
    wanted = f"{source}[{extra}]" if extra else source
    python = shlex.quote(sys.executable)
    of_uv = sys.prefix != sys.base_prefix and find_spec("pip") is None  # `uv tool install` brings no pip
    install = f"uv pip install --python {python}" if of_uv else f"{python} -m pip install"
    return f"{install} {option}{shlex.quote(wanted)}"
