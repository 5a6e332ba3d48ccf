"""What `ldapdiag indexes --script` writes, run with a stand-in for dsconf: all of it, or up to what fails."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from command import ldapdiag
from diagnoses import REMEDY
from indexes_389 import BACKEND, LIST, index, limits
from ldapdiag.report.indexes.remedies import end_of
from ldapdiag.servers.commands.shell_session import END, SESSION
from ldapdiag.servers.indexes.index_answers import FUNCTIONS
from log_lines import header, run, stamp

if TYPE_CHECKING:
    from pathlib import Path

URI = "ldaps://ds1.example.com:1636"
WANTED = ("displayName", "employeeNumber", "title")
CONFIGURATION = BACKEND + LIST + index("nsIndexType: eq") + limits("nsslapd-idlistscanlimit: 4000")
MODIFY = r"""#!/bin/sh
# Records each database whose build is asked for, and fails at the database {fails}.
ldif=$(cat)
case $* in *"-H {uri} -D cn=Directory Manager -y "*) ;; *) exit 99 ;; esac
name=$(printf '%s\n' "$ldif" | sed -n 's/^nsInstance: //p')
printf '%s\n' "$name: $(printf '%s\n' "$ldif" | sed -n 's/^nsIndexAttribute: //p' | xargs)" >> {folder}/asked
[ "$name" != "{fails}" ] || exit 53
"""
SEARCH = r"""#!/bin/sh
# Answers as a server whose builds take two looks, and end with {ended}; every index gives right answers.
echo "$*" >> {folder}/searched
case $* in
*cn=tasks*)
    [ "$(grep -c cn=tasks {folder}/searched)" -gt 1 ] && ended="nsTaskExitCode: {ended}" || ended="other: x"
    printf '%s\n' "dn: cn=task" "nsTaskTotalItems: 9" "nsTaskCurrentItem: 4" "$ended" ;;
*) printf '%s\n' "dn: uid=a,dc=example,dc=com" "cn: Anna" "" ;;
esac
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return the folder of a server's log, where three attributes have no index, and of its configuration."""
    lines = [f"{stamp(30)} conn=77 fd=70 slot=70 connection from 10.10.1.168 to 10.0.0.9"]
    for op, name in enumerate(WANTED):
        search = f'SRCH base="dc=example,dc=com" scope=2 filter="({name}=joe)" attrs=ALL'
        lines += [f"{stamp(31 + op)} conn=77 op={op} {search}"]
        lines += [f"{stamp(94 + op)} conn=77 op={op} RESULT err=0 tag=101 nentries=1 etime=63.000000000 notes=A"]
    folder = tmp_path / "slapd-ds1"
    folder.mkdir()
    (folder / "access").write_bytes(header() + run(1, 20) + "\n".join([*lines, ""]).encode())
    (folder / "dse.ldif").write_text(CONFIGURATION)
    return folder


