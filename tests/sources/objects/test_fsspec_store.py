"""What fsspec reads is read like local files: its own driver for local files is the truth at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from command import INCIDENT, ldapdiag
from ldapdiag.errors import UsageError
from ldapdiag.sources.objects.addresses import object_address
from ldapdiag.sources.objects.listing import objects_of
from ldapdiag.sources.objects.object_file import ObjectFile
from ldapdiag.sources.objects.store import ObjectError

if TYPE_CHECKING:
    from pathlib import Path


def one_of(named: str) -> ObjectFile:
    address = object_address(named)
    assert address
    (found,) = objects_of(address)
    assert isinstance(found, ObjectFile)
    return found


def test_evidence_is_judged_as_that_of_local_files() -> None:
    of_objects, of_files = (
        ldapdiag("diagnose", named, "--format", "json").report for named in (f"file://{INCIDENT}/", str(INCIDENT))
    )
    assert of_objects["findings"]
    assert [one["id"] for one in of_objects["findings"]] == [one["id"] for one in of_files["findings"]]


def test_a_file_that_is_replaced_is_not_read_as_the_one_that_was_listed(tmp_path: Path) -> None:
    (tmp_path / "access").write_bytes(b"first")
    found = one_of(f"file://{tmp_path}/access")
    assert found.read_at(1, 3) == b"irs"
    (tmp_path / "access").write_bytes(b"second")
    with pytest.raises(ObjectError, match="replaced"):
        found.read_at(0, 100)


def test_a_scheme_that_nobody_knows_is_an_error_with_its_name() -> None:
    with pytest.raises(UsageError, match="fsspec does not know nosuch://"):
        one_of("nosuch://host/access")
