from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import examples
from conftest import CAPTURES
from indexes_389 import BACKEND, DATABASES, LIST, by_attribute, index, limits, read
from internal_searches import searched_by
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.evidence.indexes import ds389 as reader
from ldapdiag.evidence.ldif_format import FORMAT
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

PEOPLE = {"cn", "sn", "givenname", "mail", "telephonenumber"}
"""The attributes that were indexed for presence, equality and substrings on the captured server."""
TELLINGS = (
    "userRoot-subtree.ldif",
    "userRoot-index.wrapped.ldif",
    "dsconf-backend-index-list.txt",
    "dsconf-backend-index-list.json",
)


class TestCaptures:
    @pytest.mark.parametrize("name", TELLINGS)
    def test_contain_the_indexes_that_were_added(self, captures: Path, name: str) -> None:
        found = read((captures / "389ds" / "indexes" / name).read_bytes())
        (backend,) = found.backends
        indexed = by_attribute(backend.definitions)
        assert {name for name, one in indexed.items() if "sub" in one.types} == PEOPLE
        assert all(indexed[name].types == {"pres", "eq", "sub"} for name in PEOPLE)
        assert all(indexed[name].types == {"eq"} for name in ("uid", "member", "objectclass"))
        assert not indexed.keys() & {"displayname", "employeenumber", "description", "modifytimestamp"}
        assert {"aci", "entryrdn", "nsuniqueid", "objectclass", "parentid"} <= {
            name for name, one in indexed.items() if one.system
        }
        assert found.whole
        assert (found.identity.family, found.origin.not_understood) == (Family.DS389, 0)

    def test_are_equal_in_every_notation(self, captures: Path) -> None:
        folder = captures / "389ds" / "indexes"
        result = [by_attribute(read((folder / name).read_bytes()).backends[0].definitions) for name in TELLINGS]
        assert result[0] == result[1] == result[2] == result[3]
        assert len(result[0]) == 31

    def test_show_the_backend(self, captures: Path) -> None:
        (backend,) = read((captures / "389ds" / "indexes" / TELLINGS[0]).read_bytes()).backends
        assert (backend.name, backend.suffixes) == ("userroot", ("dc=example,dc=com",))
        assert backend.entry == f"cn=userroot,{DATABASES}"
        assert not backend.refuses_unindexed

    def test_show_the_limits_and_what_a_new_backend_gets(self, captures: Path) -> None:
        found = read((captures / "389ds" / "indexes" / "ldbm-config.ldif").read_bytes())
        assert (found.scan_limit, found.lookthrough_limit, found.range_lookthrough_limit) == (4000, 5000, 5000)
        assert (found.paged_scan_limit, found.paged_lookthrough_limit) == (0, 0)
        assert (found.backends, found.whole) == ((), False)
        assert by_attribute(found.templates)["uidnumber"].types == {"eq"}
        assert by_attribute(found.templates)["parentid"].rules == ("integerOrderingMatch",)

    def test_the_whole_file_reads_as_its_excerpts(self, captures: Path, corpus: Path) -> None:
        folder = captures / "389ds" / "indexes"
        whole = read((corpus / "1-389ds-unindexed" / "config" / "dse.ldif").read_bytes())
        (backend,), (expected,) = whole.backends, read((folder / TELLINGS[0]).read_bytes()).backends
        assert replace(backend, kind="", vlv_searches=()) == replace(expected, vlv_searches=())
        assert [(one.name, one.scope, one.indexes[0].sort) for one in backend.vlv_searches] == [
            ("VLV people", "one", "cn")
        ]
        assert (backend.kind, whole.whole, whole.identity.version) == ("bdb", True, (2, 3, 1))
        excerpt = read((folder / "ldbm-config.ldif").read_bytes())
        assert (whole.scan_limit, whole.templates) == (excerpt.scan_limit, excerpt.templates)
        assert whole.virtual_attributes == {"nsrole": "roles"}
        assert searched_by(whole.internal_searches)["uid"] == "mapping of client certificates, SASL mapping"
        assert not {"member", "owner", "memberof"} & searched_by(whole.internal_searches).keys()

    def test_a_public_one_is_counted(self, corpus: Path) -> None:
        found = read((corpus / "public" / "config" / "389-freeipa-issue6136-dse.ldif").read_bytes() + b"\n")
        (backend,) = found.backends
        kept = backend.definitions
        assert (backend.name, backend.suffixes, len(kept), found.whole) == ("ipaca", ("o=ipaca",), 65, True)
        counted = {one: sum(one in index.types for index in kept) for one in ("eq", "pres", "sub", "subtree")}
        assert counted == {"eq": 62, "pres": 31, "sub": 11, "subtree": 1}


