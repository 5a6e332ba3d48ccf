"""The screen of a server's storage: all of it at a glance, whatever the evidence contains."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from io import StringIO
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

import diagnoses
import documents
import examples
import facts
import storage_site
from command import INCIDENT
from ldapdiag.catalogue import installed_checks
from ldapdiag.diagnosis import Diagnosis, diagnose
from ldapdiag.evidence.bundle import Bundle
from ldapdiag.evidence.report_kind import ReportKind
from ldapdiag.evidence.storage import BlockDevices, EffectiveOptions, FileExtents, FileSystemSpace, MountTable, Space
from ldapdiag.evidence.storage.settings import Role, StoragePlace, StorageSetting
from ldapdiag.report.storage.as_text import StorageScreen, volume_rows
from ldapdiag.sources.gathering import gather
from report.screens import SIZES, lines_of, rows_of, with_storage

EXAMPLE = INCIDENT.parent / "storage"
HOSTILE = ("\x1b[2J", "a\nCRITICAL    all is lost", "\u202egnp", "x" * 5000, "'; rm -rf /; '", "汉字" * 200, "\x00\x07")


def labels(lines: list[str]) -> list[str]:
    return [line[:12].strip() for line in lines if line[:1].strip()]


def row(lines: list[str], label: str) -> str:
    """Return the text behind the first label, in one line."""
    first = next(place for place, line in enumerate(lines) if line.startswith(f"{label} "))
    rest = lines[first + 1 :]
    more = next((place for place, line in enumerate(rest) if line[:12].strip() or not line), len(rest))
    return " ".join(" ".join([lines[first][12:], *rest[:more]]).split())


class TestScreen:
    def test_has_a_row_for_each_part_of_a_volume(self):
        lines = lines_of(with_storage(storage_site.probe()), "100x40")
        for label in ("volume", "options", "disks", "space", "extents", "sync"):
            assert label in labels(lines)
        assert row(lines, "volume") == "/srv/ldap · ext4 on /dev/mapper/vg-ldap · database, transaction log, changelog"
        assert row(lines, "disks") == "vg-ldap (lvm) on sdb · write cache assumed volatile"
        assert row(lines, "space") == "12 GiB of 80 GiB free (15 %)"

    def test_marks_an_option_that_mount_does_not_show(self):
        said = row(lines_of(with_storage(), "100x40"), "options")
        assert said.startswith("nobarrier * data=ordered relatime commit=5 * mount does not show it")
        shown = [EffectiveOptions(origin=facts.origin(name="later.txt", taken=9), device="dm-0", options=("barrier",))]
        assert "*" not in row(lines_of(with_storage(*shown), "100x40"), "options")

    def test_names_the_file_in_the_most_pieces_and_with_v_all(self):
        brief, whole = (row(lines_of(with_storage(), "100x40", verbose=one), "extents") for one in (False, True))
        assert brief == "id2entry.db 14 in 4 MiB · 3 files with 3 or fewer"
        assert whole == "id2entry.db 14 in 4 MiB · cn.db 3 in 1 MiB · sn.db 2 in 1 MiB · uid.db 2 in 1 MiB"

    @pytest.mark.parametrize(
        ("known", "unknown", "shown"),
        [(1, 60, "a 14"), (2, 60, "a 14 · 1 file with 13 or fewer"), (0, 2, "unknown: no")],
    )
    def test_counts_only_files_whose_pieces_are_known(self, known, unknown, shown):
        row = {"path": "/a", "extents": None, "allocated_bytes": None, "bytes": None, "reason": "no"}
        files = [row | {"extents": 14 - place, "reason": None} for place in range(known)] + [row] * unknown
        volume = volumes()[0] | {"files": files, "files_read": len(files), "files_known": known}
        assert dict(volume_rows(volume, None, verbose=False))["extents"] == shown.split(" · ")

    def test_a_probe_belongs_to_its_host_whatever_its_file_is_called(self):
        report = documents.of(with_storage(storage_site.probe()))
        (storage,), (probe,) = report["storage"], report["probes"]
        other = [{**storage, "host": "ds2", "server": "ds2"}]
        slow = [
            {
                **probe,
                "host": "ds2",
                "syncs": [one | {"sync": one["sync"] | {"p50_seconds": 9.0}} for one in probe["syncs"]],
            }
        ]
        stream = StringIO()
        StorageScreen.write(report | {"storage": [storage, *other], "probes": [probe, *slow]}, stream)
        told = [line for line in stream.getvalue().splitlines() if line.startswith("sync ")]
        assert [part in line for line, part in zip(told, ("10.4 ms", "9 s"), strict=True)] == [True, True]

    def test_space_that_is_unknown_is_named_with_a_command(self):
        empty = FileSystemSpace(
            origin=facts.origin(name="df.txt", taken=9),
            rows=(Space(mount_point="/srv/ldap", source="/dev/mapper/vg-ldap"),),
        )
        lines = lines_of(with_storage(empty), "100x40", verbose=True)
        assert "the free space of /srv/ldap" in row(lines, "not known")

    def test_shows_the_volumes_before_the_commands_on_one_screen(self):
        rows = rows_of(lines_of(with_storage(storage_site.probe())))[:24]
        for label in ("HIGH", "volume", "options", "disks", "space", "extents", "sync"):
            assert label in labels(rows)
        assert any(one.startswith("    first ") for one in rows)

    def test_names_what_is_not_known_with_a_command(self):
        said = row(lines_of(with_storage(whole=False), "100x40"), "not known")
        assert "whether /srv/ldap uses barriers on the server: grep -H '' /proc/fs/ext4/*/options" in said
        whole = " ".join(" ".join(lines_of(with_storage(whole=False), "100x40", verbose=True)).split())
        assert "ldapdiag storage --probe /srv/ldap, which slows the server meanwhile" in whole

    def test_shows_a_probe_of_a_volume_that_no_server_uses(self):
        probe = storage_site.probe(directory="/mnt", mount_point="/mnt", device="8:99")
        said = row(lines_of(with_storage(probe), "100x40"), "probe")
        assert said.startswith("/mnt · ext4 at /mnt · overwrite 10.4 ms · append 21.9 ms")

    def test_of_a_volume_in_memory_says_so(self):
        memory = storage_site.MOUNTINFO + "30 23 0:40 / /srv/ldap rw,relatime - tmpfs tmpfs rw,size=1024k\n"
        bundle = [*storage_site.server(), storage_site.settings(), *storage_site.mounts(memory)]
        lines = lines_of(diagnose(Bundle(facts=tuple(bundle)), (), kind=ReportKind.STORAGE), "100x40")
        assert "in memory (tmpfs): nothing survives a restart" in row(lines, "disks")

    def test_of_an_image_shows_the_file_system_beneath(self):
        lines = lines_of(diagnose(gather([str(EXAMPLE)]), (), kind=ReportKind.STORAGE), "100x40")
        assert row(lines, "disks").startswith("loop0 (loop of /opt/images/ldap.img) on vda")
        assert row(lines, "beneath") == "/ · ext4 on /dev/vda · relatime"

    def test_shows_what_is_in_order_once_and_the_reasons(self):
        checks = [diagnoses.check("odd", diagnoses.clear("/srv/ldap"), diagnoses.clear("/"))]
        lines = lines_of(diagnose(storage_site.bundle(), checks, kind=ReportKind.STORAGE), "100x40")
        assert lines.count("clear       odd: a healthy pool") == 1

    def test_of_many_servers_follow_one_another(self):
        other = [
            replace(one, origin=facts.origin("ds2", one.origin.path.rpartition("/")[2]))
            for one in (storage_site.settings(), *storage_site.mounts())
        ]
        named = [replace(one, origin=facts.origin("ds2", "x")) for one in storage_site.server()[1:]]
        lines = lines_of(with_storage(*other, *named), "100x40")
        starts = [place for place, line in enumerate(lines) if line.startswith(("ldap  ", "ds2  "))]
        assert len(starts) == 2
        assert labels(lines[starts[0] :]).count("volume") == 4


class TestHostileText:
    @pytest.mark.parametrize(("text", "size"), examples.some([*product(HOSTILE, SIZES)], 2))  # each text, each size
    def test_in_any_field_adds_no_line_and_no_control_character(self, text: str, size: str) -> None:
        lines = lines_of(hostile_storage(text), size, verbose=True)
        assert not [line for line in lines if any(not one.isprintable() for one in line)]
        assert not [line for line in lines if line.startswith("CRITICAL    all is lost")]

    @given(st.text(max_size=300))
    def test_in_any_field_stays_within_the_page(self, text: str) -> None:
        lines = lines_of(hostile_storage(text), "80x24")
        commands = {line for line in lines if line.startswith(("mount ", "tune2fs ", "grep "))}
        assert [line for line in lines if cell_len(line) > 80 and line not in commands] == []


def volumes() -> list[dict[str, Any]]:
    """Return the volumes of the site as in its report object."""
    found: list[dict[str, Any]] = documents.of(with_storage())["storage"][0]["volumes"]
    return found


@lru_cache(maxsize=2)
def hostile_storage(text: str) -> Diagnosis:
    """Return the diagnosis of a server with a text in each field of what shows its storage."""
    bundle = Bundle(facts=(*storage_site.server(), *hostile(text)))
    return diagnose(bundle, installed_checks(ReportKind.STORAGE), kind=ReportKind.STORAGE)


def hostile(text: str) -> list[Any]:
    """Return facts with a text in each of their fields."""
    (table,) = storage_site.mounts()
    data = replace(
        table.mounts[2], mount_point=f"/srv/{text}", source=text, fs_type=text, options=(text,), super_options=(text,)
    )
    database = f"/srv/{text}/db"
    devices = (
        replace(storage_site.DEVICES[3], name=text, mapper_name=text, type=text, backing_file=text, write_cache=text),
    )
    return [
        replace(table, origin=facts.origin(name="later.txt", taken=9), mounts=(*table.mounts[:2], data)),
        storage_site.settings(
            StorageSetting(name=text, value=text, backend=text),
            places=(StoragePlace(role=Role.DATABASE, path=database, backend=text),),
            origin=facts.origin(name="dse-later.ldif", taken=9),
        ),
        BlockDevices(origin=facts.origin(name="lsblk.json", taken=9), devices=devices),
        FileExtents(origin=facts.origin(name="filefrag.txt"), path=f"{database}/{text}", bytes=9, unsupported=text),
        storage_site.probe(directory=text, mount_point=f"/srv/{text}", fs_type=text, stopped_because=text),
    ]


def test_hostile_facts_are_those_that_are_shown() -> None:
    assert isinstance(hostile("x")[0], MountTable)
    assert row(lines_of(hostile_storage("x"), "100x40"), "volume").startswith("/srv/x · x on x · database")
