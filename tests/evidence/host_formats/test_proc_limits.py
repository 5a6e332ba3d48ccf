"""A process's limits, of /proc/PID/limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path


class TestProcessLimits:
    def test_reads_the_capture(self, captures: Path) -> None:
        (limits,) = facts_of((captures / "389ds" / "held-43" / "proc-limits.txt").read_bytes())
        assert (limits.open_files_soft, limits.open_files_hard, limits.origin.not_understood) == (20000, 20000, 0)
        (limits,) = facts_of((captures / "openldap" / "fd-exhaustion" / "proc-limits.txt").read_bytes())
        assert limits.open_files_soft == 128

    def test_notes_the_limits_of_several_processes(self) -> None:
        row = "Max open files            {0}                 {0}                files     \n"
        (limits,) = facts_of(row.format(1024) + row.format(4096) + "?\n")
        assert (limits.open_files_soft, limits.origin.not_understood) == (4096, 1)
        assert "limits of several processes" in limits.origin.notes[0]

    def test_unlimited_is_none(self) -> None:
        (limits,) = facts_of("Max open files            unlimited            unlimited            files     \n")
        assert (limits.open_files_soft, limits.open_files_hard) == (None, None)
