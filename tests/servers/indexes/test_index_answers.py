"""The check of an index's answers, run in shells with a stand-in for ldapsearch that answers as scripted."""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
from collections import Counter

import pytest

import examples
from ldapdiag.servers.commands.shell_session import SESSION
from ldapdiag.servers.indexes.index_answers import FUNCTIONS, check_answers, search_function

SUFFIX = "dc=example,dc=com"
DN = f"uid=a,{SUFFIX}"
SHELLS = [one for one in ("dash", "bash", "busybox") if shutil.which(one)]
STAND_IN = r"""#!/bin/sh
# The scan has the filter in its arguments; the other searches read it, and name a base and a scope.
case "$*" in
*'(!(!('*) cat "{folder}/entries"; exit {scan} ;;
esac
while read -r asked; do printf '%s\n' "$* <- $asked" >> "{folder}/asked"; done
case "$*" in
*"-s base"*) cat "{folder}/base" ;;
*) cat "{folder}/sub"; exit {sub} ;;
esac
"""


@pytest.fixture(params=examples.some(SHELLS, 3))
def shell(request):
    return [request.param, *(["sh"] if request.param == "busybox" else [])]


def run(folder, shell, call, *, entries, base=None, sub=None, scan=0, sub_code=0):
    """Return exit code, output and messages of a check, and what it asked for."""
    tool = folder / "ldapsearch"
    tool.write_text(STAND_IN.format(folder=folder, scan=scan, sub=sub_code))
    tool.chmod(0o755)
    found = f"{entries.splitlines()[0]}\n\n" if entries else ""
    for name, text in (("entries", entries), ("base", base), ("sub", sub), ("asked", "")):
        (folder / name).write_text(found if text is None else text)
    text = "\n".join([SESSION, "trap - EXIT", search_function(str(tool)), FUNCTIONS, call, "answers_right"])
    done = subprocess.run([*shell, "-c", text], capture_output=True, text=True, check=False, timeout=60)
    return done, (folder / "asked").read_text().splitlines()


def entry(line, dn=f"dn: {DN}"):
    return f"{dn}\n{line}\n\n"


def test_an_index_that_finds_the_entry_is_right(tmp_path, shell):
    call = check_answers(SUFFIX, "cn", ("eq", "pres", "sub"))
    done, asked = run(tmp_path, shell, call, entries=entry("cn: Anna"))
    assert (done.returncode, done.stderr) == (0, "")
    checked, *answers = done.stdout.splitlines()
    assert checked == f"cn below {SUFFIX}: checked with values of 1 of the 1 entries that have it"
    assert [one.split()[:2] for one in answers] == [
        ["right:", f"(cn{one})"] for one in ("=@", "=*", "=@*", "=*@*", "=*@")
    ]
    assert asked[0].endswith(r"-f - (%s) 1.1 <- cn=\41\6e\6e\61")
    assert all("Anna" not in one for one in (done.stdout, *asked)), "no value is shown, or in a list of processes"


def test_an_index_that_does_not_find_it_is_wrong(tmp_path, shell):
    done, _ = run(tmp_path, shell, check_answers(SUFFIX, "cn", ("eq",)), entries=entry("cn: Anna"), sub="")
    assert done.returncode == 1
    assert done.stderr == f"WRONG: (cn=@) below {SUFFIX} does not find 1 of 1 entries that have the value: dn: {DN}\n"


