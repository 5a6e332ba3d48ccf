"""The LDAP policies of a domain controller, in all notations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import CAPTURES
from ldapdiag.evidence.configuration import Configuration, active_directory
from ldapdiag.evidence.document import Document, lines_of
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.formats import formats, head_of
from reading import facts_of

FOLDER = CAPTURES / "windows"
POLICY = "CN=Query-Policies,CN=Directory Service,CN=Windows NT,CN=Services,CN=Configuration,DC=example,DC=com"
DEFAULT = f"CN=Default Query Policy,{POLICY}"
BRANCH = f"CN=Branch,{POLICY}"


def read(content: bytes | str) -> Configuration:
    (configuration,) = facts_of(content, path="dc1/policies.txt")
    assert isinstance(configuration, Configuration)
    return configuration


def recognised(data: bytes, *, whole: bool = True) -> list[str]:
    head = head_of("renamed", data, whole=whole)
    return [form.name for form in formats() if form.recognises(head)]


@pytest.mark.parametrize(
    "name", ["ntdsutil-show-values.txt", "Get-ADObject-format-list.txt", "ldifde-query-policy.ldif"]
)
class TestOnePolicyInThreeTexts:
    def test_has_the_same_limits(self, name: str) -> None:
        found = read((FOLDER / name).read_bytes())
        assert (found.identity.family, found.identity.version) == (Family.AD, ())
        assert (found.idle_timeout_seconds, found.max_connections) == (1800, 4000)
        assert found.threads is None, "MaxPoolThreads counts for each processor"
        assert (found.origin.not_understood, found.origin.notes) == (0, ())

    def test_is_recognised_by_its_content_alone(self, name: str) -> None:
        data = (FOLDER / name).read_bytes()
        assert recognised(data) == recognised(data[:900], whole=False)
        assert recognised(data) == ["ldif" if name.endswith("ldif") else "ad-ldap-policies"]


@pytest.mark.parametrize(
    "text",
    [
        "MaxValRange=1500\nMaxConnIdleTime=300\nMaxConnections=4000\n",  # -ExpandProperty
        "  ldapadminlimits\n  MaxValRange=1500;MaxConnections=4000;MaxConnIdleTime=300;\n",  # dsquery
        f"Dn: {DEFAULT}\n\tlDAPAdminLimits (3): MaxValRange=1500; MaxConnections=4000; MaxConnIdleTime=300; \n",  # ldp
        "\tPolicy   Current(New)\n\n\tInitRecvTimeout   120\n\tMaxConnections  4000\n\tMaxConnIdleTime\t300\n",
    ],
)
def test_other_tools_write_the_same(text: str) -> None:
    found = read(text)
    assert (found.idle_timeout_seconds, found.max_connections, found.origin.not_understood) == (300, 4000, 0)


def test_uncommitted_values_are_noted_and_not_used() -> None:
    found = read("Policy    Current(New)\n\nMaxConnIdleTime   900(600)\n")
    assert found.idle_timeout_seconds == 900
    assert found.origin.notes == ("A new MaxConnIdleTime of 600 was entered in ntdsutil but not committed.",)


@pytest.mark.parametrize("end", ["…}", "...}"])
def test_a_list_that_powershell_cut_says_how_to_see_all_of_it(end: str) -> None:
    found = read(f"lDAPAdminLimits : {{MaxValRange=1500, MaxReceiveBuffer=10485760, MaxDatagramRecv=4096{end}\n")
    assert (found.idle_timeout_seconds, found.complete) == (None, False)
    assert "-ExpandProperty lDAPAdminLimits" in found.origin.notes[0]


SITES = "CN=Sites,CN=Configuration,DC=example,DC=com"
BERLIN = f"CN=NTDS Site Settings,CN=Berlin,{SITES}"
DC1, DC2 = (f"CN=NTDS Settings,CN={name},CN=Servers,CN=Berlin,{SITES}" for name in ("DC1", "DC2"))


def policy(dn: str, *limits: str) -> str:
    return f"dn: {dn}\n" + "".join(f"lDAPAdminLimits: {limit}\n" for limit in limits) + "\n"


def settings(dn: str, names: str = "") -> str:
    return f"dn: {dn}\nobjectClass: applicationSettings\n" + (f"queryPolicyObject: {names}\n" if names else "") + "\n"


class TestThePolicyThatApplies:
    TWO = policy(BRANCH, "MaxConnIdleTime=60", "MaxConnections=5000") + policy(
        DEFAULT, "MaxConnIdleTime=900", "MaxConnections=5000"
    )

    @pytest.mark.parametrize(
        ("ldif", "seconds"),
        [
            (TWO + settings(DC1, BRANCH), 60),
            (TWO + settings(DC1, BRANCH) + settings(BERLIN, DEFAULT), 60),
            (TWO + settings(DC1) + settings(BERLIN, BRANCH), 60),
            (TWO + settings(DC1, DEFAULT.upper().replace(",", ", ")) + settings(BERLIN, BRANCH), 900),
            (TWO + settings(DC1) + settings(BERLIN), 900),
            (TWO + settings(DC1) + settings(BERLIN.replace("Berlin", "Rome"), BRANCH), 900),
            (TWO + settings(DC1) + settings(DC2), 900),
            (f"dn:\ndsServiceName: {DC2}\n\n" + TWO + settings(DC1) + settings(DC2, BRANCH), 60),
            (f"dn:\ndsServiceName: {DC2}\nvendorName: Samba Team\n\n" + TWO + settings(DC2, BRANCH), 900),
            (TWO.partition("\n\n")[0] + "\n\n", 60),
        ],
        ids=[
            "own",
            "own before site",
            "site",
            "own default",
            "neither",
            "another site",
            "two alike",
            "root DSE",
            "Samba",
            "alone",
        ],
    )
    def test_is_the_controllers_own_else_its_sites_else_the_default(self, ldif: str, seconds: int) -> None:
        found = read(ldif)
        assert (found.idle_timeout_seconds, found.max_connections, found.complete) == (seconds, 5000, True)
        assert len(found.origin.notes) == (seconds != 900), "another one than the default is noted"

    @pytest.mark.parametrize(
        ("ldif", "connections"),
        [
            (TWO, 5000),
            (TWO + settings(BERLIN, BRANCH), 5000),
            (TWO + settings(DC1) + settings(DC2, BRANCH), 5000),
            (policy(DEFAULT, "MaxConnIdleTime=900") + settings(BERLIN, BRANCH), None),
            (policy(DEFAULT, "MaxConnIdleTime=900") + settings(DC1, BRANCH), None),
        ],
        ids=["no controller", "a site", "two controllers", "a site's is missing", "its own is missing"],
    )
    def test_is_not_guessed(self, ldif: str, connections: int | None) -> None:
        found = read(ldif)
        assert (found.idle_timeout_seconds, found.max_connections, found.complete) == (None, connections, False)
        assert len(found.origin.notes) == 1

    def test_is_found_in_lists_of_powershell_too(self) -> None:
        lists = "".join(
            f"DistinguishedName : {dn}\nlDAPAdminLimits   : {{MaxValRange=1500, MaxConnIdleTime={idle}}}\n\n"
            for dn, idle in ((BRANCH, 60), (DEFAULT, 900))
        )
        assert read(lists).idle_timeout_seconds is None
        own = f"DistinguishedName : {DC1}\nqueryPolicyObject : {BRANCH}\nObjectClass       : nTDSDSA\n"
        assert read(lists + own).idle_timeout_seconds == 60


class TestCeilings:
    LIMITS = policy(DEFAULT, "MaxPageSize=50000", "MaxValRange=1500", "MaxActiveQueries=5")

    def test_limit_what_a_policy_allows(self) -> None:
        found = read(self.LIMITS)
        assert found.query_limits == (("MaxPageSize", 20_000), ("MaxValRange", 1500)), "and MaxActiveQueries is ignored"
        assert "at most 20,000" in found.origin.notes[0]

    @pytest.mark.parametrize(
        ("flags", "size"), [("0" * 17 + "1", 50_000), ("0" * 17 + "0", 20_000), ("1" * 17, 20_000)]
    )
    def test_are_lifted_by_the_18th_character_of_dsheuristics(self, flags: str, size: int) -> None:
        found = read(f"{self.LIMITS}dn: CN=Directory Service,{POLICY.partition(',')[2]}\ndSHeuristics: {flags}\n\n")
        assert dict(found.query_limits)["MaxPageSize"] == size


def test_ldif_cut_inside_the_entry_is_not_complete() -> None:
    assert not read(f"dn: {DEFAULT}\nlDAPAdminLimits: MaxConnIdleTime=900\n").complete


def test_a_line_of_something_else_is_counted() -> None:
    found = read("MaxValRange=1500\nMaxConnections=5000\nhello world\nlDAPAdminLimits: MaxConnIdleTime=forever\n")
    assert (found.idle_timeout_seconds, found.origin.not_understood) == (None, 1)


@pytest.mark.parametrize(
    "text",
    [
        "MaxConnections=100\nMaxConnIdleTime=30\n",  # of a connection pool
        "Policy\n",
        "MaxValRange=1500\n",
        "MaxConnections 100 MaxValRange 5\n",
    ],
)
def test_a_text_that_may_be_anybodys_is_not_recognised(text: str) -> None:
    assert recognised(text.encode()) == []


SAMPLES = sorted(path for path in FOLDER.iterdir() if path.name.startswith(("ntdsutil", "Get-AD", "ldifde")))


def check(data: bytes) -> None:
    document = Document(path="x", source=lines_of([data]))
    for fact in active_directory.FORMAT.read(document):  # type: ignore[misc]  # it has a reader
        assert fact.origin.understood + fact.origin.not_understood == fact.origin.lines
    assert document.missed <= document.seen


@given(data=st.data())
def test_a_damaged_text_is_counted_line_by_line(data: st.DataObject) -> None:
    sample = bytearray(data.draw(st.sampled_from(SAMPLES)).read_bytes())
    for _ in range(data.draw(st.integers(0, 6))):
        at = data.draw(st.integers(0, len(sample)))
        sample[at : at + data.draw(st.integers(0, 40))] = data.draw(st.binary(max_size=12))
    check(bytes(sample))


@pytest.mark.parametrize(
    "text",
    [
        "MaxValRange" + " " * 1_000_000 + "5",
        "MaxValRange=" + "9" * 1_000_000,
        "x" * 1_000_000 + ": {MaxValRange=1",
        ("lDAPAdminLimits : {MaxValRange=1,\n" + "          MaxPageSize=1,\n" * 50_000),
        "".join(f"DistinguishedName : cn={number}\nMaxValRange=1;MaxPageSize=2\n" for number in range(20_000)),
    ],
)
def test_a_hostile_text_is_read_in_linear_time(text: str) -> None:
    check(text.encode())
