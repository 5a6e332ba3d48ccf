"""The promises of the house: what holds for every file, whoever wrote it."""

from __future__ import annotations

import ast
import gc
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import defaultdict
from importlib import import_module
from importlib.metadata import entry_points
from io import StringIO
from pathlib import Path
from runpy import run_path

import pytest
import typer

from ldapdiag import lazy_pattern
from ldapdiag.catalogue import installed_checks
from ldapdiag.cli.app import app
from ldapdiag.servers.queries import ASKED
from ldapdiag.servers.traits import FOLDERS
from ldapdiag.sources.probe import removal

HOUSE = Path(__file__).parent.parent
TOOLS = Path(sys.executable).parent
ROOTS = ("ldapdiag", "checks", "tests", "bench", "examples")
SOURCES = sorted(path for root in ROOTS for path in (HOUSE / root).rglob("*.py"))
README = (HOUSE / "README.md").read_text()


LONGEST_MODULE = 500
TEXTS = {".json", ".md", ".py", ".rs", ".sh", ".toml", ".yml"}
EMPTY_NAMES = {"utils", "helpers", "manager"}
SUPPRESSION = re.compile(r"#\s*noqa(?P<rules>:\s*[A-Z]+\d+(?:,\s*[A-Z]+\d+)*)?(?P<reason>.*)")
REASON = re.compile(r"\w+ \w+")


def test_every_module_fits_in_one_sitting() -> None:
    assert [str(path) for path in SOURCES if len(path.read_text().splitlines()) > LONGEST_MODULE] == []


def test_every_module_has_a_name_that_says_something() -> None:
    assert [str(path) for path in SOURCES if not EMPTY_NAMES.isdisjoint(path.stem.split("_"))] == []


def test_no_file_has_the_marks_of_a_conflict() -> None:
    marks = tuple(sign * 7 + b" " for sign in (b"<", b">"))
    folders = [path for path in HOUSE.iterdir() if path.is_dir() and not path.name.startswith(".")]
    files = [*HOUSE.iterdir(), *(path for folder in folders for path in folder.rglob("*"))]
    texts = [path for path in files if path.suffix in TEXTS and path.is_file()]
    assert len(texts) > len(SOURCES)
    assert [path for path in texts if any(line.startswith(marks) for line in path.read_bytes().splitlines())] == []


def test_no_rule_is_suppressed_without_a_reason() -> None:
    assert [f"{path}: {line}" for path in SOURCES for line in unexplained(path.read_text())] == []


def unexplained(source: str) -> list[str]:
    """Return the lines that suppress a rule and give no reason; a reason holds for the lines right below it, too."""
    bare = []
    explained = None
    for line in source.splitlines():
        found = SUPPRESSION.search(line)
        if found and not (found["rules"] and (REASON.search(found["reason"]) or found["rules"] == explained)):
            bare.append(line.strip())
        explained = found and found["rules"]
    return bare


@pytest.mark.parametrize("command", ["make demo", "make test"])
def test_the_readme_names_the_two_commands(command: str) -> None:
    assert command in README


def test_the_program_is_installed_with_the_entry_points_of_this_tree() -> None:
    """The lists of checks of `indexes` and `storage` are found by them: an older installation runs fewer checks."""
    declared = tomllib.loads((HOUSE / "pyproject.toml").read_text())["project"]["entry-points"]
    lacking = [group for group in declared if not entry_points(group=group)]
    assert lacking == [], "install it anew: .venv/bin/python -m pip install --quiet --no-deps --editable ."


def test_the_readme_shows_each_command_of_the_program() -> None:
    program = typer.main.get_command(app)
    assert isinstance(program, typer.core.TyperGroup)
    assert [name for name in program.commands if f"ldapdiag {name}" not in README] == []


def test_the_readme_is_read_in_a_sitting() -> None:
    assert len(README.splitlines()) <= 150


