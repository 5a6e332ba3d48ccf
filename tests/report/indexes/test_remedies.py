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
        ["sh"], input=written.text, env={"PATH": f"{site}:/usr/bin:/bin"}, capture_output=True, text=True, check=False,
        timeout=30,
    )  # fmt: skip
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


def test_what_lacks_a_name_is_no_part_of_it(site) -> None:
    """The host's folder gives it its name, and this one is none that may stand in a command."""
    odd = site.rename(site.with_name("slapd-d s;1"))
    written = ldapdiag("indexes", odd, "--script").text
    assert "dsconf" not in written
    assert "# Not done by this: Index " in written
    assert "changetype: add" in ldapdiag("indexes", odd, "--ldif").text, (
        "it goes to a server that whoever uses it names"
    )
    done = subprocess.run(["sh"], input=written, capture_output=True, text=True, check=False, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
