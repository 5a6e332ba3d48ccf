"""File systems of every kind under a real server: collected, and read back as they were made and mounted.

LVM and md are in test_block_devices.py, in a kernel that has them. NFS and ZFS are in no laboratory: their captures and
texts are in tests/captures/storage and tests/evidence/storage.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from lab.host import Host
from lab.storage_read_back import KINDS, place_of, read_back, serve_all
from ldapdiag.analysis.storage.volume import Volume
from ldapdiag.finding import Finding, Verdict

FOR_ALL = "ext4"
"""Safe by itself: what is said of it is said of the disk under all images."""
NO_LOOP = {"tmpfs", "zram", "overlay"}


@dataclass(frozen=True, slots=True)
class Site:
    """What was read back, by kind."""

    volumes: dict[str, Volume]
    verdicts: dict[str, Verdict]
    """Of unsafe-writes."""

    def weaknesses(self, kind: str) -> set[str]:
        """Return what unsafe-writes finds at a kind's volume."""
        verdict = self.verdicts[kind]
        return set(verdict.observed["weaknesses"]) if isinstance(verdict, Finding) else set()


@pytest.fixture(scope="module")
def site(laboratory, tmp_path_factory) -> Site:
    folder = tmp_path_factory.mktemp("volumes")
    with Host("ldap") as host:
        serve_all(laboratory, host, folder / "images")
        storage, diagnosis = read_back(host, folder / "capture")
    places = {place_of(kind): kind for kind in KINDS}
    volumes = {places[one.mount_point]: one for one in storage.volumes if one.mount_point in places}
    said = {one.verdict.subject: one.verdict for one in diagnosis.judged if one.check == "unsafe-writes"}
    return Site(volumes, {kind: said[f"{place} of ldap"] for place, kind in places.items()})


@pytest.mark.parametrize("kind", KINDS)
def test_the_options_in_force_are_those_it_was_made_with(site, kind) -> None:
    known, volume = KINDS[kind], site.volumes[kind]
    assert volume.fs_type == known.made.type.replace("bind", "ext4")
    assert {name: getattr(volume.options, name) for name in known.options} == known.options
    assert volume.options.hidden == known.hidden


@pytest.mark.parametrize("kind", KINDS)
def test_what_makes_writes_unsafe_is_found_and_nothing_else(site, kind) -> None:
    below = site.weaknesses(FOR_ALL)  # what this machine's own file system lacks
    assert not below & {"no-barriers", "overlay-volatile"}
    assert site.weaknesses(kind) - below == KINDS[kind].weaknesses - below


@pytest.mark.parametrize("kind", KINDS)
def test_the_device_is_found(site, kind) -> None:
    volume = site.volumes[kind]
    if kind == "zram":
        assert [device.name.rstrip("0123456789") for device in volume.devices] == ["zram"]
    elif volume.fs_type not in NO_LOOP:
        assert volume.stack[0].name.startswith("loop")
        assert volume.stack[0].write_cache == "write back"
    if kind == "loop-on-loop":
        assert len([device for device in volume.stack if device.name.startswith("loop")]) == 2
