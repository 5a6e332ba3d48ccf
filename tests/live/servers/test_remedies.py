"""The remedies, pasted as they stand into a real 389 Directory Server and a real slapd, and taken back again."""

from __future__ import annotations

import re
import time

import pytest

from facts import address_of, slapd_of
from ldapdiag.evidence.family import Family, identify
from ldapdiag.servers.commands.ldap_tools import as_manager, modify
from ldapdiag.servers.hosts.closing_remedies import close_ghosts
from ldapdiag.servers.hosts.host_remedies import raise_box_timeout, set_client_keepalive
from ldapdiag.servers.products import product_of

DS389 = product_of(Family.DS389)
OPENLDAP = product_of(Family.OPENLDAP)
HOST = "localhost"
SERVER, SLAPD = address_of(HOST), slapd_of(HOST)
PASSWORD = "password"  # noqa: S105  of servers that live for one test run
MANAGER = "cn=Directory Manager"
SOMEBODY = "cn=somebody,dc=example,dc=com"
SHELL_NAME = "cn=$(touch /tmp/pasted)`id`,dc=example,dc=com"
FAR_NAME = "cn=jürgen,dc=example,dc=com"


def value_of(attribute, text):
    found = re.search(rf"^{attribute}: (.*)$", text, re.MULTILINE)
    return found[1] if found else None


def is_closed(connection, within):
    """Tell whether the server ends a connection in time; a reset is an end too."""
    connection.settimeout(within)
    try:
        return connection.recv(100) == b""
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False


TIMER = re.compile(r"timer:\(keepalive,(?:(?P<minutes>\d+)min)?(?:(?P<seconds>\d+)(?:sec|\.\d+ms))?")


def timers_of(rows):
    """Return the whole seconds to the next keepalive, as ss tells them: 119min, 4min59sec, 14sec, 3.996ms, 280ms."""
    return [int(found["minutes"] or 0) * 60 + int(found["seconds"] or 0) for found in TIMER.finditer(rows)]


def timer_of(room, connection):
    """Return the seconds to the next keepalive of the server's end."""
    rows = room.run(f"ss -Htno state established '( sport = :389 and dport = :{connection.getsockname()[1]} )'")
    assert timers_of(rows), rows
    return timers_of(rows)[0]


def pasted_and_taken_back(room, remedy, attribute, wanted):
    """Paste a remedy, look, take it back, look again; return the first and the last value."""
    before = value_of(attribute, room.paste(remedy.verify))
    room.paste(remedy.text)
    assert value_of(attribute, room.paste(remedy.verify)) == str(wanted)
    room.paste(remedy.undo)
    return before, value_of(attribute, room.paste(remedy.verify))


@pytest.fixture(scope="module")
def people(ds389):
    for name in (SOMEBODY, FAR_NAME, SHELL_NAME):
        entry = ["changetype: add", "objectClass: person", "sn: person", f"userPassword: {PASSWORD}"]
        ds389.paste(modify(SERVER, f"dn: {name}", *entry))
    return ds389


