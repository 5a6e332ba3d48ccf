"""What a process names as its files: found within its own root, and read with root's rights for none but a server."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from lab.laboratory import need
from ldapdiag.sources.captures.script_output import EndOfOutput, MissingItem, ScriptSection, events
from ldapdiag.sources.live.ssh.remote import script

NOBODY = "setpriv --reuid 65534 --regid 65534 --clear-groups"
ALONE = ["unshare", "--pid", "--fork", "--mount-proc"]


@pytest.fixture(autouse=True)
def rights(laboratory):
    """Need what the laboratory needs: processes of others, alone in a namespace."""
    need("setpriv")


@pytest.fixture
def place():
    """Return a folder that everybody may enter."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def asked(place, *processes, shell="sh"):
    """Return what the script prints beside processes: who starts it, what it calls itself, its arguments.

    `who` are words before the command; {} in them is the command itself.
    """
    started = []
    for who, name, arguments in processes:
        program = place / name
        program.write_text("#!/bin/sh\nwhile :; do sleep 60; done\n")
        program.chmod(0o755)
        command = shlex.join([str(program), *arguments])
        wait = f"until grep -qx {name} /proc/[0-9]*/comm; do :; done"
        started.append((who.replace("{}", command) if "{}" in who else f"{who} {command}") + f" & {wait}")
    text = "\n".join([*(f"{one} </dev/null >/dev/null 2>&1" for one in started), f"exec {shell}"])
    shown = subprocess.run(
        [*ALONE, "sh", "-c", text],
        input=script(PAUSE=0, NAMESPACES=0, SOCKETS=0, LIMIT=4).encode(), capture_output=True, check=True, timeout=30,
    )  # fmt: skip
    told = list(events(shown.stdout.splitlines(keepends=True)))
    assert told[-1] == EndOfOutput(), shown.stdout[-300:]
    return shown.stdout.decode(), {one.file: one for one in told if isinstance(one, ScriptSection)}, [
        one for one in told if isinstance(one, MissingItem)
    ]  # fmt: skip


CONFIGURATIONS = {
    "ns-slapd": (["-D", "{folder}"], "dse.ldif", "dn: cn=config\nnsslapd-idletimeout: 47110815\n"),
    "slapd": (["-f", "{folder}/slapd.conf"], "slapd.conf", "database mdb\nidletimeout 47110815\n"),
    "haproxy": (["-f", "{folder}/haproxy.cfg"], "haproxy.cfg", "defaults\n  timeout client 47110815s\n"),
    "java": (
        ["org.opends.server.core.DirectoryCollector", "--configFile", "{folder}/config.ldif"],
        "config.ldif",
        "dn: cn=config\nds-cfg-idle-time-limit: 47110815 s\n",
    ),
}


@pytest.fixture(params=CONFIGURATIONS)
def server(request, place):
    """Return what a server is called, its arguments, and its configuration, which root alone may read."""
    arguments, name, text = CONFIGURATIONS[request.param]
    file = place / name
    file.write_text(text)
    file.chmod(0o600)
    return request.param, [one.replace("{folder}", str(place)) for one in arguments], file


def test_what_root_runs_is_read(place, server) -> None:
    name, arguments, file = server
    _, sections, _ = asked(place, ("", name, arguments))
    assert b"47110815" in sections[file.name].content


def test_files_of_root_are_not_read_for_the_process_of_another_user(place, server) -> None:
    name, arguments, file = server
    text, sections, gaps = asked(place, (NOBODY, name, arguments))
    assert "client 47110815s" not in text
    assert file.name not in sections
    (gap,) = [gap for gap in gaps if str(file) in gap.reason]
    assert "user 65534" in gap.reason
    assert gap.how


def test_it_may_show_what_is_its_own_or_everybodys(place, server) -> None:
    """A directory in a container runs as any number."""
    name, arguments, file = server
    os.chown(file, 65534, 65534)
    assert file.name in asked(place, (NOBODY, name, arguments))[1]
    os.chown(file, 0, 0)
    file.chmod(0o644)
    assert file.name in asked(place, (NOBODY, name, arguments))[1]


def test_a_link_to_roots_file_is_no_way_around(place, server) -> None:
    name, arguments, file = server
    hidden = file.rename(place / "hidden")
    file.symlink_to(hidden)
    os.chown(file, 65534, 65534, follow_symlinks=False)
    assert "47110815" not in asked(place, (NOBODY, name, arguments))[0]


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_is_no_plain_file_is_not_opened(place, server, kind) -> None:
    """A pipe has no end, and some devices do something when they are read."""
    name, arguments, file = server
    file.unlink()
    if kind == "pipe":
        os.mkfifo(file, 0o666)
    elif kind == "device":
        file.symlink_to("/dev/zero")
    else:
        file.mkdir()
    assert file.name not in asked(place, ("", name, arguments))[1]


def test_the_log_of_an_unprivileged_user_is_not_read_from_files_of_root(place) -> None:
    log = place / "secret.log"
    log.write_text("[20/Nov/2026:13:00:00] - slapd started. Geheim\n")
    log.chmod(0o600)
    dse = place / "dse.ldif"
    dse.write_text(f"dn: cn=config\nnsslapd-errorlog: {log}\nnsslapd-idletimeout: 1\n")
    text, sections, _ = asked(place, (NOBODY, "ns-slapd", ["-D", str(place)]))
    assert "dse.ldif" in sections
    assert "Geheim" not in text
    assert "errors" in asked(place, ("", "ns-slapd", ["-D", str(place)]))[1]


