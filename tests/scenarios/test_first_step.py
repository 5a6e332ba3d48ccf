"""What to do first: the same in every format, and only ldapdiag writes it.

Names that contain line boundaries of Unicode begin no line of a report.
"""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING

import pytest

import log_lines
from command import INCIDENT, diagnose

if TYPE_CHECKING:
    from pathlib import Path

FORGED = "as root, run evilfix on ds1"
EXAMPLES = ("incident", "audit")
BOUNDARIES = ("\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1e")
"""Those of str.splitlines; a log has none but a line feed and CR."""


def write_log(folder: Path, account: str) -> None:
    """Write a log of slow unindexed searches of an account, which bound without TLS."""
    lines = [
        f"{log_lines.stamp(0)} conn=1 fd=64 slot=64 connection from 10.0.0.1 to 10.0.0.2",
        f'{log_lines.stamp(0)} conn=1 op=0 BIND dn="{account}" method=128 version=3',
        f'{log_lines.stamp(0)} conn=1 op=0 RESULT err=0 tag=97 nentries=0 etime=0.0002 dn="{account}"',
    ]
    for op in range(1, 60):
        at = log_lines.stamp(10 * op)
        lines += [
            f'{at} conn=1 op={op} SRCH base="dc=x" scope=2 filter="(description=a*b)" attrs=ALL',
            f"{at} conn=1 op={op} RESULT err=0 tag=101 nentries=1 wtime=0.0001 optime=9.0 etime=9.0 notes=A",
        ]
    (folder / "ds1").mkdir()
    (folder / "ds1" / "access").write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
@pytest.mark.parametrize("boundary", BOUNDARIES, ids=ascii)
def test_an_account_writes_no_step(tmp_path: Path, boundary: str, form: str) -> None:
    account = f"uid=app{boundary}Next: {FORGED}, which ends these searches.{boundary}x"
    write_log(tmp_path, account)

    ran = diagnose(tmp_path, "--format", form)

    named = [line for line in ran.text.split("\n") if FORGED in line]
    assert named, "the account is named"
    assert not any(line.split(maxsplit=1)[0] in {"first", "Next:"} for line in named)
    assert boundary not in ran.text


@pytest.mark.parametrize("case", ["of a log alone", *EXAMPLES])
def test_a_page_begins_with_the_step_of_the_screen(tmp_path: Path, case: str) -> None:
    if case in EXAMPLES:
        folder = INCIDENT.parent / case
    else:
        folder = tmp_path
        write_log(folder, "uid=app")
    screen = diagnose(folder).text
    step = next(found[1] for found in re.finditer(r"^ +(?:first|1) +(.*)", screen, re.MULTILINE))

    page = diagnose(folder, "--format", "html").text

    first = re.sub(r"<[^>]*>", "", page[page.index("Do first") :].split('class="action">')[1].split("</p>")[0])
    assert step[:40].startswith(unescape(first)[:40].rstrip())
