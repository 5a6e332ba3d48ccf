"""The files in examples/monitoring: what Prometheus, systemd and Icinga say of them, and that each metric exists."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from command import INCIDENT, diagnose, ldapdiag
from ldapdiag.report.monitoring.gauges import GAUGES, PREFIX
from systemd_units import complaints, sections

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLES = INCIDENT.parent / "monitoring"
DASHBOARD: dict[str, Any] = json.loads((EXAMPLES / "dashboard.json").read_text())
PROGRAM = "/usr/local/bin/ldapdiag"
METRIC = re.compile(rf"\b{PREFIX}[a-z_]+")
NAMES = {PREFIX + one.name for one in GAUGES}


def run(tool: str, *arguments: object, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run a tool of Debian; skip where it is not installed."""
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed here; the laboratory has it (make lab)")
    command = [tool, *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=120, check=False, cwd=EXAMPLES)


@pytest.mark.parametrize(
    "command",
    [["check", "rules", "alerts.yml"], ["test", "rules", "alerts.test.yml"], ["check", "config", "prometheus.yml"]],
    ids=str,
)
def test_promtool_accepts_the_rules_and_their_tests(command: list[str]) -> None:
    ran = run("promtool", *command)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_promtool_accepts_the_metrics() -> None:
    ran = run("promtool", "check", "metrics", stdin=diagnose(INCIDENT, "--format", "openmetrics").text)
    assert (ran.returncode, ran.stdout + ran.stderr) == (0, "")


def test_promtool_accepts_each_expression_of_the_dashboard(tmp_path: Path) -> None:
    expressions = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    rules = [{"record": f"panel:{number}", "expr": one} for number, one in enumerate(expressions)]
    (tmp_path / "panels.yml").write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))
    ran = run("promtool", "check", "rules", tmp_path / "panels.yml")
    assert (ran.returncode, f"{len(rules)} rules found" in ran.stdout) == (0, True), ran.stdout + ran.stderr


@pytest.mark.parametrize("name", ["alerts.yml", "alerts.test.yml", "dashboard.json"])
def test_each_metric_exists(name: str) -> None:
    found = set(METRIC.findall((EXAMPLES / name).read_text()))
    assert found
    assert found <= NAMES


def test_legends_name_labels_of_their_metrics() -> None:
    labels = {PREFIX + one.name: {*one.labels, "instance"} for one in GAUGES}
    for target in (target for panel in DASHBOARD["panels"] for target in panel["targets"]):
        (metric, *_) = METRIC.findall(target["expr"])
        assert set(re.findall(r"{{(\w+)}}", target["legendFormat"])) <= labels[metric]


def test_the_containers_have_their_files() -> None:
    services = yaml.safe_load((EXAMPLES / "compose.yml").read_text())["services"]
    mounted = [volume.split(":")[:2] for volume in services["prometheus"]["volumes"]]
    assert {name for name, _ in mounted} == {"./prometheus.yml", "./alerts.yml"}
    assert all((EXAMPLES / name).is_file() for name, _ in mounted)
    assert f"--config.file={mounted[0][1]} " in services["prometheus"]["command"]
    assert (EXAMPLES / services["exporter"]["build"]["context"] / "pyproject.toml").is_file()


def test_the_dashboard_is_the_one_that_the_script_writes() -> None:
    assert runpy.run_path(str(EXAMPLES / "make_dashboard.py"))["dashboard"]() == DASHBOARD


def test_no_panel_lies_over_another() -> None:
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in DASHBOARD["panels"])
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


@pytest.mark.parametrize(
    "names", [("ldapdiag-metrics.service", "ldapdiag-metrics.timer"), ("ldapdiag-exporter.service",)]
)
def test_systemd_accepts_the_units(tmp_path: Path, names: tuple[str, ...]) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed (Debian: apt-get install systemd)")
    for name in names:
        (tmp_path / name).write_text((EXAMPLES / name).read_text().replace(PROGRAM, "/bin/true"))
    assert complaints(tmp_path / names[0], tmp_path / names[-1]) == []


def test_the_command_of_the_timer_writes_metrics(tmp_path: Path) -> None:
    line = sections(EXAMPLES / "ldapdiag-metrics.service")["Service"]["ExecStart"]
    program, *arguments = line.replace("/var/lib/prometheus/node-exporter", str(tmp_path)).split()
    assert program == PROGRAM
    ran = ldapdiag(*[str(INCIDENT) if one == "local:" else one for one in arguments])
    assert ran.code == 0
    assert f"{PREFIX}ghost_connections" in (tmp_path / "ldapdiag.prom").read_text()


def test_icinga_accepts_the_command(tmp_path: Path) -> None:
    (tmp_path / "icinga2.conf").write_text(
        "include <itl>\n"
        'const NodeName = "ldap"\n'
        'object CheckerComponent "checker" { }\n'
        f'include "{EXAMPLES / "icinga2.conf"}"\n'
        'object Host "ldap" { check_command = "dummy"; vars.ldap_server = true }\n'
    )
    as_root = ["-DConfiguration.RunAsUser=root", "-DConfiguration.RunAsGroup=root"]  # it must read this folder
    ran = run("icinga2", "daemon", "-C", "-c", tmp_path / "icinga2.conf", *as_root)
    assert ran.returncode == 0, ran.stdout
    assert "Instantiated 1 Service" in ran.stdout
