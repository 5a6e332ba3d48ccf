"""ldapdiag log, run as a person runs it: what it reads, what it says of what it cannot read, how it ends."""

from __future__ import annotations

import gzip
import json
import re
import signal
import subprocess
from datetime import UTC, datetime, timedelta
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

import examples
from command import LDAPDIAG, LOGIN, PATIENCE, ldapdiag
from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.sources.logs.native import VARIABLE
from log.scanners import need_native
from log_lines import connection, header, run, stamp

pytestmark = pytest.mark.usefixtures("scanner")

CAPTURED_LOG = Path(__file__).parents[1] / "captures" / "access-logs" / "389-pools.head500.access"
AUDIT = Path(__file__).parents[2] / "examples/audit/ds1/access"
SLOW = "".join(
    f"{line}\n"
    for line in (
        f"{stamp(30)} conn=77 fd=70 slot=70 connection from 10.10.1.168 to 10.0.0.9",
        f'{stamp(30)} conn=77 op=0 BIND dn="uid=quickr,ou=services,dc=x" method=128 version=3',
        f'{stamp(30)} conn=77 op=0 RESULT err=0 tag=97 nentries=0 etime=0.000100000 dn="uid=quickr,ou=services,dc=x"',
        f'{stamp(31)} conn=77 op=1 SRCH base="dc=x" scope=2 filter="(displayName=*joe*)" attrs=ALL',
        f"{stamp(61)} conn=77 op=1 RESULT err=0 tag=101 nentries=1 etime=30.000000000 notes=A",
    )
).encode()


@pytest.fixture
def access(tmp_path: Path) -> Path:
    """Return a folder with the log of a server: twenty quick connections, and one search of half a minute."""
    folder = tmp_path / "slapd-ds1"
    folder.mkdir()
    (folder / "access").write_bytes(header() + run(1, 20) + SLOW)
    return folder / "access"


def log(*arguments, **more):
    return ldapdiag("log", *arguments, **more)


def report(*arguments, **more):
    ran = log(*arguments, "--format", "json", **more)
    assert ran.code == 0
    return ran.report


class TestText:
    def test_begins_with_the_slow_search_its_attribute_and_who_asks(self, access):
        ran = log(access)
        lines = ran.text.splitlines()
        assert (ran.code, ran.complaints) == (0, [])
        assert lines[0] == "389 Directory Server 2.3.1 · slapd-ds1/access · 188 lines"
        assert "30 s" in lines[6]
        assert "(displayName=*?*)" in lines[6]
        assert lines[7].strip() == "sub dc=x · uid=quickr (10.10.1.168)"

    def test_has_as_many_rows_as_asked(self, access):
        assert "and 1 more kind of search" in log(access, "--top", "1").text

    @pytest.mark.parametrize("by", ["client", "account"])
    def test_leads_by_what_is_asked(self, access, by):
        assert log(access, "--by", by).text.splitlines()[5].split()[-1] == by

    def test_goes_to_a_file(self, access, tmp_path):
        ran = log(access, "--output", tmp_path / "report")
        assert (ran.code, ran.out) == (0, b"")
        assert (tmp_path / "report").read_text() == log(access).text


class TestJson:
    def test_is_the_same_for_every_form_of_the_log(self, access, tmp_path):
        told = report(access)
        assert (told["operations"]["search"], told["connections"]["opened"]) == (41, 21)
        packed = tmp_path / "packed" / "slapd-ds1"
        packed.mkdir(parents=True)
        (packed / "access.gz").write_bytes(gzip.compress(access.read_bytes()))
        assert report(packed / "access.gz") == told
        assert report(access.parent) == told
        assert report(access.parent / "acc*") == told

    def test_is_the_same_bytes_each_time(self, access):
        first = log(access, "--format", "json").out
        assert log(access, "--format", "json", "--workers", "2").out == first

    def test_names_files_with_the_same_records(self, access):
        copy = access.parent / "copy"
        copy.write_bytes(access.read_bytes())
        (stream,) = report(access.parent)["streams"]
        assert len(stream["copies_left_out"]) == 1
        assert report(access.parent)["operations"]["search"] == 41

    def test_adds_up_servers(self, access, tmp_path):
        other = tmp_path / "slapd-ds2"
        other.mkdir()
        (other / "access").write_bytes(header(1389) + run(1, 7, client="10.9.9.9"))
        told = report(access, other)
        assert [stream["server_processes"] for stream in told["streams"]] == [1, 1]
        assert told["connections"]["opened"] == 28

    def test_counts_the_time_that_was_asked_for(self, access):
        told = report(access, "--since", "2026-11-20T08:00:10", "--until", "2026-11-20T08:00:20")
        assert told["operations"]["bind"] == 10
        assert told["since"] == "2026-11-20T08:00:10.000000000Z"
        assert report(access, "--until", "2026-11-19")["lines"] == 0
        assert report(access, "--since", "2026-11-20")["operations"]["bind"] == 21

    def test_comes_from_standard_input(self, access):
        assert report("-", stdin=access.read_bytes())["operations"]["search"] == 41

    def test_of_standard_input_without_a_year_is_of_the_last_twelve_months(self):
        yesterday = datetime.now(UTC) - timedelta(days=1)
        opened = "conn=1000 fd=16 ACCEPT from IP=10.0.0.1:40000 (IP=0.0.0.0:389)"
        line = f"{yesterday:%b %e %H:%M:%S} ldap slapd[1]: {opened}\n"
        assert report("-", stdin=line.encode())["first_time"] == f"{yesterday:%Y-%m-%dT%H:%M:%SZ}"


