"""Windows, simulated: without the modules, calls, flags and signals of POSIX each module and command works or says why.

It runs in a process of its own, from which they are removed before ldapdiag is imported. What only a real Windows shows
(paths, its console) the release workflow tries.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from command import LOGIN, NO_SITE

WINDOWS = '''
import asyncio, concurrent.futures.process, getpass, multiprocessing.connection, multiprocessing.util, os, platform
import rich.console, rich.progress, rich.table, shutil, signal, socket, sqlite3, ssl, subprocess, sys, tarfile, tempfile
import typer, typer.rich_utils, uuid, zipfile  # what asks at its import on which system it is

for name in ("curses", "fcntl", "grp", "pty", "pwd", "pyroute2", "readline", "resource", "syslog", "termios", "tty"):
    sys.modules[name] = None
LACKING = """chown chroot confstr copy_file_range fchdir fchmod fchown fdatasync fork forkpty fstatvfs get_blocking
 getegid geteuid getgid getgroups getloadavg getpgid getpgrp getsid getuid getxattr killpg lchown listxattr lockf
 major makedev minor mkfifo mknod nice posix_fadvise posix_fallocate pread preadv pwrite pwritev sched_getaffinity
 sendfile set_blocking setns setsid setxattr splice statvfs sync sysconf uname unshare wait3 wait4 waitid"""
KEPT = {"O_RDONLY", "O_WRONLY", "O_RDWR", "O_APPEND", "O_CREAT", "O_EXCL", "O_TRUNC"}
KEPT |= {"SIGINT", "SIGTERM", "SIGABRT", "SIGFPE", "SIGILL", "SIGSEGV", "SIG_DFL", "SIG_IGN"}
for module, lacking in (
    (os, [*LACKING.split(), *(name for name in dir(os) if name.startswith("O_"))]),
    (signal, ["alarm", "pthread_sigmask", "setitimer", *(name for name in dir(signal) if name.startswith("SIG"))]),
    (socket, ["AF_NETLINK", "AF_PACKET", "AF_UNIX", "SO_PEERCRED"]),
):
    for name in {*lacking} - KEPT:
        if hasattr(module, name):
            delattr(module, name)
sys.platform = "win32"
'''
RUN = """
import contextlib, importlib, io, json, pkgutil
from ldapdiag.cli import main

answers = []
for words in json.loads(sys.argv[1]):
    sys.argv = ["ldapdiag", *words]
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        try:
            code = main() or 0
        except SystemExit as end:
            code = end.code or 0
    answers.append((code, out.getvalue(), err.getvalue()))
failed = []
for package in ("ldapdiag", "ldapdiag_checks"):
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, package + "."):
        try:
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
        except Exception as error:
            failed.append(f"{module.name}: {error!r}")
print(json.dumps((answers, failed)))
"""


def test_each_module_and_command_works_or_says_why(tmp_path: Path) -> None:
    site, page = tmp_path / "ldapdiag.toml", tmp_path / "report.html"
    site.write_text('schema = "ldapdiag.config/1"\n')
    site.chmod(0o666)  # as Windows shows every file
    page.touch()
    tried = {
        ("--help",): (0, "ldapdiag diagnose", ""),
        ("log", "example:audit"): (0, "sizeLimitExceeded", ""),
        ("indexes", "example:audit"): (1, "displayName", ""),
        ("storage", "example:storage", "--fail-on", "never"): (0, "evidence:", ""),
        ("diagnose", "example:incident", "--config", str(site)): (1, "268 of the 270 connections", ""),
        ("diagnose", "example:incident", "-q", "--output", str(page)): (1, "", ""),
        ("diagnose", "example:incident", "-q", "--record", str(tmp_path / "history")): (1, "", ""),
        ("history", str(tmp_path / "history")): (0, "268", ""),
        ("diagnose", "ldap://127.0.0.1:1"): (2, "", "connection refused"),
        ("storage", "--probe", str(tmp_path)): (2, "", "only on Linux"),
        ("diagnose",): (2, "", "cannot ask local: from Windows"),
        ("diagnose", "ssh://127.0.0.1:1"): (2, "", "cannot ask ssh://127.0.0.1:1 from Windows"),
        ("collect", "ldapi://%2Fldapi", "--output", str(tmp_path / "c.tar.gz")): (2, "", "from Windows"),
    }
    command = [sys.executable, "-c", WINDOWS + RUN, json.dumps(list(tried))]
    environment = LOGIN | NO_SITE | {"PYTHONPATH": ":".join(filter(None, sys.path)), "COLUMNS": "100"}
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answers, failed = json.loads(done.stdout)
    for (words, (code, out, err)), (ended, printed, complained) in zip(tried.items(), answers, strict=True):
        assert (ended, out in printed, err in complained) == (code, True, True), (words, printed, complained)
    assert page.stat().st_size > 0
    only_linux = ("ldapdiag.sources.probe.",)
    assert [one for one in failed if not one.startswith(only_linux)] == []
