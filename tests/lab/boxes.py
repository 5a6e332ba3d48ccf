"""Boxes between clients and server: the router forgets, resets, hides or splices connections, each in its style.

What each leaves in the tables of both ends is measured in test_lab.py. Two boxes may be put up together (`snat` and
`silent_drop`: a firewall that hides its clients and forgets them).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lab.applications import RESET, UNANSWERED
from lab.host import Process, wait_for

if TYPE_CHECKING:
    from lab.host import Host

VIP = "10.77.100.1"
RESETTER = Path(__file__).with_name("resetter.py")
HAPROXY = Path("/etc/haproxy/haproxy.cfg")
ADMIN_SOCKET = "/run/haproxy/admin.sock"

FILTER = """
table inet {name} {{
  chain {hook} {{
    type filter hook {hook} priority 0; policy accept;
    meta l4proto != tcp accept
    tcp dport 22 accept
    tcp sport 22 accept
    ct state established,related accept
    tcp flags & (fin|syn|rst|ack) == syn ct state new accept
    counter {verdict}
  }}
}}
"""
NAT = "table ip {name} {{ chain translate {{ type nat hook {hook} priority {priority}; {rule}; }}; }}\n"


@dataclass(slots=True, kw_only=True)
class Box:
    """A box that is up. `ghost_fates`: what an application sees of connections that the server goes on holding."""

    fw: Host
    table: str = ""
    process: Process | None = None
    ghost_fates: tuple[str, ...] = ()
    address: str = "10.77.1.2"

    def lift(self) -> None:
        """Take it down again."""
        if self.table:
            self.fw.run(["nft", "delete", "table", *self.table.split()])
        if self.process:
            self.process.end()


def silent_drop(fw: Host, seconds: int, *, hook: str = "forward") -> Box:
    """Forget connections that rest longer than this, and drop whatever still comes of them: most firewalls.

    The hook `input` makes it a host's own firewall.
    """
    _forget(fw, seconds, verdict="drop", name="firewall", hook=hook)
    return Box(fw=fw, table="inet firewall", ghost_fates=(UNANSWERED,))


def reset_to_client(fw: Host, seconds: int) -> Box:
    """Forget, and answer the next packet with a RST to whoever sent it: AWS NLB.

    Only the side that speaks first learns of it.
    """
    _forget(fw, seconds, verdict="reject with tcp reset", name="balancer")
    return Box(fw=fw, table="inet balancer", ghost_fates=(RESET,))


def reset_client_when_idle(fw: Host, seconds: int) -> Box:
    """Send a RST to the client at the moment of forgetting, and drop what comes later."""
    box = silent_drop(fw, seconds)
    box.process = _resetter(fw, seconds, "client")
    box.ghost_fates = (RESET,)
    return box


def reset_to_both(fw: Host, seconds: int) -> Box:
    """Send a RST to both ends at the moment of forgetting: F5 BIG-IP by default. It leaves no ghost."""
    return Box(fw=fw, process=_resetter(fw, seconds, "both"))


def proxy(
    fw: Host,
    seconds: int,
    *,
    server_seconds: int | None = None,
    settings: str = "",
    server: str = "10.77.1.2",
    port: int = 389,
    log: Path | None = None,
) -> Box:
    """Splice connections with a real HAProxy that ends those that rest longer than this.

    Where `server_seconds` are fewer, it closes towards the client first, and keeps the server until the client has
    closed, too. `settings` are more lines for its defaults. Clients connect to the router: app1 to 10.77.2.1, app2 to
    10.77.3.1; or to any other host that it runs on, at this port.
    """
    at_server = server_seconds or seconds
    fw.run(["mkdir", "-p", HAPROXY.parent, "/run/haproxy"])
    fw.run(["tee", HAPROXY], stdin=(
        f"global\n  maxconn 2000\n  stats socket {ADMIN_SOCKET} level admin\n"
        f"defaults\n  mode tcp\n  timeout connect 3s\n{settings}"
        f"  timeout client {seconds}s\n  timeout server {at_server}s\n"
        f"frontend ldap_in\n  bind :{port}\n  default_backend ldap_out\nbackend ldap_out\n  server ds1 {server}:389\n"
    ))  # fmt: skip
    process = fw.start(["haproxy", "-db", "-f", HAPROXY], log=log)
    wait_for(lambda: any(row[0] == "LISTEN" for row in fw.sockets(port)), "HAProxy does not listen")
    return Box(fw=fw, process=process, address="10.77.2.1")


def snat(fw: Host, *, ports: str = "random") -> Box:
    """Hide all clients behind the router's address 10.77.1.1.

    Their ports are `random`, or `kept` where they are free.
    """
    rule = "oifname to-ldap masquerade" + (" random" if ports == "random" else "")
    fw.run(["nft", "-f", "-"], stdin=NAT.format(name="hide", hook="postrouting", priority=100, rule=rule))
    return Box(fw=fw, table="ip hide")


def dnat(fw: Host, *, server: str = "10.77.1.2") -> Box:
    """Offer the server at the virtual address 10.77.100.1; it sees its clients' own addresses and ports."""
    rule = f"ip daddr {VIP} tcp dport 389 dnat to {server}"
    fw.run(["nft", "-f", "-"], stdin=NAT.format(name="vip", hook="prerouting", priority=-100, rule=rule))
    return Box(fw=fw, table="ip vip", address=VIP)


def _forget(fw: Host, seconds: int, *, verdict: str, name: str, hook: str = "forward") -> None:
    """Let connections through that are known or begin: a packet in the middle of an unknown one meets the verdict."""
    fw.run(["nft", "-f", "-"], stdin=FILTER.format(name=name, verdict=verdict, hook=hook))
    fw.sysctl(net__netfilter__nf_conntrack_tcp_loose=0, net__netfilter__nf_conntrack_tcp_timeout_established=seconds)


def _resetter(fw: Host, seconds: int, to: str) -> Process:
    ready = Path("/run/resetter.ready")
    process = fw.start([sys.executable, "-I", "-S", RESETTER, str(seconds), to, ready])
    wait_for(lambda: fw.attempt(["test", "-e", ready]).returncode == 0, "the resetter does not start")
    return process
