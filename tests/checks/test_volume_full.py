"""volume-full: space and inodes, what is reserved, quotas, and what the server does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import facts
import histories
import storage_facts as disk
from ldapdiag.analysis.storage.filling import by_log
from ldapdiag.baseline.comparison import ComparedNumber, measured
from ldapdiag.baseline.reported import KeptNumber
from ldapdiag.evidence.access_log import AccessLog, LogStream
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.history import History, RecordedVolume
from ldapdiag.evidence.log.segment import Segment
from ldapdiag.evidence.origin import Span
from ldapdiag.evidence.storage import Space
from ldapdiag.evidence.storage.settings import Role, StorageSetting
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.remedy import RemedyKind
from ldapdiag.servers.products import product_of
from ldapdiag_checks.volume_full import judge

MIB, GIB = 1 << 20, 1 << 30
PLENTY = {"total_bytes": 100 * GIB, "used_bytes": 40 * GIB, "free_bytes": 60 * GIB}
INODES = {"total_inodes": 1_000_000, "free_inodes": 900_000}
LEVELS = [None, Severity.LOW, Severity.MEDIUM, Severity.HIGH, Severity.CRITICAL]


def judged(*given: Any, mount: Any = None, settings: Any = None, **numbers: int | None) -> Verdict:
    """Return the verdict on the volume of the database, with so much space."""
    where = settings or disk.settings((Role.DATABASE, disk.DATABASE))
    space = [disk.space(**PLENTY | INODES | numbers)] if numbers else []
    (verdict,) = judge(disk.joined(disk.table(mount or disk.mount()), where, *space, *given), facts.server())
    return verdict


def free(amount: int, total: int = 100 * GIB, used: int | None = None) -> dict[str, int]:
    return {"total_bytes": total, "used_bytes": total - amount if used is None else used, "free_bytes": amount}


def severity(verdict: Verdict) -> Severity | None:
    return verdict.severity if isinstance(verdict, Finding) else None


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        (free(0), Severity.CRITICAL),
        (free(10 * MIB - 1), Severity.CRITICAL),
        (free(10 * MIB), Severity.HIGH),
        (free(GIB - 1), Severity.HIGH),
        (free(GIB), Severity.MEDIUM),
        (free(10 * GIB - 1), Severity.MEDIUM),
        (free(10 * GIB), None),
        (free(11 * GIB, 1000 * GIB), None),
        (free(300 * MIB, 2 * GIB), None),
        ({"free_inodes": 0}, Severity.CRITICAL),
        ({"free_inodes": 9}, Severity.CRITICAL),
        ({"free_inodes": 10}, Severity.HIGH),
        ({"free_inodes": 1_000}, Severity.MEDIUM),
        ({"free_inodes": 10_000}, None),
        ({"free_inodes": 0, "total_inodes": 0}, None),
    ],
)
def test_what_is_left_decides(numbers, expected) -> None:
    verdict = judged(**numbers)
    assert severity(verdict) is expected
    if expected is None:
        assert isinstance(verdict, Clear)


def test_a_log_alone_is_one_step_lower() -> None:
    log = disk.settings((Role.ACCESS_LOG, disk.DATABASE))
    verdict = judged(settings=log, **free(0))
    assert severity(verdict) is Severity.HIGH
    assert "Records of the access log are lost" in verdict.detail


AMOUNTS = st.integers(0, 20 * GIB)


@given(AMOUNTS, AMOUNTS, st.integers(0, 20_000), st.integers(0, 20_000))
def test_less_free_is_never_a_smaller_finding(one: int, other: int, some: int, few: int) -> None:
    more = judged(**free(max(one, other)), free_inodes=max(some, few))
    less = judged(**free(min(one, other)), free_inodes=min(some, few))
    assert LEVELS.index(severity(less)) >= LEVELS.index(severity(more))


SHORT_BYTES, SHORT_INODES = st.integers(0, 9 * GIB), st.integers(0, 9_000)


@given(SHORT_BYTES, SHORT_BYTES, SHORT_INODES, SHORT_INODES)
def test_a_baseline_calls_less_free_never_better(one: int, other: int, some: int, few: int) -> None:
    more, less = (
        measured(judge.number, judged(**free(pick(one, other)), free_inodes=pick(some, few)).observed, None)
        for pick in (max, min)
    )
    compared = ComparedNumber(number=judge.number, before=KeptNumber(number=more, taken_at=None), now=less)
    assert compared.worse == (less.measures[0].value < 0.9 * more.measures[0].value)


@pytest.mark.parametrize("resource", ["bytes", "inodes"])
def test_a_baseline_calls_half_of_what_was_free_worse_and_twice_as_much_better(resource: str) -> None:
    less, more = ({**PLENTY, **left} for left in ({"free_bytes": GIB}, {"free_bytes": 2 * GIB}))
    if resource == "inodes":
        less, more = (PLENTY | {"free_inodes": left} for left in (400, 800))
    numbers = [measured(judge.number, judged(**one).observed, None) for one in (less, more)]
    for before, now, worse in ((*numbers, -1), (*reversed(numbers), 1)):
        kept = KeptNumber(number=before, taken_at=None)
        assert ComparedNumber(number=judge.number, before=kept, now=now).worse == worse


def test_blocks_for_root_are_named_and_do_not_count_as_free() -> None:
    verdict = judged(**free(0, used=95 * GIB))
    assert isinstance(verdict, Finding)
    assert verdict.observed["reserved_bytes"] == 5 * GIB
    assert "5 GiB are reserved" in verdict.detail
    assert "undo: tune2fs -m 5 /dev/mapper/vg-ldap" in verdict.remedies[1].text
    assert "tune2fs" not in judged(**free(0)).remedies[1].text


def test_without_the_space_it_is_not_judged() -> None:
    for verdict in (judged(), judged(free_bytes=None)):
        assert isinstance(verdict, NotJudged)
        assert verdict.missing == ("file-system-space",)
        assert "df -PiT" in verdict.how


def test_a_file_system_that_reports_no_size_is_not_judged() -> None:
    verdict = judged(mount=disk.mount("tmpfs"), **free(0, total=0), **dict.fromkeys(INODES, 0))
    assert isinstance(verdict, NotJudged)
    assert "reports no size" in verdict.reason


def test_without_the_space_no_inodes_left_is_critical() -> None:
    verdict = judged(**dict.fromkeys(PLENTY, None), free_inodes=0)
    assert severity(verdict) is Severity.CRITICAL
    assert "no inodes left" in verdict.title
    assert "The free space is not in the evidence." in verdict.detail


def test_without_inodes_ext4_is_not_judged_and_xfs_is_clear() -> None:
    missing = judged(free_inodes=None, total_inodes=None)
    assert isinstance(missing, NotJudged)
    assert "inodes" in missing.reason
    xfs = disk.mount("xfs")
    assert isinstance(judged(mount=xfs, free_inodes=None, total_inodes=None), Clear)
    assert severity(judged(**free(0), free_inodes=None, total_inodes=None)) is Severity.CRITICAL


@pytest.mark.parametrize("option", ["usrquota", "grpquota", "usrjquota=aquota.user"])
def test_a_quota_forbids_a_clear_verdict(option) -> None:
    verdict = judged(mount=disk.mount("ext4", option), **PLENTY)
    assert isinstance(verdict, NotJudged)
    assert option in verdict.reason
    assert severity(judged(mount=disk.mount("ext4", option), **free(0))) is Severity.CRITICAL


@pytest.mark.parametrize("option", ["noquota", "prjquota", "quiet"])
def test_df_counts_what_a_quota_of_a_project_leaves(option) -> None:
    assert isinstance(judged(mount=disk.mount("ext4", option), **PLENTY), Clear)


@pytest.mark.parametrize("first", [0, 1])
def test_of_folders_with_quotas_of_their_own_the_least_counts(first) -> None:
    """Of two folders df lists the same mount point with what each project may have."""
    rows = [row for amount in (80 * GIB, 5 * MIB) for row in disk.space(**free(amount), **INODES).rows]
    listed = replace(disk.space(), rows=tuple(rows[first:] + rows[:first]))
    project = disk.mount("xfs", "prjquota")
    where = disk.settings((Role.DATABASE, disk.DATABASE))
    (verdict,) = judge(disk.joined(disk.table(project), where, listed), facts.server())
    assert severity(verdict) is Severity.CRITICAL
    assert verdict.observed["free_bytes"] == 5 * MIB
    assert "df lists 2 rows of this mount point" in verdict.detail


def test_a_read_only_volume_is_named() -> None:
    read_only = disk.mount("ext4", options="ro,relatime")
    assert "read-only" in judged(mount=read_only, **free(0)).detail
    assert "read-only" in judged(mount=read_only, **PLENTY).reason


def test_a_place_without_a_volume_is_not_judged() -> None:
    excerpt = disk.MountTable(
        origin=facts.origin(name="mounts.txt"), mounts=(disk.mount(mount_point="/else"),), complete=False,
        shows_atime=True,
    )  # fmt: skip
    verdicts = list(judge(disk.joined(excerpt, disk.settings((Role.DATABASE, disk.DATABASE))), facts.server()))
    assert [type(one) for one in verdicts] == [NotJudged, NotJudged], "the database, and its transaction log"
    assert all(disk.DATABASE in one.reason for one in verdicts)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ({}, "its default is off"),
        ({"nsslapd-disk-monitoring": "off"}, "nsslapd-disk-monitoring is off"),
        ({"nsslapd-disk-monitoring": "off"}, "refused with operationsError (1)"),
        ({"nsslapd-disk-monitoring": "off", "nsslapd-backend-implement": "mdb"}, "with mdb it was not measured"),
        ({"nsslapd-disk-monitoring": "on"}, "with less than 1 MiB it stops after 60 min"),
        (
            {"nsslapd-disk-monitoring": "on", "nsslapd-disk-monitoring-threshold": str(GIB)},
            "with less than 512 MiB it stops",
        ),
        (
            {"nsslapd-disk-monitoring": "ON", "nsslapd-disk-monitoring-readonly-on-threshold": "on"},
            "it makes its databases read-only",
        ),
    ],
)
def test_what_the_server_does_follows_its_settings(rows, expected) -> None:
    found = tuple(StorageSetting(name=name, value=value) for name, value in rows.items())
    verdict = judged(settings=disk.settings((Role.DATABASE, disk.DATABASE), settings=found), **free(0))
    assert expected in verdict.detail


@pytest.mark.parametrize(("monitoring", "severity"), [("on", Severity.CRITICAL), ("off", None)])
def test_less_than_the_server_stops_at_is_critical(monitoring, severity) -> None:
    rows = {"nsslapd-disk-monitoring": monitoring, "nsslapd-disk-monitoring-threshold": str(50 * GIB)}
    found = tuple(StorageSetting(name=name, value=value) for name, value in rows.items())
    verdict = judged(settings=disk.settings((Role.DATABASE, disk.DATABASE), settings=found), **free(20 * GIB))
    assert getattr(verdict, "severity", None) is severity
    assert severity is None or "less space left than the server needs by its settings" in verdict.title


def test_a_volume_without_a_size_is_not_judged_whatever_the_server_needs() -> None:
    found = (StorageSetting(name="nsslapd-disk-monitoring", value="on"),)
    verdict = judged(settings=disk.settings((Role.DATABASE, disk.DATABASE), settings=found), **free(0, total=0))
    assert isinstance(verdict, NotJudged)


def test_logs_that_are_critical_are_not_deleted() -> None:
    rows = {"nsslapd-disk-monitoring": "on", "nsslapd-disk-monitoring-logging-critical": "on"}
    found = tuple(StorageSetting(name=name, value=value) for name, value in rows.items())
    verdict = judged(settings=disk.settings((Role.DATABASE, disk.DATABASE), settings=found), **free(0))
    assert "deletes its rotated logs" not in verdict.detail


def test_an_unknown_product_is_named_as_such() -> None:
    other = ServerIdentity(family=Family.AD)
    server = facts.server(identity=other)
    settings = disk.settings((Role.DATABASE, disk.DATABASE), identity=other)
    storage = disk.joined(disk.table(disk.mount()), settings, disk.space(**free(0)), server=server)
    (verdict,) = judge(storage, server)
    assert "is not known here" in verdict.detail


def test_commands_only_read_and_quote_the_mount_point() -> None:
    hostile = "/srv/$(reboot)"
    settings = disk.settings((Role.DATABASE, f"{hostile}/db"))
    mount = disk.mount(mount_point=hostile)
    storage = disk.joined(disk.table(mount), settings, disk.space(hostile, **free(0)))
    (verdict,) = judge(storage, facts.server())
    assert {one.kind for one in verdict.remedies} == {RemedyKind.ADVICE}
    assert not any(hostile in one.text for one in verdict.remedies)
    look, room = judged(**free(0)).remedies
    assert (look.kind, room.kind) == (RemedyKind.SHELL, RemedyKind.ADVICE)
    assert {line.split()[0] for line in look.text.splitlines()} == {"df", "du", "lsof"}


def filled(*free_gib: int, log: bool = False) -> Verdict:
    """Return the verdict on a volume of 100 GiB whose free GiB were listed each hour, the last one now."""
    *before, last = free_gib
    runs = []
    for number, one in enumerate(before):
        taken = histories.minutes(60 * number)
        volume = RecordedVolume(
            mount_point="/var/lib/dirsrv", taken=taken, total_bytes=100 * GIB, free_bytes=one * GIB
        )  # fmt: skip
        runs.append(histories.run(number, histories.server(number, volumes=(volume,), taken=taken)))
    listed = disk.space(**free(last * GIB) | INODES)
    now = Span(start=histories.minutes(60 * len(before)), end=histories.minutes(60 * len(before)))
    listed = replace(listed, origin=replace(listed.origin, taken=now))
    where = disk.settings((Role.ACCESS_LOG if log else Role.DATABASE, disk.DATABASE))
    storage = disk.joined(disk.table(disk.mount()), where, listed)
    (verdict,) = judge(storage, facts.server(), (History(origin=facts.origin(), runs=tuple(runs)),))
    return verdict


def test_full_within_a_day_is_high_and_within_a_week_medium() -> None:
    soon = filled(*range(42, 19, -1))
    assert severity(soon) is Severity.HIGH
    assert "will be full in " in soon.title
    assert "20 GiB of 100 GiB free" in soon.title
    assert soon.observed["hours_left"] == pytest.approx(20, rel=0.2)
    assert soon.observed["free_percent"] == 20
    assert severity(filled(*range(42, 19, -1), log=True)) is Severity.MEDIUM
    assert severity(filled(*(85 - one // 2 for one in range(120)))) is Severity.MEDIUM


def test_what_fills_it_since_a_few_hours_is_a_possible_finding() -> None:
    """It is full in 10 h at the speed of the last 13 h, and in years at that of the ten days before."""
    verdict = filled(*(95 - at // 100 for at in range(240)), *(92 - 4 * at for at in range(1, 14)))
    assert severity(verdict) is Severity.MEDIUM
    assert verdict.confidence is Confidence.POSSIBLE
    assert " may be full in 10 hours" in verdict.title


def test_a_saw_tooth_is_clear_and_says_why_no_time_is_forecast() -> None:
    verdict = filled(*(60 - at % 12 for at in range(40)))
    assert isinstance(verdict, Clear)
    assert "something was removed" in verdict.reason
    assert "forecast" not in judged(**PLENTY).reason, "without recorded runs there is nothing to say"


def test_little_space_is_named_whatever_is_forecast() -> None:
    verdict = filled(*range(10, 0, -1))
    assert severity(verdict) is Severity.HIGH
    assert verdict.observed["hours_left"] < 2
    assert "as long as nothing is removed" in verdict.detail
    assert "not judged" in judged(**free(0)).detail


def of_java(value: str, *, version: tuple[int, ...] = (), complete: bool = True, role: Role = Role.DATABASE) -> Verdict:
    """Return the verdict on 300 MiB free of an OpenDJ with such a disk-low-threshold."""
    rows = (StorageSetting(name="ds-cfg-disk-low-threshold", value=value, backend="userRoot"),) if value else ()
    identity = ServerIdentity(family=Family.OPENDJ, version=version)
    settings = disk.settings(
        (role, disk.DATABASE), identity=identity, settings=rows, backends=("userRoot",), complete=complete
    )
    server = facts.server(identity=identity)
    given_space = disk.space(**free(300 * MIB, total=2 * GIB) | INODES)
    storage = disk.joined(disk.table(disk.mount()), settings, given_space, server=server)
    (verdict,) = judge(storage, server)
    return verdict


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1 GB", Severity.CRITICAL),
        ("400 megabytes", Severity.CRITICAL),
        ("0.5 gibibytes", Severity.CRITICAL),
        ("314572801 b", Severity.CRITICAL),
        ("300 mib", None),
        ("300 MB", None),
        ("5% of the disk", None),
        ("9" * 400, None),
        ("", None),
    ],
)
def test_an_opendj_refuses_updates_below_its_threshold(value, expected) -> None:
    verdict = of_java(value)
    assert severity(verdict) is expected
    assert expected is None or "disk-low-threshold of a backend (" in verdict.detail
    assert severity(of_java(value, role=Role.ACCESS_LOG)) is None, "the threshold is that of the database's volume"


@pytest.mark.parametrize(("name", "expected"), [("userRoot", 50 * 10**9), ("small", 200_000_000), ("other", None)])
def test_of_several_backends_of_opendj_those_on_the_volume_count(name: str, expected: int) -> None:
    rows = (StorageSetting(name="ds-cfg-disk-low-threshold", value="50 GB", backend="userRoot"),)
    settings = disk.settings(
        identity=ServerIdentity(family=Family.OPENDJ), settings=rows, backends=("small", "userRoot"), complete=True
    )
    rules = product_of(Family.OPENDJ).storage
    assert rules.stops_below(settings, (4, 6), [(Role.DATABASE, f"/srv/db/{name}")]) == expected
    both = [(Role.DATABASE, "/srv/db/small"), (Role.DATABASE, "/srv/db/userRoot")]
    assert rules.stops_below(settings, (4, 6), both) == 50 * 10**9
    assert "disk-low-threshold of a backend (191 MiB to 46.6 GiB)" in rules.when_full(settings, (4, 6))


def test_the_default_of_a_threshold_counts_where_it_is_confirmed() -> None:
    below = {"free_bytes": 150 * MIB, "total_bytes": GIB}
    for version, complete, expected in (((4, 6), True, "200"), ((7, 1), True, ""), ((4, 6), False, ""), ((), True, "")):
        rules = product_of(Family.OPENDJ).storage
        identity = ServerIdentity(family=Family.OPENDJ, version=version)
        settings = disk.settings(identity=identity, backends=("userRoot",), complete=complete)
        needed = rules.stops_below(settings, version, [(Role.DATABASE, "/srv/db/userRoot")])
        assert needed == (200_000_000 if expected else None)
        assert ("differ by version" in rules.when_full(settings, version)) == (not expected)
        assert (below["free_bytes"] < (needed or 0)) == bool(expected)


@pytest.mark.parametrize(("family", "version"), [(Family.OPENDJ, (7, 1)), (Family.PING, (9, 2)), (Family.DS389, ())])
def test_a_limit_that_is_not_known_is_stated_and_forbids_a_clear_verdict_near_it(family: Family, version) -> None:
    identity = ServerIdentity(family=family, version=version)
    settings = disk.settings((Role.DATABASE, disk.DATABASE), identity=identity, complete=False)
    server = facts.server(identity=identity)
    spaces = [disk.space(**free(left) | INODES) for left in (60 * GIB, 12 * GIB)]
    joined = [disk.joined(disk.table(disk.mount()), settings, one, server=server) for one in spaces]
    enough, little = (verdict for storage in joined for verdict in judge(storage, server))
    assert isinstance(enough, Clear)
    assert isinstance(little, NotJudged)
    for verdict in (enough, little):
        assert "stops or refuses changes is not in the evidence" in verdict.reason


def test_a_limit_of_one_of_two_backends_does_not_hide_that_the_other_is_unknown() -> None:
    identity = ServerIdentity(family=Family.OPENDJ, version=(7, 1))
    places = [(Role.DATABASE, f"{disk.DATABASE}/{name}") for name in ("userRoot", "small")]
    low, full = (
        StorageSetting(name=f"ds-cfg-disk-{one}-threshold", value="1 GB", backend="userRoot") for one in ("low", "full")
    )
    settings = disk.settings(*places, identity=identity, settings=(low, full), backends=("userRoot", "small"))
    server = facts.server(identity=identity)
    storage = disk.joined(disk.table(disk.mount()), settings, disk.space(**PLENTY | INODES), server=server)
    (verdict,) = judge(storage, server)
    assert isinstance(verdict, Clear)
    assert "stops or refuses changes is not in the evidence" in verdict.reason


def test_the_speed_of_the_access_log_shows_when_it_alone_fills_the_volume() -> None:
    """A log of 1 MiB an hour."""
    origin = facts.origin(name="access")
    stream = LogStream(name="access", dialect="389-text", family=Family.DS389, files=("access",), bytes_per_hour=MIB)
    log = AccessLog(origin=origin, family=Family.DS389, segment=Segment(), streams=(stream,))
    storage = disk.joined(
        disk.table(disk.mount()), disk.settings((Role.ACCESS_LOG, disk.DATABASE)), disk.space(**PLENTY | INODES)
    )
    for logs, expected in (
        ((log,), True),
        ((replace(log, streams=(replace(stream, bytes_per_hour=None),)),), False),
        ((), False),
    ):
        (verdict,) = judge(storage, facts.server(access_logs=logs))
        assert isinstance(verdict, Clear)
        assert (
            "its access log adds 1 MiB an hour: that alone will fill it in more than a year" in verdict.reason
        ) == expected
    assert by_log(Space(mount_point="/", free_bytes=48 * MIB), (log,), 0).endswith(
        "will fill it in 2.0 days, if no log is removed"
    )


@pytest.mark.parametrize(
    ("low", "complete", "needed"), [("500", False, 500), ("", True, 100), ("", False, None), ("0", True, 10)]
)
def test_a_dsee_accepts_changes_of_its_manager_alone_below_its_threshold(low, complete, needed) -> None:
    rows = (StorageSetting(name="nsslapd-disk-low-threshold", value=low),) if low else ()
    settings = disk.settings(identity=ServerIdentity(family=Family.DSEE), settings=rows, complete=complete)
    rules = product_of(Family.DSEE).storage
    log = (Role.ACCESS_LOG, "/srv/logs/access")
    assert rules.stops_below(settings, (), [(Role.DATABASE, "/srv/db"), log]) == (needed and needed << 20)
    assert rules.stops_below(settings, (), [log]) == 0
    assert "directory manager alone" in rules.when_full(settings, ())
