"""Remedies for a program (sshd, socat, stunnel, nginx) that forwards connections, and keeps those of a dead client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where

if TYPE_CHECKING:
    from collections.abc import Mapping

SSHD = "# sshd_config\nClientAliveInterval 60\nClientAliveCountMax 3"
PROBES: Mapping[str, str] = {
    "sshd": SSHD,
    "sshd-session": SSHD,
    "ssh": "# ssh_config\nServerAliveInterval 60\nServerAliveCountMax 3",
    "socat": "# options of the address that accepts connections\nkeepalive,keepidle=60,keepintvl=10,keepcnt=3",
    "stunnel": "socket = a:SO_KEEPALIVE=1\nsocket = l:TCP_KEEPIDLE=60\nsocket = l:TCP_KEEPINTVL=10",
    "nginx": "# in the server section of the stream\nlisten 389 so_keepalive=60s:10s:3;",
}
"""Settings by program (sshd_config(5), ssh_config(5), socat(1), stunnel(8), ngx_stream_core_module)."""


def probe_clients_of(program: str, host: str, port: int) -> Remedy:
    """Make a forwarding program notice that its client is gone."""
    text = PROBES.get(program)
    return Remedy(
        title=f"Let {program} send keepalive probes to its clients",
        target=host,
        where=Where.BOX,
        kind=RemedyKind.CONFIG if text else RemedyKind.ADVICE,
        text=text or f"Enable TCP keepalive of {program} towards its clients, after 60 s of idle time.",
        changes=f"{program} closes the connections of a client that is gone within a few minutes. This applies to "
        "connections made from now on: to close these now, end the process that owns them (as root: ss -tnp).",
        risk="One small packet in each direction every 60 s per connection.",
        undo="Remove the lines and reload.",
        verify=f"ss -tnp state established dport = :{port}",
        needs=Needs.RECONNECT,
    )