class TestLimits:
    def test_of_the_upper_entry_go_before_those_of_the_database(self) -> None:
        upper = limits("nsslapd-lookthroughlimit: 1")
        lower = limits("nsslapd-lookthroughlimit: 2", "nsslapd-idlistscanlimit: 3", below="cn=bdb,")
        for text in (upper + lower, lower + upper):
            found = read(text)
            assert (found.lookthrough_limit, found.scan_limit, found.paged_scan_limit) == (1, 3, None)

    def test_of_other_places_are_not_taken(self) -> None:
        text = "dn: cn=config,cn=chaining database,cn=plugins,cn=config\nnsslapd-lookthroughlimit: 1\n\n"
        assert facts_of(text) == []

    def test_the_server_may_refuse_what_has_no_index(self) -> None:
        text = BACKEND.replace("\n\n", "\nnsslapd-require-index: On\n\n")
        assert read(text).backends[0].refuses_unindexed


class TestWhole:
    def test_is_what_holds_the_container_of_every_list(self) -> None:
        assert read(BACKEND + LIST + index("nsIndexType: eq")).whole
        assert not read(BACKEND + index("nsIndexType: eq")).whole
        other = BACKEND.replace("userRoot", "other").replace("example", "org")
        assert not read(BACKEND + LIST + other).whole

    def test_is_a_list_with_system_indexes_of_any_type_and_others(self) -> None:
        system = "".join(index("nsSystemIndex: true", attribute=name) for name in ("aci", "nsuniqueid", "objectClass"))
        assert not read(system).whole
        assert read(system + index("nsIndexType: eq")).whole

    def test_is_nothing_that_may_be_cut(self) -> None:
        text = BACKEND + LIST + index("nsIndexType: eq")
        found = read(text.rstrip("\n"))
        assert not found.whole
        assert "may be truncated" in found.origin.notes[0]


class TestDsee:
    def test_is_recognised_by_its_threshold(self) -> None:
        found = read(
            limits("nsslapd-allidsthreshold: 100")
            + BACKEND.replace("\n\n", "\nnsslapd-allidsthreshold: -1\n\n")
            + index("nsIndexType: eq", "nsslapd-allidsthreshold: 5000")
            + index("nsIndexType: eq", "nsslapd-allidsthreshold: 0", attribute="sn")
        )
        (backend,) = found.backends
        assert found.identity.family is Family.DSEE
        assert (found.scan_limit, backend.entry_limit) == (2000, 0)
        assert [one.entry_limit for one in backend.definitions] == [5000, None]

    @pytest.mark.parametrize("vendor", ["Sun Microsystems, Inc.", "Oracle Corporation"])
    def test_is_recognised_by_the_vendor_of_its_database(self, vendor: str) -> None:
        made = f"dn: {DATABASES}\nnsslapd-pluginVersion: 11.1.1.7.0\nnsslapd-pluginVendor: {vendor}\n\n"
        found = read(made + index("nsIndexType: eq"))
        assert (found.identity.family, found.identity.version) == (Family.DSEE, (11, 1, 1))

    def test_is_taken_from_another_entry_of_the_file(self) -> None:
        config = "dn: cn=config\nnsslapd-idletimeout: 0\nnsslapd-infolog-area: 0\n\n"
        assert read(config + index("nsIndexType: eq")).identity.family is Family.DSEE
        monitor = "dn: cn=monitor\nversion: Sun-Directory-Server/11.1.1.7\ncurrentconnections: 1\nthreads: 30\n\n"
        assert read(index("nsIndexType: eq") + monitor).identity.version == (11, 1, 1)


