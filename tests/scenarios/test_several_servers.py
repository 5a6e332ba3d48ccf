"""Ten slapds on one host, each out of descriptors in turn, from files made by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from command import diagnose

if TYPE_CHECKING:
    from pathlib import Path

COUNT, LIMIT, HELD = 10, 80, 5
PORTS = {100 + number: 389 if number == 0 else 1388 + number for number in range(COUNT)}
LIMITS = "Limit                     Soft Limit           Hard Limit           Units\nMax open files  {0}  {0}  files\n"


def socket_rows(full: int, *, owners: bool) -> str:
    """Return `ss -tan`, or `ss -tanp`, of ten servers of which one holds as many connections as it can."""
    lines = ["State  Recv-Q Send-Q Local Address:Port Peer Address:Port Process"]
    for pid, port in PORTS.items():
        owner = f'users:(("slapd",pid={pid},fd=7))' if owners else ""
        lines.append(f"LISTEN 0 128 0.0.0.0:{port} 0.0.0.0:* {owner}")
        count = LIMIT - 6 if pid == full else HELD
        lines += [f"ESTAB 0 0 10.77.1.2:{port} 10.77.2.2:{40000 + one} {owner}" for one in range(count)]
    return "\n".join([*lines, ""])


def write(folder: Path, full: int, *, owners: bool = True, named: bool = True) -> None:
    folder.mkdir(parents=True)
    (folder / "ss.txt").write_text(socket_rows(full, owners=owners))
    for nth, pid in enumerate(PORTS):
        name = pid if named else f"{nth}-of-{COUNT}"
        (folder / f"proc-limits-{name}.txt").write_text(LIMITS.format(LIMIT))
        (folder / f"proc-fd-count-{name}.txt").write_text(f"{LIMIT - 2 if pid == full else HELD + 8}\n")


@pytest.mark.parametrize("full", PORTS)
def test_the_one_that_is_full_is_named_and_the_others_are_clear(full: int, tmp_path: Path) -> None:
    write(tmp_path / "ldap", full)
    ran = diagnose(tmp_path / "ldap", "--format", "json")
    assert ran.code == 1
    report = ran.report
    headroom = {one["subject"]: one["outcome"] for one in report["verdicts"] if one["check"] == "descriptor-headroom"}
    assert headroom == {f"ldap:{port}": "finding" if pid == full else "clear" for pid, port in PORTS.items()}
    (found,) = [one for one in report["findings"] if one["check"] == "descriptor-headroom"]
    assert (found["server"], found["severity"]) == (f"ldap:{PORTS[full]}", "critical")
    assert (found["observed"]["used"], found["observed"]["limit"]) == (LIMIT - 2, LIMIT)


def test_files_that_name_no_process_are_not_used(tmp_path: Path) -> None:
    write(tmp_path / "ldap", 104, named=False)
    report = diagnose(tmp_path / "ldap", "--format", "json").report
    outcomes = {one["outcome"] for one in report["verdicts"] if one["check"] == "descriptor-headroom"}
    assert outcomes == {"not-judged"}
    ambiguous = [gap for gap in report["gaps"] if "is ambiguous" in gap["reason"]]
    assert len(ambiguous) == 2 * COUNT
    assert all("PID" in gap["how"] for gap in ambiguous)


def test_without_owners_no_limit_is_compared_with_the_connections_of_all(tmp_path: Path) -> None:
    write(tmp_path / "ldap", 104, owners=False)
    ports = [word for port in PORTS.values() for word in ("--ldap-port", str(port))]
    report = diagnose(tmp_path / "ldap", *ports, "--format", "json").report
    outcomes = {one["outcome"] for one in report["verdicts"] if one["check"] == "descriptor-headroom"}
    assert outcomes == {"not-judged"}
