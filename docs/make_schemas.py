"""Write the JSON Schemas of the package and the tables of contract.md, from the types of ldapdiag/documents.

.venv/bin/python docs/make_schemas.py
"""

from __future__ import annotations

import importlib
import json
import re
import sys
import typing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typing_extensions
from pydantic import ConfigDict, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMAS = Path(__file__).parents[1] / "ldapdiag" / "report" / "schemas"
CONTRACT = Path(__file__).parent / "contract.md"
OBSERVED = ("connections", "server", "log", "indexes", "storage")
"""What each check observes, by the subject of the check."""
TITLES = {
    "report": "the report of ldapdiag diagnose, ldapdiag indexes and ldapdiag storage",
    "log": "the report of ldapdiag log",
    "history": "the report of ldapdiag history",
    "settings": "the output of ldapdiag config",
    "checks": "the list of ldapdiag checks",
    "capture": "manifest.json, the first file of a capture",
}
"""The documents by the name of their module."""


class Untitled(GenerateJsonSchema):
    """Leaves out the titles that pydantic makes of names."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ANN401, ARG002  the library's method
        """Return that no key has a title."""
        return False


def schema_of(name: str) -> dict[str, Any]:
    """Return the JSON Schema of a document."""
    if sys.version_info < (3, 12):
        typing.TypedDict = typing_extensions.TypedDict  # type: ignore[misc]  pydantic demands it, before the types are imported
    document = importlib.import_module(f"ldapdiag.documents.{name}").Document
    made = adapter_of(document).json_schema(mode="serialization", schema_generator=Untitled)
    made.pop("title", None)
    made["$defs"] = untitled(made.get("$defs", {}))
    if name == "report":
        add_observed(made)
    identity = made["properties"]["schema"]["const"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{identity.replace('.', ':schema:').replace('/', ':')}",
        "title": f"{identity}: {TITLES[name]}",
        **made,
    }


def add_observed(report: dict[str, Any]) -> None:
    """Add what each check observes: one of ldapdiag has these keys, one of another package has any."""
    kinds: dict[str, Any] = {}
    for subject in OBSERVED:
        types = vars(importlib.import_module(f"ldapdiag.documents.observed_{subject}"))
        kinds |= {check: one for one in types.values() if (check := check_of(one))}
    wanted = [(check, "serialization", adapter_of(one)) for check, one in sorted(kinds.items())]
    refs, made = TypeAdapter.json_schemas(wanted, schema_generator=Untitled)  # type: ignore[arg-type]  a literal
    report["$defs"] |= untitled(made["$defs"]) | {
        "MoreFindings": untitled(
            {"": adapter_of(importlib.import_module("ldapdiag.documents.report").MoreFindings).json_schema()}
        )[""]
    }
    report["$defs"]["FindingRow"]["allOf"] = [
        {
            "if": {"properties": {"check": {"const": check}}},
            "then": {
                "properties": {"observed": {"anyOf": [refs[check, "serialization"], {"$ref": "#/$defs/MoreFindings"}]}}
            },
        }
        for check in sorted(kinds)
    ]


def check_of(one: object) -> str:
    """Return the id of the check that observes such a document; it begins its docstring."""
    found = re.match(r"`([a-z-]+)`:", getattr(one, "__doc__", None) or "")
    return found[1] if found and typing_extensions.is_typeddict(one) else ""


def adapter_of(document: Any) -> TypeAdapter[Any]:  # noqa: ANN401  a TypedDict is no type to mypy
    """Return what makes the schema of a type: closed, with the docstrings of its keys."""
    document.__pydantic_config__ = ConfigDict(extra="forbid", use_attribute_docstrings=True)
    return TypeAdapter(document)


def untitled(definitions: dict[str, Any]) -> dict[str, Any]:
    """Return definitions without the titles that pydantic makes of their names."""
    return {name: {key: of for key, of in one.items() if key != "title"} for name, one in definitions.items()}


def text_of(name: str) -> str:
    """Return it as the text of its file."""
    return json.dumps(schema_of(name), indent=1, sort_keys=True) + "\n"


def type_of(schema: dict[str, Any]) -> str:
    """Return the type of a key in words."""
    if "$ref" in schema:
        return schema["$ref"].rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(map(type_of, schema["anyOf"]))
    if schema.get("type") == "array":
        return f"[{type_of(schema['items'])}]"
    if isinstance(within := schema.get("additionalProperties"), dict):
        return f"{{…: {type_of(within)}}}"
    if "const" in schema or "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    return schema.get("type", "any")


def rows(schema: dict[str, Any]) -> Iterator[str]:
    """Yield a line for each key of an object: its name, type and meaning."""
    for key, value in schema["properties"].items():
        optional = "" if key in schema["required"] else " (may be absent)"
        meaning = value.get("description", "")
        yield f"| `{key}` | {type_of(value)}{optional} | {meaning} |".replace("\n", " ")


def tables(name: str) -> str:
    """Return the tables of a document: its own keys, then those of each object in it."""
    made = schema_of(name)
    parts = ["\n".join(["| key | type | meaning |", "|---|---|---|", *rows(made)])]
    for one, of in made.get("$defs", {}).items():
        if "enum" in of:
            parts.append(f"**{one}**: {', '.join(f'`{value}`' for value in of['enum'])}")
        else:
            parts.append(
                "\n".join([f"**{one}**: {of['description']}\n", "| key | type | meaning |", "|---|---|---|", *rows(of)])
            )
    return "\n\n".join(parts)


def fresh(page: str) -> str:
    """Return contract.md with its tables written again."""
    for name in TITLES:
        begin, end = f"<!-- {name}: made by docs/make_schemas.py -->", f"<!-- end of {name} -->"
        before, _, rest = page.partition(begin)
        page = f"{before}{begin}\n\n{tables(name)}\n\n{end}{rest.partition(end)[2]}"
    return page


def main() -> None:
    """Write each."""
    for name in TITLES:
        (SCHEMAS / f"{name}.json").write_text(text_of(name), encoding="utf-8")
    CONTRACT.write_text(fresh(CONTRACT.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
