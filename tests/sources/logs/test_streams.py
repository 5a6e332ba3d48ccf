"""Files become streams: whose they are, in which order, and which of them tell the same."""

from __future__ import annotations

import gzip
import re
import shutil
from pathlib import Path

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

import examples
import log_lines
from ldapdiag.evidence.log.operation_kinds import SEARCH
from ldapdiag.evidence.log.scan import Scan
from ldapdiag.sources.logs.access_log import read
from ldapdiag.sources.logs.log_files import SAMPLED_BYTES, SAMPLED_LINES, LogFile, find_logs
from ldapdiag.sources.logs.samples import Sampler
from ldapdiag.sources.logs.streams import Stream, streams_of


def streams(*named: Path) -> tuple[Stream, ...]:
    return streams_of(one for one in find_logs([str(name) for name in named]) if isinstance(one, LogFile))


def names(stream: Stream) -> list[str]:
    return [file.path.rpartition("/")[2] for file in stream.files]


def left_out(stream: Stream) -> list[str]:
    return sorted(telling.file.path for telling in stream.duplicates)


def test_nine_rotated_files_are_one_stream_in_their_true_order_whatever_they_are_called(
    corpus: Path, tmp_path: Path
) -> None:
    originals = sorted((corpus / "7-traps" / "389-rotation-gzip").glob("access*"))
    originals = [path for path in originals if not path.name.endswith("info")]
    letters = "gbiahdfce"
    for letter, path in zip(letters, originals, strict=True):
        shutil.copyfile(path, tmp_path / letter)

    (stream,) = streams(tmp_path)

    true_order = [*originals[1:], originals[0]]
    assert names(stream) == [letters[originals.index(path)] for path in true_order]


