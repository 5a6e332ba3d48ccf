"""What `ldapdiag indexes --script` writes, run with a stand-in for dsconf: all of it, or up to what fails."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from command import ldapdiag
from indexes_389 import BACKEND, LIST, index, limits
from log_lines import header, run, stamp

if TYPE_CHECKING:
    from pathlib import Path

URI = "ldaps://ds1.example.com:1636"
WANTED = ("displayName", "employeeNumber", "title")
CONFIGURATION = BACKEND + LIST + index("nsIndexType: eq") + limits("nsslapd-idlistscanlimit: 4000")
STAND_IN = """#!/bin/sh
echo "$*" >> {folder}/asked
case "$*" in *"{fails}"*) echo "no" >&2; exit 7 ;; esac
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return the folder of a server's log, where three attributes have no index, and of its configuration."""
    lines = [f"{stamp(30)} conn=77 fd=70 slot=70 connection from 10.10.1.168 to 10.0.0.9"]
    for op, name in enumerate(WANTED):
        search = f'SRCH base="dc=example,dc=com" scope=2 filter="({name}=joe)" attrs=ALL'
        lines += [f"{stamp(31 + op)} conn=77 op={op} {search}"]
        lines += [f"{stamp(94 + op)} conn=77 op={op} RESULT err=0 tag=101 nentries=1 etime=63.000000000 notes=A"]
    folder = tmp_path / "slapd-ds1"
    folder.mkdir()
    (folder / "access").write_bytes(header() + run(1, 20) + "\n".join([*lines, ""]).encode())
    (folder / "dse.ldif").write_text(CONFIGURATION)
    return folder


def started(site: Path, fails: str = "nothing") -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """Run the script where dsconf fails when asked for something; return what became of it, and what was asked."""
    written = ldapdiag("indexes", site, "--script")
    (site / "dsconf").write_text(STAND_IN.format(folder=site, fails=fails))
    (site / "dsconf").chmod(0o755)
    done = subprocess.run(
        ["sh"], input=written.text, env={"PATH": f"{site}:/usr/bin:/bin", "LDAP_URI": URI}, capture_output=True,
        text=True, check=False, timeout=30,
    )  # fmt: skip
    assert f"-D cn=Directory Manager {URI} backend" in (site / "asked").read_text()
    return done, [line.partition(" index ")[2] for line in (site / "asked").read_text().splitlines()]


def test_everything_is_added_and_then_built(site) -> None:
    done, asked = started(site)
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split()[0] for line in asked] == ["add", "add", "add", "reindex"]
    assert all(f"--attr {name}" in asked[-1] for name in WANTED)


@pytest.mark.parametrize("fails", ["add --attr employeeNumber", "reindex"])
def test_what_fails_leaves_nothing_half_done_untold(site, fails) -> None:
    done, asked = started(site, fails)
    assert done.returncode == 7
    assert fails in asked[-1], "nothing is done after it"
    told = done.stderr
    assert "failed: Index " in told
    assert "do not restart the server until it is built or removed" in told
    (back,) = [line for line in told.splitlines() if " backend index delete " in line]
    assert all(f"--attr {name}" in back for name in WANTED)


def test_without_the_address_nothing_is_done(site) -> None:
    """Neither the folder nor the configuration names the host, and a guessed one would be another server."""
    written = ldapdiag("indexes", site, "--script").text
    assert [line for line in written.splitlines() if not line.startswith("#")][:2] == [
        "set -e",
        "LDAP_URI=${LDAP_URI:-}    # the URL of slapd-ds1 (ldap://HOST:PORT, ldaps://HOST:PORT or ldapi://%2FPATH)",
    ]
    done = subprocess.run(["sh"], input=written, capture_output=True, text=True, check=False, timeout=30)
    assert (done.returncode, done.stdout) == (2, "")
    (said,) = done.stderr.splitlines()
    assert said.startswith("nothing was changed: set LDAP_URI at the top of this script to the URL of slapd-ds1 (ldap:")


def test_a_hostile_name_of_a_host_is_no_part_of_it(site) -> None:
    odd = site.rename(site.with_name("slapd-d';touch pasted;'"))
    written = ldapdiag("indexes", odd, "--script").text
    done = subprocess.run(
        ["sh"], input=written, capture_output=True, text=True, check=False, timeout=30, cwd=odd, env={"PATH": "/bin"}
    )
    assert done.returncode == 2
    assert not (odd / "pasted").exists()
