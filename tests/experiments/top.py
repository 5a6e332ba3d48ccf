"""ldapdiag top beside real servers: a leak and its cure, disturbances, and what it costs with many connections."""

from __future__ import annotations

import math
import os
import re
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.notebook import AS_EXPECTED, NOTES, Experiment
from lab import boxes
from lab.applications import OPEN, UNANSWERED
from lab.host import wait_for
from lab.multiplexer import number, row
from lab.watched import honest, processor_seconds, resident_megabytes, watched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lab.directory_servers import Server
    from lab.multiplexer import Multiplexer
    from lab.watched import Watched

RATE = 2
LIMIT = 4096
BOX_SECONDS = 2
IDLE_SECONDS = 30
MINUTES = (0, 1, 3, 5)
OF_CLIENTS = 2500
"""Connections of one application."""
MOST_OF_TOP = 10.0
"""Per cent of a core, at 10,000 connections and 1 Hz."""
EVERY = 60.0
"""Seconds between two diagnoses, unless told."""
MOST_OF_SERVER = {1_000: 1.0, 10_000: 3.0}
"""Per cent of a core, up to so many connections."""
UNITS = {"s": 1 / 60, "min": 1, "h": 60, "d": 1440}
SHARED = ("--every", "10", "--apart", "1")
TARGETS = ("ldap://ldap", *(f"ssh://{host}" for host in ("ldap", "app1", "app2", "fw")))


def run(step: str, *, small: bool) -> dict[str, str]:
    """Run a step, and return what was seen."""
    kind, family, *count = step.split()
    with watched(apps=2) as place:
        seen, wrong = _STEPS[kind](place, family, int(count[0]) if count else 0, small)
    return {"seen": seen, "load": f"{os.getloadavg()[0]:.1f}", "result": "; ".join(wrong) or AS_EXPECTED}


def _leak(place: Watched, family: str, _: int, small: bool) -> tuple[str, list[str]]:  # noqa: FBT001  as the others
    """Watch a leak for five minutes, cure it, and see that on the screen."""
    server = _server(place, family, descriptors=LIMIT)
    topology, start = place.topology, place.start
    boxes.silent_drop(topology.fw, BOX_SECONDS)
    ghosts = start(topology.app2, "leaking", count=20, rest=BOX_SECONDS + 1, rounds=1, live=2, name="foo").ready()
    topology.fw.sysctl(net__netfilter__nf_conntrack_tcp_timeout_established=36_000)
    time.sleep(2)
    leak = start(topology.app1, "drip", rate=RATE).ready()
    seen, wrong = [], []
    with place.top(server.administrator, *TARGETS, *SHARED, name=f"leak-{family}") as screen:
        screen.shows(lambda text: row(text, "10.77.3.2")[5:6] not in ([], ["-"]), "no diagnosis", seconds=120)
        begun = time.monotonic()
        for minute in MINUTES[: 2 if small else None]:
            wrong += [f"{minute} min: {lie}" for lie in honest(screen, begun + 60 * minute - time.monotonic())]
            text = _settled(screen, f"leak-{family}-{minute}")
            dead = len(ghosts.truth().ends(UNANSWERED) & server.held())
            line, unlike = _compared(text, len(leak.truth().ends(OPEN)), dead, _minutes_left(server), minute)
            seen.append(f"{minute} min: {line}")
            wrong += [f"{minute} min: {one}" for one in unlike]
        _cure(server, family)
        cured = time.monotonic()
        screen.shows(lambda text: _rate(text, "10.77.2.2") <= 0.3 * 60 * RATE, "the cure is not seen", seconds=300)
        screen.shows(lambda text: "full in" not in text, "the hours are those of before the cure", seconds=300)
        _settled(screen, f"leak-{family}-cured")
        seen.append(f"cured: {_rate(_text(screen), '10.77.2.2'):+.0f}/min after {time.monotonic() - cured:.0f} s")
    return "; ".join(seen), wrong


