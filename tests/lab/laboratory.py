"""The laboratory as tests get it: what is made once in a run, and the question whether this machine can have it at all.

Its tests run where LDAPDIAG_REQUIRE_LAB is set, as in CI; where there can be no laboratory, they fail.
"""

from __future__ import annotations

import os
import shutil
from functools import cache, cached_property
from typing import TYPE_CHECKING

import pytest

from lab.certificates import Authority
from lab.directory_servers import Server, ds389, make_389, slapd
from lab.host import Host
from lab.samba import DomainController, make_samba, samba
from lab.slow_disk import compile_slow_disk
from lab.ssh import Keys
from lab.topology import Topology

if TYPE_CHECKING:
    from pathlib import Path

TOOLS = (
    "conntrack", "haproxy", "ip", "ldapmodify", "nft", "nsenter", "openssl", "socat", "ss", "ssh", "sshd", "sudo",
    "sysctl", "unshare",
)  # fmt: skip


def required() -> bool:
    """Tell whether this run includes the laboratory tier."""
    return bool(os.environ.get("LDAPDIAG_REQUIRE_LAB"))


def need(*tools: str) -> None:
    """Fail the test unless this machine can have a laboratory, and has these tools."""
    assert required(), "a test that needs the laboratory has to ask for its fixture (conftest.py)"
    if reason := lacking(tuple(sorted({*TOOLS, *tools}))):
        pytest.fail(f"no laboratory, and LDAPDIAG_REQUIRE_LAB is set: {reason}", pytrace=False)


@cache
def lacking(tools: tuple[str, ...] = TOOLS) -> str:
    """Return why this machine can have no laboratory with these tools; nothing when it can."""
    if os.geteuid() != 0:
        return "only root can make hosts of namespaces"
    if missing := [tool for tool in tools if shutil.which(tool) is None]:
        return f"{', '.join(missing)} not installed (as root, `sh setup.sh servers` does it)"
    try:
        with Topology(apps=0) as topology:
            topology.fw.run(
                "nft add table ip tried && nft add chain ip tried c && nft add rule ip tried c ct state new accept"
            )
    except (AssertionError, OSError) as error:
        return f"no namespaces, overlays or packet filter here: {' '.join(str(error).split())[:200]}"
    return ""


class Laboratory:
    """What the tests of one run share; it keeps its files in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def authority(self) -> Authority:
        return Authority(self.folder)

    @cached_property
    def keys(self) -> Keys:
        folder = self.folder / "keys"
        folder.mkdir()
        return Keys(folder)

    @cached_property
    def made_389(self) -> Path:
        return self._made_389("bdb")

    @cached_property
    def made_389_mdb(self) -> Path:
        return self._made_389("mdb")

    @cached_property
    def made_samba(self) -> Path:
        need("samba", "samba-tool", "ldbsearch")
        return make_samba(self.folder)

    @cached_property
    def slow_disk(self) -> Path:
        """The program of slow_disk.py, compiled."""
        need("losetup", "mkfs.ext4", "mkfs.xfs", "mkfs.btrfs")
        return compile_slow_disk(self.folder)

    def ds389(self, host: Host, *, storage: str = "bdb", **options: object) -> Server:
        """Start a 389 Directory Server in a host, with Berkeley DB or LMDB (mdb); see `directory_servers.ds389`."""
        return ds389(host, self.made_389_mdb if storage == "mdb" else self.made_389, storage=storage, **options)

    def _made_389(self, storage: str) -> Path:
        need("ns-slapd", "dscreate", "pk12util")
        return make_389(self.folder, storage=storage)

    def slapd(self, host: Host, **options: object) -> Server:
        """Start a slapd in a host; see `directory_servers.slapd`."""
        need("slapd", "slapadd")
        return slapd(host, self.folder, **options)

    def samba(self, host: Host, **options: str) -> DomainController:
        """Start a domain controller in a host; see `samba.samba`."""
        return samba(host, self.made_samba, **options)

    def server(self, family: str, host: Host) -> Server:
        """Start a server of the family `389-ds` or `openldap`."""
        return self.ds389(host) if family == "389-ds" else self.slapd(host)
