"""The completion script in the shells themselves: commands, options, values, checks; file names where none fits."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from command import LOGIN, PATIENCE, ldapdiag
from ldapdiag.catalogue import installed_checks
from ldapdiag.check_names import check_names
from ldapdiag.cli.completion import Shell

CHECKS = tuple(one.id for one in installed_checks())
BASH = """
. "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ldapdiag_completion ldapdiag
printf '%s\\n' "${COMPREPLY[@]}"
"""
CASES = [
    (("diagno",), ["diagnose"]),
    (("checks", "ghost"), ["ghost-connections"]),
    (("diagnose", "--check", "idle-timeout-t"), ["idle-timeout-too-low"]),
    (("diagnose", "--fail-on", "c"), ["critical"]),
    (("diagnose", "--sever"), ["--severity"]),
    (("completion", ""), ["bash", "zsh", "fish"]),
]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Return an environment in which `ldapdiag` is the command under test."""
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "ldapdiag"
    command.write_text(
        f"#!{sys.executable}\nimport sys\nsys.argv[0] = 'ldapdiag'\nfrom ldapdiag.cli import main\nmain()\n"
    )
    command.chmod(0o755)
    return LOGIN | {"PATH": f"{command.parent}:{os.environ['PATH']}", "HOME": str(tmp_path)}


def script(shell: str, tmp_path: Path) -> Path:
    """Return a file with the script of a shell."""
    ran = ldapdiag("completion", shell)
    assert (ran.code, ran.err) == (0, b"")
    (tmp_path / "_ldapdiag").write_bytes(ran.out)
    return tmp_path / "_ldapdiag"


def run(command: list[str], environment: dict[str, str], stdin: str = "") -> list[str]:
    """Return the lines that a shell prints; it must not complain."""
    ran = subprocess.run(
        command, input=stdin, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    assert ran.stderr == ""
    return [line for line in ran.stdout.splitlines() if line]


@pytest.mark.parametrize(("words", "wanted"), CASES)
def test_bash_completes(words: tuple[str, ...], wanted: list[str], tmp_path: Path, environment: dict[str, str]) -> None:
    command = ["bash", "-c", BASH, "bash", str(script("bash", tmp_path)), "ldapdiag", *words]
    assert run(command, environment) == wanted


NAMED = """
. "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ldapdiag_words ldapdiag
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("diagnose", "@"), ["@prod", "@test"]),
        (("diagnose", "@", "pr"), ["@prod"]),  # what bash makes of @pr
        (("indexes", "ds1", "@", "te"), ["@test"]),
        (("diagnose", ""), []),  # file names
        (("diagnose", "--check", "ghost"), ["ghost-connections"]),
    ],
)
def test_bash_completes_the_targets_of_the_site(
    words: tuple[str, ...], wanted: list[str], tmp_path: Path, environment: dict[str, str]
) -> None:
    folder = tmp_path / "site" / "ldapdiag"
    folder.mkdir(parents=True)
    (folder / "ldapdiag.toml").write_text("[targets.prod]\n[targets.test]\n")
    command = ["bash", "-c", NAMED, "bash", str(script("bash", tmp_path)), "ldapdiag", *words]
    assert run(command, environment | {"XDG_CONFIG_HOME": str(tmp_path / "site")}) == wanted


@pytest.mark.long
@pytest.mark.parametrize(("words", "wanted"), CASES)
def test_fish_completes(words: tuple[str, ...], wanted: list[str], tmp_path: Path, environment: dict[str, str]) -> None:
    source = f"source {script('fish', tmp_path)}; complete -C 'ldapdiag {' '.join(words)}'"
    assert {line.partition("\t")[0] for line in run(["fish", "-c", source], environment)} == set(wanted)


@pytest.mark.long
def test_zsh_completes_with_the_first_tab(tmp_path: Path, environment: dict[str, str]) -> None:
    folder = script("zsh", tmp_path).parent
    typed = (
        f"zmodload zsh/zpty; zpty shell zsh -f -i\n"
        f"zpty -w shell 'PS1=; fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -D; print rea''dy'\n"
        "zpty -r shell ready '*ready*'\n"
        "zpty -w -n shell $'ldapdiag checks ghost\\t'\n"
        "zpty -r -m shell shown '*ghost-connections*' && print -r completed\n"
    )
    assert "completed" in run(["zsh", "-f"], environment, typed)


@pytest.mark.parametrize("words", [("diagnose", "examp"), ("diagnose", "--output", ""), ("log", "access")])
def test_file_names_are_left_to_the_shell(words: tuple[str, ...], tmp_path: Path, environment: dict[str, str]) -> None:
    command = ["bash", "-c", BASH, "bash", str(script("bash", tmp_path)), "ldapdiag", *words]
    assert run(command, environment) == []
    assert "complete -o default" in (tmp_path / "_ldapdiag").read_text()


@pytest.mark.parametrize("shell", list(Shell))
def test_the_script_is_the_same_every_time(shell: Shell) -> None:
    assert ldapdiag("completion", shell).out == ldapdiag("completion", shell).out


def test_an_unknown_shell_is_wrong_usage() -> None:
    assert ldapdiag("completion", "tcsh").code == 2


class TestCheckNames:
    def test_are_those_of_the_installed_checks(self) -> None:
        assert check_names() == CHECKS

    def test_import_no_check(self) -> None:
        source = (
            "import sys; from ldapdiag.check_names import check_names; check_names(); "
            "print([one for one in sys.modules if one.startswith('ldapdiag_checks')])"
        )
        assert ast.literal_eval(run([sys.executable, "-c", source], LOGIN)[0]) == []

    @pytest.mark.parametrize("content", [b"CATALOGUE = 1", b"CATALOGUE = (", b"\xff", b"CATALOGUE = (f(), *x, y[0])"])
    def test_of_another_form_are_none(self, content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "odd_checks.py").write_bytes(content)
        info = tmp_path / "odd_checks-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Name: odd-checks\nVersion: 1\n")
        (info / "entry_points.txt").write_text("[ldapdiag.checks]\nodd = odd_checks:CATALOGUE\n")
        monkeypatch.syspath_prepend(tmp_path)
        assert sorted(check_names()) == sorted(CHECKS)
