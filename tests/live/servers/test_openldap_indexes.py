"""A real slapd told its indexes by slapd.conf: what it makes of them is what we read, in each form."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import pytest

import examples
from internal_searches import searched_by
from lab.directory_servers import Server
from lab.laboratory import need
from ldapdiag.evidence.indexes import IndexConfiguration, SubstringKeys
from ldapdiag.evidence.indexes.entry_count import EntryCount
from ldapdiag.evidence.indexes.slapd_lines import PARTS_OF_SUB, IndexLines
from ldapdiag.evidence.schema import Schema
from ldapdiag.evidence.schema.standard import standard
from reading import facts_of

PASSWORD = "password"  # noqa: S105  of a server that lives for one test run

SCHEMAS = ("core", "cosine", "inetorgperson", "nis", "misc", "dyngroup")
GLOBAL = "".join(f"include /etc/ldap/schema/{name}.schema\n" for name in SCHEMAS) + (
    "modulepath /usr/lib/ldap\n" + "".join(
        f"moduleload {name}\n"
        for name in ("back_mdb", "refint", "unique", "syncprov", "dynlist", "constraint", "dds", "accesslog", "collect")
    )
)  # fmt: skip
FULL = """
pidfile {folder}/pid
index_substr_if_minlen 3
index_substr_any_len 5
authz-regexp uid=([^,]*),cn=digest-md5,cn=auth ldap:///dc=example,dc=com??sub?(employeeNumber=$1)
database config
rootpw {password}
access to * by dn.exact=gidNumber=0+uidNumber=0,cn=peercred,cn=external,cn=auth manage by * none
database mdb
suffix "dc=example,dc=com"
rootdn cn=admin,dc=example,dc=com
rootpw {password}
directory {folder}/db1
index objectClass eq
index default pres,eq
index surname,2.5.4.42
index DEFAULT sub
index userid
index telephoneNumber eq,subinitial,nolang
index name pres,eq,nosubtypes
index cn;lang-en pres
index title eq,subany notags
overlay refint
refint_attributes member manager
overlay unique
unique_uri "strict ldap:///?mail,uid?sub"
unique_uri ldap:///dc=example,dc=com?homePhone?one
overlay constraint
constraint_attribute secretary uri ldap:///dc=example,dc=com?seeAlso?sub
overlay dynlist
dynlist-attrset groupOfURLs memberURL owner+memberOf@groupOfNames
overlay syncprov
overlay collect
collectinfo "dc=example,dc=com" postalCode,l
overlay dds
dds-state FALSE
database ldif
suffix dc=ldif
directory {folder}/ldif
database mdb
suffix cn=log
rootdn cn=log
directory {folder}/db2
index reqStart eq
database monitor
""".replace("eq,subany notags", "eq,subany,notags")
ENTRY = "dn: {dn}\nobjectClass: {kind}\nobjectClass: dcObject\no: example\ndc: example\n\n"
PERSON = "dn: cn={0},dc=example,dc=com\nobjectClass: person\ncn: {0}\nsn: {0}\n\n"
ENTRIES = 23

ATTRIBUTES = (
    "cn",
    "sn",
    "uid",
    "o",
    "title",
    "description",
    "st",
    "street",
    "postalCode",
    "employeeType",
    "roomNumber",
)
TYPES = (
    "pres",
    "eq",
    "sub",
    "subinitial",
    "subany",
    "subfinal",
    "substr",
    "nolang",
    "notags",
    "nosubtypes",
    "EQ",
    "Pres",
)


class Slapd:
    """The server, and its configuration in each of its forms."""

    def __init__(self, room):
        folder = room.folder / "indexes"
        for name in ("db1", "db2", "ldif", "slapd.d"):
            (folder / name).mkdir(parents=True)
        self.text = GLOBAL + FULL.format(folder=folder, password=PASSWORD)
        (folder / "slapd.conf").write_text(self.text)
        people = "".join(PERSON.format(number) for number in range(ENTRIES - 1))
        data = ENTRY.format(dn="dc=example,dc=com", kind="organization") + people
        room.run(f"slapadd -q -f {folder}/slapd.conf -b dc=example,dc=com", stdin=data)
        room.run(f"slapadd -q -f {folder}/slapd.conf -b cn=log < /dev/null")
        room.run(f"slaptest -f {folder}/slapd.conf -F {folder}/slapd.d")
        self.slapcat = room.run(f"slapcat -n0 -F {folder}/slapd.d")
        self.file = room.run(f"cat {folder}/slapd.d/cn=config/olcDatabase={{1}}mdb.ldif")
        self.server = Server(
            host=room, argv=["slapd", "-F", f"{folder}/slapd.d", "-h", "ldap:/// ldapi:///", "-d", "0"],
            administrator="cn=admin,dc=example,dc=com", ldapi="%2Frun%2Fslapd%2Fldapi", log=folder / "log",
            pid_file=f"{folder}/pid", unit="slapd.service",
        ).start()  # fmt: skip
        self.live = self.server.search("cn=config")
        self.schema = the(Schema, self.server.search("cn=Subschema", "-s", "base", "attributeTypes"))


def the(kind, text):
    (fact,) = [fact for fact in facts_of(text) if isinstance(fact, kind)]
    return fact


@pytest.fixture(scope="module")
def openldap(room):
    need("slapd", "slaptest")
    return Slapd(room)


def named(configuration, schema):
    """Return the databases with their index lines, attributes by the names that the schema gives them."""

    def name(attribute):
        kind, _, options = attribute.partition(";")
        return f"{schema.primary(kind)};{options}".strip(";").lower()

    return {
        (backend.name, backend.kind, backend.suffixes): {
            (name(one.attribute), one.types, one.subtypes, one.options) for one in backend.definitions
        }
        for backend in configuration.backends
    }


class TestConfiguration:
    def test_slapd_conf_slapcat_and_a_search_say_the_same(self, openldap):
        text, slapcat, live = (
            the(IndexConfiguration, each) for each in (openldap.text, openldap.slapcat, openldap.live)
        )
        assert named(text, openldap.schema) == named(slapcat, openldap.schema) == named(live, openldap.schema)
        assert [len(backend.definitions) for backend in text.backends] == [8, 1]
        assert text.internal_searches == slapcat.internal_searches == live.internal_searches
        assert text.virtual_attributes == slapcat.virtual_attributes == live.virtual_attributes
        assert slapcat.substring_keys == live.substring_keys
        assert slapcat.substring_keys == SubstringKeys(if_minlen=3, if_maxlen=4, any_len=5, any_step=2)
        assert text.substring_keys == SubstringKeys(if_minlen=3, any_len=5)
        assert text.whole
        assert slapcat.whole
        assert live.whole

    def test_every_overlay_is_understood(self, openldap):
        found = the(IndexConfiguration, openldap.live)
        assert set(searched_by(found.internal_searches)) == {
            "member", "manager", "mail", "uid", "homephone", "seealso", "owner", "entrycsn", "entryuuid",
            "entryexpiretimestamp", "employeenumber",
        }  # fmt: skip
        assert {"memberof", "postalcode", "l"} < set(found.virtual_attributes)

    def test_so_does_the_file_in_slapd_d(self, openldap):
        found = the(IndexConfiguration, openldap.file)
        whole = named(the(IndexConfiguration, openldap.slapcat), openldap.schema)
        assert named(found, openldap.schema).items() <= whole.items()
        assert found.whole

    def test_the_monitor_tells_the_entries(self, openldap):
        answer = openldap.server.search("cn=Databases,cn=Monitor", "*", "+")
        counts = {fact.suffix: fact.entries for fact in facts_of(answer) if isinstance(fact, EntryCount)}
        assert counts == {"dc=example,dc=com": ENTRIES, "cn=log": 0}

    def test_nothing_is_indexed_without_being_told(self, room, tmp_path):
        """Not even objectClass: the database then has no table of that name (back-mdb/attr.c names it so)."""
        for told in ("", "index objectClass eq\n"):
            folder = tmp_path / (told[:5] or "none")
            folder.mkdir()
            configuration = f"{GLOBAL}database mdb\nsuffix dc=example,dc=com\ndirectory {folder}\n{told}"
            (folder / "slapd.conf").write_text(configuration)
            people = "".join(PERSON.format(number) for number in range(9))
            data = ENTRY.format(dn="dc=example,dc=com", kind="organization") + people
            room.run(f"slapadd -q -f {folder}/slapd.conf", stdin=data)
            # The name stands once where the attributes of entries are listed, and elsewhere for an index.
            assert ((folder / "data.mdb").read_bytes().count(b"objectClass") > 1) is bool(told)

    def test_random_lines_mean_what_slapd_makes_of_them(self, openldap, room, tmp_path):
        chosen = examples.choices(20261120)
        text = GLOBAL
        for number in range(60):
            (tmp_path / str(number)).mkdir()
            text += f"database mdb\nsuffix dc={number}\ndirectory {tmp_path}/{number}\n"
            text += "".join(f"index {line}\n" for line in lines_of(chosen))
        (tmp_path / "slapd.conf").write_text(text)
        (tmp_path / "slapd.d").mkdir()
        room.run(f"for n in $(seq 0 59); do slapadd -q -f {tmp_path}/slapd.conf -b dc=$n < /dev/null || exit 1; done")
        room.run(f"slaptest -f {tmp_path}/slapd.conf -F {tmp_path}/slapd.d")
        found = the(IndexConfiguration, room.run(f"slapcat -n0 -F {tmp_path}/slapd.d"))
        made = named(the(IndexConfiguration, text), openldap.schema)
        assert {name: shown(lines) for name, lines in made.items()} == named(found, openldap.schema)
        assert len(found.backends) == 60
        assert sum(len(backend.definitions) for backend in found.backends) > 150

    @pytest.mark.parametrize("line", ["cn", "cn any", "cn eq,all", "cn, sn eq", "cn eq sub", "cn none", "cn;; eq"])
    def test_lines_that_we_refuse_slapd_refuses(self, room, tmp_path, line):
        read = IndexLines()
        read.take(line)
        assert read.refused
        (tmp_path / "slapd.conf").write_text(f"{GLOBAL}database mdb\nsuffix dc=x\ndirectory {tmp_path}\nindex {line}\n")
        assert room.attempt(f"slaptest -u -f {tmp_path}/slapd.conf").returncode != 0


def lines_of(chosen):
    """Make some lines that slapd accepts: no attribute twice, types wherever there is no default yet."""
    attributes = chosen.sample(ATTRIBUTES, chosen.randint(1, 6))
    default = False
    while attributes:
        here = [attributes.pop() for _ in range(chosen.randint(1, min(3, len(attributes))))]
        types = ",".join(["eq", *chosen.sample(TYPES, chosen.randint(0, 4))])
        if chosen.random() < 0.2:
            yield f"default {types}"
            default = True
        bare = default and chosen.random() < 0.5
        yield ",".join(here) if bare else f"{','.join(here)} {types}"


def shown(lines):
    """Return index lines as slapd writes them into cn=config: where one has two of the three kinds of sub, without."""
    return {
        (name, types - PARTS_OF_SUB if len(types & PARTS_OF_SUB) == 2 else types, *specials)
        for name, types, *specials in lines
    }


class TestSchema:
    def test_slapcat_knows_all_that_a_search_shows(self, openldap):
        slapcat = the(Schema, openldap.slapcat)
        assert openldap.schema.whole
        assert slapcat.whole
        assert openldap.schema.types.items() <= slapcat.types.items()
        told = openldap.server.search("cn=Subschema", "-s", "base", "attributeTypes").count("attributeTypes: ")
        assert told == len({one.oid for one in openldap.schema.types.values()}) > 250
        assert openldap.schema.origin.notes == ()

    def test_the_standard_is_what_slapd_knows(self, openldap):
        known, slapd = standard(), openldap.schema
        absent = {one.name for one in known.types.values() if not slapd.find(one.name)}
        assert absent == {"governingStructureRule"}
        for name, one in known.types.items():
            if one.name not in {*absent, "memberOf"}:  # whose rule differs from server to server
                assert rules(known, name) == rules(slapd, name), name

    @pytest.mark.usefixtures("laboratory")
    def test_schema_files_say_what_their_ldif_says(self):
        need("slapd")
        for path in Path("/etc/ldap/schema").glob("*.schema"):
            text, ldif = (facts_of(path.with_suffix(end).read_bytes()) for end in (".schema", ".ldif"))
            (a, b) = ({name: one for fact in facts for name, one in fact.types.items()} for facts in (text, ldif))
            assert a.items() <= b.items(), path
            # Debian's dsee.schema has a directive `attributeype`, with which slapd does not start.
            assert len(b) - len(a) == (2 if path.stem == "dsee" else 0), path


def rules(schema, name):
    """Return what there is to know of an attribute type by one of its names."""
    one = schema.find(name)
    return one and (
        one.oid, one.name.lower(), one.sup, schema.equality(name), schema.ordering(name), schema.substring(name),
        schema.syntax(name),
    )  # fmt: skip


class TestSchemaOf389:
    def test_every_type_is_understood_and_has_names_of_its_own(self, ds389):
        answer = ds389.run(
            "ldapsearch -x -LLL -o ldif-wrap=no -H ldap://localhost -b cn=schema -s base attributeTypes < /dev/null"
        )
        schema = the(Schema, answer)
        types = {id(one): one for one in schema.types.values()}.values()
        told = answer.lower().count("\nattributetypes: ")
        assert len(types) == len({one.oid.lower() for one in types}) == told > 800
        assert schema.origin.notes == ()
        assert schema.whole
        names = list(chain.from_iterable((one.oid.lower(), *map(str.lower, one.names)) for one in types))
        assert len(names) - len(set(names)) == 0
        assert len(schema.types) == len(names)

    def test_the_standard_is_what_it_knows_but_for_these(self, ds389):
        answer = ds389.run("ldapsearch -x -LLL -H ldap://localhost -b cn=schema -s base attributeTypes < /dev/null")
        known, own = standard(), the(Schema, answer)
        names = {one.name for one in known.types.values()} - {"entryCSN"}  # OpenLDAP's own
        assert [name for name in names if not own.find(name)] == []
        other = {name for name in names if rules(known, name) != rules(own, name)}
        # It has UUIDs as strings, addresses of hosts without rules, and no order of users' and groups' numbers.
        assert other == {
            "audio", "bootParameter", "entryDN", "entryUUID", "gecos", "gidNumber", "ipHostNumber", "ipNetmaskNumber",
            "ipNetworkNumber", "ipServiceProtocol", "labeledURI", "macAddress", "memberUid", "nisMapName",
            "nisNetgroupTriple", "ref", "uidNumber", "uniqueIdentifier",
        }  # fmt: skip