class TestOn389:
    @pytest.mark.parametrize("current", [3600, None])
    def test_the_idle_timeout_is_set_and_taken_back(self, ds389, current):
        remedy = DS389.remedies.set_idle_timeout(SERVER, 300, current)
        assert pasted_and_taken_back(ds389, remedy, "nsslapd-idletimeout", 300) == ("3600", "3600")

    def test_the_keepalive_time_reaches_new_connections_alone(self, ds389):
        remedy = DS389.remedies.set_keepalive(SERVER, 15, version=(2, 3, 1))
        old = ds389.connect()
        ds389.paste(remedy.text)
        new = ds389.connect()
        assert "nsslapd-tcp-keepalive-time: 15" in ds389.paste(remedy.verify)
        assert timer_of(ds389, old) > 200
        assert timer_of(ds389, new) <= 15
        ds389.paste(remedy.undo)
        assert "nsslapd-tcp-keepalive-time: 300" in ds389.paste(remedy.verify)

    def test_an_exemption_is_for_hostile_and_foreign_names_too(self, people):
        remedy = DS389.remedies.exempt_from_idle_timeout(SERVER, (SOMEBODY, FAR_NAME, SHELL_NAME, MANAGER))
        people.paste(remedy.text)
        assert people.paste(remedy.verify).count("nsIdleTimeout: -1") == 3
        people.paste(remedy.undo)
        assert "nsIdleTimeout:" not in people.paste(remedy.verify)
        assert people.run("ls /tmp").count("pasted") == 0

    def test_threads_are_set_and_taken_back(self, ds389):
        remedy = DS389.remedies.raise_threads(SERVER, 16, 24)
        before, after = pasted_and_taken_back(ds389, remedy, "nsslapd-threadnumber", 24)
        assert before == after

    def test_the_backlog_passes_the_kernels_ceiling(self, ds389):
        remedy = DS389.remedies.raise_backlog(SERVER, 128, 5000)
        ds389.paste(remedy.text)
        assert re.search(r"LISTEN\s+0\s+5000\s", ds389.paste(remedy.verify))
        ds389.paste(remedy.undo)
        assert re.search(r"LISTEN\s+0\s+128\s", ds389.paste(remedy.verify))

    def test_descriptors_are_raised_for_the_process_and_the_server(self, ds389):
        before = value_of(
            "nsslapd-maxdescriptors", ds389.paste(DS389.remedies.raise_descriptor_limit(SERVER, None, 1).verify)
        )
        remedy = DS389.remedies.raise_descriptor_limit(SERVER, int(before), 8192)
        ds389.paste(remedy.text)
        shown = ds389.paste(remedy.verify)
        assert value_of("nsslapd-maxdescriptors", shown) == "8192"
        assert re.search(r"Max open files +8192 +8192", shown)
        size = ds389.paste(f"{as_manager('ldapsearch', SERVER)} -LLL -b cn=monitor -s base dtablesize")
        assert value_of("dtablesize", size) == str(8192 - DS389.defaults.reserved_descriptors)

    def test_dead_connections_are_closed_and_living_ones_are_not(self, ds389):
        dead, alive, used = [ds389.connect(), ds389.connect()], ds389.connect(), ds389.connect()
        time.sleep(2)
        ports = tuple(one.getsockname()[1] for one in (*dead, used))
        remedy = close_ghosts(HOST, ("127.0.0.1", 389), "127.0.0.1", ports, int(time.time()))
        time.sleep(1)
        used.send(b"\x30")  # as one that was opened from the port of a dead one
        time.sleep(1)
        ds389.paste(remedy.text)
        assert ds389.paste(remedy.verify).split()[0] == "2"
        assert all(is_closed(one, 2) for one in dead)
        assert not any(is_closed(one, 1) for one in (alive, used))


class TestWhatWeSayOf389:
    """The sentences of the defaults, asked of the version installed here."""

    @pytest.fixture
    def version(self, ds389):
        banner = ds389.paste(f"{as_manager('ldapsearch', SERVER)} -LLL -b '' -s base vendorVersion")
        return identify(banner).version

    def test_idle_connections(self, people, version):
        early = people.connect(SOMEBODY)
        people.paste(DS389.remedies.set_idle_timeout(SERVER, 2, 3600).text)
        late, manager = people.connect(SOMEBODY), people.connect(MANAGER)
        if DS389.idle_enforcement.at(version).needs_activity:
            assert not is_closed(late, 6)
        time.sleep(3)
        people.connect().close()
        assert is_closed(late, 2)
        assert not is_closed(manager, 1)
        if DS389.idle_enforcement.at(version).reaches_open_connections is False:
            assert not is_closed(early, 1)
        people.paste(DS389.remedies.set_idle_timeout(SERVER, 2, 3600).undo)

    def test_an_exemption_holds_from_the_next_bind_on(self, people):
        people.paste(DS389.remedies.set_idle_timeout(SERVER, 2, 3600).text)
        before = people.connect(SOMEBODY)
        people.paste(DS389.remedies.exempt_from_idle_timeout(SERVER, (SOMEBODY,)).text)
        after = people.connect(SOMEBODY)
        time.sleep(4)
        people.connect().close()
        assert is_closed(before, 2)
        assert not is_closed(after, 1)
        people.paste(DS389.remedies.set_idle_timeout(SERVER, 2, 3600).undo)