def started(site: Path, fails: str = "nothing", ended: int = 0) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """Run the script where a database refuses, or a build ends badly; return what became of it, and what was built."""
    written = ldapdiag("indexes", site, "--script")
    for tool, text in (("ldapmodify", MODIFY), ("ldapsearch", SEARCH)):
        (site / tool).write_text(text.format(folder=site, fails=fails, ended=ended, uri=URI))
        (site / tool).chmod(0o755)
    (site / "password").write_text("secret\n")
    for record in ("asked", "searched"):
        (site / record).write_text("")
    environment = {
        "PATH": f"{site}:/usr/bin:/bin",
        "LDAP_PASSWORD_FILE": str(site / "password"),
        "TMPDIR": str(site),
        "LDAP_URI": URI,
    }
    done = subprocess.run(
        ["sh"], input=written.text, env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert not list(site.glob("tmp.*")), "the copy of the password is removed"
    assert "secret" not in f"{done.stdout}{done.stderr}{(site / 'searched').read_text()}"
    return done, (site / "asked").read_text().splitlines()


def test_everything_is_added_built_and_checked(site) -> None:
    done, asked = started(site)
    assert (done.returncode, done.stderr) == (0, "")
    assert asked == [f"userRoot: {' '.join(WANTED)}"]
    assert "At slapd-ds1:\n" in done.stdout
    assert "building: 4 of 9 entries" in done.stdout
    assert all(f"right: ({name}=@) below dc=example,dc=com" in done.stdout for name in WANTED)
    checked = done.stdout.count("right: ")
    assert done.stdout.splitlines()[-1] == (
        f"Done. Every index is built. Kinds of searches without a wrong answer: {checked}, each for 12 values at most."
    )


@pytest.mark.parametrize(
    ("texts", "skipped", "said"),
    [
        ("cc", 0, "Every index is built. Kinds of searches without a wrong answer: 2, each for 12 values at most.\n"),
        ("cc", 3, "answer: 2, each for 12 values at most.\nNot checked (see above): 3."),
        ("ccp", 0, "The answers of the indexes of 1 of 3 steps are not checked."),
        ("pp", 0, "Every command ended without an error; the answers of the indexes are not checked."),
    ],
)
def test_the_end_states_how_many_answers_were_checked(texts: str, skipped: int, said: str) -> None:
    kinds = {"c": f"(\n{SESSION}\n{FUNCTIONS}\n{END}", "p": "true"}
    steps = [replace(REMEDY, text=kinds[one]) for one in texts]
    counts = f'say() {{ echo "$*"; }}\nright={texts.count("c")} unchecked={skipped}\n{end_of(steps)}'
    done = subprocess.run(["sh", "-c", counts], capture_output=True, text=True, check=True, timeout=10)
    assert said in done.stdout
    assert ("Kinds of searches without a wrong answer: 2" in done.stdout) is (texts != "pp")


def test_what_may_answer_wrong_is_built_first(site) -> None:
    """The index of uidNumber is sorted as text, so that a range without a note missed entries."""
    (site / "dse.ldif").write_text(CONFIGURATION + index("nsIndexType: eq", attribute="uidNumber"))
    search = 'SRCH base="dc=example,dc=com" scope=2 filter="(uidNumber>=9)" attrs=ALL'
    lines = [
        f"{stamp(95)} conn=77 op=9 {search}",
        f"{stamp(95)} conn=77 op=9 RESULT err=0 tag=101 nentries=1 etime=0.1",
    ]
    with (site / "access").open("a") as log:
        log.write("\n".join([*lines, ""]))
    assert (
        "# Not in this LDIF, but in --script: Index uidNumber (integerOrd" in ldapdiag("indexes", site, "--ldif").text
    )
    done, asked = started(site)
    assert done.returncode == 0, done.stderr
    assert asked == ["userRoot: uidNumber", f"userRoot: {' '.join(WANTED)}"]
    assert "right: (uidNumber>=@) below dc=example,dc=com" in done.stdout


def test_what_the_next_start_would_use_unbuilt_is_built_first_and_at_once(site) -> None:
    """Two indexes were added and not built: a whole errors log has no build of them, and no start since."""
    added = ("nsIndexType: eq", "createTimestamp: 20261120090000Z")
    unbuilt = "".join(index(*added, attribute=name) for name in ("street", "pager"))
    (site / "dse.ldif").write_text(CONFIGURATION + unbuilt)
    lines = {"07": "main - 389-Directory/2.3.1 B2025.016.1616 starting up", "10": "a - line"}
    log = "".join(f"[20/Nov/2026:{hour}:00:00 +0000] - INFO - {line}\n" for hour, line in lines.items())
    (site / "errors").write_text(log)
    ldif = ldapdiag("indexes", site, "--ldif").text
    assert "# Not in this LDIF, but in --script: Build the indexes of street, pager\n" in ldif
    done, asked = started(site)
    assert done.returncode == 0, done.stderr
    assert asked == ["userRoot: street pager", f"userRoot: {' '.join(WANTED)}"]


def test_a_log_from_before_the_plan_leaves_nothing_to_change_and_says_why(site) -> None:
    added = ("nsIndexType: eq", "createTimestamp: 20261121090000Z")
    (site / "dse.ldif").write_text(CONFIGURATION + "".join(index(*added, attribute=name) for name in WANTED))
    script = ldapdiag("indexes", site, "--script").text
    assert "3 searches not judged: an index that answers them was, or may have been, added or built later" in script
    assert "2026-11-21 09:00:00 UTC" in script
    assert script.endswith("# nothing to change\n")
    screen = " ".join(ldapdiag("indexes", site).text.split())
    assert (
        "later 3 searches (189 s) not judged: an index that answers them was, or may have been, added or built"
        in screen
    )
    assert "build it" not in screen


def test_every_database_is_waited_for_with_one_password(site) -> None:
    (site / "dse.ldif").write_text(
        CONFIGURATION + CONFIGURATION.replace("userRoot", "other").replace("example", "other")
    )
    log = (site / "access").read_text()
    lines = [line for line in log.splitlines() if "conn=77 " in line]
    more = [line.replace("conn=77", "conn=78").replace("dc=example", "dc=other") for line in lines]
    (site / "access").write_text(log + "\n".join([*more, ""]))
    done, asked = started(site)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(asked) == [f"{name}: {' '.join(WANTED)}" for name in ("other", "userRoot")]
    assert done.stdout.count("built; no answer is wrong (searches: ") == 2


def test_what_fails_leaves_a_named_state_and_its_undo(site) -> None:
    done, asked = started(site, fails="userRoot")
    assert (done.returncode, len(asked)) == (53, 1)
    assert "FAILED: Index " in done.stderr
    assert "State: displayName, employeeNumber, title in userRoot: may be configured, and is not built" in done.stderr
    assert "Do not restart the server before it is built or removed." in done.stderr
    undone = done.stderr.partition("To undo this step:\n")[2]
    assert all(f"dn: cn={name},cn=index," in undone for name in WANTED)
    assert "\nldapmodify -c " in undone


def test_a_build_that_fails_is_no_success(site) -> None:
    done, _ = started(site, ended=-1)
    assert done.returncode == 1
    assert "The build failed (nsTaskExitCode -1)" in done.stderr
    assert "State: displayName, employeeNumber, title in userRoot: may be configured, and is not built" in done.stderr
    assert "To build it, run this again." in done.stderr
    assert "Done" not in done.stdout


WHAT = "the URL of slapd-ds1: not in the evidence, ldap://HOST:PORT or ldaps://HOST:PORT"


def test_without_the_address_nothing_is_done(site) -> None:
    """Neither the folder nor the configuration names the host, and a guessed one would be another server."""
    written = ldapdiag("indexes", site, "--script").text
    assert [line for line in written.splitlines() if not line.startswith("#")][:2] == [
        "set -e",
        f"LDAP_URI=${{LDAP_URI:-}}    # {WHAT}",
    ]
    done = subprocess.run(["sh"], input=written, capture_output=True, text=True, check=False, timeout=30)
    assert (done.returncode, done.stdout) == (2, "")
    (said,) = done.stderr.splitlines()
    assert said == f"nothing was changed: set LDAP_URI at the top of this script: {WHAT}"


def test_a_hostile_name_of_a_host_is_no_part_of_it(site) -> None:
    odd = site.rename(site.with_name("slapd-d';touch pasted;'"))
    written = ldapdiag("indexes", odd, "--script").text
    done = subprocess.run(
        ["sh"], input=written, capture_output=True, text=True, check=False, timeout=30, cwd=odd, env={"PATH": "/bin"}
    )
    assert done.returncode == 2
    assert not (odd / "pasted").exists()


DATABASE = """dn: olcDatabase={{{number}}}mdb,cn=config
olcDatabase: {{{number}}}mdb
olcDbDirectory: /srv/{number}
olcSuffix: {suffix}
olcDbIndex: objectClass eq

"""


def two_databases_of_slapd(folder: Path, others: str) -> None:
    """Write the log and the configuration of a slapd whose two databases lack the same index."""
    suffixes = ("dc=example,dc=com", "o=other")
    log = ["6b000aac.00000001 0x7f6ced7fe6c0 conn=1000 fd=12 ACCEPT from IP=10.77.2.2:40000 (IP=10.77.1.2:389)"]
    for op in range(40):
        at = f"{0x6B000AAC + 5 * op:x}.00000001 0x7f6ced7fe6c0 conn=1000 op={op}"
        log += [f'{at} SRCH base="{suffixes[op % 2]}" scope=2 deref=0 filter="(displayName=joe)"']
        log += [f"{at} SEARCH RESULT tag=101 err=0 qtime=0.000011 etime=4.000000 nentries=1 text="]
    (folder / "slapd.log").write_text("\n".join([*log, ""]))
    databases = [DATABASE.format(number=number, suffix=suffix) for number, suffix in enumerate(suffixes, 1)]
    (folder / "config.ldif").write_text("".join([*databases, others]))


def test_ldif_of_slapd_changes_one_database_and_has_the_other_as_comments(tmp_path) -> None:
    """A second write to cn=config while the first index is built would stop the server."""
    two_databases_of_slapd(tmp_path, "")
    ldif = ldapdiag("indexes", tmp_path, "--ldif").text
    applied = [line for line in ldif.splitlines() if line and not line.startswith("#")]
    entries = {f"dn: olcDatabase={{{number}}}mdb,cn=config" for number in (1, 2)}
    assert applied[0] in entries
    assert applied[1:] == ["changetype: modify", "add: olcDbIndex", "olcDbIndex: displayName eq"]
    _, between, other = ldif.partition("# Apply this part, without the number signs, only when ")
    assert between
    (second,) = entries - {applied[0]}
    assert f"# {second}\n# changetype: modify\n# add: olcDbIndex\n" in other


def test_without_a_monitor_database_there_is_no_ldif_of_slapd(tmp_path) -> None:
    two_databases_of_slapd(tmp_path, "dn: olcDatabase={0}config,cn=config\nolcDatabase: {0}config\n")
    ldif = ldapdiag("indexes", tmp_path, "--ldif").text
    assert all(line.startswith("#") for line in ldif.splitlines() if line)
    assert "no monitor database" in ldif
    (tmp_path / "databases.ldif").write_text(
        "dn: cn=Database 1,cn=Databases,cn=Monitor\nnamingContexts: dc=example,dc=com\nolmMDBEntries: 60000\n"
    )
    script = ldapdiag("indexes", tmp_path, "--script").text
    assert script.count("# No search is answered for 1 to 12 s, while slapd is stopped: ") == 1
    assert script.count("The evidence does not contain the number of entries") == 1
    assert script.count("change_stopped\n") == 2
    assert script.count("change_stopped() (") == 1
