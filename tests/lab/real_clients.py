"""Real LDAP clients in hosts, with the settings of a remedy or their defaults, and what became of their requests."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lab.directory_servers import PASSWORD, SUFFIX, account
from lab.host import wait_for
from lab.terminal import paste

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lab.host import Host, Process

PYTHON_CLIENT = Path(__file__).with_name("python_client.py")
JNDI_CLIENT = Path(__file__).with_name("JndiClient.java")
PATIENCE = 3.0
"""Seconds within which a request is answered, or lost."""

USER = "jane"
POSIX_SCHEMA = "include /etc/ldap/schema/nis.schema\n"
POSIX_ACCOUNT = f"""dn: uid={USER},{SUFFIX}
objectClass: account
objectClass: posixAccount
uid: {USER}
cn: {USER}
uidNumber: 4711
gidNumber: 4711
homeDirectory: /home/{USER}
"""
NSLCD_CONF = f"uid nslcd\ngid nslcd\nuri ldap://10.77.1.2\nbase {SUFFIX}\n"
NSLCD_PID = "/run/nslcd/nslcd.pid"
SYSTEMCTL = f"""#!/bin/sh
pid=$(cat {NSLCD_PID}); kill "$pid"; while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
exec nslcd
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of the requests of a client."""

    requests: int
    lost: tuple[str, ...]
    slowest: float
    """Seconds that the slowest answer took, of those that came."""


@dataclass(frozen=True, slots=True)
class RealClient:
    """A running client; it ends by itself after its last pause."""

    process: Process

    def outcome(self, seconds: float) -> Outcome:
        """Wait until it has made all requests."""
        printed, errors = self.process.communicate(timeout=seconds)
        assert printed, errors.decode()
        told = json.loads(printed.splitlines()[-1])  # the JVM prints its warnings there, too
        return Outcome(requests=told["requests"], lost=tuple(told["lost"]), slowest=told["slowest"])


def start_client(
    host: Host, kind: str, pauses: Sequence[float], settings: str = "", *, patience: float = PATIENCE
) -> RealClient:
    """Start a client of a kind: JNDI, nslcd, python-ldap or ldap3. `settings` are the text of its remedy."""
    told = ",".join(map(str, pauses))
    if kind == "JNDI":
        argv = _jndi(told, settings, patience)
    else:
        if kind == "nslcd":
            start_nslcd(host)
            if settings:
                paste(host, settings)
        python = "/usr/bin/python3" if kind == "python-ldap" else sys.executable
        user = USER if kind == "nslcd" else account("application_xyz")
        argv = [python, str(PYTHON_CLIENT), kind, "ldap://10.77.1.2", user, PASSWORD, str(patience), told, settings]
    return RealClient(host.start(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE))


def _jndi(pauses: str, settings: str, patience: float) -> list[str]:
    """Return the command: the options of java and the environment of the context are those of the remedy."""
    lines = [line for line in settings.splitlines() if not line.startswith("#")]
    options = shlex.split(" ".join(line for line in lines if line.startswith("-D")))
    environment = [line for line in lines if not line.startswith("-D")]
    who = ["10.77.1.2", account("application_xyz"), PASSWORD]
    return ["java", *options, str(JNDI_CLIENT), *who, str(int(1000 * patience)), pauses, *environment]


def start_nslcd(host: Host) -> None:
    """Start nslcd with its defaults, and wait until it answers."""
    host.run(["tee", "/etc/nslcd.conf"], stdin=NSLCD_CONF)
    host.run("chmod 600 /etc/nslcd.conf; mkdir -p /run/nslcd; chown nslcd:nslcd /run/nslcd")
    host.run("cat > /run/bin/systemctl; chmod 755 /run/bin/systemctl", stdin=SYSTEMCTL)
    host.run(["nslcd"])
    asked = ["getent", "-s", "ldap", "passwd", USER]
    wait_for(lambda: host.attempt(asked).returncode == 0, "nslcd does not answer")
