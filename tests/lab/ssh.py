"""ssh into the laboratory: a real OpenSSH server in every host, a key, and the configuration of the client that has it.

A person at the desk says `ssh app1`. A host may refuse (no server), hang (connections are taken and never answered) or
be closed to our key.
"""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from lab.host import Host, Process, wait_for

if TYPE_CHECKING:
    from pathlib import Path

    from lab.topology import Topology

SSHD = """Port 22
ListenAddress 0.0.0.0
HostKey {keys}/host
AuthorizedKeysFile /etc/ssh/allowed
StrictModes no
UsePAM no
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
PidFile none
"""
CLIENT = """Host {name} {address}
  HostName {address}
  HostKeyAlias lab
"""
EVERYWHERE = """Host *
  User root
  IdentityFile {keys}/client
  IdentitiesOnly yes
  UserKnownHostsFile {keys}/known_hosts
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
"""
# Homes of their own, so that no start-up file of this machine's root has a say; and a user who is nobody special.
USERS = """
mkdir -p /run/home/root /run/home/visitor
sed -i 's#:/root:#:/run/home/root:#' /etc/passwd
grep -q ^visitor: /etc/passwd || {
    echo 'visitor:x:2000:2000::/run/home/visitor:/bin/sh' >> /etc/passwd
    echo 'visitor:x:2000:' >> /etc/group
    echo 'visitor:*:20000:0:99999:7:::' >> /etc/shadow
}
"""
# Its backlog takes the connections; nobody ever accepts one.
DEAF = "import socket, time; s = socket.create_server(('', 22), backlog=64); time.sleep(86400)"


class Keys:
    """The keys of a laboratory, in a folder, made once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("host", "client", "stranger"):
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", folder / name],
                check=True,
                stdin=subprocess.DEVNULL,
            )
        (folder / "known_hosts").write_text(f"lab {(folder / 'host.pub').read_text()}")

    def configuration(self, topology: Topology) -> Path:
        """Write the client's configuration for these hosts and return it: `ssh -F` it, in a host of the topology."""
        path = self.folder / f"config-{topology.fw.pid}"
        addresses = {name: topology.address(name) for name in topology.hosts}
        known = [CLIENT.format(name=name, address=address) for name, address in addresses.items()]
        path.write_text("".join(known) + EVERYWHERE.format(keys=self.folder))
        return path

    def environment(self, topology: Topology) -> dict[str, str]:
        """Return what ldapdiag's environment needs at the desk to reach these hosts."""
        return {"LDAPDIAG_SSH": f"ssh -F {self.configuration(topology)}"}

    def serve(self, host: Host, *, allowed: str = "client", sudo: bool = False) -> Process:
        """Start the server in a host; with `allowed="stranger"` our key is refused.

        Besides root, `visitor` may come in; with `sudo`, sudo lets that one do everything and asks for no password.
        """
        host.run(USERS)
        if sudo:
            host.run("umask 337; echo 'visitor ALL=(root) NOPASSWD: ALL' > /etc/sudoers.d/visitor")
        host.run(["tee", "/etc/ssh/sshd_config"], stdin=SSHD.format(keys=self.folder))
        host.run(["tee", "/etc/ssh/allowed"], stdin=(self.folder / f"{allowed}.pub").read_text())
        process = host.start(["/usr/sbin/sshd", "-D", "-e"], log=self.folder / f"sshd-{host.pid}.log")
        return _listening(host, process)


def hang(host: Host) -> Process:
    """Take connections at port 22 and never say a word."""
    return _listening(host, host.start([sys.executable, "-I", "-S", "-c", DEAF]))


def _listening(host: Host, process: Process) -> Process:
    wait_for(lambda: any(row[0] == "LISTEN" for row in host.sockets(22)), f"nobody listens at port 22 of {host.name}")
    return process