def _compared(text: str, truth: int, dead: int, left: float, minute: int) -> tuple[str, list[str]]:
    """Return what a screen says beside what is true, and where it says something else."""
    cells = row(text, "10.77.2.2")
    shown, rate = int(cells[1].replace(",", "")), _rate(text, "10.77.2.2")
    ghosts = row(text, "10.77.3.2")[5:6]
    full = re.search(r"full in ([\d.]+) (s|min|h|d) \(([\d.]+) (\w+) to (?:([\d.]+) (\w+)|later)\)", text)
    foreseen = float(full[1]) * UNITS[full[2]] if full else None
    grows = "-" if math.isnan(rate) else f"{rate:+.0f}"
    ends = "-" if foreseen is None else f"{foreseen:.0f} min"
    said = f"{shown} of {truth} leaked, {grows}/min, {'/'.join(ghosts)} of {dead} ghosts, "
    said += f"full in {ends} (truth {left:.0f} min)"
    wrong = []
    if not truth - 30 * RATE <= shown <= truth + RATE:  # the list is up to 20 s old
        wrong.append(f"{shown} connections of {truth}")
    if minute and not 0.6 * 60 * RATE < rate < 1.5 * 60 * RATE:
        wrong.append(f"{rate:.0f} a minute")
    if ghosts != [str(dead)]:
        wrong.append(f"{'/'.join(ghosts)} of {dead} ghosts")
    if minute > 1 and (foreseen is None or not left / 1.5 < foreseen < left * 1.5):
        wrong.append(f"full in {foreseen} min, truth {left:.0f}")
    return said, wrong


def _minutes_left(server: Server) -> float:
    used = len(list(Path(f"/proc/{_outside(server)}/fd").iterdir()))
    return (LIMIT - used) / RATE / 60


def _rate(text: str, client: str) -> float:
    """Return the change of a client in a minute; without a number what nothing expects."""
    cells = row(text, client)
    return float(cells[2].replace(",", "")) if len(cells) > 2 and cells[2] != "-" else math.nan


def _cure(server: Server, family: str) -> None:
    if family == "389-ds":
        change = f"replace: nsslapd-idletimeout\nnsslapd-idletimeout: {IDLE_SECONDS}"
    else:
        change = f"replace: olcIdleTimeout\nolcIdleTimeout: {IDLE_SECONDS}"
    server.modify(f"dn: cn=config\nchangetype: modify\n{change}\n")


def _disturbed(place: Watched, family: str, _: int, small: bool) -> tuple[str, list[str]]:  # noqa: FBT001  as the others
    """Disturb the sources one after the other, and end top in four ways."""
    certificate = place.laboratory.authority.sign("ldap", "10.77.1.2")
    server = _server(place, family, certificate=certificate)
    place.start(place.topology.app2, "held", count=7, name="foo").ready()
    targets = ("ldaps://ldap", "ssh://ldap", "ssh://app2", "--ca-file", str(certificate.authority))
    seen, wrong = [], []
    with place.top(server.administrator, *targets, *SHARED, "--timeout", "60", name=f"disturbed-{family}") as screen:
        screen.shows(lambda text: row(text, "10.77.3.2")[4:5] == ["7"], "no diagnosis", seconds=90)
        for name, disturb, shown in _disturbances(place, server, family, screen):
            disturb()
            lied = honest(screen, 1 if small else 5)
            screen.shows(shown, f"{name}: not seen", seconds=120)
            _settled(screen, f"disturbed-{family}-{name.replace(' ', '-')}")
            lied += honest(screen, 1 if small else 15)
            wrong += [f"{name}: {one}" for one in lied]
            seen.append(name)
    for name, end in _ENDS.items():
        with place.top(server.administrator, *targets, *SHARED, name=f"{name}-{family}") as screen:
            screen.shows(lambda text: number(text, "connections") >= 0, "no counters", seconds=60)
            processes = screen.processes()
            end(screen)
            left = _left(place, server, processes)
            wrong += [f"{name}: {left}"] if left else []
            seen.append(name)
    return f"{', '.join(seen)}: seen", wrong


