from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ldapdiag.evidence.family import Family
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path

VALUE = (
    'connection: connID="{0}" connectTime="20080101010101Z" source="192.0.2.1:{0}" destination="192.0.2.9:389" '
    'ldapVersion="3" authDN="" security="none" opsInProgress="1"\n'
)
# Written by hand with the names of com.unboundid.ldap.sdk.unboundidds.monitors.
GENERAL = """dn: cn=monitor
objectClass: ds-general-monitor-entry
productName: Ping Identity Directory Server
vendorVersion: Ping Identity Directory Server 9.3.0.0
currentConnections: 1
totalConnections: 5

dn: cn=Work Queue,cn=monitor
objectClass: ds-unboundid-work-queue-monitor-entry
current-queue-size: 4
num-worker-threads: 8
num-busy-worker-threads: 7

"""


def test_reads_the_two_connections_of_the_sdk_s_sample(corpus: Path) -> None:
    (monitor,) = facts_of((corpus / "public" / "monitor" / "unboundid-client-connections.ldif").read_bytes())
    assert monitor.identity.family is Family.PING
    assert [(one.account, one.client, one.client_port) for one in monitor.connections] == [
        ("", "127.0.0.1", 1234),
        ("cn=Directory Manager", "127.0.0.1", 5678),
    ]


def test_reads_counters_threads_and_the_queue() -> None:
    (monitor,) = facts_of(GENERAL + "dn: cn=Client Connections,cn=monitor\n" + VALUE.format(1))
    assert str(monitor.identity) == "PingDirectory 9.3.0"
    assert (monitor.current_connections, monitor.total_connections) == (1, 5)
    assert (monitor.threads, monitor.busy_threads, monitor.queued_operations) == (8, 7, 4)
    assert len(monitor.connections) == 1


@pytest.mark.parametrize("product", ["OpenDJ Server 4.10.1", "Ping Identity Directory Server 9.3.0.0"])
def test_what_any_of_them_could_have_written_belongs_to_the_one_named_before(product: str) -> None:
    text = f"dn: cn=monitor\nobjectClass: ds-monitor-entry\nvendorVersion: {product}\ncurrentConnections: 2\n\n"
    (monitor,) = facts_of(f"{text}dn: cn=Client Connections,cn=monitor\n{VALUE.format(1)}{VALUE.format(2)}\n")
    assert monitor.identity.family is (Family.OPENDJ if "OpenDJ" in product else Family.PING)
    assert len(monitor.connections) == 2
