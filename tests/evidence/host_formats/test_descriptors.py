"""Open descriptors: counted, or listed by ls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ldapdiag.evidence.formats import head_of, recognise
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path


class TestDescriptors:
    LISTING = (
        "total 0\nlr-x------ 1 root root 64 Nov 20 10:38 0 -> /dev/null\n"
        "lrwx------. 1 dirsrv dirsrv 64 2026-11-20 10:38 64 -> socket:[545182]\n"
        "lrwx------ 1 dirsrv dirsrv 64 Nov 20 10:38 7 -> /a b -> c\n"
        "ls: cannot read symbolic link '/proc/1/fd/9': Permission denied\n"
    )

    def test_reads_a_count_by_the_name_of_the_file_and_notes_it(self, captures: Path) -> None:
        path = captures / "openldap" / "fd-exhaustion" / "proc-fd-count.txt"
        (count,) = facts_of(path.read_bytes(), path="ldap/proc-fd-count.txt")
        assert count.open == 128
        assert "because of the name (proc-fd-count.txt)" in count.origin.notes[0]

    def test_a_number_in_a_file_of_another_name_is_no_count(self) -> None:
        assert recognise(head_of("answer.txt", b"42\n", whole=True)) is None

    def test_counts_a_long_listing_under_any_name(self) -> None:
        (count,) = facts_of(self.LISTING)
        assert (count.open, count.origin.not_understood, count.origin.notes) == (3, 0, ())

    @pytest.mark.parametrize("text", ["0\n1\n10\n2\n", "0  1  10  2\n"])
    def test_counts_a_plain_listing_by_the_name_of_the_file(self, text: str) -> None:
        (count,) = facts_of(text, path="ldap/ls-proc-fd.txt")
        assert count.open == 4

    def test_a_listing_of_something_else_is_none(self) -> None:
        listing = b"lrwxrwxrwx 1 root root 7 Nov 20 10:38 lib -> usr/lib\n-rw-r--r-- 1 root root 7 Nov 20 10:38 12\n"
        assert recognise(head_of("fd.txt", listing, whole=True)) is None