@pytest.mark.parametrize(
    ("line", "filter_"),
    [
        ("cn: *)(uid=*", r"cn=\2a\29\28\75\69\64\3d\2a"),
        (f"cn:: {base64.b64encode(b' a').decode()}", r"cn=\20\61"),
        (f"cn:: {base64.b64encode(bytes(range(3))).decode()}", r"cn=\00\01\02"),
        (f"cn:: {base64.b64encode('ä'.encode()).decode()}", r"cn=\c3\a4"),
        ("cn: $(reboot) `id` %s", r"cn=\24\28\72\65\62\6f\6f\74\29\20\60\69\64\60\20\25\73"),
        ("cn: a:: b", r"cn=\61\3a\3a\20\62"),
        ("commonName: Anna", r"cn=\41\6e\6e\61"),
        ("cn;lang-de: Annegret\ncn: Anna", r"cn=\41\6e\6e\61"),
    ],
)
def test_values_are_escaped(tmp_path, shell, line, filter_):
    done, asked = run(tmp_path, shell, check_answers(SUFFIX, "cn", ("eq",)), entries=entry(line))
    assert done.stdout.endswith(f"entries that have it\nright: (cn=@) below {SUFFIX}\n")
    assert asked[0].partition(" <- ")[2] == filter_


def test_a_name_of_an_entry_is_decoded(tmp_path, shell):
    dn = base64.b64encode(f"uid=ä\\, '$(id),{SUFFIX}".encode()).decode()
    found = entry("cn: Anna", f"dn:: {dn}")
    done, asked = run(tmp_path, shell, check_answers(SUFFIX, "cn", ("eq",)), entries=found, sub="", base=found)
    assert done.stderr.startswith("WRONG: ")
    assert f"-b uid=ä\\, '$(id),{SUFFIX} -s base" in asked[2]


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"entries": "", "scan": 0}, "no short value is found in an entry (result code 0)"),
        ({"entries": "", "scan": 53}, "no short value is found in an entry (result code 53)"),
        ({"entries": entry(f"cn: {'a' * 500}"), "scan": 4}, "no short value is found in an entry (result code 4)"),
        ({"entries": entry("cn;lang-de: Anna")}, "no short value is found in an entry (result code 0)"),
        (
            {"entries": entry("cn: Anna"), "base": "", "sub": ""},
            "reading the entry does not match (cn=@) (result code 0)",
        ),
        ({"entries": entry("cn: Anna"), "sub": "", "sub_code": 3}, "the server ends the search (cn=@) (result code 3)"),
    ],
)
def test_what_proves_nothing_is_reported(tmp_path, shell, how, reason):
    done, _ = run(tmp_path, shell, check_answers(SUFFIX, "cn", ("eq",)), **how)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, f"not checked: cn below {SUFFIX}: {reason}")


MANY, DRAWN = 60, 12


@pytest.mark.parametrize(("runs", "undrawn"), [(12, 15), pytest.param(40, 0, marks=pytest.mark.long)])
def test_the_entries_are_drawn_from_all(tmp_path, shell, runs, undrawn):
    """Each is as likely as any other: of 480 draws of 60 entries 8 are expected of each.

    Of 144 draws, four entries are expected in none, and more than 15 not once in 100,000 times.
    """
    entries = "".join(entry(f"cn: name {number:02}", f"dn: uid={number:02},{SUFFIX}") for number in range(MANY))
    call = check_answers(SUFFIX, "cn", ("eq",))
    times: Counter[str] = Counter()
    for _ in range(runs):
        _, asked = run(tmp_path, shell, call, entries=entries, sub=entries)
        values = [one.partition(" <- ")[2] for one in asked]
        assert len(set(values)) == len(values) == DRAWN
        times.update(values)
    assert len(times) >= MANY - undrawn
    expected = runs * DRAWN / MANY
    assert sum((count - expected) ** 2 / expected for count in times.values()) < 130, "chi-squared, one in 10 million"


def test_an_index_that_lacks_the_newest_half_is_wrong(tmp_path, shell):
    old, new = (
        "".join(entry(f"cn: name {number:03}", f"dn: uid={number:03},{SUFFIX}") for number in part)
        for part in (range(200), range(200, 400))
    )
    done, _ = run(tmp_path, shell, check_answers(SUFFIX, "cn", ("eq",)), entries=old + new, sub=old, base=old + new)
    assert done.returncode == 1
    lost = re.search(r"does not find (\d+) of 12 entries", done.stderr)
    assert lost
    assert 0 < int(lost[1]) <= DRAWN


