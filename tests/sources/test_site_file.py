"""Where a site configuration is looked for, and what is not read: evidence, files of others, and what is no file."""

from __future__ import annotations

import os
import re
import tarfile
from datetime import date
from pathlib import Path

import pytest

from command import ldapdiag
from ldapdiag.errors import UsageError
from ldapdiag.sources import site_file
from ldapdiag.sources.site_file import find, target_names

TODAY = date(2026, 11, 23)
VALID = 'schema = "ldapdiag.config/1"\n'


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working folder; the places of the user and of the system are in `users` and `system` beside it."""
    for name in ("work", "users/ldapdiag", "system"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "users"))
    monkeypatch.setattr(site_file, "SYSTEM", tmp_path / "system")
    return tmp_path / "work"


def write(path: Path, text: str = VALID, mode: int = 0o644) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


def read_from(*evidence: str, named: Path | None = None) -> str | None:
    found = find(named, evidence, TODAY).configuration
    return found.path if found else None


def problem(path: Path) -> str:
    with pytest.raises(UsageError) as error:
        find(path, (), TODAY)
    return str(error.value)


def test_the_first_place_that_has_a_file_wins(work: Path) -> None:
    looked = [
        work / "ldapdiag.toml",
        work.parent / "users/ldapdiag/ldapdiag.toml",
        work.parent / "system/ldapdiag.toml",
    ]
    assert find(None, (), TODAY) == site_file.SiteFile(looked=tuple(looked))
    for number in (2, 1, 0):
        write(looked[number])
        found = find(None, (), TODAY)
        assert found.configuration is not None
        assert (found.configuration.path, found.looked) == (str(looked[number]), tuple(looked[: number + 1]))
        assert found.notices == ((f"site configuration: {looked[0]}",) if number == 0 else ())


def test_a_relative_folder_of_the_user_is_ignored(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "users")
    monkeypatch.setenv("HOME", str(work))
    assert work / ".config/ldapdiag/ldapdiag.toml" in site_file.places()


def test_without_a_home_or_a_working_folder_the_other_places_count(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    system = write(work.parent / "system/ldapdiag.toml")
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert site_file.places() == (work / "ldapdiag.toml", system)
    work.rmdir()
    assert (site_file.places(), read_from("relative", "/absolute")) == ((system,), str(system))
    with pytest.raises(UsageError, match="the working folder was removed"):
        find(Path("a.toml"), (), TODAY)


class TestEvidence:
    """A configuration is never read from what is judged: the evidence would decide how it is judged."""

    @pytest.mark.parametrize("evidence", [".", "ldapdiag.toml", "..", "link", "{absolute}"])
    def test_that_contains_the_file_is_passed_over(self, work: Path, evidence: str) -> None:
        write(work / "ldapdiag.toml")
        write(work.parent / "elsewhere.toml")
        (work / "link").symlink_to(".")
        found = find(None, (evidence.format(absolute=work),), TODAY)
        assert found.configuration is None
        assert found.notices == (f"{work}/ldapdiag.toml is not read: it is a part of the evidence that is judged",)

    def test_that_contains_a_link_to_the_file_is_passed_over(self, work: Path) -> None:
        (work / "ldapdiag.toml").symlink_to(write(work.parent / "elsewhere.toml"))
        assert read_from(".") is None
        assert read_from("ds1") == str(work / "ldapdiag.toml")

    def test_below_the_working_folder_leaves_the_file_in_force(self, work: Path) -> None:
        write(work / "ldapdiag.toml")
        assert read_from("ds1", "ldaps://ds1", "-", "@prod", "local:", "netns:a", "ldap://") == str(
            work / "ldapdiag.toml"
        )

    def test_around_the_working_folder_is_no_reason_to_stop_looking(self, work: Path) -> None:
        write(work / "ldapdiag.toml")
        users = write(work.parent / "users/ldapdiag/ldapdiag.toml")
        assert read_from(".") == str(users)

    def test_that_contains_a_named_file_is_an_error(self, work: Path) -> None:
        named = write(work / "site.toml")
        with pytest.raises(UsageError, match="it is a part of the evidence that is judged; move it elsewhere"):
            find(named, (".",), TODAY)

    def test_named_by_the_file_itself_must_not_contain_it(self, work: Path) -> None:
        named = write(work / "site.toml", VALID + '[targets.here]\nevidence = ["."]\n')
        assert "targets.here.evidence: it contains this file" in problem(named)

    def test_in_a_capture_that_was_unpacked_is_passed_over(self, work: Path) -> None:
        capture = work / "capture.tar.gz"
        ran = ldapdiag("collect", "local:", "-o", capture, "-q")
        assert ran.code == 0, ran.err
        with tarfile.open(capture) as archive:
            archive.extractall(work, filter="data")
        folder = next(path.parent for path in work.rglob("manifest.json"))
        (folder / "host").mkdir()
        for place in (folder, folder / "host"):
            os.chdir(place)
            write(place / "ldapdiag.toml")
            found = find(None, (), TODAY)
            assert found.notices == (f"{place}/ldapdiag.toml is not read: the working folder is a part of a capture",)
            (place / "ldapdiag.toml").unlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("place", ["work", "users/ldapdiag", "system"])
def test_a_file_of_another_account_is_not_read_unless_it_is_named(work: Path, place: str) -> None:
    path = write(work.parent / place / "ldapdiag.toml")
    os.chown(path, 4711, 4711)
    found = find(None, (), TODAY)
    assert found.configuration is None
    assert found.notices == (
        f"{path} is not read: it belongs to another account (uid 4711); to use it, name it with --config",
    )
    assert read_from(named=path) == str(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give links away")
def test_a_link_of_another_account_is_not_read(work: Path) -> None:
    (work / "ldapdiag.toml").symlink_to(write(work.parent / "mine.toml"))
    os.chown(work / "ldapdiag.toml", 4711, 4711, follow_symlinks=False)
    assert read_from() is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_fifo_of_another_account_stops_nothing(work: Path) -> None:
    os.mkfifo(work / "ldapdiag.toml")
    os.chown(work / "ldapdiag.toml", 4711, 4711)
    users = write(work.parent / "users/ldapdiag/ldapdiag.toml")
    assert read_from() == str(users)


def test_a_file_that_its_group_can_change_is_a_warning(work: Path) -> None:
    path = write(work.parent / "system/ldapdiag.toml", mode=0o664)
    assert find(None, (), TODAY).notices == (
        f"warning: {path} can be changed by its group (mode 0664); run chmod go-w {path}",
    )


@pytest.mark.parametrize("mode", [0o666, 0o602])
def test_a_file_that_every_user_can_change_is_refused(work: Path, mode: int) -> None:
    """It names targets, and files with passwords."""
    path = write(work.parent / "system/ldapdiag.toml", mode=mode)
    why = f"every user can change it (mode {mode:04o}); run chmod o-w {path}"
    assert find(None, (), TODAY).configuration is None
    assert find(None, (), TODAY).notices == (f"{path} is not read: {why}",)
    with pytest.raises(UsageError, match=re.escape(f"--config {path}: {why}")):
        find(path, (), TODAY)


class TestHostileFile:
    def test_that_is_missing_or_no_file_is_one_line(self, work: Path) -> None:
        os.mkfifo(work / "fifo")
        (work / "loop").symlink_to("loop")
        assert problem(work / "absent").endswith("absent: no such file or directory")
        assert problem(work / "fifo").endswith("fifo: no regular file; name a file in TOML")
        assert problem(work).endswith("work: is a directory")
        assert problem(work / "loop").endswith("loop: too many levels of symbolic links")
        assert problem(Path(os.devnull)) == "/dev/null: no regular file; name a file in TOML"

    def test_of_a_place_that_is_no_file_is_an_error_too(self, work: Path) -> None:
        os.mkfifo(work / "ldapdiag.toml")
        with pytest.raises(UsageError, match="no regular file"):
            find(None, (), TODAY)

    @pytest.mark.parametrize(
        ("content", "wanted"),
        [
            (b"#" * ((1 << 20) + 1), "larger than 1 MiB; this is no site configuration"),
            (b"a = 1\nb = '\xff'\n", "line 2: not UTF-8; convert the file"),
            (b"a = 1\nb = \n", "no valid TOML: Invalid value (at line 2, column 5)"),
            (b"a = " + b"[" * 9999, "nested too deeply; this is no site configuration"),
            (b"\n" + b"a." * 20_000 + b"a = 1", "line 2: a name of more than 16 parts; no key has so many"),
            (b"[" + b'"a" . ' * 20_000 + b"a]", "line 1: a name of more than 16 parts; no key has so many"),
            (b"x = {" + b"'a'." * 20_000 + b"a = 1}", "line 1: a name of more than 16 parts; no key has so many"),
            (b"a = 1\na = 2", "no valid TOML: Cannot overwrite a value (at end of document)"),
        ],
        ids=["large", "latin", "syntax", "nested", "dots", "table", "inline", "twice"],
    )
    def test_is_one_line(self, work: Path, content: bytes, wanted: str) -> None:
        path = work / "ldapdiag.toml"
        path.write_bytes(content)
        assert problem(path) == f"{path}: {wanted}"

    def test_with_a_number_of_a_million_digits_is_one_line(self, work: Path) -> None:
        assert "no valid TOML: Exceeds the limit" in problem(write(work / "a.toml", "a = " + "1" * 1_000_000))

    def test_never_ends_a_search_for_targets(self, work: Path) -> None:
        for text in ("", "targets = 1", "a = [", VALID + "[targets.b]\n[targets.a]\n"):
            write(work / "ldapdiag.toml", text)
            assert target_names() == (["b", "a"] if "b]" in text else [])


def test_paths_are_relative_to_the_folder_of_the_file(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    section = """[targets.a]
evidence = ["logs/access", "/var/log", "~/x", "ssh://ds1", "local:", "s3://bucket/key", "example:audit"]
password_file = "pw"
ca_file = "~/ca.pem"
"""
    write(work.parent / "system/ldapdiag.toml", VALID + section)
    found = find(None, (), TODAY).configuration
    assert found is not None
    folder = work.parent / "system"
    assert found.targets["a"].evidence == (
        f"{folder}/logs/access", "/var/log", "/home/me/x", "ssh://ds1", "local:", "s3://bucket/key",
        "example:audit",
    )  # fmt: skip
    assert found.targets["a"].options == {"password_file": f"{folder}/pw", "ca_file": "/home/me/ca.pem"}


def test_an_invalid_target_names_its_key(work: Path) -> None:
    named = write(work / "a.toml", VALID + '[targets.a]\nevidence = ["ldap://"]')
    assert problem(named).startswith(f"{named}: targets.a.evidence: ldap://: invalid host;")


def test_the_closed_home_of_another_account_is_passed_over(work: Path) -> None:
    """As after setpriv or sudo -u, which keep HOME."""
    (work.parent / "users" / "ldapdiag" / "ldapdiag.toml").write_text(VALID)
    (work.parent / "users").chmod(0)
    before = os.geteuid()
    try:
        if before == 0:
            os.seteuid(65534)
        found = find(None, (), TODAY)
    finally:
        os.seteuid(before)
        (work.parent / "users").chmod(0o700)
    assert found.configuration is None
    assert any("users" in one and one.endswith("permission denied") for one in found.notices)
