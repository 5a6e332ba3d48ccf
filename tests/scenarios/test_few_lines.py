"""The few lines that add and build indexes, run by a shell whose ldapmodify and ldapsearch answer as servers do."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from facts import address_of, origin
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.indexes import Backend, IndexConfiguration, IndexDefinition
from ldapdiag.evidence.schema.standard import standard
from ldapdiag.remedy import read_whole
from ldapdiag.servers.ds389 import index_remedies as ds389
from ldapdiag.servers.index_remedies import add_indexes
from ldapdiag.servers.indexes.candidates import Change, IndexPlace

SUFFIX = "dc=example,dc=com"
CHANGES = (Change("displayName", "eq"), Change("displayName", "sub"))
LDBM = "cn=ldbm database,cn=plugins,cn=config"
AT_389 = Backend(name="userRoot", suffixes=(SUFFIX,), definitions=(), entry=f"cn=userRoot,{LDBM}")
AT_SLAPD = Backend(name="{1}mdb", kind="mdb", suffixes=(SUFFIX,), definitions=(), entry="olcDatabase={1}mdb,cn=config")
TOOLS = {
    "ldapmodify": 'cat >>"$ANSWERS/ldif"; exit "$(cat "$ANSWERS/code")"',
    "ldapsearch": """case "$*" in
