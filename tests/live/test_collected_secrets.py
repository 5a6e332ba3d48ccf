"""No byte of a capture is a secret of the servers it was taken from, and no password shows while it is taken."""

from __future__ import annotations

import base64
import json
import re
import tarfile
from contextlib import suppress
from pathlib import Path

import pytest

from lab import boxes
from lab.directory_servers import PID_SLAPD, ROOT, SLAPD_CONF, SLAPD_MONITOR, SUFFIX
from lab.topology import Topology
from ldapdiag.sources.files.input import Input
from ldapdiag.sources.live.ssh.access_logs import fetch_logs
from ldapdiag.sources.live.ssh.remote import ScriptSession

MANAGER = "Wurzel-9471"
"""The password of 389-ds' Directory Manager, which it keeps in clear text here."""
PIN = "Stift-2208"
CONFIG_HASH, CONF_WORD = "{SSHA}Kd41Hashed0000000000000000000000", "Blume-6630"
CREDENTIALS = "Spiegel-3175"
HAPROXY = "Tiger-5590"
TARGETS = ("ldap://ldap", "ssh://ldap", "ssh://app1", "ssh://app2", "ssh://fw")

SYNCREPL = f"""dn: olcDatabase={{1}}mdb,cn=config
changetype: modify
replace: olcRootPW
olcRootPW: {CONFIG_HASH}
-
add: olcSyncrepl
olcSyncrepl: rid=001 provider=ldap://127.0.0.1:9 type=refreshOnly interval=01:00:00:00
  retry="3600 +" searchbase="{SUFFIX}" bindmethod=simple binddn="cn=replicator,{SUFFIX}" credentials={CREDENTIALS}
"""
USERS = f"\nuserlist people\n  user tiger insecure-password {HAPROXY}\n"


@pytest.fixture(scope="module")
def site(laboratory):
    """Return a network with three directories and a proxy, all of which have secrets.

    ldap: 389-ds; app1: slapd with slapd.d; app2: slapd with slapd.conf; fw: HAProxy.
    """
    with Topology() as running:
        certificate = laboratory.authority.sign("ldap")
        first = laboratory.ds389(
            running.ldap, certificate=certificate, settings={"nsslapd-rootpw": f"{{CLEAR}}{MANAGER}"}
        )
        running.ldap.run("cat > /etc/dirsrv/slapd-live/pin.txt", stdin=f"Internal (Software) Token:{PIN}\n")
        second = laboratory.slapd(running.app1, certificate=certificate)
        second.modify(SYNCREPL)
        third = laboratory.slapd(running.app2)
        third.stop()
        database = "index objectClass eq"
        text = (SLAPD_CONF + SLAPD_MONITOR).format(
            pid_file=PID_SLAPD, more="", password=CONF_WORD, suffix=SUFFIX, root=ROOT, database=database
        )
        credentials = f'syncrepl rid=001 provider=ldap://127.0.0.1:9 searchbase="{SUFFIX}" credentials={CREDENTIALS}\n'
        text = text.replace("index objectClass", f"{credentials}index objectClass")
        running.app2.run(["tee", "/etc/ldap/slapd.conf"], stdin=text)
        third.argv = ["slapd", "-f", "/etc/ldap/slapd.conf", "-h", "ldap:/// ldapi:///", "-d", "stats"]
        third.start()
        boxes.proxy(running.fw, 60)
        running.fw.run(["tee", "-a", boxes.HAPROXY], stdin=USERS)
        shown = first.search(f"ou=services,{SUFFIX}", "userPassword")
        running.hashes = [value.removeprefix("{SSHA}") for value in values(shown)]
        running.key = certificate.key.read_text().splitlines()[3]
        yield running


@pytest.fixture(scope="module")
def sitting(site, desk_of, laboratory):
    desk = desk_of(site, "ldap", "app1", "app2", "fw")
    password = laboratory.folder / "manager"
    password.write_text(MANAGER)
    desk.bind = (*desk.bind[:2], "-y", str(password))
    return desk


def values(ldif: str) -> list[str]:
    """Return every value of LDIF that is coded."""
    return [base64.b64decode(coded).decode(errors="replace") for coded in re.findall(r"(?m)^[\w;.-]+:: *(\S+)", ldif)]


