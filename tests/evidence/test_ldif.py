from __future__ import annotations

import base64
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence import ldif
from ldapdiag.evidence.document import Document, lines_of
from ldapdiag.evidence.ldif import comparable, entries, whole_number
from ldapdiag.evidence.ldif_format import FORMAT
from reading import facts_of


def read(text: str | bytes) -> tuple[list[ldif.Entry], Document]:
    document = Document(path="host/x.ldif", source=lines_of([text.encode() if isinstance(text, str) else text]))
    return list(entries(document)), document


class TestReading:
    def test_keeps_values_in_order_under_lower_case_names(self) -> None:
        (entry,), document = read("dn: cn=a\nCN: a\nMember: x\nmember: y\n\n")
        assert entry.values("MEMBER") == ("x", "y")
        assert entry.first("cn") == "a"
        assert (document.seen, document.missed) == (5, 0)

    def test_strips_options_from_names(self) -> None:
        (entry,), _ = read("dn: cn=a\nuserCertificate;binary:: AAEC\ncn;lang-de;x-a: ä\n")
        assert entry.first("cn") == "ä"
        assert "usercertificate" in entry

    def test_joins_folds_of_any_width_even_inside_base64(self) -> None:
        encoded = base64.b64encode("jörg müller".encode()).decode()
        folded = "".join(f"{character}\n " for character in encoded)
        (entry,), document = read(f"dn: cn=\n a\ncn:: {folded}\nsn: a \n  b\n")
        assert (entry.dn, entry.first("cn"), entry.first("sn")) == ("cn=a", "jörg müller", "a  b")
        assert document.missed == 0

    def test_reads_a_dn_in_base64(self) -> None:
        (entry,), _ = read("dn:: " + base64.b64encode("cn=Jörg".encode()).decode() + "\ncn: x\n")
        assert entry.dn == "cn=Jörg"

    def test_passes_over_comments_that_are_folded_too(self) -> None:
        (entry,), document = read("version: 1\n# a comment\n  that goes on\ndn: cn=a\n# within\n an entry\ncn: a\n")
        assert entry.first("cn") == "a"
        assert document.missed == 0

    def test_understands_the_trailer_of_ldapsearch(self) -> None:
        found, document = read(
            "# extended LDIF\n#\n\n# a\ndn: cn=a\ncn: a\n\n"
            "# search result\nsearch: 2\nresult: 0 Success\n\n# numResponses: 2\n"
        )
        assert len(found) == 1
        assert document.missed == 0
        assert document.notes == []

    def test_notes_a_search_that_was_cut_short_by_the_server(self) -> None:
        _, document = read("dn: cn=a\ncn: a\n\nsearch: 2\nresult: 4 Size limit exceeded\n")
        assert document.notes == ["The search failed ('result: 4 Size limit exceeded'): entries may be missing."]

    def test_reads_crlf_and_utf_16(self) -> None:
        text = "dn: cn=a\r\ncn:: w6Q=\r\n\r\ndn: cn=b\r\ncn: b\r\n"
        for data in (text.encode(), text.encode("utf-16")):
            found, document = read(data)
            assert [entry.first("cn") for entry in found] == ["ä", "b"]
            assert document.missed == 0

    def test_separates_entries_that_lost_their_blank_line(self) -> None:
        found, _ = read("dn: cn=a\ncn: a\ndn: cn=b\ncn: b\n\n\n\ndn: cn=c\n")
        assert [entry.dn for entry in found] == ["cn=a", "cn=b", "cn=c"]

    def test_shows_whether_an_entry_may_have_been_cut(self) -> None:
        found, _ = read("dn: cn=a\ncn: a\n\ndn: cn=b\ncn: b")
        assert [entry.closed for entry in found] == [True, False]

    def test_knows_the_change_of_a_change_record_and_not_its_values(self) -> None:
        text = "dn: cn=config\nchangetype: modify\nreplace: nsslapd-idletimeout\nnsslapd-idletimeout: 5\n-\n\n"
        (entry,), document = read(text + "dn: cn=x\nchangetype: add\ncn: x\n")[0][:1], read(text)[1]
        assert (entry.changetype, dict(entry.attributes)) == ("modify", {})
        assert document.missed == 0
        assert read("dn: cn=x\nchangetype: add\ncn: x\n")[0][0].first("cn") == "x"

    def test_takes_no_content_from_an_url(self) -> None:
        (entry,), _ = read("dn: cn=a\njpegPhoto:< file:///etc/shadow\n")
        assert entry.first("jpegPhoto") == ""

    def test_ignores_the_messages_of_ldapsearch_on_stderr(self) -> None:
        _, document = read("SASL/EXTERNAL authentication started\nSASL SSF: 0\ndn: cn=a\ncn: a\n")
        assert document.missed == 0


