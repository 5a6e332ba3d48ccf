"""The storage of each server in JSON: valid by the schema, and what is not known is null."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import storage_site
from command import ldapdiag
from storage_documents import document


def problems(report: dict[str, Any]) -> list[str]:
    schema = json.loads(ldapdiag("schema", "report").out)
    return [f"{one.json_path}: {one.message}" for one in Draft202012Validator(schema).iter_errors(report)]


@pytest.mark.parametrize("whole", [True, False])
def test_is_valid_by_the_schema(*, whole: bool) -> None:
    report = document(storage_site.probe(), whole=whole)
    assert report["storage"][0]["volumes"]
    assert problems(report) == []


def test_has_the_option_that_mount_does_not_show() -> None:
    (server,) = document()["storage"]
    data, logs = server["volumes"]
    assert (data["options"], data["hidden_options"]) == (
        ["nobarrier", "data=ordered", "relatime", "commit=5"],
        ["nobarrier"],
    )
    assert data["mount_options"] == ["rw", "relatime", "rw"]
    assert logs["roles"] == ["access log"]


def test_has_the_devices_down_to_the_disks() -> None:
    (server,) = document()["storage"]
    data = server["volumes"][0]
    assert [one["name"] for one in data["stack"]] == ["dm-0", "sdb"]
    assert (data["disks"], data["write_cache"], data["durable"]) == (["sdb"], "volatile assumed", True)


def test_lists_the_files_with_the_most_extents_first() -> None:
    data = document()["storage"][0]["volumes"][0]
    assert [one["extents"] for one in data["files"]] == [14, 3, 2, 2]
    assert data["files_read"] == 4


def test_names_the_probe_of_a_volume() -> None:
    report = document(storage_site.probe())
    (probe,) = report["probes"]
    assert report["storage"][0]["volumes"][0]["probe"] == probe["origin"]
    assert report["storage"][0]["volumes"][1]["probe"] is None


def test_what_is_not_known_is_null_and_has_a_command() -> None:
    (server,) = document(whole=False)["storage"]
    data = server["volumes"][0]
    assert (data["write_cache"], data["free_bytes"], data["disks"], data["durable"]) == (None, None, [], None)
    assert [one["what"] for one in server["unknown"] if one["how"]]