@pytest.mark.parametrize("scan", [0, 3, 4])
@pytest.mark.parametrize("many", [1, DRAWN, MANY])
def test_the_end_says_how_many_values_of_how_many_were_searched_for(tmp_path, shell, many, scan):
    entries = "".join(entry(f"cn: name {number:02}", f"dn: uid={number:02},{SUFFIX}") for number in range(many))
    call = f"{check_answers(SUFFIX, 'cn', ('eq', 'sub'))}\nnone_wrong built\nnone_wrong other"
    done, _ = run(tmp_path, shell, call, entries=entries, sub=entries, scan=scan)
    first, *_, last, other = done.stdout.splitlines()
    whole = f"the {many} entries that have it"
    ended = f"the first {many} entries that have it: a limit ended the reading (result code {scan})"
    assert first == f"cn below {SUFFIX}: checked with values of {min(many, DRAWN)} of {ended if scan else whole}"
    read = f"{many} that were read before a limit ended the reading" if scan else many
    of = f"searches: {4 * min(many, DRAWN)}; values searched for: {min(many, DRAWN)} of {read}"
    assert last == f"built; no answer is wrong ({of})"
    assert other == "other; no answer is checked", "each step has its own numbers"


def test_a_short_value_uses_no_index_of_substrings(tmp_path, shell):
    done, asked = run(tmp_path, shell, check_answers(SUFFIX, "cn", ("sub",)), entries=entry("cn: An"))
    assert (done.returncode, asked) == (0, [])
    assert done.stdout.count("too short") == 3


def test_an_approximate_match_has_only_words_with_a_phonetic_key(tmp_path, shell):
    call = check_answers(SUFFIX, "cn", ("eq", "approx"))
    done, asked = run(tmp_path, shell, call, entries=entry("cn: Li 12"))
    assert [one.split()[0] for one in done.stdout.splitlines()] == ["cn", "right:", "right:"]
    assert list(dict.fromkeys(one.partition(" <- ")[2] for one in asked)) == [r"cn=\4c\69\20\31\32", r"cn~=\4c\69\20"]
    done, _ = run(tmp_path, shell, call, entries=entry("cn: 12 34"))
    assert done.stdout.endswith("its values have no word with letters for (cn~=@)\n")


def test_a_server_that_does_not_answer_has_no_right_answers(tmp_path, shell):
    done, _ = run(tmp_path, shell, check_answers(SUFFIX, "cn", ("eq",)), entries="", scan=255)
    assert done.returncode == 1
    assert "exit code 255" in done.stderr


@pytest.mark.parametrize("call", [
    check_answers(SUFFIX, "userPassword", ("eq",)),
    check_answers(SUFFIX, "a;reboot $(reboot)", ("eq",)),
    check_answers(SUFFIX, "cn", ("browsing",)),
    check_answers(SUFFIX, "sn", (), ("$(reboot)",)),
])  # fmt: skip
def test_secrets_and_hostile_names_are_not_searched_for(tmp_path, shell, call):
    done, asked = run(tmp_path, shell, call, entries=entry("cn: Anna"))
    assert (done.returncode, asked) == (0, [])
    assert done.stdout.startswith("not checked: ")
    assert "reboot" not in call


def test_rules_are_searched_for_in_their_own_assertions():
    assert check_answers("o=a b", "uidNumber", ("eq",), ("integerOrderingMatch",)) == (
        "check_answers 'o=a b' uidNumber '(uidNumber=@)' '(uidNumber>=@)' '(uidNumber<=@)'"
    )
    assert check_answers("o=x", "sn", ("eq",), ("caseExactMatch",)).endswith(" '(sn=@)' '(sn:caseExactMatch:=@)'")