HOSTILE = [
    "{}/s.sock!!EXEC:{}/pwn",
    "{}/s.sock,exec",
    "{}/s:1",
    "EXEC:{}/pwn",
    "ipv4@127.0.0.1:1",
    "{}/s$(id)",
    "{}/s`id`",
]


@pytest.mark.skipif(not shutil.which("socat"), reason="socat is not installed")
@pytest.mark.parametrize("who", ["", NOBODY], ids=["root", "nobody"])
@pytest.mark.parametrize("value", HOSTILE)
def test_a_stats_socket_is_a_path_and_nothing_that_socat_understands(place, who, value) -> None:
    told, program = value.replace("{}", str(place)), place / "pwn"
    program.write_text(f"#!/bin/sh\nid >{place}/done\n")
    program.chmod(0o755)
    cfg = place / "haproxy.cfg"
    cfg.write_text(f"global\n  stats socket {told} level admin\ndefaults\n  timeout client 1m\n")
    listener = place / "s.sock"
    serving = subprocess.Popen(["socat", f"UNIX-LISTEN:{listener},fork", "EXEC:true"])
    try:
        text, sections, gaps = asked(place, (who, "haproxy", ["-f", str(cfg)]))
    finally:
        serving.terminate()
        serving.wait()
    assert not (place / "done").exists()
    assert told not in text
    assert "haproxy.cfg" in sections
    assert not [name for name in sections if "sessions" in name]
    assert [gap.how for gap in gaps if "sessions of HAProxy" in gap.reason] == ["add one: stats socket PATH"]


def test_of_several_stats_sockets_the_first_path_is_asked(place) -> None:
    cfg = place / "haproxy.cfg"
    cfg.write_text(f"global\n  stats socket ipv4@127.0.0.1:1\n  stats socket unix@{place}/s.sock level admin\n")
    serving = subprocess.Popen(["socat", f"UNIX-LISTEN:{place}/s.sock,fork", "SYSTEM:echo heard; cat"])
    try:
        _, sections, _ = asked(place, ("", "haproxy", ["-f", str(cfg)]))
        strange, _, gaps = asked(place, (NOBODY, "haproxy", ["-f", str(cfg)]))
    finally:
        serving.terminate()
        serving.wait()
    assert sections["haproxy-sessions-1.txt"].content == b"heard\nshow sess all\n"
    assert sections["haproxy-sessions-2.txt"].content == b"heard\nshow sess all\n"
    assert "heard" not in strange, "root speaks to no socket of root's for a stranger"
    assert any("is not an accessible socket" in gap.reason for gap in gaps)


def test_a_name_of_several_lines_is_no_server(place) -> None:
    odd = place / "odd"
    odd.write_text("#!/bin/sh\nprintf 'x\\nslapd' >/proc/$$/comm\nwhile :; do sleep 60; done\n")
    odd.chmod(0o755)
    text = f"{odd} & until grep -qx slapd /proc/[0-9]*/comm; do :; done\nexec sh"
    shown = subprocess.run(
        [*ALONE, "sh", "-c", text], input=script(PAUSE=0, NAMESPACES=0, SOCKETS=0).encode(), capture_output=True,
        check=True, timeout=30,
    )  # fmt: skip
    assert b"proc-limits" not in shown.stdout
    assert shown.stdout.rstrip().endswith(b" bye")


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox ash", "mksh"])
def test_a_containers_absolute_links_lead_to_its_own_files(place, shell) -> None:
    """The kernel would follow /proc/PID/root/var/run -> /run into our own /run."""
    if not shutil.which(shell.split()[0]):
        pytest.skip(f"{shell.split()[0]} is not installed")
    data = place / "data"
    (data / "real").mkdir(parents=True)
    (data / "real" / "slapd.conf").write_text("idletimeout 1111\n")
    inside = (
        f"mount -t tmpfs none {data}; mkdir {data}/real; echo idletimeout 2222 >{data}/real/slapd.conf; "
        f"ln -s {data}/real {data}/linked; exec {{}}"
    )
    own_mounts = f"unshare --mount sh -c {shlex.quote(inside)}"
    text, sections, _ = asked(place, (own_mounts, "slapd", ["-f", str(data / "linked" / "slapd.conf")]), shell=shell)
    assert b"2222" in sections["slapd.conf"].content
    assert "idletimeout 1111" not in text


def test_without_access_to_the_root_of_a_container_no_file_of_the_host_is_read(place) -> None:
    cfg = place / "haproxy.cfg"
    cfg.write_text("defaults\n  timeout client 47110815s\n")
    deeper = "unshare --pid --fork sh -c '{} & wait'"
    visitor = "setpriv --reuid 65533 --regid 65533 --clear-groups sh"
    beside, sections, _ = asked(place, (NOBODY, "haproxy", ["-f", str(cfg)]), shell=visitor)
    assert "haproxy.cfg" in sections, beside
    text, _, gaps = asked(place, (deeper, "haproxy", ["-f", str(cfg)]), shell=visitor)
    assert "client 47110815s" not in text
    (gap,) = [gap for gap in gaps if "in a container" in gap.reason]
    assert gap.how == "use --sudo, or connect as root"
