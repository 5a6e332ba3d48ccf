"""The client settings that are printed: their values, and for whom."""

from __future__ import annotations

import re
import shlex
import subprocess

import pytest

from ldapdiag.remedy import RemedyKind, Where
from ldapdiag.servers.client_settings.choosing import EVERY_SOFTWARE, client_settings, remedy_of, software_of
from ldapdiag.servers.client_settings.values import ClientValues

SITES = [(300, 75), (300, None), (None, 75), (60, 15), (3600, 1800), (5, 3), (2, 1)]
LONGEST_IDLE = {
    "SSSD": (r"idle_timeout = (\d+)", 1),
    "nslcd": (r"idle_timelimit (\d+)", 1),
    # The sweep of JNDI's pool, and a run of Spring's eviction, come up to one more limit later.
    "JNDI": (r"pool\.timeout=(\d+)", 2 / 1000),
    "Keycloak": (r"pool\.timeout=(\d+)", 2 / 1000),
    "Spring LDAP": (r"setMinEvictableIdleTimeMillis\((\d+)L", 2 / 1000),
    "ldap3": (r"last_used > (\d+)", 1),
    ".NET": (r"idle for (\d+) s", 1),
}
"""How each spells the idle time, and the seconds that a connection may have been idle by that number."""
KEEPALIVE = {
    "python-ldap": r"KEEPALIVE_IDLE, (\d+)",
    "ldap3": r"TCP_KEEPIDLE, (\d+)",
    "libldap": r"KEEPALIVE_IDLE (\d+)",
}


def values(server_idle, keepalive):
    return ClientValues(client="app1", server_idle_seconds=server_idle, keepalive_seconds=keepalive)


@pytest.mark.parametrize(("server_idle", "keepalive"), SITES)
@pytest.mark.parametrize("software", EVERY_SOFTWARE, ids=lambda software: software.name)
def test_no_client_uses_a_connection_after_half_of_either_timeout(software, server_idle, keepalive) -> None:
    remedy = remedy_of(software, values(server_idle, keepalive))
    most = max(2, min(one for one in (server_idle // 2 if server_idle else None, keepalive) if one))
    if software.name in LONGEST_IDLE:
        pattern, seconds = LONGEST_IDLE[software.name]
        assert 0 < float(re.search(pattern, remedy.text)[1]) * seconds <= most
    if software.name in KEEPALIVE:
        assert 0 < int(re.search(KEEPALIVE[software.name], remedy.text)[1]) <= (keepalive or most)
    assert (software.name in LONGEST_IDLE) or (software.name in KEEPALIVE) or software.name == "UnboundID LDAP SDK"


@pytest.mark.parametrize(("server_idle", "keepalive"), SITES)
def test_a_pool_of_unboundid_is_younger_than_the_limit_at_its_next_check(server_idle, keepalive) -> None:
    (software,) = (one for one in EVERY_SOFTWARE if one.name.startswith("UnboundID"))
    site = values(server_idle, keepalive)
    text = software.remedy(site).text
    interval, age = (
        int(re.search(rf"{name}\((\d+)L", text)[1]) for name in ("setHealthCheckIntervalMillis", "AgeMillis")
    )
    assert interval > 0
    assert age > 0
    assert age + interval <= 1000 * site.longest_idle


@pytest.mark.parametrize(
    ("programs", "names"),
    [
        (["sssd_be"], ["SSSD"]),
        (["/usr/sbin/nslcd"], ["nslcd"]),
        (["java"], ["JNDI"]),
        (["python3.11", "Apache2"], ["python-ldap", "ldap3", "libldap"]),
        (["unheard-of"], []),
    ],
)
def test_the_programs_of_the_client_choose(programs, names) -> None:
    assert [software.name for software in software_of(programs)] == names


def test_without_a_known_program_one_remedy_names_all() -> None:
    (remedy,) = client_settings(300, 75, ["unheard-of"], client="app1")
    assert (remedy.where, remedy.kind, remedy.target) == (Where.CLIENT, RemedyKind.ADVICE, "app1")
    assert all(software.name in remedy.text for software in EVERY_SOFTWARE)
    assert "idle for more than 75 s" in remedy.text


def test_without_a_timeout_nothing_is_printed() -> None:
    assert client_settings(None, None, ["java"]) == ()
    assert client_settings(0, None, ["java"]) == ()


def test_every_remedy_names_its_source_and_the_untested_are_called_so() -> None:
    for software in EVERY_SOFTWARE:
        remedy = remedy_of(software, values(300, 75))
        assert remedy.changes.endswith(f"The settings are {software.source}.")
        assert re.search(r"measured with|not tested", software.source)


@pytest.mark.parametrize("name", ["nslcd", "libldap"])
def test_what_is_for_a_shell_is_shell(name) -> None:
    (remedy,) = (remedy_of(one, values(300, 75)) for one in EVERY_SOFTWARE if one.name == name)
    assert remedy.kind is RemedyKind.SHELL
    for text in (remedy.text, remedy.undo):
        subprocess.run(["sh", "-n", "-c", text], check=True)


@pytest.mark.parametrize("name", ["python-ldap", "ldap3"])
def test_what_is_for_a_program_in_python_is_python(name) -> None:
    (remedy,) = (remedy_of(one, values(300, 75)) for one in EVERY_SOFTWARE if one.name == name)
    compile(remedy.text, "remedy", "exec")


def test_the_options_of_java_are_words_of_a_command_line() -> None:
    (remedy,) = client_settings(300, 75, ["java"])
    options = [line for line in remedy.text.splitlines() if line.startswith("-D")]
    assert shlex.split(" ".join(options)) == [
        "-Dcom.sun.jndi.ldap.connect.pool.timeout=37000",
        "-Dcom.sun.jndi.ldap.connect.pool.protocol=plain ssl",
    ]


@pytest.mark.parametrize(("name", "file"), [("nslcd", "/etc/nslcd.conf"), ("libldap", "/etc/ldap/ldap.conf")])
@pytest.mark.parametrize("before", ["uri ldap://ds1\nTLS_CACERT /ca.pem", "uri ldap://ds1\n", ""])
@pytest.mark.parametrize("times", [1, 2])
def test_pasted_lines_join_no_line_of_the_file_and_the_undo_removes_them(tmp_path, name, file, before, times) -> None:
    (software,) = (one for one in EVERY_SOFTWARE if one.name == name)
    remedy = remedy_of(software, values(300, 75))
    (tmp_path / "file.conf").write_text(before)

    def paste(text: str) -> list[str]:
        commands = text.replace(file, "file.conf").replace("/etc/openldap/ldap.conf", "absent.conf")
        stubs = "systemctl() { :; }; ldapsearch() { :; }\n"
        subprocess.run(["sh", "-c", stubs + commands], cwd=tmp_path, check=True)
        return [line for line in (tmp_path / "file.conf").read_text().splitlines() if line]

    for _ in range(times):
        pasted = paste(remedy.text)
    assert pasted[: len(before.splitlines())] == before.splitlines()
    assert any(line.split()[0] in {"idle_timelimit", "KEEPALIVE_IDLE"} for line in pasted)
    assert paste(remedy.undo) == before.splitlines()
