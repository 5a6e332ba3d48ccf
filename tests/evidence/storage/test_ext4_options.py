"""The options of ext4 in force, with their devices or without."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.document import Document
from ldapdiag.evidence.storage import EffectiveOptions
from ldapdiag.evidence.storage.ext4_options import FORMAT as EXT4_OPTIONS
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path

COLLECTED = """/proc/fs/ext4/dm-0/options:rw
/proc/fs/ext4/dm-0/options:nobarrier
/proc/fs/ext4/dm-0/options:data=writeback
/proc/fs/ext4/sda1/options:ro
/proc/fs/ext4/sda1/options:barrier
/proc/fs/ext4/sda1/options:data=ordered
"""


def test_options_of_several_devices() -> None:
    first, second = facts_of(COLLECTED)
    assert (first.device, first.options) == ("dm-0", ("rw", "nobarrier", "data=writeback"))
    assert (second.device, second.options) == ("sda1", ("ro", "barrier", "data=ordered"))


def test_options_without_their_device(captures: Path) -> None:
    content = (captures / "storage" / "ext4-tune2fs-nobarrier" / "proc_fs_ext4_options.txt").read_bytes()
    (found,) = facts_of(content)
    assert isinstance(found, EffectiveOptions)
    assert (found.device, found.options[0], "nobarrier" in found.options) == ("", "rw", True)
    assert EXT4_OPTIONS.read
    document = Document(path="o.txt", source=content.decode().splitlines(), asked="cat /proc/fs/ext4/sdb1/options")
    assert [fact.device for fact in EXT4_OPTIONS.read(document)] == ["sdb1"]


def test_a_part_of_the_options_is_none() -> None:
    assert facts_of("/proc/fs/ext4/dm-0/options:rw\n/proc/fs/ext4/dm-0/options:commit=5\n") == []


def test_options_after_headings_of_tail() -> None:
    text = "==> /proc/fs/ext4/sda1/options <==\nrw\nbarrier\n\n==> /proc/fs/ext4/sdb1/options <==\nrw\nnobarrier\n"
    assert [(one.device, one.options[1]) for one in facts_of(text)] == [("sda1", "barrier"), ("sdb1", "nobarrier")]


@given(
    st.lists(
        st.from_regex(r"[a-z][a-z0-9_]{1,12}(=[^\s]{1,8})?", fullmatch=True).filter(lambda o: o not in {"rw", "ro"})
    )
)
def test_all_options_are_read_back(options: list[str]) -> None:
    expected = ("rw", "barrier", *options)
    text = "".join(f"/proc/fs/ext4/sda1/options:{one}\n" for one in expected)
    assert [one.options for one in facts_of(text, form=EXT4_OPTIONS)] == [expected]