def _disturbances(
    place: Watched, server: Server, family: str, screen: Multiplexer
) -> Iterator[tuple[str, Callable[[], object], Callable[[str], object]]]:
    """Yield the name of a disturbance, what makes it, and how the screen shows it."""
    host = server.host

    def is_old(text: str) -> bool:
        return "counters OLD" in text

    def is_back(text: str) -> bool:
        return "counters OLD" not in text and number(text, "counters") in range(6)

    yield "stopped", lambda: host.run(["kill", "-STOP", str(server.pid)]), is_old
    yield "continued", lambda: _continue(server), is_back
    yield "restarted", server.restart, lambda text: "restarted" in text and not row(text, "10.77.3.2")
    yield "ssh killed", lambda: _kill_ssh(screen), is_back
    app2 = place.topology.app2
    yield "30 s", lambda: app2.run("pkill -STOP -x sshd"), lambda text: "diagnosis OLD" in text
    yield "quick again", lambda: app2.run("pkill -CONT -x sshd"), lambda text: re.search(r"diagnosis \d+ s", text)
    if family == "openldap":
        other = type(place.laboratory.authority)(place.laboratory.folder, "other")
        files = ("certificate", "key")
        certificate = {
            one: place.laboratory.folder / f"ldap.{'pem' if one == 'certificate' else 'key'}" for one in files
        }
        kept = {one: path.read_bytes() for one, path in certificate.items()}

        def change() -> None:
            server.stop()
            other.sign("ldap", "10.77.1.2")
            server.start()

        def change_back() -> None:
            server.stop()
            for one, path in certificate.items():
                path.write_bytes(kept[one])
            server.start()

        yield "other certificate", change, lambda text: is_old(text) and "certificate" in text
        yield "its certificate again", change_back, is_back


def _kill_ssh(screen: Multiplexer) -> None:
    """Kill the next ssh that a diagnosis starts."""

    def found() -> list[int]:
        return [one for one in screen.processes() if _command(one) == "ssh"]

    for one in wait_for(found, "no ssh runs", seconds=60):
        os.kill(one, signal.SIGKILL)


def _command(process: int) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:
        return ""


def _continue(server: Server) -> None:
    server.host.run(["kill", "-CONT", str(server.pid)])
    with suppress(ProcessLookupError):  # nsenter may have stopped with its child
        os.kill(server.process.pid, signal.SIGCONT)


_ENDS: dict[str, Callable[[Multiplexer], object]] = {
    "q": lambda screen: screen.keys("q"),
    "Ctrl-C": lambda screen: screen.keys("C-c"),
    "SIGHUP": lambda screen: screen.run("kill-session"),
    "kill -9": lambda screen: os.kill(screen.server, signal.SIGKILL),
}


def _left(place: Watched, server: Server, processes: list[int]) -> str:
    """Return what is left 20 s after top was told to end."""
    try:
        wait_for(lambda: not any(Path(f"/proc/{one}").exists() for one in processes), "a process is left", seconds=20)
        wait_for(
            lambda: not {end for end in server.host.ends(port=636) if end[0] == place.topology.address("desk")},
            "a connection is left",
            seconds=20,
        )
        for host in (server.host, place.topology.app2):
            wait_for(lambda host=host: not host.run("pgrep -f '[s]h -s' || true").strip(), "sh is left", seconds=20)
    except AssertionError as error:
        return str(error)
    return ""


def _cost(place: Watched, family: str, count: int, small: bool) -> tuple[str, list[str]]:  # noqa: FBT001  as the others
    """Hold many connections, and measure what top costs here and at the server."""
    count = 100 if small else count
    server = _server(place, family, descriptors=20_000)
    hosts = (place.topology.app1, place.topology.app2)
    sizes = [min(OF_CLIENTS, count - begin) for begin in range(0, count, OF_CLIENTS)]
    clients = [place.start(hosts[at % 2], "held", count=size, opening=60) for at, size in enumerate(sizes)]
    for client in clients:
        client.ready(seconds=900)
    seconds = 5 if small else 60
    served = _outside(server)
    idle = _share(seconds, served)
    with place.top(server.administrator, *TARGETS, "--every", "86400", name=f"cost-{family}") as screen:
        screen.shows(lambda text: re.search(r"diagnosis \d+ s ago", text), "no diagnosis", seconds=300)
        time.sleep(1 if small else 15)
        asked, ours = _requests(server), screen.processes()
        with_top, here = _shares(seconds, (served,), ours)
        messages = (_requests(server) - asked) / seconds * 60
        memory = resident_megabytes(*ours)
        _settled(screen, f"cost-{family}-{count}")
        screen.keys("+")
        time.sleep(2)
        quick, here_quick = _shares(seconds, (served,), ours)
        screen.keys("D")
        before, begun = processor_seconds(served), time.monotonic()
        time.sleep(2)
        screen.shows(lambda text: number(text, "diagnosis") in range(4), "no later diagnosis", seconds=120)
        passed = time.monotonic() - begun  # in it the server also does what it does without the diagnosis
        diagnosis = max(0.0, processor_seconds(served) - before - passed * quick / 100)
    at_server = with_top - idle
    seen = (
        f"top: {here:.1f} % of a core every 2 s, {here_quick:.1f} % every 1 s, {memory:.0f} MB; "
        f"server: {idle:.2f} % idle, {at_server:+.2f} % every 2 s, {quick - idle:+.2f} % every 1 s, "
        f"{diagnosis:.2f} s a diagnosis; {messages:.0f} searches a minute"
    )
    most = next((share for limit, share in MOST_OF_SERVER.items() if count <= limit), 100.0)
    wrong = [f"top takes {here_quick:.1f} %"] if here_quick > MOST_OF_TOP else []
    at_server += 100 * diagnosis / EVERY
    wrong += [f"the server takes {at_server:.2f} % with its diagnoses"] if at_server > most else []
    return seen, [] if small else wrong