*olcConfigDir*) cat "$ANSWERS/config" ;;
*"-b cn=Monitor "*) cat "$ANSWERS/monitor" ;;
*) echo "$*" >>"$ANSWERS/waited"; cat "$ANSWERS/end" ;;
esac""",
    "sleep": ":",
    "systemctl": 'echo "$*" >>"$ANSWERS/waited"',
}
STORED = "dn: cn=config\nolcConfigFile: /etc/slapd.conf\nolcConfigDir: /etc/slapd.d\n"
IDLE = "dn: cn=Tasklist,cn=Threads,cn=Monitor\n"
ROOM = "dn: cn=Database 1,cn=Databases,cn=Monitor\nolmMDBPagesMax: 1000\nolmMDBPagesUsed: 960\n\n"


@dataclass(frozen=True)
class Shell:
    """A folder with the tools, with their answers, and with what they were given."""

    folder: Path

    def run(self, commands: str, **answers: str) -> tuple[int, str]:
        """Run commands and return how they ended, and what they printed."""
        for name, answer in {"code": "0", "config": STORED, "monitor": ROOM + IDLE, "end": IDLE, **answers}.items():
            (self.folder / name).write_text(answer)
        environment = {"PATH": f"{self.folder}:/usr/bin:/bin", "ANSWERS": str(self.folder), "TMPDIR": str(self.folder)}
        ran = subprocess.run(
            ["/bin/sh"], input=commands, env=environment, cwd=self.folder, capture_output=True, text=True, check=False
        )
        assert not list(self.folder.glob("tmp.*"))
        return ran.returncode, ran.stdout + ran.stderr

    def given(self, name: str) -> str:
        """Return what a tool was given."""
        file = self.folder / name
        return file.read_text() if file.exists() else ""


@pytest.fixture
def shell(tmp_path) -> Shell:
    for name, lines in TOOLS.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{lines}\n")
        (tmp_path / name).chmod(0o755)
    return Shell(tmp_path)


def configuration(backend) -> IndexConfiguration:
    family = Family.DS389 if backend.name == "userRoot" else Family.OPENLDAP
    identity = ServerIdentity(family=family, version=(2, 5, 13))
    return IndexConfiguration(origin=origin(), identity=identity, backends=(backend,))


def few(backend) -> str:
    remedy, *_ = add_indexes(IndexPlace(address_of(), backend, configuration(backend), standard()), CHANGES, None)
    return remedy.brief


class TestOn389:
    END = "dn: cn=x\nnsTaskExitCode: 0\n"

    def test_a_task_has_a_new_name_each_time_and_the_wait_asks_for_it_alone(self, shell):
        commands = few(AT_389)
        for _ in range(2):
            status, printed = shell.run(commands, end=self.END)
            assert status == 0
            assert printed.endswith("\nnsTaskExitCode: 0\n")
        tasks = [line for line in shell.given("ldif").splitlines() if line.startswith("dn: cn=ldapdiag-userRoot-")]
        assert len(set(tasks)) == 2
        assert [one.partition(" -b ")[2].split(" ")[0] for one in shell.given("waited").splitlines()] == [
            one.removeprefix("dn: ") for one in tasks
        ]

    def test_a_refused_password_stops_before_the_next_prompt(self, shell):
        status, printed = shell.run(few(AT_389), code="49")
        assert status == 1
        assert "Refused" in printed
        assert not shell.given("waited")

    @pytest.mark.parametrize("code", ["20", "68"])
    def test_an_index_that_is_configured_by_now_is_named_and_built(self, shell, code):
        status, printed = shell.run(few(AT_389), code=code, end=self.END)
        assert status == 0
        assert "it keeps its types and rules, and is built" in printed
        assert "nsTaskExitCode: 0" in printed

    @pytest.mark.parametrize("end", ["", "dn: cn=x\nnsTaskExitCode: 1\n", "dn: cn=x\nnsTaskExitCode: -1\n"])
    def test_a_build_that_fails_or_is_not_seen_ends_in_an_error(self, shell, end):
        status, printed = shell.run(few(AT_389), end=end)
        assert status == 1
        assert end in printed
        assert "do not restart the server" in printed

    def test_a_name_in_the_configuration_is_not_expanded(self, shell):
        hostile = f"cn=$(touch made)`touch made`$HOME\\\\ $task,cn=userRoot,{LDBM}"
        assert shell.run(few(replace(AT_389, entry=hostile)), end=self.END)[0] == 0
        assert f"dn: cn=displayName,cn=index,{hostile}\n" in shell.given("ldif")
        assert not (shell.folder / "made").exists()


class TestOnSlapd:
    def test_an_index_is_added_where_everything_is_as_it_must_be(self, shell):
        status, printed = shell.run(few(AT_SLAPD))
        assert status == 0
        assert printed.endswith(f"\n{IDLE}")
        assert "olcDbIndex: displayName eq,sub" in shell.given("ldif")

    @pytest.mark.parametrize(
        "answers",
        [
            {"config": "dn: cn=config\nolcConfigFile: /etc/slapd.conf\n"},
            {"config": ""},
            {"monitor": IDLE},
            {"monitor": ROOM},
            {"monitor": ""},
            {"monitor": IDLE + ROOM.replace("960", "961")},
            {"monitor": IDLE + ROOM.replace("olmMDBPagesMax: 1000\n", "")},
        ],
        ids=["slapd.conf", "no cn=config", "no size", "a build", "no cn=Monitor", "full", "no maximum"],
    )
    def test_nothing_is_changed_where_it_is_not(self, shell, answers):
        status, printed = shell.run(few(AT_SLAPD), **answers)
        assert status == 1
        assert "Nothing is changed: " in printed
        assert not shell.given("ldif")
        assert not shell.given("waited")

    def test_a_database_of_berkeley_db_has_no_size(self, shell):
        commands = few(replace(AT_SLAPD, name="{1}hdb", kind="hdb"))
        assert shell.run(commands, monitor=IDLE)[0] == 0
        assert "olcDbMaxSize" not in commands

    @pytest.mark.parametrize("code", ["20", "49", "80"])
    def test_what_slapd_refuses_is_not_waited_for(self, shell, code):
        status, _ = shell.run(few(AT_SLAPD), code=code)
        assert status == int(code)
        assert not shell.given("waited")


@pytest.mark.parametrize("bind", ["-x -W", "-Q -Y EXTERNAL"])
def test_a_refused_setting_restarts_nothing(shell, bind):
    commands = read_whole(f"ldapmodify {bind} <<'LDIF'\ndn: cn=config\nLDIF\nsystemctl restart dirsrv.target")
    assert shell.run(commands, code="49")[0] == 49
    assert not shell.given("waited")
    assert shell.run(commands)[0] == 0
    assert shell.given("waited")


@pytest.mark.parametrize("backend", [AT_389, AT_SLAPD])
def test_no_shell_takes_a_comment_for_a_command(backend):
    """As an interactive zsh does; at the beginning that is harmless."""
    nowhere = replace(address_of("x$(reboot)"), ports=())
    remedy, *_ = add_indexes(
        IndexPlace(nowhere, backend, configuration(backend), standard()), CHANGES, "ldapsearch 'a'"
    )
    before, _, steps = remedy.brief.partition("(\nset -e\n")
    assert "\nprintf '%s\\n' 'verify with such a search: " in steps
    assert "\n#" not in steps
    assert "reboot" not in remedy.brief
    assert all(one.startswith(("# ", ": ")) for one in before.splitlines())


def test_what_is_only_built_adds_nothing(shell):
    known = IndexDefinition(attribute="displayName", types=frozenset({"eq"}))
    backend = replace(AT_389, definitions=(known,))
    remedy = ds389.build_indexes(
        IndexPlace(address_of(), backend, configuration(backend), standard()), ["displayName", "sn"]
    )
    assert shell.run(remedy.brief, end=TestOn389.END)[0] == 0
    assert shell.given("ldif").count("changetype: ") == 1
    assert "nsIndexAttribute: displayName\n" in shell.given("ldif")
