"""The remedies for a proxy: HAProxy itself accepts their configuration."""

from __future__ import annotations

import re
import subprocess

import pytest

from lab.laboratory import need
from ldapdiag.remedy import RemedyKind, Where
from ldapdiag.servers.hosts.haproxy import limit_idle_time, probe_clients

LISTEN = "defaults\n  mode tcp\n  timeout connect 3s\nlisten ldap\n  bind 127.0.0.1:13389\n  server a 127.0.0.1:389\n"


@pytest.mark.usefixtures("laboratory")
@pytest.mark.parametrize("remedy", [probe_clients("proxy"), limit_idle_time("proxy", 300)])
def test_a_remedy_is_a_configuration_that_haproxy_takes(remedy, tmp_path) -> None:
    assert (remedy.target, remedy.where, remedy.kind) == ("proxy", Where.BOX, RemedyKind.CONFIG)
    need("haproxy")
    configuration = tmp_path / "haproxy.cfg"
    lines = "\n".join(f"  {line}" for line in remedy.text.splitlines())
    rest = "" if "timeout" in remedy.text else "  timeout client 1h\n  timeout server 1h\n"
    configuration.write_text(f"{LISTEN}{lines}\n{rest}")
    checked = subprocess.run(["haproxy", "-c", "-f", configuration], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    assert not re.search(r"unknown|ignored|missing timeouts", checked.stderr), checked.stderr


def test_what_it_promises_is_what_it_sets() -> None:
    assert "timeout client 300s" in limit_idle_time("proxy", 300).text
    assert "after 90 s" in probe_clients("proxy").changes