def test_of_each_rotated_file_only_a_little_is_sampled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred files of 3 MB took eight times as long as one of 300 MB, while a MiB of each was searched for marks."""
    seen = Sampler.seen
    begin = b"".join(log_lines.connection(number, 0, searches=0) for number in range(1, 20))
    searches = log_lines.connection(1, 60, searches=2_000).splitlines(keepends=True)[3:-2]
    for number in range(10):
        lines = searches[number * 400 : (number + 1) * 400]
        (tmp_path / f"access.{number}").write_bytes((b"" if number else begin) + b"".join(lines))
    times: list[int] = []
    monkeypatch.setattr(Sampler, "seen", lambda self, time: times.append(time) or seen(self, time))

    (stream,) = streams(tmp_path)

    assert len(stream.files) == 10
    assert 10 * 2 < len(times) < 10 * 2 * SAMPLED_BYTES // min(map(len, searches))
    assert len(times) <= 10 * 2 * (SAMPLED_LINES + 1)


def test_a_folder_given_twice_or_copied_elsewhere_is_read_once(corpus: Path, tmp_path: Path) -> None:
    folder = corpus / "7-traps" / "389-rotation-gzip"
    shutil.copytree(folder, tmp_path / "copy")

    (stream,) = streams(folder, tmp_path / "copy", folder / "access")

    assert len(stream.files) == 9
    assert len({file.input.folder for file in stream.files}) == 1
    assert len(stream.duplicates) == 10


def test_four_tellings_of_one_slapd_are_one_stream(corpus: Path) -> None:
    own = [path for path in (corpus / "2-openldap-unindexed").iterdir() if path.suffix == ".log"]

    (stream,) = streams(*own)

    assert names(stream) == ["slapd.stderr.log"]
    assert [path.rpartition("/")[2] for path in left_out(stream)] == [
        "syslog-iso.log",
        "syslog-rfc5424.head1500.log",
        "syslog-traditional.log",
    ]


def test_a_second_run_of_the_same_server_goes_on_with_its_stream(corpus: Path) -> None:
    own = (corpus / "1-389ds-unindexed").glob("access*")

    (stream,) = streams(*own)

    assert names(stream) == ["access", "access.level260-plugin-statlog"]


@pytest.mark.parametrize("case", ["5a-ghost-389ds", "6b-symmetric-leak", "6f-idletimeout-90-above-fw-30"])
def test_logs_of_different_days_and_folders_are_told_apart(corpus: Path, case: str) -> None:
    cases = [corpus / "6c-snat-ports-kept" / "ldap" / "access", corpus / case / "ldap" / "access"]

    assert len(streams(*cases)) == 2


def test_stamps_without_a_zone_hide_no_second_telling(corpus: Path, tmp_path: Path) -> None:
    """A server in New York: its syslog is five hours off what its own log says."""
    folder = corpus / "2-openldap-unindexed"
    shutil.copyfile(folder / "slapd.stderr.log", tmp_path / "slapd.log")
    text = (folder / "syslog-traditional.log").read_bytes()
    (tmp_path / "syslog").write_bytes(text.replace(b"Nov 20 08:", b"Nov 20 03:"))

    (stream,) = streams(tmp_path)

    assert names(stream) == ["slapd.log"]


def test_two_servers_that_log_into_one_folder_are_two_streams(tmp_path: Path) -> None:
    """They overlap, nothing in their headers tells them apart, and each has been rotated."""
    for name, shift in (("a", 0.0), ("b", 0.4)):
        for number, first in enumerate((1, 21, 41)):
            data = log_lines.run(first, first + 19, shift=shift, client=f"10.0.1.{number}")
            (tmp_path / f"{name}.log.{3 - number}").write_bytes(data)

    one, other = streams(tmp_path)

    assert (names(one), names(other)) == (["a.log.3", "a.log.2", "a.log.1"], ["b.log.3", "b.log.2", "b.log.1"])
    assert not one.duplicates
    assert not other.duplicates


def test_two_servers_in_one_folder_are_two_streams_even_where_no_end_is_known(tmp_path: Path) -> None:
    """Compressed, each file longer than what is looked at: only the names say whose next file one is."""
    for name, shift in (("a", 0.0), ("b", 0.4)):
        for number, first in enumerate((1, 1001, 2001)):
            data = log_lines.run(first, first + 999, shift=shift, client=f"10.0.1.{number}")
            (tmp_path / f"{name}.log.{3 - number}.gz").write_bytes(gzip.compress(data))

    one, other = streams(tmp_path)

    assert {file.last_time for file in one.files} == {None}
    assert (names(one), names(other)) == (["a.log.3", "a.log.2", "a.log.1"], ["b.log.3", "b.log.2", "b.log.1"])


def test_headers_tell_servers_apart_that_begin_in_the_same_second(tmp_path: Path) -> None:
    """A load balancer probes both: same number, same client, same time."""
    for port in (389, 1389):
        (tmp_path / f"access-{port}").write_bytes(log_lines.header(port) + log_lines.run(1, 30))

    assert len(streams(tmp_path)) == 2


def test_answers_tell_servers_apart_that_begin_in_the_same_second(tmp_path: Path) -> None:
    """The same health check again, and nothing names the servers: but their answers take other times."""
    data = log_lines.run(1, 30)
    quicker = re.sub(rb"etime=0\.0*", b"etime=0.00000", data)
    assert quicker != data
    (tmp_path / "one").write_bytes(data)
    (tmp_path / "other").write_bytes(quicker)

    assert [len(stream.duplicates) for stream in streams(tmp_path)] == [0, 0]


def test_processes_tell_servers_apart_that_begin_in_the_same_second(tmp_path: Path) -> None:
    """A server of OpenLDAP 2.4 writes no times of its answers; syslog writes its process."""
    lines = [
        b"Nov 20 08:00:%02d ldap slapd[100]: conn=%d fd=12 ACCEPT from IP=192.0.2.9:40000 (IP=0.0.0.0:389)\n"
        b"Nov 20 08:00:%02d ldap slapd[100]: conn=%d fd=12 closed\n" % (second, number, second, number)
        for number, second in enumerate(range(0, 60, 2), 1000)
    ]
    (tmp_path / "one").write_bytes(b"".join(lines))
    (tmp_path / "copy").write_bytes(b"".join(lines))
    (tmp_path / "other").write_bytes(b"".join(lines).replace(b"[100]", b"[200]"))

    assert sorted(len(stream.duplicates) for stream in streams(tmp_path)) == [0, 1]


def test_a_log_that_is_continued_after_a_forged_time_is_no_copy(tmp_path: Path) -> None:
    """The last request of the first file is answered in the second, which so begins within the first."""
    lines = log_lines.run(1, 60).splitlines(keepends=True)
    cut = next(at for at, line in enumerate(lines) if at > 100 and b" SRCH " in line) + 1
    forged = [
        f'{log_lines.stamp(86_400 + op)} conn=9000 op={op} SRCH base="" scope=0 filter="(a=b)" attrs=ALL\n'.encode()
        for op in range(60)
    ]
    (tmp_path / "access.1").write_bytes(b"".join(lines[:cut] + forged))
    (tmp_path / "access").write_bytes(b"".join(lines[cut:]))

    assert not any(stream.duplicates for stream in streams(tmp_path))


def test_a_compressed_copy_is_left_out(tmp_path: Path) -> None:
    data = log_lines.header() + log_lines.run(1, 30)
    (tmp_path / "access").write_bytes(data)
    (tmp_path / "access.gz").write_bytes(gzip.compress(data))

    (stream,) = streams(tmp_path)

    assert [file.input.compressed for file in stream.files] == [False]
    assert len(stream.duplicates) == 1


def test_the_end_of_a_log_saved_apart_is_known_as_a_part_of_it(tmp_path: Path) -> None:
    whole = log_lines.run(1, 2000, every=0.5)
    (tmp_path / "access").write_bytes(log_lines.header() + whole)
    (tmp_path / "elsewhere").mkdir()
    tail = b"".join(whole.splitlines(keepends=True)[-500:])
    (tmp_path / "elsewhere" / "tail").write_bytes(tail)

    (stream,) = streams(tmp_path)

    assert names(stream) == ["access"]
    assert left_out(stream) == ["elsewhere/tail"]


def test_what_reaches_out_over_the_stream_that_is_read_is_said(tmp_path: Path) -> None:
    """A copy that is compressed is not looked into for where it goes on."""
    (tmp_path / "access").write_bytes(log_lines.run(1, 900))
    (tmp_path / "later.gz").write_bytes(gzip.compress(log_lines.run(600, 1000)))

    (stream,) = streams(tmp_path)

    (duplicate,) = stream.duplicates
    assert duplicate.reason.endswith("whether it contains later records is unknown")


def test_what_was_kept_before_the_stream_that_is_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "earlier.gz").write_bytes(gzip.compress(log_lines.run(1, 50)))
    (tmp_path / "access").write_bytes(log_lines.run(30, 900))

    (stream,) = streams(tmp_path)

    assert names(stream) == ["access"]
    (duplicate,) = stream.duplicates
    assert duplicate.reason.endswith("its earlier records are not read")


def test_overlapping_copies_of_a_log_count_once(corpus: Path, tmp_path: Path) -> None:
    """As `head -n 60%` and `tail -n 60%` write them; in whichever order and by whatever names."""
    whole = (corpus / "1-389ds-unindexed" / "access").read_bytes()
    lines = whole.splitlines(keepends=True)
    most = len(lines) * 6 // 10
    for one, other in (("a", "b"), ("b", "a")):
        (tmp_path / one).write_bytes(b"".join(lines[:most]))
        (tmp_path / other).write_bytes(b"".join(lines[-most:]))

        assert figures(tmp_path) == figures(corpus / "1-389ds-unindexed" / "access")


@pytest.mark.usefixtures("scanner")  # the others only sample, which no scanner does
@given(
    cuts=st.lists(st.tuples(st.integers(0, 99), st.integers(2, 60)), min_size=1, max_size=6),
    torn=st.booleans(),
)
@settings(examples.every(5), phases=[Phase.explicit, Phase.reuse, Phase.generate])
@example(cuts=[(75, 58), (42, 13), (77, 25), (34, 29), (68, 32), (34, 57)], torn=True)
def test_pieces_of_a_log_count_each_record_once_however_they_overlap(
    tmp_path_factory: pytest.TempPathFactory,
    cuts: list[tuple[int, int]],
    torn: bool,  # noqa: FBT001  a parameter of the test
) -> None:
    """Pieces that leave no gap, each with more than a moment in common with the next."""
    folder = tmp_path_factory.mktemp("pieces")
    records = log_lines.run(1, 400).splitlines(keepends=True)
    at = 0
    pieces = []
    for back, on in cuts:
        end = min(len(records), at + 40 * on)
        pieces.append((max(0, at - 30 - back), end))
        at = end
    pieces.append((max(0, at - 30), len(records)))
    for number, (begin, end) in enumerate(pieces):
        data = b"".join(records[begin:end])
        if torn and end < len(records):
            data += records[end][:20]
        (folder / f"{number * 7 % 10}").write_bytes(data)

    assert figures(folder) == [(400, 800, 400 * log_lines.LINES_OF_CONNECTION, 0)]


def figures(*named: Path) -> list[tuple[int, int, int, int]]:
    """Return the connections, searches, lines and misread lines of each stream."""
    segments = [one.counts.finished() for one in read([str(name) for name in named], workers=1).streams]
    return [(one.opened, one.operations[SEARCH], one.lines, one.misread) for one in segments]


def test_connections_that_never_close_tell_a_copy_by_their_operations(tmp_path: Path) -> None:
    lines = [line for line in log_lines.run(1, 300).splitlines(keepends=True) if b"SRCH" in line or b"tag=101" in line]
    (tmp_path / "access").write_bytes(b"".join(lines))
    (tmp_path / "copy").write_bytes(b"".join(lines))
    (tmp_path / "other").write_bytes(b"".join(line.replace(b"conn=", b"conn=7") for line in lines))

    assert sorted(len(stream.duplicates) for stream in streams(tmp_path)) == [0, 1]


def test_the_order_in_which_files_are_named_is_nothing(tmp_path: Path) -> None:
    for number in range(6):
        (tmp_path / f"log.{number}").write_bytes(log_lines.run(number * 5 + 1, number * 5 + 5))
    paths = sorted(tmp_path.iterdir())

    for shuffled in (paths, paths[::-1], paths[3:] + paths[:3], paths[::2] + paths[1::2]):
        (stream,) = streams(*shuffled)
        assert [file.path for file in stream.files] == [f"{tmp_path.name}/log.{number}" for number in range(6)]


@pytest.mark.parametrize("count", [300, pytest.param(1500, marks=pytest.mark.long)])
def test_many_files_are_compared_in_a_moment(tmp_path: Path, count: int) -> None:
    """Overlapping, nothing in common: whoever compares each with each does not come to an end."""
    for number in range(count):
        (tmp_path / f"{number:05}").write_bytes(log_lines.connection(number * 7 + 1, number % 10, client="10.1.1.1"))

    assert sum(len(stream.files) + len(stream.duplicates) for stream in streams(tmp_path)) == count


def test_the_sampler_hears_all_that_a_scan_hears() -> None:
    told = {name for name in dir(Scan) if not name.startswith("_")} - {"finish", "at"}

    assert {name for name in told if callable(getattr(Scan, name, None))} - set(dir(Sampler)) == set()
