"""Each file is recognised by one format or by none, by what is in it."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

import examples
from conftest import CAPTURES, CORPUS
from ldapdiag.evidence.formats import HEAD_BYTES, formats, head_of, recognise

TOLD_BY = {
    "ss-*": "ss",
    "netstat-*": "netstat",
    "freebsd-netstat-*": "netstat-bsd",
    "macos-netstat-*": "netstat-bsd",
    "aix-netstat-*": "netstat-bsd",
    "hpux-netstat-*": "netstat-bsd",
    "solaris-netstat-*": "netstat-solaris",
    "proc-net-*": "proc-net-tcp",
    "lsof-*": "lsof",
    "conntrack-L-*": "conntrack",
    "proc-nf_conntrack*": "conntrack",
}
TABLES = [
    pytest.param(path, form, id=path.name)
    for pattern, form in TOLD_BY.items()
    for path in sorted((CAPTURES / "sockets").glob(f"{pattern}.txt"))
    if path.name != "ss-s.txt"
]
HEADINGS = {"ss": 1, "netstat": 2, "netstat-bsd": 2, "netstat-solaris": 4, "proc-net-tcp": 1, "lsof": 1, "conntrack": 0}
ALL_FILES = sorted(path for folder in (CAPTURES, CORPUS) for path in folder.rglob("*") if path.is_file())
FILES = {(path.name, path.stat().st_size, path.read_bytes()[:4096]): path for path in ALL_FILES}.values()
"""Of several copies one: what a name, a size and the beginning tell apart."""


def names(data, *, name="renamed"):
    head = head_of(name, data[:HEAD_BYTES], whole=len(data) <= HEAD_BYTES)
    return [form.name for form in formats() if form.recognises(head)]


def content_of(path):
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


@pytest.mark.parametrize("path", examples.some([*FILES], 12), ids=lambda path: "/".join(path.parts[-4:]))
def test_no_file_is_recognised_twice(path):
    data = content_of(path)[: HEAD_BYTES + 1]
    result = names(data, name=path.name)
    assert len(result) <= 1
    assert len(names(data)) <= len(result), "another name can make a file unknown, never something else"
    assert names(data[:4096], name=path.name) in ([], result)
    assert len(names(data.replace(b"\n", b"\r\n"), name=path.name)) <= 1


@pytest.mark.parametrize(("path", "form"), TABLES)
def test_a_table_is_recognised_whatever_it_is_called(path, form):
    data = path.read_bytes()
    assert names(data) == [form]
    assert names(data[:4096]) == [form]
    assert names(b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n")) == [form]
    assert names(data.decode().encode("utf-16")) == [form]


@pytest.mark.parametrize(("path", "form"), TABLES)
def test_rows_are_recognised_without_their_header(path, form):
    rows = path.read_bytes().splitlines(keepends=True)[HEADINGS[form] :]
    stateless = path.name == "ss-tn-state-established.txt"  # whose rows are bare numbers without their header
    assert names(b"".join(rows)) == ([] if stateless else [form])


@pytest.mark.parametrize(
    "system", ["aix", "freebsd", "macos", "solaris", "smartos", "opensolaris", "illumos", "windows"]
)
def test_netstat_of_another_system_is_not_taken_for_linux(corpus, system):
    files = sorted((corpus / "public" / "sockets").glob(f"netstat-{system}*"))
    assert files
    for path in files:
        assert "netstat" not in names(path.read_bytes(), name=path.name)


@pytest.mark.parametrize(
    ("system", "form"),
    [
        ("aix", "netstat-bsd"),
        ("freebsd", "netstat-bsd"),
        ("macos", "netstat-bsd"),
        ("solaris", "netstat-solaris"),
        ("smartos", "netstat-solaris"),
        ("opensolaris", "netstat-solaris"),
        ("illumos", "netstat-solaris"),
    ],
)
def test_netstat_of_another_unix_is_known_by_its_own_grammar(corpus, system, form):
    for path in sorted((corpus / "public" / "sockets").glob(f"netstat-{system}*")):
        data = path.read_bytes()
        assert names(data) == names(data[:4096]) == names(b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n")) == [form], (
            path
        )


@pytest.mark.parametrize("text", ["", "\n", "hello\n", "tcp\n", "State\n", "Proto\n", "\x00\x01"])
def test_a_text_that_is_no_evidence_is_none(text):
    assert recognise(head_of("notes.txt", text.encode(), whole=True)) is None


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_are_recognised_or_not(data, whole):
    recognise(head_of("file", data, whole=whole))