class TestDamage:
    def test_counts_broken_base64_and_a_cut_last_line(self) -> None:
        (entry,), document = read("dn: cn=a\ncn:: !!!\nsn:: YWJ\nou: b\nnsslapd-maxdesc")
        assert dict(entry.attributes) == {"ou": ("b",)}
        assert (document.seen, document.missed) == (5, 3)
        assert document.samples == ["cn:", "sn:", ldif.WITHHELD]

    def test_counts_attributes_without_an_entry_and_folds_of_nothing(self) -> None:
        found, document = read(" fold\ncn: a\n\ndn: cn=a\n")
        assert len(found) == 1
        assert document.missed == 2

    def test_drops_a_value_that_goes_on_for_ever(self) -> None:
        (entry,), document = read("dn: cn=a\ncn: a\n" + " b\n" * ldif.LONGEST_VALUE + "sn: c\n")
        assert dict(entry.attributes) == {"sn": ("c",)}
        assert document.missed == 1

    def test_bounds_an_entry(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(ldif, "LARGEST_ENTRY", 100)
        (entry,), document = read("dn: cn=a\n" + "member: 0123456789\n" * 50)
        assert 0 < len(entry.values("member")) < 10
        assert document.notes == ["An entry is too large; its last values were dropped."]

    def test_reads_hostile_lines_in_linear_time(self) -> None:
        started = time.monotonic()
        for line in ("dn: " + "a=," * 300_000, ":" * 1_000_000, "a;" * 500_000 + ":", "cn:: " + "A" * 1_000_000):
            read(f"dn: cn=a\n{line}\n{line}")
        assert time.monotonic() - started < 10


class TestSecrets:
    SECRETS = ("nsslapd-rootpw", "userPassword", "olcRootPW", "nsDS5ReplicaCredentials", "unhashed#user#password")

    @pytest.mark.parametrize("name", SECRETS)
    def test_never_leave_the_reader(self, name: str) -> None:
        encoded = base64.b64encode(b"hunter2").decode()
        (entry,), document = read(f"dn: cn=config\n{name}: hunter2\n{name}:: {encoded}\n{name};x-a: hunter2\n")
        assert entry.values(name) == ("", "", "")
        assert "hunter2" not in repr(document)

    @pytest.mark.parametrize(
        "text",
        [
            "dn: cn=a\nuserPassword:: hunter2!\n",
            "userPassword: hunter2\n",
            " hunter2\ndn: cn=a\n",
            "dn: cn=a\nhunter2\n",
            "dn: cn=a\nhunter2/+=: x\n",
        ],
    )
    def test_never_become_a_sample(self, text: str) -> None:
        _, document = read(text)
        assert document.missed == 1
        assert "hunter2" not in repr(document.origin())


class TestTheFormat:
    def test_reads_monitor_and_configuration_of_one_file_and_shares_the_version(self) -> None:
        monitor, configuration = facts_of(
            "dn: cn=monitor\nversion: 389-Directory/2.3.1 B1\ncurrentconnections: 0\n\n"
            "dn: cn=config\nnsslapd-port: 389\n"
        )
        assert monitor.identity.version == configuration.identity.version == (2, 3, 1)

    @pytest.mark.parametrize(
        "text", ["dn: uid=a,dc=b\nuid: a\n", "dn: cn=config\nchangetype: modify\nreplace: olcThreads\n"]
    )
    def test_yields_nothing_for_other_entries_and_notes_why(self, text: str) -> None:
        document = Document(path="x", source=text.splitlines())
        assert FORMAT.read
        assert list(FORMAT.read(document)) == []
        assert document.notes[-1] == "It contains no cn=monitor or cn=config of a supported directory server."


class TestNumbersAndNames:
    @pytest.mark.parametrize(
        ("text", "number"),
        [("0", 0), ("-1", -1), ("3600", 3600), ("", None), ("1.5", None), ("²", None), ("٣", None), ("9" * 5000, None)],
    )
    def test_reads_whole_numbers_only(self, text: str, number: int | None) -> None:
        assert whole_number(text) == number

    def test_compares_names_without_case_and_blanks(self) -> None:
        assert comparable("CN = Max File Descriptors , cn=Monitor") == "cn=max file descriptors,cn=monitor"


NAME = st.from_regex(re.compile(r"[a-z][a-z0-9-]{0,12}", re.ASCII), fullmatch=True).filter(
    lambda name: name not in ldif.SECRETS | {"dn", "changetype"}
)
VALUE = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=60)


def as_ldif(dn: str, attributes: list[tuple[str, str]], width: int) -> str:
    """Write an entry with every value in base64, folded at `width` columns."""
    lines = [f"{name}:: {base64.b64encode(value.encode()).decode()}" for name, value in [("dn", dn), *attributes]]
    folded = [line[:width] + "".join(f"\n {line[at]}" for at in range(width, len(line))) for line in lines]
    return "\n".join(folded) + "\n\n"


class TestProperties:
    @given(st.lists(st.tuples(VALUE, st.lists(st.tuples(NAME, VALUE), max_size=5)), max_size=4), st.integers(1, 90))
    def test_what_is_written_and_folded_reads_back(
        self, written: list[tuple[str, list[tuple[str, str]]]], width: int
    ) -> None:
        found, document = read("".join(as_ldif(dn, attributes, width) for dn, attributes in written))
        assert [entry.dn for entry in found] == [dn for dn, _ in written]
        for entry, (_, attributes) in zip(found, written, strict=True):
            for name in {name for name, _ in attributes}:
                assert entry.values(name) == tuple(value for other, value in attributes if other == name)
        assert document.missed == 0

    @given(st.binary(max_size=500))
    def test_no_bytes_crash_it_and_every_line_is_counted(self, data: bytes) -> None:
        for text in (data, b"dn: cn=monitor\n" + data, b"dn: cn=monitor\nconnection: " + data):
            document = Document(path="x", source=lines_of([text]))
            assert FORMAT.read
            list(FORMAT.read(document))
            assert document.seen == len(list(lines_of([text])))
            assert 0 <= document.missed <= document.seen
