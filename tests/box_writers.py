"""Flows of a middlebox in the formats of other middleboxes: the inverse of the readers, from their grammars."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ldapdiag.evidence.flows import FlowTable
    from ldapdiag.evidence.sockets import Key


@dataclass(frozen=True, kw_only=True)
class Flow:
    """One connection through a box, as either end's host writes it."""

    client: Key
    server: Key
    state: str = "ESTABLISHED"
    idle: int = 7
    left: int = 293


def flows_of(table: FlowTable) -> list[Flow]:
    """Return what a reader made of a table, to be written again."""
    rows = zip(table.client, table.server, table.state, table.seconds_left, strict=True)
    return [
        Flow(client=client, server=server, state=state, left=int(left or 0))
        for client, server, state, left in rows
        if server is not None
    ]


def as_conntrack_xml(flows: Iterable[Flow], *, pretty: bool = False) -> str:
    """Write conntrack -L -o xml; `pretty` is as other programs print it again."""
    lines = ['<?xml version="1.0" encoding="utf-8"?>', "<conntrack>"]
    for flow in flows:
        address, port, dialled, dialled_port = flow.client
        tags = [
            "<flow>",
            *_meta("original", (address, port, dialled, dialled_port)),
            *_meta("reply", flow.server),
            '<meta direction="independent">',
            f"<state>{flow.state}</state>",
            f"<timeout>{flow.left}</timeout>",
            "<mark>0</mark>",
            "<use>1</use>",
            "<assured/>",
            "</meta>",
            "</flow>",
        ]
        lines += [f"    {tag}" for tag in tags] if pretty else ["".join(tags)]
    return "\n".join([*lines, "</conntrack>"]) + "\n"


def _meta(direction: str, ends: Key) -> Iterator[str]:
    src, sport, dst, dport = ends
    family = ("10", "ipv6") if ":" in src else ("2", "ipv4")
    yield f'<meta direction="{direction}">'
    yield f'<layer3 protonum="{family[0]}" protoname="{family[1]}">'
    yield from (f"<src>{src}</src>", f"<dst>{dst}</dst>", "</layer3>", '<layer4 protonum="6" protoname="tcp">')
    yield from (f"<sport>{sport}</sport>", f"<dport>{dport}</dport>", "</layer4>", "</meta>")


def as_f5(flows: Iterable[Flow], *, columns: int = 2) -> str:
    """Write tmsh show sys connection, with one or two columns of acceleration."""
    lines = ["Sys::Connections"]
    for flow in flows:
        ends = "  ".join(_f5_ends(flow))
        lines.append(f"{ends}  tcp  {flow.idle}  (tmm: {flow.client[1] % 4}){'  none' * columns}")
    return "\n".join([*lines, f"Total records returned: {len(lines) - 1}"]) + "\n"


def as_f5_properties(flows: Iterable[Flow]) -> str:
    """Write tmsh show sys connection all-properties."""
    lines, count = ["Sys::Connections"], 0
    for count, flow in enumerate(flows, 1):
        title = " - ".join(_f5_ends(flow))
        lines += [title, "-" * len(title), f"  TMM           {count % 4}", "  Type          any"]
        lines += ["  Acceleration  none", "  Protocol      tcp", f"  Idle Time     {flow.idle}"]
        lines += [f"  Idle Timeout  {flow.idle + flow.left}", "  Conn Id 0  ", "             "]
        lines += [
            "                      ClientSide        ServerSide",
            "  Bits In                   5.0K             34.8K",
        ]
        lines.append("")
    return "\n".join([*lines, f"Total records returned: {count}"]) + "\n"


def _f5_ends(flow: Flow) -> Iterator[str]:
    server, port, own, own_port = flow.server
    for address, number in (flow.client[:2], flow.client[2:], (own, own_port), (server, port)):
        yield f"{address}.{number}" if ":" in address else f"{address}:{number}"


def as_show_sess(flows: Iterable[Flow], *, old: bool = False) -> str:
    """Write HAProxy's show sess: of 2.7 and later, or as 1.5 did."""
    lines = []
    for number, flow in enumerate(flows):
        address, port, _, _ = flow.client
        family = "tcpv6" if ":" in address else "tcpv4"
        head = f"0x55eed01{number:05x}: proto={family} src={address}:{port} fe=ldap_in be=ldap_out srv=ds1 ts=00"
        if old:
            tail = (
                f"age=4s calls=8 rq[f=400000h,i=0,an=1ch,rx={flow.left}s,wx=,ax=] s0=[7,8h,fd=1,ex=] s1=[7,0h,fd=2,ex=]"
            )
        else:
            tail = (
                f"epoch=0 age=4s calls=3 rate=0 cpu=0 lat=0 rq[f=848000h,i=0,an=00h,ax=] "
                f"scf=[8,0h,fd=12,rex={flow.left}s,wex=] scb=[8,1h,fd=13,rex=,wex=]"
            )
        lines.append(f"{head} {tail} exp={flow.left}s{'' if old else ' rc=0 c_exp='}")
    lines.append(
        "0x55eed02fffff: proto=unix_stream src=unix:1 fe=GLOBAL be=<NONE> srv=<none> ts=00 epoch=0 age=0s calls=1 "
        "rate=0 cpu=0 lat=0 rq[f=c48200h,i=0,an=00h,ax=] scf=[8,200h,fd=128] scb=[8,1h,fd=-1] exp= rc=0 c_exp="
    )
    return "\n".join([*lines, "", ""])


def as_show_sess_all(flows: Iterable[Flow]) -> str:
    """Write HAProxy's show sess all, as 2.6 does."""
    lines = []
    for number, flow in enumerate(flows):
        address, port, dialled, dialled_port = flow.client
        server, server_port, own, own_port = flow.server
        lines += [
            f"0x55eed01{number:05x}: [20/Nov/2026:11:55:38.954231] id={number} proto=tcpv4 source={address}:{port}",
            "  flags=0x4a, conn_retries=0, conn_exp=<NEVER> conn_et=0x000 srv_conn=0x55eed012ec30, pend_pos=(nil)",
            f"  frontend=ldap_in (id=2 mode=tcp), listener=? (id=1) addr={dialled}:{dialled_port}",
            f"  backend=ldap_out (id=3 mode=tcp) addr={own}:{own_port}",
            f"  server=ds1 (id=1) addr={server}:{server_port}",
            f"  task=0x55eed031add0 (state=0x00 nice=0 calls=3 rate=0 exp={flow.left}s tmask=0x1 age=22s)",
            "  scf=0x55eed02cec30 flags=0x00000000 state=EST endp=CONN,0x55eed031ace0,0x028c0001 sub=1",
            "  scb=0x55eed0254970 flags=0x00000001 state=EST endp=CONN,0x55eed031b160,0x028c0001 sub=1",
        ]
    lines += [
        "0x55eed02fffff: [20/Nov/2026:12:01:29.490900] id=59 proto=unix_stream source=unix:1",
        "  frontend=GLOBAL (id=0 mode=tcp), listener=? (id=1) addr=unix:1",
    ]
    return "\n".join([*lines, "", ""])
