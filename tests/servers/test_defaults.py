"""What a product does when nothing is set: known, or None."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ldapdiag.evidence.family import Family
from ldapdiag.servers.defaults import ByVersion
from ldapdiag.servers.products import FOLDERS, product_of

DS389 = product_of(Family.DS389).defaults
OPENLDAP = product_of(Family.OPENLDAP).defaults
DSEE = product_of(Family.DSEE).defaults
OPENDJ = product_of(Family.OPENDJ).defaults
PING = product_of(Family.PING).defaults

QUESTIONS = (
    "idle_timeout_seconds",
    "sets_keepalive_time",
    "keepalive_seconds",
    "sends_keepalives",
    "max_descriptors",
    "descriptor_cap",
)
IDLE_QUESTIONS = ("needs_activity", "reaches_open_connections", "ignored", "early_seconds", "late")


RECORD = json.loads(Path(__file__).with_name("defaults.json").read_text())
"""Answers by family and question, run-length encoded: the first version of each range (empty: unknown) and its answer.

Recorded from the functions that preceded the data. A change of this file is a change of what the program claims.
"""

EVERY_VERSION = [(major, minor, patch) for major in range(4) for minor in range(12) for patch in range(60)]


def value_of(family, question):
    """Return a value by version, of the product's defaults or of how it enforces its idle timeout."""
    product = product_of(family)
    return getattr(product.idle_enforcement if question in IDLE_QUESTIONS else product.defaults, question)


@pytest.mark.parametrize("family", FOLDERS)
def test_a_family_has_its_own_product(family):
    assert product_of(family).family is family


def test_of_ibm_only_the_monitor_is_known():
    assert set(Family) - set(FOLDERS) == {Family.IBM}
    assert product_of(Family.IBM) is None


@pytest.mark.parametrize("family", FOLDERS)
@pytest.mark.parametrize("question", QUESTIONS + IDLE_QUESTIONS)
def test_an_unknown_version_gets_only_values_of_every_version(family, question):
    answer = value_of(family, question).at

    assert answer(()) is None or {answer(version) for version in EVERY_VERSION} == {answer(())}


def recorded(ranges, version):
    """Return the recorded answer for a version."""
    first, *others = [(tuple(map(int, since.split("."))) if since else (), answer) for since, answer in ranges]
    return next((answer for since, answer in reversed(others) if since <= version), None) if version else first[1]


@pytest.mark.parametrize(("family", "question"), [(family, name) for family in RECORD for name in RECORD[family]])
def test_the_data_answers_as_recorded_in_every_version(family, question):
    value = value_of(Family(family), question)
    versions = [(), *((major,) for major in range(13)), *((a, b) for a in range(13) for b in range(13)), *EVERY_VERSION]
    versions += [(11, 1, 1), (10, 0, 17763), (4, 10, 1), (4, 10, 2)]

    assert [value.at(one) for one in versions] == [recorded(RECORD[family][question], one) for one in versions]


@pytest.mark.parametrize("family", FOLDERS)
def test_ranges_ascend(family):
    records = (product_of(family).defaults, product_of(family).idle_enforcement)
    values = [getattr(record, name) for record in records for name in record.__slots__]
    ranges = [value.ranges for value in values if isinstance(value, ByVersion)]

    assert all([since for since, _ in one] == sorted({since for since, _ in one}) for one in ranges)


@pytest.mark.parametrize(
    ("version", "seconds"),
    [((1, 2, 11), 0), ((1, 3, 11), 0), ((1, 4, 0), 0), ((1, 4, 1), 3600), ((1, 4, 3), 3600), ((2, 3, 1), 3600)],
)
def test_389_closes_idle_connections_by_itself_from_1_4_1_on(version, seconds):
    assert DS389.idle_timeout_seconds.at(version) == seconds


@pytest.mark.parametrize(
    ("version", "seconds"),
    [
        ((1, 3, 11), None),
        ((1, 4, 4), None),
        ((2, 0, 14), None),
        ((2, 0, 15), 300),
        ((2, 1, 0), None),
        ((2, 1, 1), 300),
        ((2, 2, 0), 300),
        ((3, 1, 2), 300),
    ],
)
def test_389_has_a_keepalive_time_of_its_own_since_issue_5048(version, seconds):
    assert DS389.keepalive_seconds.at(version) == seconds


