"""An OpenDJ of one test run, with entries, in a room of its own.

LDAPDIAG_OPENDJ names the folder of an unpacked opendj-server-legacy (Maven Central, org.openidentityplatform.opendj).
"""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lab.host import Host

HOST = "localhost"
PASSWORD = "password"  # noqa: S105  of a server that lives for one test run
MANAGER = "cn=Directory Manager"
TOOLS = ("dsconfig", "rebuild-index", "import-ldif")
OPTIONS = f"-h {HOST} -p 4444 -D '{MANAGER}' -w {PASSWORD} -X"


def unpacked() -> Path:
    """Return the folder of an unpacked OpenDJ, or skip with the reason."""
    source = os.environ.get("LDAPDIAG_OPENDJ")
    if source is None:
        pytest.skip("LDAPDIAG_OPENDJ names no unpacked OpenDJ")
    if shutil.which("java") is None:
        pytest.skip("there is no Java")
    return Path(source)


@contextmanager
def running(host: Host, folder: Path, tools: Path, suffix: str) -> Iterator[None]:
    """Run a copy with an empty suffix; its tools lie among the host's, and its password where remedies look for it."""
    source, place = unpacked(), folder / "opendj"
    for part in ("bin", "lib", "template", "legal-notices"):
        shutil.copytree(source / part, place / part)
    for script in ("setup", "upgrade"):
        shutil.copy2(source / script, place / script)
    (folder / ".ldap-password").write_text(f"{PASSWORD}\n")
    for tool in TOOLS:
        wrapper = tools / tool
        wrapper.write_text(f'#!/bin/sh\nexec {place}/bin/{tool} "$@"\n')
        wrapper.chmod(0o755)
    host.run(
        f"cd {place} && ./setup --cli --no-prompt --acceptLicense -n --baseDN {suffix} --addBaseEntry "
        f"--ldapPort 389 --adminConnectorPort 4444 --rootUserDN '{MANAGER}' --rootUserPassword {PASSWORD} "
        "--doNotStart > setup.log < /dev/null"
    )
    host.run(f"{place}/bin/start-ds --quiet < /dev/null > /dev/null")
    try:
        yield
    finally:
        host.run(f"{place}/bin/stop-ds --quiet < /dev/null > /dev/null || true")