class TestOnOpenldap:
    def test_a_bind_in_the_clear_is_refused_and_ldapi_is_not(self, slapd):
        remedy = OPENLDAP.remedies.require_secure_binds(SLAPD)
        bind = f"ldapwhoami -x -H ldap://localhost -D cn=admin,dc=example,dc=com -w {PASSWORD} 2>&1 || true"
        assert "dn:cn=admin" in slapd.run(bind)
        slapd.paste(remedy.text)
        assert "Confidentiality required (13)" in slapd.run(bind)
        assert "anonymous" in slapd.run("ldapwhoami -x -H ldap://localhost")
        slapd.paste(remedy.undo)
        assert "dn:cn=admin" in slapd.run(bind)
        assert "simple_bind=0" in slapd.paste(remedy.verify)

    def test_the_idle_timeout_closes_open_connections_too(self, slapd):
        remedy = OPENLDAP.remedies.set_idle_timeout(SLAPD, 2, None)
        anybody, root = slapd.connect(), slapd.connect("cn=admin,dc=example,dc=com")
        slapd.paste(remedy.text)
        assert value_of("olcIdleTimeout", slapd.paste(remedy.verify)) == "2"
        assert is_closed(anybody, 8)
        assert is_closed(root, 8)
        slapd.paste(remedy.undo)
        assert value_of("olcIdleTimeout", slapd.paste(remedy.verify)) == "0"

    def test_threads_hold_at_once(self, slapd):
        remedy = OPENLDAP.remedies.raise_threads(SLAPD, None, 24)
        asked = "ldapsearch -LLL -x -H ldap://localhost -b cn=Max,cn=Threads,cn=Monitor -s base monitoredInfo"
        slapd.paste(remedy.text)
        assert value_of("monitoredInfo", slapd.run(asked)) == "24"
        slapd.paste(remedy.undo)
        assert value_of("monitoredInfo", slapd.run(asked)) == "16"

    def test_keepalive_is_the_kernels(self, slapd):
        remedy = OPENLDAP.remedies.set_keepalive(SLAPD, 40)
        assert timer_of(slapd, slapd.connect()) > 7000
        slapd.paste(remedy.text)
        assert timer_of(slapd, slapd.connect()) <= 40
        slapd.paste(remedy.undo)
        assert timer_of(slapd, slapd.connect()) > 7000

    def test_the_backlog_is_as_compiled(self, slapd):
        remedy = OPENLDAP.remedies.raise_backlog(SLAPD, 2048, 8192)
        slapd.run("sysctl -qw net.core.somaxconn=512")
        slapd.paste(remedy.text)
        assert re.search(r"LISTEN\s+0\s+(1024|2048)\s", slapd.paste(remedy.verify))
        slapd.paste(remedy.undo)

    def test_descriptors_are_raised_for_the_process(self, slapd):
        remedy = OPENLDAP.remedies.raise_descriptor_limit(SLAPD, None, 2222)
        slapd.paste(remedy.text)
        assert re.search(r"Max open files +2222 +2222", slapd.paste(remedy.verify))
        slapd.paste(remedy.undo)
        assert not re.search(r"Max open files +2222 ", slapd.paste(remedy.verify))


TWO_LOOKS = """
import os, socket, time
listener = socket.create_server(("127.0.0.1", 5555))
near = socket.create_connection(("127.0.0.1", 5555))
near.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
far = listener.accept()[0]
os.system("sysctl -qw net.ipv4.tcp_keepalive_time=1")
for seconds in (2, 5):
    time.sleep(seconds)
    os.system("ss -Htno dport = :5555")
"""
"""Shows the timer of an open connection 2 s and 7 s after the kernel's time was lowered from 6 s to 1 s."""


class TestOnTheHost:
    def test_an_armed_timer_runs_out_before_the_new_time_holds(self, room):
        room.run("sysctl -qw net.ipv4.tcp_keepalive_time=6 net.ipv4.tcp_keepalive_intvl=1")
        first, second = timers_of(room.run(f"python3 - <<'END'\n{TWO_LOOKS}\nEND"))
        assert first in (3, 4)
        assert second <= 1
        room.run("sysctl -qw net.ipv4.tcp_keepalive_time=7200 net.ipv4.tcp_keepalive_intvl=75")

    @pytest.mark.parametrize(
        ("remedy", "setting", "former"),
        [
            (
                set_client_keepalive("app1", 120),
                "net.ipv4.tcp_keepalive_time = 120",
                "net.ipv4.tcp_keepalive_time = 7200",
            ),
            (
                raise_box_timeout("fw", 7200, linux=True),
                "net.netfilter.nf_conntrack_tcp_timeout_established = 7200",
                "net.netfilter.nf_conntrack_tcp_timeout_established = 432000",
            ),
        ],
        ids=["keepalive", "conntrack"],
    )
    def test_kernel_settings_are_set_and_taken_back(self, room, remedy, setting, former):
        if room.run(f"sysctl -n {setting.split()[0]} 2>/dev/null || true") == "":
            pytest.skip(f"this kernel has no {setting.split()[0]} here")
        room.paste(remedy.text)
        assert setting in room.paste(remedy.verify)
        room.paste(remedy.undo)
        assert former in room.paste(remedy.verify)
