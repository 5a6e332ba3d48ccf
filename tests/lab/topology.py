"""Hosts behind a router: `ldap`, `app1`, `app2`…, and `desk`, where the person who diagnoses sits.

    ldap 10.77.1.2 ── 10.77.1.1 ┐
    app1 10.77.2.2 ── 10.77.2.1 ┤ fw
    app2 10.77.3.2 ── 10.77.3.1 ┤
    desk 10.77.9.2 ── 10.77.9.1 ┘

All of it is inside namespaces: two topologies never meet, and none meets the machine's own network.
"""

from __future__ import annotations

import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from lab.host import Host, wait_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

LDAP, DESK = 1, 9
# A week would pass before a kernel's defaults give up; these let leftovers of a closed socket go within two seconds.
QUICK = {"net__ipv4__tcp_orphan_retries": 2}


class Topology:
    """A running network; it ends with the `with` block."""

    def __init__(
        self, *, apps: int = 2, uptime_seconds: int = 86_400, without: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        """Boot the router, the server's host, the desk and this many application hosts.

        `uptime_seconds` is how long ago they claim to have booted; `without` names, by host, tools that are not there.
        """
        self.uptime_seconds, self.without = uptime_seconds, without or {}
        self.networks = {"ldap": LDAP, "desk": DESK, **{f"app{n}": n + 1 for n in range(1, apps + 1)}}
        self.hosts: dict[str, Host] = {}
        try:
            self.fw = self._boot("fw", uptime_seconds)
            self.fw.sysctl(net__ipv4__ip_forward=1)
            for name in self.networks:
                self._boot(name, uptime_seconds)
                self._plug(name)
        except BaseException:
            self.stop()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def ldap(self) -> Host:
        return self.hosts["ldap"]

    @property
    def desk(self) -> Host:
        return self.hosts["desk"]

    @property
    def app1(self) -> Host:
        return self.hosts["app1"]

    @property
    def app2(self) -> Host:
        return self.hosts["app2"]

    def address(self, name: str) -> str:
        """Return the address of a host, or the router's on the side of the server's host."""
        return f"10.77.{LDAP}.1" if name == "fw" else f"10.77.{self.networks[name]}.2"

    def unplug(self, name: str) -> None:
        """Pull the cable: no packet of this host reaches anybody from now on, nor the other way."""
        self._fw_ip(f"link del to-{name}")

    def plug(self, name: str) -> None:
        """Put an unplugged host's cable back."""
        with suppress(AssertionError):
            self.unplug(name)
        self._plug(name)

    def crash(self, name: str) -> None:
        """Cut a host's power: nobody hears a word of it, and every socket it had is gone."""
        self.unplug(name)
        self.hosts.pop(name).stop()

    def reboot(self, name: str, *, uptime_seconds: int = 20) -> Host:
        """Crash a host and boot it again at the same address, with nothing running."""
        if name in self.hosts:
            self.crash(name)
        host = self._boot(name, uptime_seconds)
        self._plug(name)
        return host

    def move_behind(self, name: str, router: str) -> None:
        """Plug a host into another one, which forwards its packets from now on, to the router and back."""
        self.unplug(name)
        self.hosts[router].sysctl(net__ipv4__ip_forward=1)
        self._plug(name, self.hosts[router])
        self._fw_ip(f"route add 10.77.{self.networks[name]}.0/24 via {self.address(router)}")

    def add_ipv6(self) -> None:
        """Give each host the address fd77:N::2, too."""
        self.fw.sysctl(net__ipv6__conf__all__forwarding=1)
        for name, network in self.networks.items():
            self._fw_ip(f"addr add fd77:{network}::1/64 dev to-{name} nodad")
            _ip(
                self.hosts[name].pid,
                f"addr add fd77:{network}::2/64 dev eth0 nodad",
                f"route add default via fd77:{network}::1",
            )

    def fail_over(self, second: Host) -> Host:
        """Move the router's addresses to another host, which becomes `fw`; return the first, now on no path."""
        first = self.fw
        for name in self.networks:
            self.unplug(name)
        self.fw = self.hosts["fw"] = second
        second.sysctl(net__ipv4__ip_forward=1)
        for name in self.networks:
            self.plug(name)
        return first

    def stop(self) -> None:
        """End every host."""
        for host in reversed(self.hosts.values()):
            host.stop()
        self.hosts.clear()

    def _boot(self, name: str, uptime_seconds: int) -> Host:
        host = Host(name, uptime_seconds=uptime_seconds, without=self.without.get(name, ()))
        self.hosts[name] = host
        host.run(["tee", "-a", "/etc/hosts"], stdin="".join(f"{self.address(n)} {n}\n" for n in ("fw", *self.networks)))
        return host

    def _plug(self, name: str, router: Host | None = None) -> None:
        network, pid = self.networks[name], self.hosts[name].pid
        _ip(
            (router or self.fw).pid,
            f"link add to-{name} type veth peer name eth0 netns {pid}",
            f"addr add 10.77.{network}.1/24 dev to-{name}",
            f"link set to-{name} up",
        )
        _ip(
            pid,
            f"addr add 10.77.{network}.2/24 dev eth0",
            "link set eth0 up",
            f"route add default via 10.77.{network}.1",
        )
        self.hosts[name].sysctl(**QUICK)

    def _fw_ip(self, *lines: str) -> None:
        _ip(self.fw.pid, *lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A network namespace on a host, behind the host's address."""

    host: Host
    name: str
    address: str
    pid: int

    def enter(self, argv: Sequence[str]) -> list[str]:
        """Return the command line, for the host, that runs a command in the container."""
        return ["nsenter", f"--net=/proc/{self.pid}/ns/net", *argv]


def container(
    host: Host, name: str = "box1", *, number: int = 1, ports: str = "random", named: bool = True
) -> Container:
    """Make a container on a host that has a cable: its connections leave from the host's address.

    `ports` are `random`, as Kubernetes has them, or `kept` where they are free. One that is not `named` has no name in
    /run/netns, as Docker's have none: only a process (`sleep`) holds it.
    """
    bridge, address = f"10.88.{number}.1", f"10.88.{number}.2"
    masquerade = "masquerade random" if ports == "random" else "masquerade"
    host.run(f"ip netns add {name}")
    sleeper = host.start(["ip", "netns", "exec", name, "sleep", "infinity"])
    inner = wait_for(lambda: _named(sleeper.inner, "sleep"), f"container {name} does not start")
    _ip(host.pid, f"link add in-{name} type veth peer name eth0 netns {inner}", f"addr add {bridge}/24 dev in-{name}",
        f"link set in-{name} up")  # fmt: skip
    _ip(
        inner,
        "link set lo up",
        f"addr add {address}/24 dev eth0",
        "link set eth0 up",
        f"route add default via {bridge}",
    )
    host.sysctl(net__ipv4__ip_forward=1)
    host.run(["nft", "-f", "-"], stdin=f"table ip {name} {{ chain leave {{ type nat hook postrouting priority 100; "
             f"ip saddr 10.88.{number}.0/24 oifname eth0 {masquerade}; }}; }}")  # fmt: skip
    if not named:
        host.run(f"ip netns del {name}")
    within = Path(f"/proc/{inner}/status").read_text().partition("NSpid:")[2].split()[1]
    return Container(host=host, name=name, address=address, pid=int(within))


def _named(pid: int, command: str) -> int:
    """Return the number of a process once it runs this command."""
    return pid if Path(f"/proc/{pid}/comm").read_text().strip() == command else 0


def _ip(pid: int, *lines: str) -> None:
    """Give `ip` these lines in the network of a process."""
    done = subprocess.run(
        ["nsenter", "-t", str(pid), "--net", "ip", "-batch", "-"],
        input="\n".join(lines), text=True, check=False, capture_output=True,
    )  # fmt: skip
    assert done.returncode == 0, f"{lines}\n{done.stderr}"
