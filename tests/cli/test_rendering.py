"""The line that says when a report was made and by which command: it can be pasted, and contains no secret."""

from __future__ import annotations

import re
import shlex

import pytest

from command import INCIDENT, ldapdiag
from ldapdiag.cli.rendering import command_line


@pytest.mark.parametrize(
    ("argument", "shown"),
    [
        ("ldap://admin:se/cr@et@ds1:389", "ldap://admin:***@ds1:389"),
        ("ssh://root@ds1", "ssh://root@ds1"),
        ("ldap://[::1]:389", "ldap://[::1]:389"),
        ("https://store/access.gz?X-Amz-Signature=abc", "https://store/access.gz?***"),
        ("a file with 'blanks'?", "a file with 'blanks'?"),
        ("$(id)", "$(id)"),
    ],
)
def test_a_command_can_be_pasted_and_contains_no_secret(argument: str, shown: str) -> None:
    assert shlex.split(command_line(["diagnose", argument])) == ["ldapdiag", "diagnose", shown]


@pytest.mark.parametrize("form", ["html", "markdown"])
@pytest.mark.parametrize("command", ["diagnose", "log"])
def test_a_page_says_when_it_was_made_and_by_which_command(command: str, form: str) -> None:
    evidence = str(INCIDENT / "ldap") if command == "diagnose" else "tests/captures/access-logs"
    ran = ldapdiag(command, evidence, "--format", form, timeout=120)
    assert re.search(
        rf"Made \d{{4}}(-\d\d){{2}} \d\d:\d\d:\d\d UTC by: ldapdiag {command} \S+ --format {form}", ran.text
    )
