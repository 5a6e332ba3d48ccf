"""A box that resets idle connections, run as a program on the router: `resetter.py SECONDS client|both READY_FILE`.

It watches the headers of what the router forwards for port 389, and once a connection has rested that long it forges a
RST to the client, or one to each end, with the sequence number that end waits for.
"""

from __future__ import annotations

import select
import socket
import struct
import sys
import time
from pathlib import Path

LDAP = 389
ETH_P_IP = 0x0800
FIN, SYN, RST, ACK = 1, 2, 4, 16


def checksum(data: bytes) -> int:
    """RFC 1071."""
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def reset(source: bytes, sport: int, target: bytes, dport: int, sequence: int) -> bytes:
    """Return an IPv4 packet with a RST."""
    tcp = struct.pack("!HHIIBBHHH", sport, dport, sequence, 0, 5 << 4, RST, 0, 0, 0)
    pseudo = source + target + struct.pack("!BBH", 0, socket.IPPROTO_TCP, len(tcp))
    tcp = tcp[:16] + struct.pack("!H", checksum(pseudo + tcp)) + tcp[18:]
    return struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 0, 0, 64, socket.IPPROTO_TCP, 0, source, target) + tcp


class Flow:
    """A connection as its packets tell it: the sequence number that each end waits for."""

    def __init__(self) -> None:
        self.seen = 0.0
        self.next_from_client = self.next_from_server = 0


def watch(flows: dict[tuple[bytes, int, bytes, int], Flow], packet: bytes) -> None:
    """Learn from one packet."""
    start = (packet[0] & 15) * 4
    if packet[9] != socket.IPPROTO_TCP or len(packet) < start + 20:
        return
    sport, dport, sequence, _, offset, flags = struct.unpack_from("!HHIIBB", packet, start)
    if LDAP not in (sport, dport):
        return
    size = struct.unpack_from("!H", packet, 2)[0] - start - (offset >> 4) * 4
    follows = (sequence + size + bool(flags & (SYN | FIN))) & 0xFFFFFFFF
    source, target = packet[12:16], packet[16:20]
    key = (source, sport, target, dport) if dport == LDAP else (target, dport, source, sport)
    if flags & (RST | FIN):
        flows.pop(key, None)
        return
    flow = flows.setdefault(key, Flow())
    flow.seen = time.monotonic()
    if dport == LDAP:
        flow.next_from_client = follows
    else:
        flow.next_from_server = follows


def main(seconds: float, to: str, ready: Path) -> None:
    watched = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_IP))
    forged = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    flows: dict[tuple[bytes, int, bytes, int], Flow] = {}
    ready.touch()
    while True:
        if select.select([watched], [], [], 0.1)[0]:
            watch(flows, watched.recv(65536))
        for key, flow in [item for item in flows.items() if time.monotonic() - item[1].seen > seconds]:
            client, cport, server, sport = key
            del flows[key]
            forged.sendto(reset(server, sport, client, cport, flow.next_from_server), (socket.inet_ntoa(client), 0))
            if to == "both":
                forged.sendto(reset(client, cport, server, sport, flow.next_from_client), (socket.inet_ntoa(server), 0))


if __name__ == "__main__":
    main(float(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
