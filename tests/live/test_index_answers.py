"""The check of an index's answers on real servers: one that was configured and never built, and built ones."""

from __future__ import annotations

import pytest

from lab.directory_servers import SUFFIX
from lab.host import Host
from ldapdiag.servers.commands.shell_session import SESSION
from ldapdiag.servers.indexes.index_answers import FUNCTIONS, check_answers, search_function

PEOPLE = 300
HOSTILE = ("*)(uid=*", r"\5c$(id)", "ä and ö", "{}", "-x", "two\\, parts")
TYPES = ("eq", "pres", "sub")
INDEXES = "cn=index,cn=userRoot,cn=ldbm database,cn=plugins,cn=config"


def people():
    for number in range(PEOPLE):
        name = f"{HOSTILE[number % len(HOSTILE)]} {number:04}"
        yield (
            f"dn: uid=p{number},{SUFFIX}\nobjectClass: inetOrgPerson\nuid: p{number}\ncn: p{number:04}\nsn: {name}\n"
            f"employeeNumber: {number:06}\ndescription: {name}\n"
        )


@pytest.fixture(params=["389-ds", "slapd"])
def server(laboratory, request):
    with Host("ldap") as host:
        yield with_unbuilt_389(laboratory, host) if request.param == "389-ds" else with_unbuilt_slapd(laboratory, host)


def with_unbuilt_389(laboratory, host):
    """Start a server whose index of employeeNumber was added and never built, and that was restarted."""
    running = laboratory.ds389(host)
    running.modify("\n".join(one.replace("\n", "\nchangetype: add\n", 1) for one in people()))
    types = "".join(f"nsIndexType: {one}\n" for one in TYPES)
    running.modify(
        f"dn: cn=employeeNumber,{INDEXES}\nchangetype: add\nobjectClass: nsIndex\ncn: employeeNumber\n"
        f"nsSystemIndex: false\n{types}"
    )
    return running.restart()


def with_unbuilt_slapd(laboratory, host):
    """Start a server whose index of employeeNumber was added to slapd.conf without slapindex."""
    indexes = "index objectClass eq\nindex sn pres,eq,sub"  # without that of objectClass it uses no other, either
    running = laboratory.slapd(host, by_file=True, database=indexes, entries="\n".join(people()))
    host.run("sed -i 's/^index sn .*/&\\nindex employeeNumber pres,eq,sub/' /etc/ldap/slapd.conf")
    return running.restart()


def test_an_index_without_a_build_is_wrong_and_a_built_one_right(server):
    tool = f"ldapsearch -Q -Y EXTERNAL -H ldapi://{server.ldapi}"

    def check(*calls):
        text = "\n".join([SESSION, "trap - EXIT", search_function(tool), FUNCTIONS, *calls, "answers_right"])
        return server.host.attempt(["sh", "-c", text])

    wrong = check(check_answers(SUFFIX, "employeeNumber", TYPES))
    assert wrong.returncode == 1
    assert wrong.stderr.count("WRONG: ") == 5
    assert "right: " not in wrong.stdout
    right = check(check_answers(SUFFIX, "sn", TYPES), check_answers(SUFFIX, "description", ("eq",)))
    assert (right.returncode, right.stderr) == (0, "")
    assert right.stdout.count("right: ") == 6


HALF, RUNS = 1500, 20


def interrupted_slapd(laboratory, host, share):
    """Start a slapd whose index of sn has the oldest entries, as an interrupted build leaves it."""
    index, built = "index objectClass eq\n", round(2 * HALF * (1 - share))
    lines = [one.replace(f"uid=p{number},", f"uid=q{number},") for number, one in enumerate(numbered())]
    running = laboratory.slapd(
        host, by_file=True, database=f"limits * size=unlimited\n{index}index sn eq", entries="\n".join(lines[:built])
    )
    host.run("kill $(cat /run/slapd/slapd.pid); sleep 0.5; sed -i '/^index sn/d' /etc/ldap/slapd.conf")
    host.run("slapadd -q -f /etc/ldap/slapd.conf", stdin="\n".join(lines[built:]))
    host.run("sed -i 's/^index objectClass.*/&\\nindex sn eq/' /etc/ldap/slapd.conf")
    running.start()
    return running


def numbered():
    for number in range(2 * HALF):
        yield (
            f"dn: uid=p{number},{SUFFIX}\nobjectClass: inetOrgPerson\nuid: p{number}\ncn: p\nsn: surname {number:05}\n"
        )


@pytest.mark.parametrize(("share", "least"), [(0.5, RUNS), (0.1, RUNS // 3)])
def test_a_build_that_was_interrupted_is_noticed(laboratory, share, least, record_property):
    """Of the newest half, 12 draws miss all once in 4,096 times; of the newest tenth, in 28 % of all cases."""
    with Host("ldap") as host:
        server = interrupted_slapd(laboratory, host, share)
        assert "dn: " in server.search(SUFFIX, "(sn=surname 00000)", "1.1")
        assert "dn: " not in server.search(SUFFIX, f"(sn=surname {2 * HALF - 1:05})", "1.1")
        tool = f"ldapsearch -Q -Y EXTERNAL -H ldapi://{server.ldapi}"
        call = check_answers(SUFFIX, "sn", ("eq",))
        text = "\n".join([SESSION, "trap - EXIT", search_function(tool), FUNCTIONS, call, "answers_right"])
        noticed = sum(server.host.attempt(["sh", "-c", text]).returncode == 1 for _ in range(RUNS))
        record_property("noticed", f"{noticed} of {RUNS} with {share:.0%} missing")
        assert noticed >= least