class TestWhoReads:
    def test_is_in_the_json(self, access, scanner):
        told = report(access)
        assert (told["scanner"], told["streams"][0]["scanner"]) == (scanner, scanner)

    def test_makes_no_other_difference(self, access):
        need_native()
        python, native = (report(access, "--scanner", one) for one in ("python", "native"))
        assert (python["scanner"], native["scanner"]) == ("python", "native")
        for told in (python, native):
            del told["scanner"], told["streams"][0]["scanner"]
        assert python == native

    def test_is_the_native_one_where_it_knows_one_of_the_logs(self, access, scanner):
        line = f"{stamp(5)} - NOTICE - ldbm_back_search - Unindexed search: "
        line += 'search base="dc=x" scope=2 filter="(a=b)" conn=1 op=5\n'
        (access.parent / "errors").write_text(line, encoding="ascii")
        told = report(access, access.parent / "errors")
        assert told["scanner"] == scanner
        assert {stream["dialect"]: stream["scanner"] for stream in told["streams"]}["389-text"] == scanner
        assert "python" in [stream["scanner"] for stream in told["streams"]]

    @pytest.mark.parametrize(
        ("file", "content", "trouble"),
        examples.some(
            [
                ("ldapdiag_native.py", b"GRAMMAR_VERSION = -1", "has another version (grammar -1, here "),
                (f"ldapdiag_native{EXTENSION_SUFFIXES[0]}", b"of another machine", "cannot be loaded ("),
                ("sitecustomize.py", b"import sys; sys.modules['ldapdiag_native'] = None", None),
            ],
            3,
        ),
    )
    def test_is_the_one_in_python_where_the_other_cannot_be_used(self, access, tmp_path, file, content, trouble):
        (tmp_path / file).write_bytes(content)
        here = {"PYTHONPATH": str(tmp_path), VARIABLE: ""}
        ran = log(access, "--format", "json", environment=here)
        assert (ran.code, ran.report["scanner"]) == (0, "python")
        assert [trouble in complaint for complaint in ran.complaints] == ([True] if trouble else [])
        assert log(access, "--scanner", "python", environment=here).complaints == []
        refused = log(access, "--scanner", "native", environment=here)
        assert (refused.code, refused.out, len(refused.complaints)) == (2, b"", 1)
        assert (trouble or "the native scanner is not installed") in refused.complaints[0]
        assert refused.complaints[0].endswith("the wheel ldapdiag-native of the same version")


