"""The nightly examples: the script keeps a baseline, systemd accepts the units, and the CI jobs run the script."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

import examples
from command import INCIDENT, LOGIN, NO_SITE, PATIENCE
from ldapdiag.sources.site_file import find
from systemd_units import complaints, sections

NIGHTLY = INCIDENT.parent / "nightly"
SERVICE, TIMER = "ldapdiag-nightly.service", "ldapdiag-nightly.timer"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Return the command under test as a program."""
    program = tmp_path / "ldapdiag"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m ldapdiag "$@"\n')
    program.chmod(0o755)
    return program


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return a folder with a site configuration, whose target is `evidence` in it, and an empty folder `nightly`."""
    site = tmp_path / "site"
    (site / "nightly").mkdir(parents=True)
    text = 'schema = "ldapdiag.config/1"\n[targets.prod]\nevidence = ["evidence"]\n'
    (site / "ldapdiag.toml").write_text(text)
    (site / "ldapdiag.toml").chmod(0o644)
    return site


def evidence(site: Path, *hosts: str) -> None:
    """Put the tables of these hosts of the incident in the place of the evidence."""
    shutil.rmtree(site / "evidence", ignore_errors=True)
    (site / "evidence").mkdir()
    for host in hosts:
        shutil.copytree(INCIDENT / host, site / "evidence" / host)


def sh(command: list[Any], site: Path, **environment: Any) -> subprocess.CompletedProcess[str]:
    env = LOGIN | NO_SITE | {name: str(value) for name, value in environment.items()}
    return subprocess.run(
        command, cwd=site, env=env, capture_output=True, text=True, timeout=2 * PATIENCE, check=False
    )  # fmt: skip


def nightly(site: Path, program: Path, *arguments: str) -> tuple[int, str]:
    ran = sh([NIGHTLY / "nightly.sh", *(arguments or ("nightly", "@prod"))], site, LDAPDIAG=program)
    assert "Traceback" not in ran.stderr, ran.stderr
    return ran.returncode, ran.stdout + ran.stderr


def findings(site: Path, name: str) -> set[str]:
    report = json.loads((site / "nightly" / name).read_text())
    return {one["id"] for one in report["findings"]}


def test_the_script_keeps_a_baseline(site: Path, program: Path) -> None:
    evidence(site, "ldap")
    code, said = nightly(site, program)
    assert (code, "first run" in said) == (0, True)
    quiet = findings(site, "baseline.json")
    assert "ghost-connections" not in {one.partition("|")[0] for one in quiet}

    code, said = nightly(site, program)
    assert code == 0, said
    assert findings(site, "baseline.json") == quiet

    evidence(site, "ldap", "app1", "app2", "fw")
    for _night in range(2):  # what is not repaired fails the next night as well
        code, said = nightly(site, program)
        assert code == 1, said
        assert findings(site, "baseline.json") == quiet
        assert findings(site, "latest.json") > quiet

    assert nightly(site, program, "--accept", "nightly")[0] == 0
    assert findings(site, "baseline.json") == findings(site, "latest.json")
    assert nightly(site, program)[0] == 0


def test_the_command_that_accepts_can_be_pasted_whatever_the_folder_is_called(site: Path, program: Path) -> None:
    name = r"night\nly's $HOME"
    (site / name).mkdir()
    evidence(site, "ldap")
    assert nightly(site, program, name, "@prod")[0] == 0
    evidence(site, "ldap", "app1", "app2", "fw")
    code, said = nightly(site, program, name, "@prod")
    assert code == 1, said
    (command,) = [line for line in said.splitlines() if " --accept " in line]
    pasted = sh(["sh", "-c", command], site)
    assert (pasted.returncode, pasted.stderr) == (0, "")
    assert (site / name / "baseline.json").read_bytes() == (site / name / "latest.json").read_bytes()


def test_a_night_that_sees_less_leaves_the_baseline(site: Path, program: Path) -> None:
    evidence(site, "ldap", "app1", "app2", "fw")
    assert nightly(site, program)[0] == 0
    before = (site / "nightly" / "baseline.json").read_bytes()
    evidence(site, "ldap")
    code, said = nightly(site, program)
    assert (code, "it stays the baseline" in said) == (0, True)
    assert (site / "nightly" / "baseline.json").read_bytes() == before


def test_a_night_without_evidence_fails_and_leaves_the_baseline(site: Path, program: Path) -> None:
    evidence(site, "ldap")
    assert nightly(site, program)[0] == 0
    before = (site / "nightly" / "baseline.json").read_bytes()
    evidence(site)
    code, said = nightly(site, program)
    assert code == 2, said
    assert (site / "nightly" / "baseline.json").read_bytes() == before
    assert nightly(site, program, "--accept", "nightly") == (
        2, "nightly.sh: nightly/latest.json: no such file; the last run wrote no report\n",
    )  # fmt: skip


def test_a_first_night_without_evidence_makes_no_baseline(site: Path, program: Path) -> None:
    evidence(site)
    assert nightly(site, program)[0] == 2
    assert not (site / "nightly" / "baseline.json").exists()


@pytest.mark.parametrize("arguments", [("absent", "@prod"), ("--accept", "absent"), ("--accept",)])
def test_wrong_usage_is_code_2(site: Path, program: Path, arguments: tuple[str, ...]) -> None:
    code, said = nightly(site, program, *arguments)
    assert (code, said.count("\n")) == (2, 1)


def test_the_configuration_of_the_example_is_valid(tmp_path: Path) -> None:
    found = find(NIGHTLY / "ldapdiag.toml", (), date(2026, 11, 23)).configuration
    assert found is not None
    assert (found.target, len(found.targets["prod"].evidence)) == ("prod", 3)


@pytest.fixture
def units(laboratory: object, tmp_path: Path) -> Path:
    """Return a folder with the units, whose programs exist."""
    for name in (SERVICE, TIMER):
        text = (NIGHTLY / name).read_text().replace("/usr/local/lib/ldapdiag/nightly.sh", str(NIGHTLY / "nightly.sh"))
        (tmp_path / name).write_text(text.replace("User=ldapdiag", "User=root"))
    return tmp_path


def test_systemd_accepts_the_units(units: Path) -> None:
    assert complaints(units / SERVICE, units / TIMER) == []


def test_systemd_would_refuse_a_wrong_unit(units: Path) -> None:
    with (units / SERVICE).open("a") as unit:
        unit.write("ProtectSystems=strict\n")
    assert complaints(units / SERVICE, units / TIMER) != []


def test_the_command_of_the_service_is_the_script(site: Path, program: Path) -> None:
    unit = sections(NIGHTLY / SERVICE)
    script, folder, target = unit["Service"]["ExecStart"].split()
    assert Path(script).name == "nightly.sh"
    assert folder == unit["Service"]["WorkingDirectory"] == "%S/ldapdiag/nightly"
    assert folder.removeprefix("%S/") in unit["Service"]["StateDirectory"].split()
    evidence(site, "ldap")
    assert nightly(site, program, "nightly", target)[0] == 0


def jobs() -> dict[str, tuple[str, str]]:
    """Return the commands that diagnose and the name of the variable with the password, by CI system."""
    gitlab = yaml.safe_load((NIGHTLY / "gitlab-ci.yml").read_text())["ldapdiag-nightly"]
    github = yaml.safe_load((NIGHTLY / "github-actions.yml").read_text())["jobs"]["nightly"]
    (run,) = [step["run"] for step in github["steps"] if step.get("name") == "Diagnose"]
    lines = [*gitlab["before_script"][1:], *gitlab["script"], *gitlab["after_script"]]
    return {"gitlab": ("\n".join(lines), "/opt/ldapdiag"), "github": (run, "$RUNNER_TEMP/ldapdiag")}


@pytest.mark.parametrize("system", examples.some(["gitlab", "github"], 2))
def test_the_job_diagnoses_twice_with_one_baseline(system: str, site: Path, program: Path) -> None:
    commands, prefix = jobs()[system]
    installed = program.parent / "installed" / "bin"
    installed.mkdir(parents=True)
    shutil.copy(program, installed / "ldapdiag")
    shutil.copy(NIGHTLY / "nightly.sh", site)
    (site / "nightly").rmdir()
    (site / "secret").write_text("x")
    evidence(site, "ldap")
    told = commands.replace(prefix, str(installed.parent))
    for sentence in ("first run", "compared with "):
        ran = sh(["bash", "-e", "-c", told], site, NIGHTLY_FOLDER="nightly", LDAP_PASSWORD=site / "secret")
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert sentence in ran.stdout
    assert (site / "nightly" / "baseline.json").exists()
    assert not (site / "prod.pw").exists()


def test_the_job_fails_with_something_new(site: Path, program: Path) -> None:
    commands, prefix = jobs()["github"]
    shutil.copy(NIGHTLY / "nightly.sh", site)
    evidence(site, "ldap")
    assert nightly(site, program)[0] == 0
    evidence(site, "ldap", "app1", "app2", "fw")
    told = commands.replace(f"{prefix}/bin/ldapdiag", str(program))
    ran = sh(["bash", "-e", "-c", told], site, NIGHTLY_FOLDER="nightly", LDAP_PASSWORD=site)
    assert ran.returncode == 1, ran.stdout + ran.stderr


def test_each_job_runs_by_night_and_keeps_its_folder() -> None:
    gitlab = yaml.safe_load((NIGHTLY / "gitlab-ci.yml").read_text())["ldapdiag-nightly"]
    github = yaml.safe_load((NIGHTLY / "github-actions.yml").read_text())
    assert gitlab["cache"]["when"] == "always"
    assert gitlab["cache"]["paths"] == [f"{gitlab['variables']['NIGHTLY_FOLDER']}/"]
    assert github[True]["schedule"] == [{"cron": "30 3 * * *"}]  # YAML 1.1 reads the key on as true
    steps = github["jobs"]["nightly"]["steps"]
    kept = [step["with"]["path"] for step in steps if "cache" in step.get("uses", "")]
    assert kept == [github["jobs"]["nightly"]["env"]["NIGHTLY_FOLDER"]] * 2
