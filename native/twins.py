"""Twins: the Python module that each Rust module implements again, and the digests of both when last compared.

    python native/twins.py                  record the digests after both changed and GRAMMAR_VERSION was raised
    python native/twins.py --same-answer    record them after a change that leaves every Segment as it was

tests/native/test_twins.py fails while a module differs from its digest in twins.json.
"""

# ruff: noqa: INP001  a script, no package

from __future__ import annotations

import ast
import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Any

HOUSE = Path(__file__).parent.parent
RUST = HOUSE / "native" / "src"
RECORD = HOUSE / "native" / "twins.json"
LOG = HOUSE / "ldapdiag" / "evidence" / "log"
PYTHON = (LOG, HOUSE / "ldapdiag" / "evidence", HOUSE / "ldapdiag" / "sources" / "logs")
"""The folders of the Python twins."""

PARTS = {
    "prune": "pruning",
    "border": "merging",
    "pending_requests": "connection",
    "ranked_rows": "tables",
    "ranked_table": "tables",
    "result_fields": "scan",
    "results": "scan",
    "runs": "server_process",
    "sort_lines": "scan",
    "syslog_clocks": "syslog",
}
"""Rust modules that are part of the twin of a Python module with another name."""

ALONE = {
    "bindings": "the Python bindings of the crate",
    "cached_rows": "a dict in the reference",
    "dialects": "a list; the tests check each of its entries",
    "fields": "primitives that regular expressions provide in the reference",
    "histogram": "a dict in the reference",
    "interner": "the reference uses bytes as keys",
    "joining": "the reference reads a stream in order; the tests compare the two at every cut",
    "json": "the json module of Python in the reference",
    "lib": "the list of modules",
    "merge": "as joining",
    "opends": "what OpenDJ and PingDirectory have from OpenDS, each in its module of the reference",
    "packing": "the reference is pickled",
    "processes": "as joining",
    "reading": "positioned reads, which sources/logs/chunks.py does for the reference",
    "row_cache": "the keys of that dict",
    "text_translation": "the reference has texts, no numbers of them",
    "texts": "the reference uses bytes as keys",
    "templates": "a shortcut to the rows in that dict",
    "translation": "the reference has texts and rows, no numbers of them",
    "words": "primitives that regular expressions provide in the reference",
}
"""Rust modules without a twin, with the reason."""

VERSION = re.compile(r"\bGRAMMAR_VERSION\b[^=\n]*=\s*(\d+)")
RUST_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/|\s+)
    | b?r(?P<hashes>\#*)".*?"(?P=hashes)        # a raw string
    | b?"(?:\\.|[^"\\])*"
    | b?'(?:\\[^\n']+|\\'|[^\\'\n])'            # a character; a lifetime has no second quote
    | \w+
    | .""",
    re.VERBOSE | re.DOTALL,
)
TESTS = re.compile(r"^#\[cfg\(test\)\]\nmod tests \{.*\Z", re.MULTILINE | re.DOTALL)


def twins() -> dict[str, list[Path]]:
    """Return twin modules by name: the Python one first, then those in Rust."""
    pairs: dict[str, list[Path]] = {}
    for path in sorted(RUST.rglob("*.rs")):
        module = path.relative_to(RUST).parts[0].removesuffix(".rs")
        name = PARTS.get(module, module)
        if name not in ALONE:
            pairs.setdefault(name, [_python(name)]).append(path)
    return pairs


def _python(name: str) -> Path:
    places = [folder / f"{name}.py" for folder in PYTHON]
    return next((path for path in places if path.exists()), places[0])


def code(path: Path) -> str:
    """Return the code of a module without comments, docstrings, tests and layout."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return json.dumps(_tree(ast.parse(text)))
    tokens = RUST_TOKEN.finditer(TESTS.sub("", text))
    return " ".join(token[0] for token in tokens if token["comment"] is None)


def _tree(node: object) -> Any:  # noqa: ANN401  a tree of whatever JSON has
    """Return a syntax tree as lists, without empty fields: newer Pythons have more of them."""
    if isinstance(node, list):
        return [_tree(one) for one in node if not _is_text(one)]
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = ((name, getattr(node, name, None)) for name in node._fields)
    return [type(node).__name__, *((name, _tree(value)) for name, value in fields if value not in (None, []))]


def _is_text(node: object) -> bool:
    """Return whether a statement is a docstring, of a module, a function or a name."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def digest(path: Path) -> str:
    """Return a digest of the code of a module."""
    return hashlib.sha256(code(path).encode()).hexdigest()[:16]


def digests() -> dict[str, dict[str, str]]:
    """Return the digests of twin modules by name and path."""
    return {name: {label(one): digest(one) for one in paths if one.exists()} for name, paths in twins().items()}


def label(path: Path) -> str:
    """Return a path relative to the project, as in twins.json."""
    return path.relative_to(HOUSE).as_posix()


def recorded() -> dict[str, Any]:
    """Return the content of twins.json."""
    record: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return record


def version() -> int:
    """Return the GRAMMAR_VERSION of the Python reference."""
    found = VERSION.search((LOG / "dialects.py").read_text(encoding="utf-8"))
    return int(found[1]) if found else 0


def complaints() -> list[str]:
    """Return a message for each pair of twins of which a digest has changed."""
    record, now = recorded(), digests()
    return [complaint for name in sorted({*record["twins"], *now}) if (complaint := _complaint(name, record, now))]


def _complaint(name: str, record: dict[str, Any], now: dict[str, dict[str, str]]) -> str:
    then, here = record["twins"].get(name, {}), now.get(name, {})
    changed = [path for path in sorted({*then, *here}) if then.get(path) != here.get(path)]
    same = [path for path in sorted(here) if path not in changed]
    if not changed:
        return ""
    if any(path.endswith(".rs") for path in changed) and any(path.endswith(".py") for path in changed):
        return (
            f"{' and '.join(changed)} were changed: run the vectors and tests/native with both scanners, raise"
            " GRAMMAR_VERSION on both sides if a Segment has changed, then run `python native/twins.py`"
        )
    return (
        f"{' and '.join(changed)} changed, and {' and '.join(same) or 'its twin'} did not: change it likewise. If"
        " every Segment is as before, run tests/native and `python native/twins.py --same-answer`"
    )


def main(arguments: list[str]) -> int:
    """Record the digests of the twins."""
    record = recorded() if RECORD.exists() else {"grammar_version": 0, "twins": {}}
    now = digests()
    if now == record["twins"]:
        return 0
    if version() <= record["grammar_version"] and "--same-answer" not in arguments:
        sys.stderr.write(
            f"{label(LOG / 'dialects.py')} still has GRAMMAR_VERSION {version()}: raise it there and in native/src"
            " so that an older wheel is refused, or use --same-answer if every Segment is as before\n"
        )
        return 1
    record = {"grammar_version": version(), "twins": now}
    RECORD.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