class TestCorpus:
    @pytest.mark.parametrize(
        "scanner", [Scanner.NATIVE, pytest.param(Scanner.PYTHON, marks=pytest.mark.long)], indirect=True
    )
    def test_of_a_rotated_set_has_what_the_clients_sent(self, corpus):
        sent = json.loads((corpus / "7-traps" / "389-rotation-gzip" / "sent.json").read_text())["total"]
        told = report(corpus / "7-traps" / "389-rotation-gzip")
        shapes = told["searches"]["shapes"]
        assert sent["slow"] + sent["fast"] == told["searches"]["total"]
        assert (shapes[0]["shape"], shapes[0]["count"]) == ("(displayName=*?*)", sent["slow"])
        assert told["searches"]["unindexed"] == sent["slow"]
        assert len(told["streams"]) == 1
        assert len(told["streams"][0]["files"]) == 9

    def test_of_a_busy_server_fits_one_screen(self, corpus):
        lines = log(corpus / "1-389ds-unindexed" / "access").text.splitlines()
        assert len(lines) <= 44
        assert "at most 44 at once" in "".join(lines)

    def test_has_a_second_witness_in_the_errors_log(self, corpus):
        case = corpus / "1-389ds-unindexed"
        told = report(case / "access", case / "errors")
        noted = told["searches"]["noted"]
        abandoned = told["operations"]["abandon"]
        assert sum(one["count"] for one in told["noticed"]) == noted["A"] + noted["P,A"] + abandoned
        assert "433 unindexed searches: 150 (|(cn=*?*)" in log(case / "errors").text


