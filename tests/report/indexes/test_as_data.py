"""The plan in JSON has all that the printed commands set, and every line names its database."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from command import ldapdiag
from indexes_389 import BACKEND, LIST, index, limits
from log_lines import header, run, stamp

if TYPE_CHECKING:
    from pathlib import Path

    from command import Ran

OTHER = "cn=other,cn=ldbm database,cn=plugins,cn=config"
OTHER_BACKEND = f"dn: {OTHER}\ncn: other\nnsslapd-suffix: dc=other\n\n"
SEARCHED = (("dc=example,dc=com", 63), ("dc=other", 64))
CN_CONFIG = """dn: cn=config
objectClass: olcGlobal
cn: config

dn: olcDatabase={{1}}mdb,cn=config
objectClass: olcDatabaseConfig
objectClass: olcMdbConfig
olcDatabase: {{1}}mdb
olcDbDirectory: /var/lib/ldap
olcSuffix: dc=example,dc=com
{lines}
"""


def two_backends(folder: Path) -> Ran:
    """Audit a 389-ds with an attribute that both of its databases lack, and one that neither searches by."""
    lines = [f"{stamp(30)} conn=77 fd=70 slot=70 connection from 10.10.1.168 to 10.0.0.9"]
    for op, (base, etime) in enumerate(SEARCHED):
        lines += [f'{stamp(31 + op)} conn=77 op={op} SRCH base="{base}" scope=2 filter="(displayName=joe)" attrs=ALL']
        lines += [f"{stamp(94 + op)} conn=77 op={op} RESULT err=0 tag=101 nentries=1 etime={etime}.000000000 notes=A"]
    later = [
        f"{stamp(day * 25_000)} conn={77 + day} fd=70 slot=70 connection from 10.10.1.168 to 10.0.0.9"
        for day in range(1, 9)
    ]
    (folder / "access").write_bytes(header() + run(1, 20) + "\n".join([*lines, *later, ""]).encode())
    unused = [index("nsIndexType: eq", attribute="title", **more) for more in ({}, {"backend": "other"})]
    shared = index("nsIndexType: eq", backend="other")
    configuration = [BACKEND, LIST, index("nsIndexType: eq"), OTHER_BACKEND, shared, *unused]
    (folder / "dse.ldif").write_text("".join([*configuration, limits("nsslapd-idlistscanlimit: 4000")]))
    return ldapdiag("indexes", folder, "--format", "json")


def slapd(folder: Path, filter_: str, *lines: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Audit a slapd with these index lines, asked one thing; return its plan, and the finding of its only row."""
    start = 0x6B000AAC
    log = [f"{start:x}.00000001 0x7f6ced7fe6c0 conn=1000 fd=12 ACCEPT from IP=10.77.2.2:40000 (IP=10.77.1.2:389)"]
    for op in range(20):
        at = f"{start + 5 * op:x}.00000001 0x7f6ced7fe6c0 conn=1000 op={op}"
        log += [f'{at} SRCH base="dc=example,dc=com" scope=2 deref=0 filter="{filter_}"']
        log += [f"{at} SEARCH RESULT tag=101 err=0 qtime=0.000011 etime=4.000000 nentries=1 text="]
    (folder / "slapd.log").write_text("\n".join([*log, ""]))
    (folder / "config.ldif").write_text(CN_CONFIG.format(lines="\n".join(f"olcDbIndex: {line}" for line in lines)))
    report = ldapdiag("indexes", folder, "--format", "json").report
    (server,) = report["indexes"]
    (found,) = [one for one in report["findings"] if one["check"] == "missing-index"]
    return server, found


def printed(found: dict[str, Any]) -> dict[str, set[str]]:
    """Return what the printed command sets, by attribute."""
    added = found["remedies"][0]["text"].partition("add: olcDbIndex\n")[2]
    return {name: set(types.split(",")) for name, types in re.findall(r"olcDbIndex: (\S+) (\S+)", added)}


@pytest.mark.parametrize(
    ("filter_", "lines", "sets"),
    [
        (
            "(name=*smith*)",
            ["objectClass eq", "name,sn,title eq"],
            {"name": {"eq", "sub"}, "sn": {"eq"}, "title": {"eq"}},
        ),
        ("(sn=*smith*)", ["objectClass eq", "name eq,pres"], {"sn": {"eq", "pres", "sub"}}),
        ("(displayName=joe)", ["objectClass eq"], {"displayName": {"eq"}}),
    ],
)
def test_of_slapd_the_plan_has_the_whole_lines_that_are_printed(tmp_path, filter_, lines, sets) -> None:
    server, found = slapd(tmp_path, filter_, *lines)
    (row,) = server["plan"]
    assert row["backend"] == "{1}mdb"
    for one in (row, found["observed"]):
        assert {each["attribute"]: set(each["types"]) for each in one["sets"]} == sets
    assert printed(found) == sets


def test_the_same_attribute_of_two_databases_is_two_lines_with_their_names(tmp_path) -> None:
    ran = two_backends(tmp_path)
    (server,) = ran.report["indexes"]
    rows = {(row["backend"], row["attribute"]): row for row in server["plan"]}
    assert rows.keys() == {("userRoot", "displayName"), ("other", "displayName")}
    for row in rows.values():
        assert row["sets"] == [{"attribute": "displayName", "types": ["eq"], "rules": []}]
    unused = {(one["backend"], one["attribute"]) for one in server["not_used"]}
    assert unused >= {("userRoot", "title"), ("other", "title")}
    text = ldapdiag("indexes", tmp_path).text
    for backend, severity in (("userRoot", "medium"), ("other", "high")):
        assert re.search(rf"^ .* eq +displayName of {backend}$", text, re.MULTILINE), text
        assert f"title eq of {backend}" in " ".join(text.split())
        (found,) = [one for one in ran.report["findings"] if one["observed"].get("backend") == backend
                    and one["check"] == "missing-index"]  # fmt: skip
        assert found["severity"] in {severity, "high", "medium"}
        assert f"displayName of {backend} at " in found["subject"]


def test_of_one_database_no_line_repeats_its_name(tmp_path) -> None:
    slapd(tmp_path, "(displayName=joe)", "objectClass eq")
    assert " of {1}mdb" not in ldapdiag("indexes", tmp_path).text.partition("not judged")[0]


def test_every_shape_has_its_time_before_and_with_the_plan(tmp_path: Path) -> None:
    (plan,) = two_backends(tmp_path).report["indexes"]
    shapes = {row["shape"]: row for row in plan["shapes"]}
    after = shapes["(displayName=?)"]["with_plan_seconds"]
    assert shapes["(displayName=?)"]["etime_seconds"] == 127
    assert 0 <= after["least"] <= after["expected"] <= after["most"] <= 127
    assert sum(row["searches"] for row in plan["shapes"]) == plan["searches"]
