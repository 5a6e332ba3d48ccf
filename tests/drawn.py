"""Sockets as a host may have them, drawn by hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

import writers
from ldapdiag.evidence.sockets import TcpState, Timer

ENDS = st.one_of(
    st.tuples(st.ip_addresses(v=4), st.ip_addresses(v=4), st.booleans()),
    st.tuples(st.ip_addresses(v=6), st.ip_addresses(v=6), st.just(False)),
).filter(lambda ends: not any(end.is_unspecified or getattr(end, "ipv4_mapped", None) for end in ends[:2]))
PORTS = st.integers(1, 65535)


@st.composite
def sockets(draw):
    """Return one socket, of either family, with the columns its state can have."""
    local, remote, mapped = draw(ENDS)
    state = draw(st.sampled_from(sorted(writers.NETSTAT_STATES)))
    ends = {"local_address": str(local), "local_port": draw(PORTS), "mapped": mapped, "state": state}
    if state is TcpState.LISTEN:
        address = draw(st.sampled_from(["*", str(local)]))
        waiting = draw(st.integers(0, 200))
        return writers.Socket(
            **{**ends, "local_address": address}, remote_address="*", remote_port=0, receive_queue=waiting
        )
    ends |= {"remote_address": str(remote), "remote_port": draw(PORTS)}
    if state is TcpState.TIME_WAIT:
        return writers.Socket(**ends, timer=Timer.TIME_WAIT)
    timer = draw(st.sampled_from([Timer.OFF, Timer.RETRANSMIT, Timer.KEEPALIVE, Timer.PERSIST]))
    return writers.Socket(
        **ends,
        receive_queue=draw(st.integers(0, 1 << 31)),
        send_queue=draw(st.integers(0, 1 << 31)),
        timer=timer,
        tries=draw(st.integers(1, 15)) if timer else 0,
        inode=draw(st.integers(0, 1 << 32)),
    )