class TestWhatIsNoLog:
    def test_is_one_line_each_beside_what_is(self, access, tmp_path):
        (tmp_path / "photo.jpg").write_bytes(b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01" + bytes(range(256)) * 4)
        (tmp_path / "empty").write_bytes(b"")
        ran = log(access, tmp_path / "photo.jpg", tmp_path / "empty", tmp_path / "nowhere")
        assert ran.code == 0
        photo, empty, nowhere = ran.complaints
        assert photo.endswith("photo.jpg is not an access log (first bytes: ff d8 ff e0)")
        assert empty.endswith("empty is an empty file")
        assert "nowhere: there is no such file or folder; check the spelling" in nowhere

    def test_ends_with_2_when_nothing_else_is_there(self, tmp_path):
        (tmp_path / "passwd").write_text("root:x:0:0\n")
        ran = log(tmp_path / "passwd")
        assert (ran.code, ran.out, len(ran.complaints)) == (2, b"", 1)

    def test_is_listed_in_the_json(self, access, tmp_path):
        (tmp_path / "passwd").write_text("root:x:0:0\n")
        ran = log(access, tmp_path / "passwd", "--format", "json")
        assert [one["reason"] for one in ran.report["files_not_logs"]] == ['is not an access log (begins "root:x:0:0")']

    def test_hostile_names_are_harmless(self, tmp_path):
        (tmp_path / "\x1b[31mred").write_text("x")
        (complaint,) = log(tmp_path / "\x1b[31mred").complaints
        assert "\\x1b[31mred" in complaint


class TestUsage:
    @pytest.mark.parametrize(
        "wrong",
        [
            (),
            ("x", "--since", "now"),
            ("x", "--until", "2026-13-01"),
            ("x", "--zone", "Nowhere/Land"),
            ("x", "--zone", "../../etc/passwd"),
            ("x", "--top", "0"),
            ("x", "--by", "weather"),
            ("x", "--by", "client", "--sort", "p99"),
            ("x", "--by", "account", "--sort", "worst"),
            ("x", "--follow", "--since", "2026-11-20"),
            ("x", "--since", "2026-11-20T09:00", "--until", "2026-11-20T08:59"),
        ],
    )
    def test_that_is_wrong_ends_with_2(self, wrong):
        ran = log(*wrong)
        assert (ran.code, ran.out) == (2, b"")

    def test_help_explains_times_and_exit_codes(self):
        told = " ".join(log("--help").text.split())
        assert "2026-11-20T08:45" in told
        assert "Exit code: 0 read; with --fail-on no finding at or above it 1 with --fail-on: " in told
        assert "2 no access log 130 Ctrl-C" in told


class TestPeriod:
    @pytest.mark.parametrize("before_end", [("--since", "-20s"), ("--since=-20s",)])
    def test_before_the_end_is_a_value_and_no_option(self, access, before_end):
        told = json.loads(log(access, "--format", "json", *before_end).out)
        assert told["since"] < told["first_time"]
        assert told["operations"]["bind"] < json.loads(log(access, "--format", "json").out)["operations"]["bind"]


class TestFollow:
    def test_reports_new_records_until_ctrl_c(self, access):
        # A shell's background job ignores Ctrl-C, and so may what runs these tests; the command must hear it.
        following = subprocess.Popen(
            [*LDAPDIAG, "log", "--follow", "--format", "json", access],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=LOGIN,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509  no threads here
        )
        assert following.stdout is not None
        try:
            assert json.loads(following.stdout.readline())["operations"]["bind"] == 21
            with access.open("ab") as stream:
                stream.write(connection(78, 100))
            assert json.loads(following.stdout.readline())["operations"]["bind"] == 22
            following.send_signal(signal.SIGINT)
            _, complaints = following.communicate(timeout=PATIENCE)
        finally:
            following.kill()
        assert following.returncode == 130
        assert b"Traceback" not in complaints

    def test_of_nothing_ends_at_once(self, tmp_path):
        assert log("--follow", tmp_path / "nowhere").code == 2


@pytest.mark.parametrize("form", ["csv", "json", "markdown", "html"])
def test_a_selected_client_that_is_not_in_the_log_is_named_beside_every_format(form):
    arguments = ("log", CAPTURED_LOG, "--client", "203.0.113.9")
    assert "no connection of the log has the client 203.0.113.9" in " ".join(ldapdiag(*arguments).text.split())
    beside = ldapdiag(*arguments, "--format", form, "-q").complaints
    assert any("no connection of the log has the client 203.0.113.9" in line for line in beside)


class TestNoMatch:
    """A selection or a period without a match: every format says so, and when the log begins and ends."""

    ENDS = "the log begins at 2026-11-20 08:45:20 UTC and ends at 2026-11-20 08:45:25 UTC"
    ASKED = (
        (("--code", "9999"), "no operation with result code 9999"),
        (("--client", "10.9.9.9"), "no operation of client 10.9.9.9"),
        (("--account", "uid=nobody"), "no operation as uid=nobody"),
        (("--conn", "99999"), "no operation of connection 99999"),
        (("--shape", "(foo=?)"), "no operation with filter (foo=?)"),
        (("--min-etime", "1h"), "no operation of 60 min or more"),
        (("--since", "2030-01-01"), "no record since 2030-01-01 00:00:00 UTC"),
        (("--until", "2001-01-01"), "no record until 2001-01-01 23:59:59 UTC"),
        (("--code", "9999", "--since", "-1h"), "no operation with result code 9999 since 2026-11-20 07:45:25 UTC"),
    )

    @pytest.mark.parametrize(("options", "sentence"), ASKED)
    def test_is_said_in_every_format(self, options, sentence, tmp_path):
        out = [tmp_path / f"report.{end}" for end in ("txt", "json", "md", "html", "csv")]
        ran = log(AUDIT, *options, *(part for path in out for part in ("-o", path)))
        text, json_text, markdown, page, table = (path.read_text() for path in out)
        assert ran.code == 0
        assert f"{sentence}; {self.ENDS}" in " ".join(text.split())
        assert "searches    none" not in text
        assert json.loads(json_text)["no_match"] == {
            "asked": sentence.removeprefix("no "),
            "log_begins": "2026-11-20T08:45:20Z",
            "log_ends": "2026-11-20T08:45:25Z",
        }
        for report in (markdown.replace("\\", ""), page):
            assert f"Nothing matches: {sentence}; {self.ENDS}." in report
        assert len(table.splitlines()) == 1

    @pytest.mark.parametrize("form", ["csv", "json", "markdown", "html"])
    def test_is_a_line_on_standard_error_where_no_text_is_written(self, form):
        ran = log(AUDIT, "--code", "9999", "--format", form)
        assert f"ldapdiag: nothing matches: no operation with result code 9999; {self.ENDS}" in ran.err.decode()

    def test_a_compressed_log_ends_when_its_last_record_was_written(self, tmp_path):
        (tmp_path / "access.gz").write_bytes(gzip.compress(AUDIT.read_bytes()))
        assert self.ENDS in " ".join(log(tmp_path / "access.gz", "--since", "2030-01-01").text.split())

    @pytest.mark.parametrize("options", [(), ("--code", "0"), ("--since", "2026-11-20"), ("--show-lines", "2")])
    def test_is_not_said_of_a_match(self, options):
        ran = log(AUDIT, *options, "--format", "json")
        assert ran.report["no_match"] is None
        assert "nothing matches" not in ran.err.decode()


class TestGate:
    def test_a_log_is_judged_if_asked_for_and_its_report_stays_the_same(self, access):
        plain, judged = log(access), log(access, "--fail-on", "high")
        assert (plain.code, judged.code) == (0, 1)
        assert judged.text == plain.text
        first, last = judged.complaints
        assert "high: " in first
        assert first.endswith("(costly-search)")
        assert "1 finding at high or above by the " in last
        assert last.endswith(f"more: ldapdiag diagnose {access}")

    def test_what_is_below_is_counted(self, access):
        judged = log(access, "--fail-on", "critical", "--format", "json")
        assert judged.code == 0
        assert judged.report["schema"] == "ldapdiag.log/1"
        (last,) = judged.complaints
        assert "no finding at critical or above by the " in last
        assert "below" in last

    def test_a_healthy_log_passes(self, tmp_path):
        (tmp_path / "access").write_bytes(header() + run(1, 20))
        judged = log(tmp_path / "access", "--fail-on", "high")
        assert judged.code == 0
        assert "no finding at high or above" in judged.complaints[-1]

    def test_what_was_not_read_comes_last(self, tmp_path):
        whole = gzip.compress(header() + run(1, 2000))
        (tmp_path / "access.gz").write_bytes(whole[: len(whole) // 2])
        judged = log(tmp_path / "access.gz", "--fail-on", "high")
        assert judged.code == 0, "as without --strict of diagnose"
        assert "no finding at high or above" in judged.complaints[-3]
        assert judged.complaints[-2] == "ldapdiag: no all-clear: not all of the log was read"
        assert "access.gz" in judged.complaints[-1]

    @pytest.mark.parametrize("other", [("--follow",), ("--client", "10.0.0.1")])
    def test_only_a_whole_log_is_judged(self, access, other):
        ran = log(access, "--fail-on", "low", *other)
        assert ran.code == 2
        assert "--fail-on excludes" in ran.complaints[-1]


@pytest.mark.parametrize(
    ("value", "said"), [("abc", "'abc' is not a whole number."), ("-5", "-5 is not in the range 0 or more.")]
)
def test_a_code_that_is_no_number_is_an_error_in_plain_words(value: str, said: str) -> None:
    ran = ldapdiag("log", "--code", value, "access")
    assert ran.code == 2
    assert said in " ".join(ran.err.decode().split())


class TestWaitsOfSelections:
    """The longest wait is that of all operations: with a selection it is unknown, and its quantiles are not 0."""

    @pytest.mark.parametrize("selection", [("--client", "0.0.0.0/0"), ("--conn", "7"), ("--show-lines", "3")])
    def test_every_format_has_them(self, selection: tuple[str, ...]) -> None:
        for form in ("text", "html", "markdown", "csv"):
            assert ldapdiag("log", CAPTURED_LOG, *selection, "--format", form).code == 0

    def test_those_of_everything_are_those_of_no_selection(self) -> None:
        whole = ldapdiag("log", CAPTURED_LOG, "--format", "json").report
        found = ldapdiag("log", CAPTURED_LOG, "--client", "0.0.0.0/0", "--format", "json").report
        assert found["waits"]["longest_seconds"] is found["waits"]["longest_time"] is None
        assert found["waits"]["seconds"] == whole["waits"]["seconds"]
        assert found["operation_times"]["bind"]["wtime"] == whole["operation_times"]["bind"]["wtime"]
        assert found["operation_times"]["bind"]["wtime"]["p99_seconds"] > 0


@pytest.mark.parametrize("stamped", [r"\3-11-\1T\4+00:00", r"[\3-11-\1 \4Z]"])
def test_a_text_log_whose_stamps_became_iso_is_read_alike(access: Path, tmp_path: Path, stamped: str) -> None:
    iso = tmp_path / "iso"
    iso.write_text(re.sub(r"\[(\d\d)/(Nov)/(\d{4}):(\S+) \+0000\]", stamped, access.read_text()))
    own, read = report(access), report(iso)
    assert read["lines_not_understood"] == 0
    for name in ("first_time", "last_time", "searches", "connections", "timeline", "results"):
        assert read[name] == own[name]


def test_a_local_time_in_another_form_is_named_with_its_setting(tmp_path: Path) -> None:
    record = '{"local_time":"%s +0100","operation":"UNBIND","key":"1-1","conn_id":1,"op_id":1}\n'
    (tmp_path / "other").write_text(record % "20.11.2026 10:00:00.1" * 9)
    (tmp_path / "both").write_text(record % "2026-11-20T10:00:00.1" * 9 + record % "20.11.2026 10:00:00.1")
    for ran in (log(tmp_path / "other"), log(tmp_path / "both")):
        said = " ".join((ran.out + ran.err).decode().split())
        assert "a form that is not read: 20.11.2026 10:00:00.1 +0100; nsslapd-accesslog-time-format sets it" in said
