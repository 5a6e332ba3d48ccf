"""Remedies for a server that does not answer: what to save before a restart, which destroys the evidence."""

from __future__ import annotations

from ldapdiag.remedy import Remedy, RemedyKind, Where

PROGRAMS = frozenset({"slapd", "ns-slapd", "lt-slapd", "java"})


def save_state(server: str, pid: int | None, program: str, *, ldapi: str, stopped: bool) -> Remedy:
    """Save the stacks, threads and sockets of a server's process in a new folder.

    `ldapi` is the URL of its local socket, as a word of a command; empty: unknown.
    """
    name = program if program in PROGRAMS else ""
    if pid is None and not name:
        return _advise_to_save_state(server)
    chosen = f"pid={pid}" if pid is not None else f"pid=$(pidof -s {name})"
    return Remedy(
        title="Before a restart, save what its threads do",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text="\n".join(
            [
                chosen,
                "(",
                "umask 077",
                "folder=$(mktemp -d /tmp/server-state.XXXXXX) || exit",
                *_commands(ldapi, stopped=stopped),
                'ls -l "$folder"',
                ")",
            ]
        ),
        changes="A new folder in /tmp contains the stacks of all threads in the kernel and in the program, what each "
        "waits for, the sockets, and cn=monitor if it still answers. Run it as root, twice, half a minute apart; "
        "ldapdiag diagnose reads these files, too.",
        risk="gdb stops the process while it reads the stacks, for a second or, with many threads, some more; a server "
        "that does not answer loses nothing by it. Symbols of the server (debuginfo, dbgsym) make the stacks readable.",
        undo="rm -r /tmp/server-state.??????    # the stacks may contain DNs and filters",
        verify="ls -l /tmp/server-state.??????",
    )


def _commands(ldapi: str, *, stopped: bool) -> list[str]:
    """Return the commands; of a process that is stopped on purpose a debugger shows no more than the kernel does."""
    proc = '/proc/"$pid"'
    files = " ".join(f"{proc}/{name}" for name in ("stat", "task/*/stat", "task/*/wchan", "task/*/syscall"))
    threads = f'(uname -m; grep "" /proc/uptime {files})'
    monitor = f'timeout 10 ldapsearch -Q -LLL -Y EXTERNAL -H {ldapi} -b cn=monitor "*" "+" > "$folder"/cn-monitor.ldif'
    debugger = 'timeout 60 gdb -p "$pid" -batch -ex "thread apply all bt" > "$folder"/stacks.txt'
    commands = [
        f'{threads} > "$folder"/threads.txt',
        f'grep "" /dev/null {proc}/task/*/stack > "$folder"/kernel-stacks.txt',
        'ss -tanoiep > "$folder"/sockets.txt',
        *([f'{monitor} 2>&1 || echo "cn=monitor does not answer"'] if ldapi else []),
        f'{debugger} 2>&1 || echo "gdb failed; pstack $pid prints the same"',
    ]
    return commands[:-1] if stopped else commands


def _advise_to_save_state(server: str) -> Remedy:
    return Remedy(
        title="Before a restart, save what its threads do",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.ADVICE,
        text="If its process runs, save as root, twice, half a minute apart: the stacks of its threads (pstack PID, or "
        'gdb -p PID -batch -ex "thread apply all bt"), /proc/PID/task/*/stack, /proc/PID/task/*/wchan, ss -tanoiep and '
        "cn=monitor if it still answers. If none runs, read the end of its log and the journal of its unit.",
        changes="Nothing.",
        risk="gdb stops the process while it reads the stacks.",
        undo="None needed.",
        verify="The files contain one stack for each thread.",
    )


def continue_process(server: str, pid: int) -> Remedy:
    """Continue a stopped process."""
    return Remedy(
        title="Continue the stopped process",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=f"kill -CONT {pid}",
        changes="The process continues where it was stopped (SIGSTOP, SIGTSTP), and answers the waiting requests. A "
        "frozen container or unit continues with docker unpause or systemctl thaw instead.",
        risk="It may be stopped on purpose: by a debugger (state t), a snapshot of the machine's disk, or an operator.",
        undo=f"kill -STOP {pid}",
        verify=f"ps -o pid,stat,lstart,comm -p {pid}    # STAT does not begin with T",
    )
