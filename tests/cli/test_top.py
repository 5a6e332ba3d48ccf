"""ldapdiag top: why it does not begin, and what `w` writes."""

from __future__ import annotations

from contextlib import chdir
from typing import TYPE_CHECKING

import pytest

from command import INCIDENT, ldapdiag
from ldapdiag.cli import top
from ldapdiag.errors import UsageError
from live_views import Stage

if TYPE_CHECKING:
    from pathlib import Path


def test_without_a_terminal_it_names_diagnose() -> None:
    ran = ldapdiag("top", "ldap://127.0.0.1:1")
    assert (ran.code, "ldapdiag diagnose" in "\n".join(ran.complaints)) == (2, True)


@pytest.mark.parametrize(
    ("evidence", "reason"),
    [
        ([str(INCIDENT)], "diagnose reads the others"),
        (["ssh://app1"], "name it, ldap://HOST"),
        (["ldap://127.0.0.1:1", "-"], "name the file of the log"),
    ],
)
def test_what_it_cannot_watch(evidence: list[str], reason: str, monkeypatch) -> None:
    monkeypatch.setattr(top, "_require_terminal", lambda: None)
    ran = ldapdiag("top", *evidence)
    assert (ran.code, reason in "\n".join(ran.complaints)) == (2, True)


def test_without_textual_it_says_how_to_install_it(monkeypatch) -> None:
    monkeypatch.setattr("ldapdiag.extras.find_spec", lambda _: None)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    with pytest.raises(UsageError, match=r"ldapdiag\[top\]|\[top\]"):
        top._require_terminal()


def test_w_writes_the_last_diagnosis(tmp_path: Path) -> None:
    stage = Stage()
    with chdir(tmp_path):
        assert "no diagnosis" in top._write(stage.model)
        stage.report = ldapdiag("diagnose", INCIDENT, "--format", "json").report
        stage.pass_seconds(1)
        said = top._write(stage.model)
    (page,) = tmp_path.iterdir()
    assert page.name in said
    assert "no longer exist on app1" in page.read_text()
