"""The configuration that is in force, value by value with where each comes from: as text, and as JSON."""

from __future__ import annotations

import json
from datetime import date
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.report.neutral import neutral
from ldapdiag.site.keys import DEFAULTS, LONGEST_TEXT, TARGET
from ldapdiag.site.keys import SCHEMA as FILE_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ldapdiag.documents.settings import Document
    from ldapdiag.site.configuration import AcceptedFinding, SiteConfiguration

SCHEMA: Final = "ldapdiag.settings/1"
LONGEST_SHOWN = 10 * LONGEST_TEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveValue:
    """One value that is in force."""

    section: str
    """As in the file: defaults, targets.NAME, checks.ID, accepted[N]."""
    key: str
    value: Any
    from_file: bool


def effective_values(site: SiteConfiguration | None, defaults: Mapping[str, Any]) -> Iterator[EffectiveValue]:
    """Yield every value; `defaults` are those of the keys that a file may omit."""
    general = {} if site is None else {"target": site.target, "fail_on": site.fail_on}
    for key in DEFAULTS:
        given = general.get(key.name)
        yield _value("defaults", key.name, given, defaults.get(key.name))
    if site is None:
        return
    for name, target in site.targets.items():
        yield _value(f"targets.{name}", "evidence", list(target.evidence), None)
        for key in TARGET[1:]:
            yield _value(f"targets.{name}", key.name, target.options.get(key.name), defaults.get(key.name))
    for check in sorted({*site.check_settings, *site.disabled}):
        if check in site.disabled:
            yield _value(f"checks.{check}", "enabled", given=False, default=None)
            yield _value(f"checks.{check}", "reason", site.disabled[check], None)
        for name, value in site.check_settings.get(check, {}).items():
            yield _value(f"checks.{check}", name, value, None)
    for entry in site.accepted:
        yield from _accepted(entry)


def _value(section: str, key: str, given: object, default: object) -> EffectiveValue:
    return EffectiveValue(
        section=section, key=key, value=default if given is None else given, from_file=given is not None
    )


def _accepted(entry: AcceptedFinding) -> Iterator[EffectiveValue]:
    shown = {"id": entry.id, "check": entry.check, "server": entry.server, "reason": entry.reason, "until": entry.until}
    for key, value in shown.items():
        if value is not None:
            yield _value(f"accepted[{entry.place}]", key, value, None)
    yield _value(f"accepted[{entry.place}]", "up_to", str(entry.up_to), None)


def as_text(values: Sequence[EffectiveValue], site: SiteConfiguration | None, looked: Sequence[Path]) -> str:
    """Return the values by section, in the form of the file; a comment marks those that are not from it."""
    lines = [f"# {_where(site, looked)}", f"schema = {_toml(FILE_SCHEMA)}"]
    for section, rows in groupby(values, key=lambda one: one.section):
        head = "[[accepted]]" if section.startswith("accepted[") else f"[{_quoted(section)}]"
        lines += ["", head, *map(_line, rows)]
    return "".join(f"{line}\n" for line in lines)


def _quoted(section: str) -> str:
    """Return the name of a section; the name of a target that contains a dot is quoted."""
    kind, dot, name = section.partition(".")
    return f"{kind}{dot}{_toml(name) if '.' in name else name}"


def _where(site: SiteConfiguration | None, looked: Sequence[Path]) -> str:
    if site is not None:
        return f"{neutral(site.path)} · sha256 {site.sha256[:12]}…"
    return f"no file: looked for {', '.join(map(str, looked))}" if looked else "no file: none was asked for"


def _line(one: EffectiveValue) -> str:
    if one.value is None:
        return f"# {one.key} is not set"
    return f"{one.key} = {_toml(one.value)}{'' if one.from_file else '  # default'}"


def _toml(value: object) -> str:
    """Return a value as TOML; JSON's strings are TOML's, control characters and emoji escaped."""
    match value:
        case list() | tuple():
            return f"[{', '.join(map(_toml, value))}]"
        case date():
            return value.isoformat()
        case str():
            return json.dumps(neutral(value, longest=LONGEST_SHOWN), ensure_ascii=False)
        case _:
            return json.dumps(value)


def as_json(values: Sequence[EffectiveValue], site: SiteConfiguration | None, looked: Sequence[Path]) -> str:
    """Return the values as JSON: schema ldapdiag.settings/1."""
    document: Document = {
        "schema": SCHEMA,
        "path": site.path if site else None,
        "sha256": site.sha256 if site else None,
        "looked_for": [str(one) for one in looked],
        "values": [
            {
                "section": value.section,
                "key": value.key,
                "value": value.value.isoformat() if isinstance(value.value, date) else value.value,
                "origin": "file" if value.from_file else "default",
            }
            for value in values
        ],
    }
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
