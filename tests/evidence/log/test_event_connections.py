"""Events of single connections of Active Directory, in the forms of export of published ones."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

import pytest

from command import ldapdiag

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    Kind = tuple[int, str, tuple[str, ...]]

CLIENT, SIX = "10.77.2.2", "fe80::1c2d:3e4f"
CLOSED_IDLE = (
    "Internal event: The directory service has disconnected the LDAP connection from the following network address "
    "due to a time-out. \r\n \r\nNetwork address:\r\n{} "
)
CLOSED_BY_ERROR = (
    "Internal event: An LDAP client connection was closed because of an error. \r\n \r\nClient IP:\r\n{} \r\n \r\n"
    "Additional Data \r\nError value:\r\n{} {} \r\nInternal ID:\r\n{}"
)
BIND = (
    "The following client performed a SASL (Negotiate/Kerberos/NTLM/Digest) LDAP bind without requesting signing "
    "(integrity verification), or performed a simple bind over a clear text (non-SSL/TLS-encrypted) LDAP connection. "
    "\r\n \r\nClient IP address:\r\n{} \r\nIdentity the client attempted to authenticate as:\r\n{} \r\n"
    "Binding Type:\r\n{}"
)
EVENTS = (
    (1317, CLOSED_IDLE, (f"{CLIENT}:49152",)),
    (1317, CLOSED_IDLE, (f"[{SIX}]:49153",)),
    (
        1216,
        CLOSED_BY_ERROR,
        (f"{CLIENT}:49154", "8616", "The LDAP servers network send queue has filled up.", "c0602f1"),
    ),
    (1216, CLOSED_BY_ERROR, (f"{CLIENT}:49155", "1236", "The network connection was aborted.", "c0602f1")),
    (2889, BIND, (f"{CLIENT}:49156", "ADEX\\svc_scanner", "1")),
    (2889, BIND, (f"{CLIENT}:49157", "NT AUTHORITY\\SYSTEM", "0")),
    (1000, "Something else: {}", ("10.9.9.9:1",)),
)


def as_xml(*, rooted: bool, backwards: bool = False, events: Sequence[Kind] = EVENTS, second: int = 0) -> str:
    text = "".join(
        "<Event xmlns='http://schemas.microsoft.com/win/2004/08/events/event'><System><EventID Qualifiers='16384'>"
        f"{number}</EventID><TimeCreated SystemTime='2026-11-20T08:54:{nth:02}.1234567Z'/><Computer>DC1</Computer>"
        f"</System><EventData>{''.join(f'<Data>{escape(one)}</Data>' for one in values[:: -1 if backwards else 1])}"
        "</EventData></Event>\r\n"
        for nth, (number, _, values) in enumerate(events, second)
    )
    return f"<Events>{text}</Events>" if rooted else text


def as_json(*, listed: bool) -> str:
    return "".join(
        json.dumps(
            {"EventTime": f"2026-11-20 08:54:{nth:02}", "Hostname": "DC1", "EventID": number}
            | ({"EventData": {"Data": list(values)}} if listed else {"Message": text.format(*values)})
        )
        + "\n"
        for nth, (number, text, values) in enumerate(EVENTS)
    )


def as_viewer() -> str:
    out = io.StringIO(newline="")
    rows = csv.writer(out)
    rows.writerow(["Level", "Date and Time", "Source", "Event ID", "Task Category"])
    for nth, (number, text, values) in enumerate(EVENTS):
        message = text.format(*values)
        rows.writerow(["Information", f"20.11.2026 08:54:{nth:02}", "AD DS", number, "LDAP Interface", message])
    return out.getvalue()


@pytest.mark.parametrize(
    "text",
    [
        as_xml(rooted=False),
        as_xml(rooted=True),
        as_xml(rooted=True, backwards=True),
        as_json(listed=True),
        as_json(listed=False),
        as_viewer(),
    ],
    ids=["wevtutil", "root", "other order", "NXLog", "message", "Event Viewer"],
)
def test_closes_and_binds_in_clear_are_those_of_the_events(tmp_path: Path, text: str) -> None:
    (tmp_path / "events").write_text(text, newline="")
    report = ldapdiag("log", tmp_path / "events", "--format", "json").report
    closes = {one["code"]: (one["by_client"], one["kind"]) for one in report["connections"]["closes"]}
    assert closes == {
        "1317": ({CLIENT: 1, SIX: 1}, "idle"),
        "1216 8616": ({CLIENT: 1}, "network"),
        "1216 1236": ({CLIENT: 1}, "server"),
    }
    assert (report["operations"]["bind"], report["lines_not_understood"]) == (1, 0)


def test_an_idle_close_is_not_unclean_and_a_password_in_clear_is_found(tmp_path: Path) -> None:
    (tmp_path / "events.xml").write_text(as_xml(rooted=False))
    report = ldapdiag("diagnose", tmp_path, "--format", "json").report
    (found,) = [one for one in report["findings"] if one["check"] == "binds-in-clear"]
    assert (found["observed"]["accounts"], found["observed"]["clients"]) == (["ADEX\\svc_scanner"], [CLIENT])


NETSTAT = (
    "Active Connections\n\n  Proto  Local Address          Foreign Address        State           PID\n"
    + "".join(
        f"  TCP    10.77.1.2:389          {CLIENT}:{port}        ESTABLISHED     700\n"
        for port in (49155, 49156, 49157, 50000)
    )
)


def test_an_event_of_the_day_before_names_no_socket(tmp_path: Path) -> None:
    later = as_xml(rooted=False, events=[(2889, BIND, ("10.9.9.9:49155", "ADEX\\x", "0"))]).replace("11-20T", "11-21T")
    for text, is_named in ((as_xml(rooted=False), True), (as_xml(rooted=False) + later.replace("54:", "55:"), False)):
        (tmp_path / "events.xml").write_text(text)
        (tmp_path / "netstat-ano.txt").write_text(NETSTAT)
        found = ldapdiag("diagnose", tmp_path, "--format", "json").report["findings"]
        assert any("by_account" in one["observed"] and one["observed"]["by_account"] for one in found) is is_named


@pytest.mark.parametrize(("backwards", "again"), [(False, False), (True, False), (False, True)])
def test_binds_name_the_sockets_of_the_same_port_until_a_close(tmp_path: Path, *, backwards: bool, again: bool) -> None:
    """49155 was closed by the server after its BIND, and no event names 50000."""
    events = [(2889, BIND, (f"{CLIENT}:49155", "ADEX\\other", "0")), *EVENTS]
    if again:
        events.append((2889, BIND, (f"{CLIENT}:49156", "ADEX\\late", "1")))
    texts = [as_xml(rooted=False, events=[one], second=nth) for nth, one in enumerate(events)]
    (tmp_path / "events.xml").write_text("".join(texts[:: -1 if backwards else 1]))
    (tmp_path / "netstat-ano.txt").write_text(NETSTAT)

    (share,) = [
        one["observed"]["by_account"]
        for one in ldapdiag("diagnose", tmp_path, "--format", "json").report["findings"]
        if one["check"] == "connection-share"
    ]

    names = {one["bind_dn"]: one["connections"] for one in share}
    assert names == {"ADEX\\late" if again else "ADEX\\svc_scanner": 1, "NT AUTHORITY\\SYSTEM": 1}
