"""ldapdiag exporter as a process: it answers, ends at a signal, and says why it cannot begin."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
import urllib.request
from contextlib import suppress

import pytest

from command import INCIDENT, LDAPDIAG, ldapdiag


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        return int(one.getsockname()[1])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_answers_and_ends_at_a_signal(number: signal.Signals) -> None:
    port = free_port()
    command = [*LDAPDIAG, "exporter", INCIDENT, "--listen", f"127.0.0.1:{port}", "--every", "3600"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        text, deadline = "", time.monotonic() + 60
        while "ghost_connections" not in text and time.monotonic() < deadline:
            time.sleep(0.1)
            with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20) as answer:
                text = answer.read().decode()
        process.send_signal(number)
        errors = process.communicate(timeout=60)[1]
    assert 'ldapdiag_ghost_connections{client="10.77.2.2",server="ldap"} 268.0' in text
    assert (process.returncode, b"Traceback" in errors) == (0, False)
    assert f"http://127.0.0.1:{port}/metrics".encode() in errors


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--listen", "9942"], "write ADDRESS:PORT"),
        (["--listen", "127.0.0.1:99999"], "write ADDRESS:PORT"),
        (["--listen", "192.0.2.1:9942"], "cannot listen at 192.0.2.1:9942"),
        (["--every", "1"], "5"),
        (["--web-config", "missing.yml"], "no such file"),
        (["-D", "cn=x", "-W"], "use -y FILE"),
    ],
    ids=str,
)
def test_why_it_cannot_begin(arguments: list[str], reason: str) -> None:
    ran = ldapdiag("exporter", INCIDENT, *arguments)
    assert (ran.code, reason in "\n".join(ran.complaints)) == (2, True)


def test_a_collection_without_evidence_is_told_and_does_not_end_it() -> None:
    command = [*LDAPDIAG, "exporter", "no such file", "--listen", f"127.0.0.1:{free_port()}", "--every", "5"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        told = [process.stderr.readline() for _ in range(3)]
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert "there is no such file or folder" in "".join(told)
    assert "nothing was collected" in told[-1]
    assert process.returncode == 0
