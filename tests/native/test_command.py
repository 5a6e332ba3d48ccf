"""The output of the command is the same with each scanner, to the byte."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import pytest

import examples
from command import ldapdiag
from conftest import CAPTURES, CORPUS
from log.real_logs import EXCERPTS
from log.scanners import SCANNERS, need_native
from log.vectors import LOGS, label

if TYPE_CHECKING:
    from pathlib import Path

WHOLE = (
    "1-389ds-unindexed/access",
    "2-openldap-unindexed/slapd.stderr.log",
    "2-openldap-unindexed/syslog-traditional.log",
    "2-openldap-unindexed/syslog-iso.log",
    "2-openldap-unindexed/syslog-rfc5424.head1500.log",
    "5a-ghost-389ds/ldap/access",
    "7-traps/389-restart/access",
    "7-traps/389-rotation-gzip",
    "7-traps/crlf/access.389.crlf",
    "public/accesslog",
)
PERIODS = (
    ("--since", "2026-11-20T08:46:00Z"),
    ("--until", "2026-11-20T08:46:00Z"),
    ("--since", "2026-11-20T08:46:00Z", "--until", "2026-11-20T08:47:30Z"),
)


@pytest.fixture(autouse=True)
def _installed() -> None:
    need_native()


def reports(*arguments: str | Path, **settings: Any) -> list[bytes]:
    """Return what the command prints with each scanner, but for who scanned."""
    ran = [ldapdiag("log", *arguments, "--format", "json", "--scanner", one, **settings) for one in SCANNERS]
    assert [one.code for one in ran] == [0, 0], ran[1].err
    assert ran[1].report["scanner"] == "native"
    return [one.out.replace(b'"scanner": "native"', b'"scanner": "python"') for one in ran]


@pytest.mark.parametrize("name", examples.some(WHOLE, 3))
def test_both_scanners_report_the_same_of_a_log(name: str) -> None:
    if not (CORPUS / name).exists():
        pytest.skip("the shared corpus is not beside this checkout (it is in CI)")
    folder = CORPUS / name
    logs = [path for path in sorted(folder.iterdir()) if path.name not in EXCERPTS] if folder.is_dir() else [folder]
    python, native = reports(*logs)
    assert native == python


@pytest.mark.parametrize("period", PERIODS, ids=" ".join)
def test_both_scanners_report_the_same_of_a_period(period: tuple[str, ...], corpus: Path) -> None:
    python, native = reports(corpus / "1-389ds-unindexed/access", *period)
    assert native == python


@pytest.mark.parametrize("path", [path for path in LOGS if path.stem == "story"], ids=label)
def test_both_scanners_report_the_same_of_a_pipe_in_each_dialect(path: Path) -> None:
    python, native = reports("-", stdin=path.read_bytes())
    assert native == python


def test_both_scanners_report_the_same_of_a_compressed_log(tmp_path: Path) -> None:
    log = tmp_path / "access.gz"
    log.write_bytes(gzip.compress((CAPTURES / "access-logs/389-unindexed.head500.access").read_bytes()))
    python, native = reports(log)
    assert native == python
