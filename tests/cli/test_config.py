"""The configuration in force: each value with its origin, as TOML that gives the same configuration again."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from datetime import date
from pathlib import Path

import jsonschema
import pytest

from command import ldapdiag
from ldapdiag.site.configuration import SiteConfiguration
from ldapdiag.site.keys import SECTIONS
from ldapdiag.site.reading import read_configuration

PAGE = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text()
EXAMPLE = PAGE.partition("```toml\n")[2].partition("```")[0]
DOTTED = '[targets."eu.prod"]\nevidence = ["local:"]\nsudo = true\nldap_ports = [1389, 1636]\n'


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a site configuration in the working folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ldapdiag.toml").write_text(EXAMPLE + DOTTED)
    (tmp_path / "ldapdiag.toml").chmod(0o644)
    return tmp_path / "ldapdiag.toml"


def read(text: str) -> SiteConfiguration:
    checks = ("unused-index", "ghost-connections", "keepalive-too-slow", "descriptor-headroom")
    return read_configuration(tomllib.loads(text), path="f", sha256="", today=date(2026, 11, 23), checks=checks)


def test_the_text_is_the_configuration_again(file: Path) -> None:
    ran = ldapdiag("config")
    assert (ran.code, ran.complaints) == (0, [f"ldapdiag: site configuration: {file}"])
    again, before = read(ran.text), read(EXAMPLE + DOTTED)
    explicit = {"sudo", "timeout", "apart", "probe_answers", "start_tls", "prompt"}
    for name, target in before.targets.items():
        shown = again.targets[name].options
        assert {key: value for key, value in shown.items() if key in target.options} == target.options
        assert shown.keys() - target.options.keys() <= explicit
    assert replace(again, targets={}) == replace(before, targets={})


def test_each_default_is_marked(file: Path) -> None:
    lines = ldapdiag("config", "-q").text.splitlines()
    assert {"timeout = 20", "apart = 4.0  # default", "# sasl is not set", 'fail_on = "high"'} <= set(lines)


def test_without_a_file_it_lists_the_places(file: Path) -> None:
    file.unlink()
    ran = ldapdiag("config")
    assert (ran.code, ran.err) == (0, b"")
    assert ran.text.startswith(f"# no file: looked for {file}, /dev/null/ldapdiag/ldapdiag.toml, /etc/ldapdiag/")
    assert ran.text.endswith('[defaults]\n# target is not set\nfail_on = "high"  # default\n')


def test_the_json_is_valid_and_names_each_origin(file: Path) -> None:
    ran = ldapdiag("config", "--format", "json", "-q")
    jsonschema.validate(ran.report, json.loads(ldapdiag("schema", "settings").text))
    origins = {(one["section"], one["key"]): one["origin"] for one in ran.report["values"]}
    assert ran.report["path"] == str(file)
    assert origins["targets.prod", "timeout"] == "file"
    assert origins["targets.prod", "apart"] == "default"
    assert {one for one in origins if one[0] == "checks.unused-index"} == {
        ("checks.unused-index", "enabled"), ("checks.unused-index", "reason"),
    }  # fmt: skip


def test_the_schema_of_the_file_has_the_keys_of_the_model_and_accepts_the_example() -> None:
    schema = json.loads(ldapdiag("schema", "config").text)
    parts = schema["properties"]
    places = {
        "defaults": parts["defaults"], "targets.NAME": parts["targets"]["additionalProperties"],
        "checks.ID": parts["checks"]["additionalProperties"], "accepted": parts["accepted"]["items"],
    }  # fmt: skip
    for name, place in places.items():
        assert {key.name: key.required for key in SECTIONS[name]} == {
            key: key in place.get("required", ()) for key in place["properties"]
        }
        assert {key.name: key.meaning for key in SECTIONS[name]} == {
            key: one["description"] for key, one in place["properties"].items()
        }
    jsonschema.validate(json.loads(json.dumps(tomllib.loads(EXAMPLE + DOTTED), default=str)), schema)


def test_an_error_is_one_line(file: Path) -> None:
    file.write_text(EXAMPLE.replace("timeout", "timout"))
    ran = ldapdiag("config")
    assert (ran.code, ran.out, len(ran.complaints)) == (2, b"", 1)
    assert "targets.prod.timout: unknown key" in ran.complaints[0]


def test_hostile_text_is_shown_neutral(file: Path) -> None:
    file.write_text(EXAMPLE.replace("the logs cover one hour only", "caf\\u00e9 \\U0001F600 \\\\ \\" + '"'))
    ran = ldapdiag("config", "-q")
    assert ran.code == 0
    assert read(ran.text).disabled == {"unused-index": 'café \U0001f600 \\ "'}