def _share(seconds: float, *processes: int) -> float:
    """Return the share of a core in per cent that processes take."""
    return _shares(seconds, processes)[0]


def _shares(seconds: float, *groups: tuple[int, ...] | list[int]) -> list[float]:
    before = [processor_seconds(*group) for group in groups]
    begun = time.monotonic()
    time.sleep(seconds)
    passed = time.monotonic() - begun
    return [100 * (processor_seconds(*group) - b) / passed for group, b in zip(groups, before, strict=True)]


def _requests(server: Server) -> int:
    """Return how many searches the server has logged."""
    place = "/var/log/dirsrv/slapd-live/access*" if "ns-slapd" in server.argv[0] else str(server.log)
    return int(server.host.run(f"cat {place} | grep -c ' SRCH ' || true"))


def _server(place: Watched, family: str, **options: object) -> Server:
    if family == "389-ds":
        most = {"nsslapd-maxdescriptors": str(options["descriptors"])} if "descriptors" in options else {}
        return place.laboratory.ds389(place.topology.ldap, settings=most, **options)
    # By default slapd cuts the list at 500 connections.
    return place.laboratory.slapd(place.topology.ldap, configuration="sizelimit unlimited\n", **options)


def _outside(server: Server) -> int:
    """Return the process number of a server as this machine sees it: 389-ds leaves the process that started it."""
    space = Path(f"/proc/{server.host.pid}/ns/pid").readlink()
    for one in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            within = (one / "status").read_text().partition("NSpid:")[2].partition("\n")[0].split()
            if (one / "ns" / "pid").readlink() == space and within[-1:] == [str(server.pid)]:
                return int(one.name)
    raise ProcessLookupError(server.pid)


def _settled(screen: Multiplexer, name: str) -> str:
    """Keep a screen beside the notes of the experiment, to be looked at, and return it."""
    text = _text(screen)
    NOTES.mkdir(exist_ok=True)
    (NOTES / f"top-{name}.txt").write_text(text + "\n")
    return text


def _text(screen: Multiplexer) -> str:
    return "\n".join(screen.lines)


_STEPS: dict[str, Callable[[Watched, str, int, bool], tuple[str, list[str]]]] = {
    "leak": _leak,
    "disturbed": _disturbed,
    "cost": _cost,
}
FAMILIES = ("openldap", "389-ds")
EXPERIMENT = Experiment(
    name="top",
    title="ldapdiag top beside real servers",
    about=(
        f"Steps are `leak FAMILY`: {RATE} connections a second leak into a server of {LIMIT:,} descriptors, with\n"
        "ghosts behind a box; after five minutes the idle timeout is set. `disturbed FAMILY`: the server stops,\n"
        "continues, restarts, shows another certificate (slapd); ssh is killed; a source takes 30 s; then top ends by\n"
        "q, Ctrl-C, SIGHUP and the kill of its terminal. `cost FAMILY CONNECTIONS`: idle clients, processor time\n"
        "over a minute.\n"
        "Expected: numbers of the truth, the cure on the screen, nothing old as of now, nothing left; top below\n"
        f"{MOST_OF_TOP:.0f} % of a core every second; the server every 2 s with a diagnosis a minute below 1 %\n"
        "up to 1,000 connections, 3 % up to 10,000."
    ),
    steps=(
        *(f"cost {family} {count}" for count in (1_000, 10_000) for family in FAMILIES),
        "cost 389-ds 4800",
        *(f"{kind} {family}" for kind in ("leak", "disturbed") for family in FAMILIES),
    ),
    run=run,
    small=1,
)
