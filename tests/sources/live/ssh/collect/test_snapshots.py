"""A connection tracking table as the script prints it: its end shows that it was read, and an empty one is one."""

from __future__ import annotations

import shlex
import subprocess

import pytest

from ldapdiag.sources.live.ssh.remote import script
from reading import facts_of

FLOW = (
    "tcp      6 29 ESTABLISHED src=10.61.3.2 dst=10.61.1.2 sport=41946 dport=389 "
    "src=10.61.1.2 dst=10.61.3.2 sport=389 dport=41946 [ASSURED] mark=0 use=1"
)
OTHER = FLOW.replace("tcp      6", "udp      17").replace("ESTABLISHED ", "")


def flows_by(command: str) -> subprocess.CompletedProcess[str]:
    """Return what the script prints of a command that lists flows."""
    functions = script().rpartition("\nmain")[0]
    text = f"{functions}\nTIMEOUT=\nflows_by . sh -c {shlex.quote(command)}\n"
    return subprocess.run(["sh"], input=text, capture_output=True, text=True, check=False)


def test_an_empty_table_is_printed_as_one() -> None:
    shown = flows_by("true")
    assert (shown.returncode, shown.stdout.startswith("# 0 flow entries")) == (0, True)
    (table,) = facts_of(shown.stdout)
    assert (len(table), table.whole) == (0, True)


@pytest.mark.parametrize("line", [FLOW, f"ipv4     2 {FLOW}"])
def test_flows_of_tcp_are_printed_and_counted(line: str) -> None:
    shown = flows_by(f"printf '%s\\n' '{line}' '{OTHER}'")
    assert shown.stdout.splitlines()[0] == line
    assert shown.stdout.splitlines()[1].startswith("# 1 flow entries")
    (table,) = facts_of(shown.stdout)
    assert (len(table), table.whole, table.origin.not_understood) == (1, True, 0)


def test_a_command_that_fails_shows_no_end() -> None:
    shown = flows_by(f"echo '{FLOW}'; exit 3")
    assert (shown.returncode, shown.stdout) == (1, f"{FLOW}\n")
    assert flows_by("exit 3").stdout == ""
