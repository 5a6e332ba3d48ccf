"""The line that says when a report was made and by which command: it can be pasted, and contains no secret."""

from __future__ import annotations

import os
import re
import shlex
import subprocess

import pytest

from command import INCIDENT, ldapdiag
from ldapdiag.cli.rendering import shell_words


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
    assert shlex.split(shell_words(["diagnose", argument])) == ["diagnose", shown]


def test_a_name_that_is_no_text_reaches_the_command_again_as_it_was() -> None:
    name = "it's \udce9\\\n\x1b\u202e.txt"
    assert shell_words([name]).isprintable()
    told = subprocess.run(["bash", "-c", f"printf %s {shell_words([name])}"], capture_output=True, check=True)
    assert told.stdout == os.fsencode(name)


@pytest.mark.parametrize("form", ["html", "markdown"])
@pytest.mark.parametrize("command", ["diagnose", "log"])
def test_a_page_says_when_it_was_made_and_by_which_command(command: str, form: str) -> None:
    evidence = str(INCIDENT / "ldap") if command == "diagnose" else "tests/captures/access-logs"
    ran = ldapdiag(command, evidence, "--format", form)
    assert re.search(
        rf"Made \d{{4}}(-\d\d){{2}} \d\d:\d\d:\d\d UTC by: ldapdiag {command} \S+ --format {form}", ran.text
    )