def test_the_quick_start_works_as_pasted(tmp_path: Path) -> None:
    """In a tree where `make demo` has run, which CI does itself: the program is on no PATH before."""
    (pasted,) = re.findall(r"```sh\n(make demo.*?)```", README, re.DOTALL)
    first, *others = pasted.splitlines()
    assert (first.partition("#")[0].split(), len(others)) == (["make", "demo"], 2)
    (tmp_path / ".venv").symlink_to(TOOLS.parent)
    script = "\n".join(["command -v ldapdiag && exit 9", *others])
    system = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    ran = subprocess.run(
        ["/bin/sh", "-c", script], cwd=tmp_path, env=system, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 1, ran.stderr  # a critical finding
    assert "268 of the 270 connections" in (tmp_path / "report.html").read_text()


def test_the_screens_of_the_pages_are_what_the_commands_print() -> None:
    made = run_path(str(HOUSE / "docs" / "make_screens.py"))
    pages = [page.read_text() for page in made["PAGES"]]
    assert sum(page.count("$ ldapdiag ") for page in pages) >= 4
    stale = "a page is stale: run .venv/bin/python docs/make_screens.py, and read the change"
    assert [made["fresh"](page) for page in pages] == pages, stale


def test_the_table_of_what_was_tested_is_that_of_the_products() -> None:
    made = run_path(str(HOUSE / "docs" / "make_products.py"))
    pages = [page.read_text() for page in made["PAGES"]]
    assert [page.count("| Active Directory | Samba") for page in pages] == [1, 1]
    assert [made["fresh"](page) for page in pages] == pages, "run .venv/bin/python docs/make_products.py"


def test_the_picture_of_the_readme_is_small_and_its_words_are_those_of_the_page() -> None:
    made = run_path(str(HOUSE / "docs" / "make_pictures.py"))
    picture = made["PICTURE"].read_bytes()
    assert README.count("](docs/pictures/report.png)") == 1
    assert made["fresh"](README, made["page"]()) == README, "run .venv/bin/python docs/make_pictures.py, and look at it"
    assert picture.startswith(b"\x89PNG")
    assert int.from_bytes(picture[16:20], "big") == made["WIDTH"] * made["SHARPNESS"]
    assert len(picture) < 250_000


def test_the_contract_has_a_row_for_each_check() -> None:
    contract = (HOUSE / "docs" / "contract.md").read_text()
    assert [check.id for check in installed_checks() if f"`{check.id}`" not in contract] == []


def test_the_example_is_small_enough_to_read() -> None:
    assert sum(path.stat().st_size for path in (HOUSE / "examples").rglob("*") if path.is_file()) < 450_000


def test_no_pattern_has_a_possessive_group() -> None:
    """Before 3.11.5, Python fails to match some (gh-106052): Debian 12 has 3.11.2. Atomic groups do the same."""
    possessive = re.compile(r"\)(?:[*+?]|\{\{?\d*,?\d*\}\}?)\+")
    texts = {path: path.read_text() for root in ("ldapdiag", "checks") for path in sorted((HOUSE / root).rglob("*.py"))}
    found = [
        f"{path}: {token.string}"
        for path, text in texts.items()
        if possessive.search(text)
        for token in tokenize.generate_tokens(StringIO(text).readline)
        if token.type == tokenize.STRING
        and token.string.startswith(("r", "b", "f"))
        and possessive.search(token.string)
    ]
    assert found == []


MIRRORED = {
    **{
        name: HOUSE / "ldapdiag" / name
        for name in ("analysis", "cli", "evidence", "report", "servers", "site", "sources")
    },
    "checks": HOUSE / "checks" / "ldapdiag_checks",
}


def test_the_tests_mirror_the_tree() -> None:
    """The tests of ldapdiag/X/Y.py are in tests/X/test_Y.py and test_Y_PART.py; laws and whole cases have folders."""
    tests = HOUSE / "tests"
    stray = [
        f"{path.relative_to(HOUSE)} has no module; laws go to tests/properties, whole cases to tests/scenarios"
        for name, modules in MIRRORED.items()
        for path in sorted((tests / name).rglob("test_*.py"))
        if not _module_of(path, modules / path.relative_to(tests / name).parent)
    ]
    assert stray == []


def _module_of(test: Path, folder: Path) -> list[Path]:
    words = test.stem.removeprefix("test_").split("_")
    names = ["_".join(words[:most]) for most in range(len(words), 0, -1)]
    places = [folder / place for name in names for place in (f"{name}.py", f"{name}.sh", f"{name}/__init__.py")]
    return [place for place in places if place.exists()]


def test_every_public_class_has_a_name_of_its_own() -> None:
    """But the parts of a JSON document, which are named as what they show, and are in no program."""
    homes = defaultdict(list)
    programs = (HOUSE / "ldapdiag").rglob("*.py")
    for path in sorted(one for one in programs if one.parent.name != "documents"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(str(path))
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


REPLACED = re.compile(r"(?i)\b(?:told|tells|whoever|nobody|somebody|anybody|resting|dearer|astray|disowned)\b")
"""Words that docs/glossary.md replaces and that have no other use here."""


def test_the_program_uses_the_words_of_the_glossary() -> None:
    program = [path for path in SOURCES if path.relative_to(HOUSE).parts[0] in {"ldapdiag", "checks"}]
    lines = [f"{path}: {line.strip()}" for path in program for line in path.read_text().splitlines()]
    assert [line for line in lines if REPLACED.search(line)] == []


def test_the_architecture_names_every_room_on_two_pages() -> None:
    page = (HOUSE / "docs" / "architecture.md").read_text()
    rooms = [path.parent for path in (HOUSE / "ldapdiag").glob("*/**/__init__.py")]
    rooms = [room for room in rooms if room.name not in {*FOLDERS.values(), *ASKED.values()}]  # `<family>/`
    assert len(page.encode()) <= 8_000
    assert sorted(str(room) for room in rooms if f"`{room.name}" not in page) == []


def test_no_family_is_named_outside_its_folder() -> None:
    """What is known of a product stands in servers/; others ask for its traits."""
    rooms = (HOUSE / "ldapdiag", HOUSE / "checks")
    allowed = (HOUSE / "ldapdiag" / "servers", HOUSE / "ldapdiag" / "evidence")
    modules = [path for room in rooms for path in room.rglob("*.py") if not any(map(path.is_relative_to, allowed))]
    assert [str(path) for path in modules if re.search(r"\bFamily\.[A-Z]", path.read_text())] == []


def test_the_list_of_facts_is_fresh() -> None:
    made = run_path(str(HOUSE / "docs" / "make_facts.py"))["page"]()
    assert (HOUSE / "docs" / "facts.md").read_text() == made, "run .venv/bin/python docs/make_facts.py"


def test_the_schemas_and_the_tables_of_the_contract_are_fresh() -> None:
    """In a process of its own: on Python 3.11 making them replaces typing.TypedDict."""
    check = (
        "import runpy; made = runpy.run_path('docs/make_schemas.py'); page = made['CONTRACT'].read_text();"
        "stale = [n for n in made['TITLES'] if made['text_of'](n) != (made['SCHEMAS'] / f'{n}.json').read_text()];"
        "print(stale, made['fresh'](page) == page)"
    )
    ran = subprocess.run([sys.executable, "-c", check], cwd=HOUSE, capture_output=True, text=True, check=False)
    assert ran.stdout == "[] True\n", f"run .venv/bin/python docs/make_schemas.py {ran.stderr}"


def test_no_command_imports_the_types_of_its_document() -> None:
    script = (
        "import sys; from ldapdiag.report.log import as_json, json_parts, selected, content;"
        "print([one for one in sys.modules if one.startswith(('pydantic', 'ldapdiag.documents'))])"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def test_the_diagnosis_of_one_check_imports_no_other_subject() -> None:
    script = (
        "import sys; from ldapdiag.cli.app import app;"
        "app(['diagnose', 'examples/incident', '--check', 'ghost-connections', '--quiet'], standalone_mode=False);"
        "print(sorted({'.'.join(one.split('.')[:3]) for one in sys.modules if one.startswith(("
        "'ldapdiag.analysis.', 'ldapdiag_checks.', 'ldapdiag.report.'))}), file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", script], cwd=HOUSE, capture_output=True, text=True, check=False)
    rooms = set(ast.literal_eval(ran.stderr.splitlines()[-1]))
    assert "ldapdiag_checks.ghost_connections" in rooms
    assert sorted(room for room in rooms if room.startswith("ldapdiag_checks.")) == [
        "ldapdiag_checks.ghost_connections"
    ]
    others = {
        "ldapdiag.analysis.indexes",
        "ldapdiag.analysis.storage",
        "ldapdiag.analysis.fleet",
        "ldapdiag.report.html",
    }
    assert rooms & others == set()


def test_dataclasses_are_lazy() -> None:
    """Generated at import, their methods were a third of every start."""
    program = [path for path in SOURCES if path.relative_to(HOUSE).parts[0] in {"ldapdiag", "checks"}]
    eager = re.compile(r"^from dataclasses import .*\bdataclass\b", re.MULTILINE)
    assert [str(path) for path in program if eager.search(path.read_text())] == []


def test_patterns_are_lazy_and_compile() -> None:
    """Compiled at import, they were a tenth of every start. What is compiled in a function is made of its arguments."""
    program = [path for path in SOURCES if path.relative_to(HOUSE).parts[0] in {"ldapdiag", "checks"}]
    program.remove(Path(removal.__file__))  # runs without the package
    assert [
        str(path) for path in program if re.search(r"^[^ #].*\bre\.compile\(", path.read_text(), re.MULTILINE)
    ] == []
    for path in [path for path in program if path.name != "__main__.py"]:
        import_module(".".join(path.relative_to(HOUSE).with_suffix("").parts).removeprefix("checks."))
    gc.unfreeze()  # as conftest.py leaves what is imported with the tests
    lazy = [one for one in gc.get_objects() if type(one) is lazy_pattern._LazyPattern]
    gc.freeze()
    assert len(lazy) > 400
    assert all(one.groups >= 0 for one in lazy)  # compiled for that
