"""What a release is made of agrees: extras and messages, examples and what is packaged, the versions of both wheels."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import ldapdiag
from ldapdiag.sources.packaged_examples import EXAMPLES

HOUSE = Path(__file__).parents[2]
PROJECT = tomllib.loads((HOUSE / "pyproject.toml").read_text())
WHEEL = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
NAMED = re.compile(r"""\b(?:require|install_command)\([^()]*?["'](\w+)["']\)""")


def test_each_extra_that_a_message_names_can_be_installed() -> None:
    sources = [path.read_text() for path in (HOUSE / "ldapdiag").rglob("*.py")]
    named = {name for text in sources for name in NAMED.findall(text)}
    assert named == set(PROJECT["project"]["optional-dependencies"])


def test_each_example_is_packaged_and_lies_in_the_tree() -> None:
    assert WHEEL["force-include"] == {f"examples/{one}": f"ldapdiag/examples/{one}" for one in EXAMPLES}
    assert [one for one in EXAMPLES if not (HOUSE / "examples" / one).is_dir()] == []


def test_the_hook_runs_the_program_with_the_typer_of_the_program() -> None:
    (typer,) = WHEEL["hooks"]["custom"]["dependencies"]
    assert typer in PROJECT["project"]["dependencies"]


def test_no_package_promises_an_address_that_nobody_reads() -> None:
    """SECURITY.md: the project has none."""
    maintainer = re.search(r"^maintainer: (.+)$", (HOUSE / "release" / "nfpm.yaml").read_text(), re.MULTILINE)
    assert maintainer
    assert "@" not in maintainer[1]


def test_both_wheels_have_one_version() -> None:
    native = tomllib.loads((HOUSE / "native" / "Cargo.toml").read_text())["package"]["version"]
    assert native == ldapdiag.__version__


def test_the_locked_versions_are_those_that_the_project_allows() -> None:
    text = re.sub(r"(?m)^#.*\n", "", (HOUSE / "release" / "locked.txt").read_text()).replace("\\\n", "")
    pinned = [line.split(" --hash=sha256:") for line in text.splitlines()]
    assert [one for one, *hashes in pinned if not hashes] == []
    locked = {one.name: one.specifier for one in (Requirement(line.strip()) for line, *_ in pinned)}
    extras = PROJECT["project"]["optional-dependencies"].values()
    declared = [Requirement(one) for group in (PROJECT["project"]["dependencies"], *extras) for one in group]
    versions = {one: locked[canonicalize_name(one.name)] for one in declared}
    outdated = [str(one) for one, version in versions.items() if next(iter(version)).version not in one.specifier]
    assert outdated == [], "run make lock"


def test_the_source_distribution_has_the_pages_that_the_readme_links() -> None:
    linked = re.findall(r"\]\(([\w-]+)(?:\.md|/)", (HOUSE / "README.md").read_text())
    packed = {Path(one).stem for one in PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]}
    assert {*linked, "README"} - packed == set()
    assert len(linked) > 10


def test_a_workflow_installs_our_own_wheels_from_their_files_alone() -> None:
    """A registry may have a stranger's package of that name."""
    lines = (HOUSE / ".github" / "workflows" / "release.yml").read_text().splitlines()
    by_name = [line for line in lines if re.search(r"pip install .*(?<![\w/-])ldapdiag(?:-native)?\b", line)]
    assert [line for line in by_name if "--no-index" not in line] == []
    assert by_name