def files(capture: Path) -> dict[str, bytes]:
    """Return what a capture holds, by name."""
    if capture.is_dir():
        return {str(one.relative_to(capture)): one.read_bytes() for one in capture.rglob("*") if one.is_file()}
    with tarfile.open(capture) as packed:
        return {one.name: packed.extractfile(one).read() for one in packed if one.isfile()}


def test_the_secrets_are_there_to_be_found(site) -> None:
    planted = {
        site.ldap: ["/etc/dirsrv/slapd-live", [MANAGER, PIN]],
        site.app1: ["/etc/ldap/slapd.d", [base64.b64encode(CONFIG_HASH.encode()).decode()]],
        site.app2: ["/etc/ldap/slapd.conf", [CONF_WORD, CREDENTIALS]],
        site.fw: ["/etc/haproxy", [HAPROXY]],
    }
    for host, (place, secrets) in planted.items():
        for secret in secrets:
            host.run(["grep", "-rF", secret, place])
    assert CREDENTIALS in site.app1.run("cat /etc/ldap/slapd.d/cn=config/olcDatabase*mdb.ldif | tr -d '\\n '")
    assert len(set(site.hashes)) == 3


@pytest.mark.parametrize("shape", ["capture", "capture.tar.gz"])
def test_no_secret_is_in_a_capture(site, sitting, tmp_path, shape) -> None:
    capture = tmp_path / shape
    code, _, err = sitting.run("collect", *TARGETS, *sitting.bind, "--apart", "0.3", "--output", str(capture))
    assert code == 0, err
    held = files(capture)
    for expected in ("dse.ldif", "cn-config.ldif", "slapd.conf", "haproxy.cfg", "cn-monitor.ldif"):
        assert any(name.endswith(expected) for name in held), f"{expected} was not collected: {sorted(held)}"
    secrets = [MANAGER, PIN, CONFIG_HASH, CONF_WORD, CREDENTIALS, HAPROXY, site.key, *site.hashes]
    for name, content in held.items():
        text = content.decode(errors="replace")
        for shown in (text, text.replace("\n ", ""), *values(text.replace("\n ", ""))):
            assert [secret for secret in secrets if secret in shown] == [], name


def test_no_secret_is_in_a_report_or_a_complaint(site, sitting, tmp_path) -> None:
    wrong = tmp_path / "wrong"
    wrong.write_text("Mistake-7783")
    for bind in (sitting.bind, (*sitting.bind[:3], str(wrong))):
        _, out, err = sitting.run("diagnose", *TARGETS, *bind, "--apart", "0.3", "-v")
        told = out + err
        assert "invalidCredentials" in told or bind is sitting.bind
        secrets = [MANAGER, PIN, CONFIG_HASH, CONF_WORD, CREDENTIALS, HAPROXY, "Mistake-7783", site.key, *site.hashes]
        assert [secret for secret in secrets if secret in told] == []


@pytest.mark.parametrize("name", ["ldap", "app1", "app2", "fw"])
def test_no_secret_comes_along_with_the_logs(site, name) -> None:
    argv = site.hosts[name].enter(["sh"])
    with ScriptSession(argv=argv, target=f"ssh://{name}", folder=name, namespaces=False) as session:
        answers, logs = list(session.collect()), list(fetch_logs(session, lambda _: None))
    answers += logs
    assert any(isinstance(one, Input) for one in logs) is (name != "fw")
    shown = [one.open().read().decode(errors="replace") if isinstance(one, Input) else str(one) for one in answers]
    secrets = [MANAGER, PIN, CONFIG_HASH, CONF_WORD, CREDENTIALS, HAPROXY, site.key, *site.hashes]
    told = "\n".join((*shown, *(value for text in shown for value in values(text))))
    assert [secret for secret in secrets if secret in told] == []


def test_the_password_is_in_no_command_line_on_any_host(sitting, tmp_path) -> None:
    told = tmp_path / "report.json"  # larger than a pipe holds
    with told.open("wb") as output:
        run = sitting.host.start(
            sitting.command("diagnose", *TARGETS, *sitting.bind, "--apart", "1.5", "--format", "json"),
            env=sitting.environment,
            stdout=output.fileno(),
        )
    seen: set[bytes] = set()
    while run.poll() is None:
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                seen.add((process / "cmdline").read_bytes() + b"\0" + (process / "environ").read_bytes())
    report = json.loads(told.read_bytes())
    assert report["gaps"] == []
    assert any(b"diagnose\0ldap://ldap" in one for one in seen), "nothing was seen of the run"
    assert [one for one in seen if MANAGER.encode() in one] == []
