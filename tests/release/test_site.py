"""The site: each page of docs/ is in it, each link and anchor leads somewhere, and a broken one fails the build."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from runpy import run_path

import pytest
import typer

from ldapdiag.cli.app import app

HOUSE = Path(__file__).parents[2]
SITE = run_path(str(HOUSE / "docs" / "make_site.py"))
NAVIGATION = re.findall(r"^ *- (\S+\.md)$", (HOUSE / "mkdocs.yml").read_text(), re.MULTILINE)


def test_each_page_has_its_place_in_the_navigation() -> None:
    docs = HOUSE / "docs"
    pages = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}
    printed = {"reference/commands.md", "reference/settings.md"}
    assert sorted(NAVIGATION) == sorted(pages | set(SITE["ELSEWHERE"].values()) | printed)


def pasted() -> list[list[str]]:
    """Return the words of each command line of ldapdiag in what the pages tell a shell."""
    pages = [*HOUSE.glob("*.md"), *HOUSE.glob("docs/**/*.md"), *HOUSE.glob("examples/*.md")]
    blocks = [block for page in pages for block in re.findall(r"```sh\n(.*?)```", page.read_text(), re.DOTALL)]
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    told = [found[1] for line in lines if (found := re.match(r"(?:sudo )?ldapdiag ([^|>&;#]*)", line))]
    return [shlex.split(one) for one in told]


def test_the_program_takes_each_command_that_the_pages_tell() -> None:
    program = typer.main.get_command(app)
    assert isinstance(program, typer.core.TyperGroup)
    commands = pasted()
    with typer.Context(program) as whole:
        for name, *arguments in commands:
            program.commands[name].make_context(name, arguments, parent=whole)
    assert len(commands) > 40


@pytest.mark.long
def test_the_site_is_built_and_of_its_links_only_the_broken_one_fails(tmp_path) -> None:
    pages = tmp_path / "pages"
    SITE["write"](pages)
    with (pages / "tutorial.md").open("a") as page:
        page.write("\n[rules](how-it-decides.md#nowhere)\n")
    settings = (HOUSE / "mkdocs.yml").read_text().replace(".venv/", "")
    (tmp_path / "mkdocs.yml").write_text(settings)
    build = [sys.executable, "-m", "mkdocs", "build", "--config-file", tmp_path / "mkdocs.yml", "--strict"]
    built = subprocess.run(build, cwd=tmp_path, capture_output=True, text=True, check=False)
    (broken,) = (line for line in built.stderr.splitlines() if line.startswith("WARNING"))
    assert "how-it-decides.md#nowhere" in broken
    assert built.returncode == 1
    assert "268 of the 270 connections" in (tmp_path / "site" / "index.html").read_text()