class TestIdentity:
    def test_a_version_of_the_monitor_beats_none(self) -> None:
        facts = facts_of(
            "dn: cn=monitor\nversion: 389-Directory/2.3.1 B2025\ncurrentconnections: 1\ndtablesize: 9\nthreads: 30\n\n"
            "dn: cn=config\nnsslapd-idletimeout: 0\n\n" + index("nsIndexType: eq")
        )
        result = [fact.identity for fact in facts]
        assert len(result) == 3
        assert {identity.version for identity in result} == {(2, 3, 1)}

    def test_a_configuration_keeps_its_own_version(self) -> None:
        made = f"dn: {DATABASES}\nnsslapd-pluginVersion: 1.4.3.28\nnsslapd-pluginVendor: 389 Project\n\n"
        config = "dn: cn=config\nnsslapd-versionstring: 389-Directory/2.3.1\n\n"
        facts = {type(fact): fact.identity.version for fact in facts_of(config + made + index())}
        assert facts == {Configuration: (2, 3, 1), IndexConfiguration: (1, 4, 3)}


class TestBounds:
    def test_of_indexes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reader, "MOST_INDEXES", 3)
        found = read("".join(index(attribute=f"a{number}") for number in range(9)))
        assert len(found.backends[0].definitions) == 3
        assert "Only the first 3 indexes" in found.origin.notes[0]

    def test_of_backends(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reader, "MOST_BACKENDS", 3)
        found = read("".join(index(backend=f"b{number}") for number in range(9)))
        assert len(found.backends) == 3
        assert "Only the first 3 backends" in found.origin.notes[0]


@given(st.randoms(use_true_random=False), st.integers(1, 70), st.booleans())
@examples.every(12)
def test_all_spellings_are_read_alike(random: Random, width: int, upper: bool) -> None:  # noqa: FBT001  drawn by hypothesis
    """However the entries are ordered, folded and capitalised, and whatever blanks are in their DNs."""
    folder = CAPTURES / "389ds" / "indexes"
    entries = [*entries_of(folder / TELLINGS[0]), *entries_of(folder / "ldbm-config.ldif")]
    expected = plain(read("\n\n".join(entries) + "\n\n"))
    random.shuffle(entries)
    text = "\n\n".join(respelled(entry, width, upper=upper) for entry in entries)
    assert plain(read(text + "\n\n", form=FORMAT)) == expected


def entries_of(path: Path) -> list[str]:
    return [entry for entry in path.read_text().split("\n\n") if entry.strip()]


def respelled(entry: str, width: int, *, upper: bool) -> str:
    lines = []
    for line in entry.strip().split("\n"):
        name, _, value = line.partition(": ")
        if upper:
            value = value.replace(",cn=", " , CN = ") if name == "dn" else value
            name = name.swapcase()
        whole = f"{name}: {value}"
        lines.append("\n ".join(whole[at : at + width] for at in range(0, len(whole), width)))
    return "\n".join(lines)


def plain(found: IndexConfiguration) -> dict[str, object]:
    """Return what is result, without where from and in no order."""
    result = {field.name: getattr(found, field.name) for field in fields(found) if field.name != "origin"}
    backends = {one.name: (by_attribute(one.definitions), one.suffixes, one.kind) for one in found.backends}
    return result | {"templates": by_attribute(found.templates), "backends": backends}


PIECES = re.findall(
    r"\S+",
    """
    dn:_ cn=uid cn=index cn=userRoot cn=default_indexes cn=config ,cn=ldbm_database,cn=plugins,cn=config , \\, = : :: :_
    cn (((( (& nsIndexType:_ nsMatchingRule:_ nsSubStrBegin= nsIndexIDListScanLimit:_ limit= type=eq values= usn_init -1
    nsslapd-suffix:_ nsslapd-allidsthreshold:_ nsslapd-idlistscanlimit:_ nsslapd-pluginVersion:_ cosAttribute:_
    nsslapd-pluginInitfunc:_ autoMemberFilter:_ uniqueness-attribute-name:_ 9999999999999999999999999999
    """,
)
"""With _ for a blank."""


@given(
    st.lists(
        st.sampled_from([*(piece.replace("_", " ") for piece in PIECES), "\n", "\n\n", "\n "]) | st.text(max_size=5),
        max_size=60,
    ).map("".join),
    st.binary(max_size=5),
)
def test_hostile_text_is_counted_never_raised(text: str, noise: bytes) -> None:
    content = f"dn: cn=uid,cn=index,cn=userRoot,{DATABASES}\n{text}".encode() + noise
    for fact in facts_of(content, form=FORMAT):
        assert fact.origin.lines == fact.origin.understood + fact.origin.not_understood
        assert fact.origin.understood >= 0
