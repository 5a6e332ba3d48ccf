"""The remedies, pasted as they stand into a real OpenDJ and taken back again.

LDAPDIAG_OPENDJ names the folder of an unpacked opendj-server-legacy (Maven Central, org.openidentityplatform.opendj);
a copy of it is set up and runs in a room of its own. It takes minutes, so nobody waits for it unasked.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from facts import address_of
from ldapdiag.evidence.family import Family, identify
from ldapdiag.servers.commands.ldap_tools import as_manager, modify
from ldapdiag.servers.products import product_of

OPENDJ = product_of(Family.OPENDJ)
HOST = "localhost"
SERVER = address_of(HOST)
PASSWORD = "password"  # noqa: S105  of a server that lives for one test run
MANAGER = "cn=Directory Manager"
SOMEBODY = "cn=somebody,dc=example,dc=com"
SPARED = "cn=spared,dc=example,dc=com"


@pytest.fixture(scope="module")
def opendj(room):
    source = os.environ.get("LDAPDIAG_OPENDJ")
    if source is None:
        pytest.skip("LDAPDIAG_OPENDJ names no unpacked OpenDJ")
    if shutil.which("java") is None:
        pytest.skip("there is no Java")
    folder = room.folder / "opendj"
    shutil.copytree(Path(source) / "bin", folder / "bin")
    for part in ("lib", "template", "legal-notices"):
        shutil.copytree(Path(source) / part, folder / part)
    for script in ("setup", "upgrade"):
        shutil.copy2(Path(source) / script, folder / script)
    (room.folder / ".ldap-password").write_text(f"{PASSWORD}\n")
    wrapper = room.tools / "dsconfig"
    wrapper.write_text(f'#!/bin/sh\nexec {folder}/bin/dsconfig "$@"\n')
    wrapper.chmod(0o755)
    room.run(
        f"cd {folder} && ./setup --cli --no-prompt --acceptLicense -n --baseDN dc=example,dc=com --addBaseEntry "
        f"--ldapPort 389 --adminConnectorPort 4444 --rootUserDN '{MANAGER}' --rootUserPassword {PASSWORD} "
        "--doNotStart > setup.log < /dev/null"
    )
    try:
        room.run(f"{folder}/bin/start-ds --quiet < /dev/null > /dev/null")
        for name in (SOMEBODY, SPARED):
            entry = ["changetype: add", "objectClass: person", "sn: person", f"userPassword: {PASSWORD}"]
            pasted(room, modify(SERVER, f"dn: {name}", *entry))
        yield room
    finally:
        room.hang_up()
        room.run(f"{folder}/bin/stop-ds --quiet < /dev/null > /dev/null || true")


def pasted(room, text):
    """Paste a text as the one whose home holds the password."""
    return room.paste(f"export HOME={room.folder}\n{text}")


def is_told_and_closed(connection, within):
    """Tell whether the server ends a connection in time, with its notice of disconnection."""
    connection.settimeout(within)
    try:
        return b"idle" in connection.recv(300)
    except TimeoutError:
        return False


def version_of(room):
    return identify(pasted(room, f"{as_manager('ldapsearch', SERVER)} -LLL -b '' -s base vendorVersion")).version


def test_the_global_idle_limit_is_set_and_taken_back(opendj):
    remedy = OPENDJ.remedies.set_idle_timeout(SERVER, 2, 0)
    pasted(opendj, remedy.text)
    assert "idle-time-limit : 2 s" in pasted(opendj, remedy.verify)
    ignored = bool(OPENDJ.idle_enforcement.at(version_of(opendj)).ignored)
    assert is_told_and_closed(opendj.connect(), 6) is not ignored
    pasted(opendj, remedy.undo)
    assert "idle-time-limit : 0 ms" in pasted(opendj, remedy.verify)


def test_where_it_is_ignored_every_account_gets_a_limit_but_for_those_with_their_own(opendj):
    remedy = OPENDJ.remedies.set_idle_timeout(SERVER, 2, 0, (4, 10, 1))
    exemption = OPENDJ.remedies.exempt_from_idle_timeout(SERVER, (SPARED, MANAGER))
    before = opendj.connect(SOMEBODY)
    pasted(opendj, remedy.text)
    pasted(opendj, exemption.text)
    assert "ds-rlim-idle-time-limit: 0" in pasted(opendj, exemption.verify)
    assert re.search(r"value +: 2$", pasted(opendj, remedy.verify), re.MULTILINE)
    somebody, spared, manager = (opendj.connect(name) for name in (SOMEBODY, SPARED, MANAGER))
    assert is_told_and_closed(somebody, 8)
    assert not any(is_told_and_closed(one, 1) for one in (before, spared, manager))
    pasted(opendj, remedy.undo)
    pasted(opendj, exemption.undo)
    assert not is_told_and_closed(opendj.connect(SOMEBODY), 5)


def test_the_backlog_holds_once_the_handler_is_enabled_again(opendj):
    remedy = OPENDJ.remedies.raise_backlog(SERVER, None, 512)
    pasted(opendj, remedy.text)
    shown = pasted(opendj, remedy.verify)
    assert "accept-backlog : 512" in shown
    assert re.search(r"LISTEN\s+0\s+512\s+\S+:389\s", shown)
    pasted(opendj, remedy.undo)
    assert re.search(r"LISTEN\s+0\s+128\s+\S+:389\s", pasted(opendj, remedy.verify))


def test_threads_are_set_and_taken_back(opendj):
    remedy = OPENDJ.remedies.raise_threads(SERVER, None, 24)
    pasted(opendj, remedy.text)
    assert "num-worker-threads : 24" in pasted(opendj, remedy.verify)
    pasted(opendj, remedy.undo)
    assert "num-worker-threads : -" in pasted(opendj, remedy.verify)


def test_keepalives_are_on_and_their_time_is_the_kernel_s(opendj):
    end = opendj.connect().getsockname()[1]
    assert "timer:(keepalive,1" in opendj.run(f"ss -Htno '( sport = :389 and dport = :{end} )'")