@pytest.mark.parametrize(
    ("version", "descriptors"),
    [
        ((1, 2, 11), 1024),
        ((1, 3, 6), 1024),
        ((1, 3, 8), None),
        ((1, 3, 11), 8192),
        ((1, 4, 0), 8192),
        ((1, 4, 1), 1_048_576),
    ],
)
def test_389_had_three_default_limits(version, descriptors):
    assert DS389.max_descriptors.at(version) == descriptors


@pytest.mark.parametrize(
    ("version", "answer"),
    [
        ((1, 2, 11), True),
        ((1, 4, 3), None),
        ((2, 2, 9), True),
        ((2, 2, 10), None),
        ((2, 3, 1), True),
        ((2, 4, 4), True),
        ((2, 4, 5), None),
        ((2, 7, 0), None),
        ((3, 0, 1), False),
        ((3, 1, 0), False),
    ],
)
def test_issue_6004_is_answered_only_where_the_release_notes_do(version, answer):
    assert product_of(Family.DS389).idle_enforcement.at(version).needs_activity is answer


def test_openldap_leaves_keepalive_and_descriptors_to_its_host():
    assert OPENLDAP.sends_keepalives.at((2, 5, 13)) is True
    assert OPENLDAP.keepalive_seconds.at((2, 5, 13)) is None
    assert OPENLDAP.max_descriptors.at((2, 5, 13)) is None
    assert OPENLDAP.idle_timeout_seconds.at((2, 4, 44)) == 0


@pytest.mark.parametrize(
    ("version", "backlog"), [((), None), ((2, 4, 44), 1024), ((2, 5, 5), None), ((2, 5, 13), 2048)]
)
def test_openldap_has_its_backlog_compiled_in(version, backlog):
    assert OPENLDAP.listen_backlog.at(version) == backlog


@pytest.mark.parametrize("defaults", [DSEE, OPENDJ, PING])
def test_the_descendants_of_sun_s_servers_close_nothing_by_themselves_and_leave_keepalive_to_the_kernel(defaults):
    assert defaults.idle_timeout_seconds.at(()) == 0
    assert defaults.keepalive_seconds.at(()) is None
    assert defaults.sets_keepalive_time.at(()) is False


def test_dsee_has_389_s_names_and_other_numbers():
    assert (DSEE.max_descriptors.at((11, 1, 1)), DSEE.reserved_descriptors, DSEE.threads.at((5, 2, 0))) == (
        1024,
        64,
        30,
    )
    assert DSEE.sends_keepalives.at((11, 1, 1)) is None


@pytest.mark.parametrize(
    ("version", "ignored"),
    [((), False), ((3, 0, 0), False), ((4, 0, 0), True), ((4, 10, 1), True), ((5, 1, 2), False), ((8, 0, 0), False)],
)
def test_opendj_4_ignores_its_global_idle_limit(version, ignored):
    assert bool(product_of(Family.OPENDJ).idle_enforcement.at(version).ignored) is ignored
    assert not product_of(Family.DS389).idle_enforcement.at(version).ignored


def test_exempt_accounts():
    exempt = {family: product_of(family).idle_enforcement.exempt for family in FOLDERS}

    assert exempt[Family.DS389] == exempt[Family.DSEE] == ("cn=Directory Manager",)
    assert "cn=Directory Manager,cn=Root DNs,cn=config" in exempt[Family.OPENDJ]
    assert exempt[Family.OPENLDAP] == exempt[Family.AD] == ()


@pytest.mark.parametrize(
    ("family", "version", "timeout", "earliest", "latest"),
    [
        (Family.DS389, (2, 3, 1), 300, 299, None),
        (Family.DS389, (3, 1, 0), 300, 299, 301),
        (Family.DS389, (2, 4, 6), 300, 299, None),
        (Family.OPENLDAP, (2, 5, 13), 300, 300, 452),
        (Family.OPENLDAP, (), 8, 8, 14),
        (Family.OPENDJ, (4, 10, 1), 300, 300, 305),
        (Family.DSEE, (11, 1, 1), 300, None, None),
        (Family.AD, (10, 0), 900, None, None),
    ],
)
def test_when_an_idle_connection_is_closed(family, version, timeout, earliest, latest):
    enforcement = product_of(family).idle_enforcement.at(version)

    assert (enforcement.earliest(timeout), enforcement.latest(timeout)) == (earliest, latest)
