"""Laws of the storage of a server: evidence in another order changes nothing, and less of it proves nothing more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import facts
import storage_facts as disk
from ldapdiag.evidence.storage import BlockDevice, BlockDevices, DeviceError, KernelErrors, MountTable
from ldapdiag.evidence.storage.settings import Role
from ldapdiag.finding import Clear, Finding
from ldapdiag_checks.storage_checks import CATALOGUE

NUMBERS = {"/dev/sda1": "8:1", "/dev/sdb": "8:16", "/dev/mapper/vg-ldap": "254:0", "tmpfs": "0:40", "nas:/x": "0:41"}
OPTIONS = st.sampled_from(
    ["nobarrier", "data=writeback", "journal_async_commit", "lazytime", "ro", "fsync=volatile", "soft"]
)
POINTS = ["/", "/var", "/var/lib", "/var/lib/dirsrv", "/var/lib/dirsrv/slapd-ds", "/var/log", "/srv"]
CHECKS = [check for check in CATALOGUE if check.id not in {"same-volume", "commit-bound-writes"}]


@st.composite
def mounts(draw: Any) -> Any:
    source = draw(st.sampled_from(sorted(NUMBERS)))
    fs_type = {"tmpfs": "tmpfs", "nas:/x": "nfs4"}.get(source) or draw(
        st.sampled_from(["ext4", "ext3", "xfs", "btrfs"])
    )
    return disk.mount(
        fs_type,
        *draw(st.lists(OPTIONS, max_size=3, unique=True)),
        options=draw(st.sampled_from(["rw", "rw,relatime", "rw,noatime"])),
        mount_point=draw(st.sampled_from(POINTS)),
        source=source,
        device=NUMBERS[source],
    )


@st.composite
def sites(draw: Any) -> list[Any]:
    """Draw what is read of a host: mounts at different places, devices, options in force, errors, extents, names."""
    rows = draw(st.lists(mounts(), max_size=5, unique_by=lambda one: one.mount_point))
    broken = draw(st.lists(st.sampled_from(["sda", "sdb", "sdz", "dm-0", ""]), max_size=2))
    errors = tuple(DeviceError(device=name, what="I/O error", text="I/O error") for name in broken)
    return [
        replace(disk.table(*rows), mounts=tuple(rows)),
        disk.devices(),
        disk.in_force(*draw(st.lists(st.sampled_from(["nobarrier", "data=writeback"]), max_size=2, unique=True))),
        KernelErrors(origin=facts.origin(name="dmesg.txt"), errors=errors, lines_read=9, from_boot=True),
        disk.extents(extents=draw(st.integers(1, 3000))),
        disk.names(draw(st.integers(0, 30_000))),
        disk.settings((Role.DATABASE, disk.DATABASE), (Role.CHANGELOG, "/srv/changelog"), (Role.ACCESS_LOG, disk.LOGS)),
    ]


def judged(site: list[Any], kind: type[Any]) -> set[tuple[str, str]]:
    """Return check and subject of the verdicts of one kind."""
    storage = disk.joined(*site)
    verdicts = ((check.id, one) for check in CHECKS for one in check(storage, facts.server()))
    return {(name, str(one.subject)) for name, one in verdicts if isinstance(one, kind)}


@given(sites(), st.randoms(use_true_random=False))
def test_the_order_of_evidence_changes_no_verdict(site, random) -> None:
    shuffled: list[Any] = []
    for fact in site:
        if isinstance(fact, MountTable):
            rows = list(fact.mounts)
            random.shuffle(rows)
            shuffled.append(replace(fact, mounts=tuple(rows)))
        elif isinstance(fact, BlockDevices):
            devices = list(fact.devices)
            random.shuffle(devices)
            shuffled.append(replace(fact, devices=tuple(devices)))
        else:
            shuffled.append(fact)
    random.shuffle(shuffled)
    for kind in (Finding, Clear):
        assert judged(shuffled, kind) == judged(site, kind)


@given(sites(), st.data())
def test_less_evidence_adds_no_finding(site, data) -> None:
    removed = data.draw(st.sampled_from(range(len(site) - 1)))
    poorer = site[:removed] + site[removed + 1 :]
    assert judged(poorer, Finding) <= judged(site, Finding)


@given(sites())
def test_nothing_is_proven_safe_without_its_disks(site) -> None:
    poorer = [one for one in site if not isinstance(one, BlockDevices)]
    clear = {subject for check, subject in judged(poorer, Clear) if check == "unsafe-writes"}
    assert all(not subject.startswith("/") for subject in clear)


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.lists(st.sampled_from("abcdef"), max_size=3)), max_size=8))
def test_devices_that_lie_on_each_other_in_a_circle_end(pairs) -> None:
    devices = tuple(
        BlockDevice(name=name, number=f"8:{ord(name)}", parents=tuple(parents), type="dm") for name, parents in pairs
    )
    listing = BlockDevices(origin=facts.origin(name="lsblk.json"), devices=devices)
    mount = disk.mount("xfs", source="/dev/a", device="8:97")
    (volume, *_) = disk.joined(disk.table(mount), listing).volumes
    assert len({one.name for one in volume.stack}) == len(volume.stack)
