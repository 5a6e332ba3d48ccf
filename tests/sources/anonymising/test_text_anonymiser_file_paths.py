"""File paths, instances and programs in an anonymised capture: no name of a person or customer is left."""

from __future__ import annotations

import io
import re
from functools import partial

import pytest

from ldapdiag.sources.anonymising.anonymise import anonymise
from ldapdiag.sources.anonymising.text_anonymiser import anonymised_path, anonymised_program
from ldapdiag.sources.captures.manifest import ClockOffset
from ldapdiag.sources.files.input import Input

SECRET = b"a secret of this test"
BOOT = "0f9c8e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6"
DESCRIPTION = f"ldapdiag-host 1\nname: acmelds01\nmachine: {BOOT}\nnamespace: net:[4026532177]\naddress: 10.77.1.2\n"
PROCESSES = """ldapdiag-processes 1
clock: 1795160100.50
process: 1171 ns-slapd S 1795160000.25 net:[4026532177]
process: 1180 acmeportal S 1795160000.25 net:[4026532177]
configuration: 1171 /etc/dirsrv/slapd-acme/dse.ldif
configuration: 1172 /customers/acme/jdoe/slapd.conf
"""
SOCKETS = """State Recv-Q Send-Q Local Address:Port Peer Address:Port Process
ESTAB 0 0 10.77.1.2:389 10.77.2.2:40000 users:(("ns-slapd",pid=1171,fd=70))
ESTAB 0 0 10.77.1.2:40001 10.77.3.2:389 users:(("acmeportal",pid=1180,fd=7),("java",pid=1181,fd=7))
"""
CONFIGURATION = """dn: cn=config
nsslapd-localhost: acmelds01.ldap-01.acme.com
nsslapd-errorlog: /var/log/dirsrv/slapd-acme/errors
nsslapd-ldapifilepath: /run/slapd-acme.socket
nsslapd-rundir: /home/jdoe/run
"""
LOG = """\t389-Directory/2.3.1 B2023.1
\tacmelds01.ldap-01.acme.com:636 (/etc/dirsrv/slapd-acme)
Nov 20 09:00:00 acmelds01 ns-slapd[1171]: started by jdoe, ldapi://%2Fhome%2Fjdoe%2Fslapd-acme.socket
"""
FILES = {
    "host.txt": DESCRIPTION,
    "processes.txt": PROCESSES,
    "ss.txt": SOCKETS,
    "dse.ldif": CONFIGURATION,
    "errors": LOG,
}
PLANTED = ("acme", "jdoe", BOOT, BOOT[:8], "4026532177", "customers")


def capture() -> list[Input]:
    return [
        Input(
            path=f"acmelds01/{name}",
            folder="live/acmelds01",
            label=name,
            source=partial(io.BytesIO, content.encode()),
            asked=f"cat /home/jdoe/slapd-acme/{name} on acmelds01",
        )
        for name, content in FILES.items()
    ]


@pytest.fixture(scope="module")
def written() -> str:
    """Return everything that an anonymised capture contains."""
    offsets = {"ssh://jdoe@acmelds01": ClockOffset(seconds=0, uncertainty_seconds=1)}
    other = anonymise(capture(), secret=SECRET, offsets=offsets)
    parts = [*other.offsets]
    for one in other.pieces:
        with one.open() as stream:
            parts += [one.path, one.label, one.folder, one.asked, stream.read().decode()]
    return "\n".join(parts)


@pytest.mark.parametrize("name", PLANTED)
def test_no_name_is_left(written: str, name: str) -> None:
    assert name not in re.sub(r"started by jdoe", "", written).lower()


def test_the_name_of_the_host_is_one_everywhere(written: str) -> None:
    folder = written.splitlines()[1].partition("/")[0]
    for pattern in (r"^name: (\S+)", r"localhost: (\w+)\.", r"\t(\w+)\.\S+:636", r"00:00 (\w+) ns-slapd", r"on (\w+)$"):
        assert set(re.findall(pattern, written, re.MULTILINE)) == {folder}


def test_an_instance_and_a_program_have_one_name_everywhere(written: str) -> None:
    assert len(set(re.findall(r"(?<!\w)slapd-(\w+)", written))) == 1
    programs = set(re.findall(r'\("([^"]+)"', written)) | set(re.findall(r"^process: \d+ (\S+)", written, re.MULTILINE))
    assert len(programs) == 3
    assert {"ns-slapd", "java"} < programs


def test_what_any_installation_has_stays(written: str) -> None:
    assert re.search(r"errorlog: /var/log/dirsrv/slapd-\w+/errors$", written, re.MULTILINE)
    assert re.search(r"^configuration: 1171 /etc/dirsrv/slapd-\w+/dse.ldif$", written, re.MULTILINE)


@pytest.mark.parametrize(
    "path",
    [
        "/etc/openldap/slapd.d/cn=config/olcDatabase={1}mdb.ldif",
        "/var/lib/ldap",
        "/var/log/dirsrv/access.20261120-090625",
        "/opt/opendj/logs/access",
        "/usr/lib64/dirsrv/plugins",
    ],
)
def test_a_path_of_the_system_stays(path: str) -> None:
    assert anonymised_path(path, str.upper) == path


@pytest.mark.parametrize(
    ("path", "other"),
    [
        ("/home/jdoe/openldap/slapd.conf", "/home/JDOE/openldap/slapd.conf"),
        ("/opt/acme-ldap/conf/prod.ldif", "/opt/ACME-ldap/conf/PROD.ldif"),
        ("%2Fhome%2Fjdoe%2Fldapi", "%2Fhome%2FJDOE%2Fldapi"),
    ],
)
def test_other_names_in_it_do_not(path: str, other: str) -> None:
    assert anonymised_path(path, str.upper) == other


@pytest.mark.parametrize("program", ["ns-slapd", "slapd", "haproxy", "python3.11", "java"])
def test_programs_that_many_hosts_have_stay(program: str) -> None:
    assert anonymised_program(program, str.upper) == program
