"""What lies beside the tables and is of no use is recognised by name, and never read as a table."""

from __future__ import annotations

import pytest

from ldapdiag.evidence.formats import HEAD_BYTES, head_of, recognise
from ldapdiag.evidence.socket_formats import ignored

KNOWN = {
    "ss-s.txt": "ss-summary",
    "conntrack-E.txt": "conntrack-events",
    "conntrack-L.stderr": "conntrack-count",
    "access.rotationinfo": "389-ds-rotation",
}


@pytest.mark.parametrize("name", KNOWN)
def test_each_is_known_by_name(captures, name):
    data = (captures / "sockets" / name).read_bytes()
    form = recognise(head_of("renamed", data[:HEAD_BYTES], whole=True))
    assert form is not None
    assert form.name == KNOWN[name]
    assert form.read is None


@pytest.mark.parametrize(
    "line",
    [
        "    [NEW] tcp      6 120 SYN_SENT src=10.0.0.1 dst=10.0.0.2 sport=1 dport=389 [UNREPLIED] src=10.0.0.2",
        " [UPDATE] ipv4     2 tcp      6 60 SYN_RECV src=10.0.0.1 dst=10.0.0.2 sport=1 dport=389 src=10.0.0.2",
        "[1795164786.195110]\t[DESTROY] tcp      6 ESTABLISHED src=10.0.0.1 dst=10.0.0.2 sport=1 dport=389",
    ],
)
def test_an_event_is_no_flow(line):
    form = recognise(head_of("file", line.encode(), whole=True))
    assert form is not None
    assert form.name == "conntrack-events"


def test_each_title_gives_the_reason():
    assert all(":" in form.title and form.read is None for form in ignored.FORMATS)
