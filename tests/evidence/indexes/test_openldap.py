from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from internal_searches import searched_by
from ldapdiag.evidence.indexes import IndexConfiguration, IndexDefinition, SubstringKeys
from ldapdiag.evidence.indexes.entry_count import EntryCount
from ldapdiag.evidence.indexes.slapd_internal_searches import SlapdInternalSearches, reduced_urls
from ldapdiag.evidence.indexes.slapd_lines import IndexLines
from ldapdiag.evidence.slapd_conf_format import FORMAT
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path

DATABASE = "dn: olcDatabase={1}mdb,cn=config\nolcDatabase: {1}mdb\nolcDbDirectory: /srv/db\nolcSuffix: dc=x\n"


def indexes_of(content: bytes | str) -> IndexConfiguration:
    (found,) = [fact for fact in facts_of(content) if isinstance(fact, IndexConfiguration)]
    return found


def definitions(*lines: str) -> dict[str, IndexDefinition]:
    read = IndexLines()
    for line in lines:
        read.take(line)
    return read.definitions


def types(*lines: str) -> dict[str, list[str]]:
    return {name: sorted(one.types) for name, one in definitions(*lines).items()}


def own(*settings: tuple[str, str]) -> SlapdInternalSearches:
    found = SlapdInternalSearches()
    for name, value in settings:
        found.setting(name, value)
    return found


@pytest.mark.parametrize(
    ("others", "monitored"),
    [("", None), ("{0}config", False), ("{-1}frontend", False), ("{0}config {2}monitor", True), ("{2}monitor", None)],
)
def test_a_list_of_all_databases_shows_whether_there_is_a_monitor(others, monitored) -> None:
    entries = [f"dn: olcDatabase={one},cn=config\nolcDatabase: {one}\n" for one in others.split()]
    assert indexes_of("\n".join([DATABASE, *entries])).monitored is monitored


@pytest.mark.parametrize(
    ("settings", "file"),
    [
        ("", ""),
        ("olcConfigFile: /etc/slapd.conf\n", "slapd.conf"),
        ("olcConfigFile: /etc/slapd.conf\nolcConfigDir: /etc/slapd.d\n", ""),
        ("olcConfigDir: /etc/slapd.d\n", ""),
    ],
)
def test_a_cn_config_that_is_not_stored_is_that_of_slapd_conf(settings: str, file: str) -> None:
    assert indexes_of(f"dn: cn=config\nobjectClass: olcGlobal\ncn: config\n{settings}\n{DATABASE}").file == file


class TestCaptures:
    def test_slapd_conf_and_cn_config_are_read_alike(self, captures: Path) -> None:
        folder = captures / "openldap" / "held-42"
        text, entry = (indexes_of((folder / name).read_bytes()) for name in ("slapd.conf", "cn-config.ldif"))
        (a,), (b,) = text.backends, entry.backends
        assert (a.name, a.suffixes, a.kind) == (b.name, b.suffixes, b.kind) == ("{1}mdb", ("dc=example,dc=com",), "mdb")
        assert set(a.definitions) == set(b.definitions)
        assert (text.file, a.entry) == ("slapd.conf", "")
        assert (entry.file, b.entry) == ("", "olcDatabase={1}mdb,cn=config")
        assert text.substring_keys == SubstringKeys()
        assert entry.substring_keys == SubstringKeys(if_minlen=2, if_maxlen=4, any_len=4, any_step=2)
        assert text.whole
        assert entry.whole
        assert "password" not in repr((text, entry))

    def test_an_excerpt_of_whole_entries_has_all_their_lines(self, captures: Path) -> None:
        found = indexes_of((captures / "openldap" / "indexes" / "olcDbIndex.wrapped.ldif").read_bytes())
        (backend,) = found.backends
        assert len(backend.definitions) == 10
        assert (found.whole, found.substring_keys) == (True, SubstringKeys())

    def test_reads_a_file_of_slapd_d(self, corpus: Path) -> None:
        found = indexes_of((corpus / "public" / "config" / "zimbra-olcDatabase2mdb.ldif").read_bytes())
        (backend,) = found.backends
        assert (backend.name, backend.entry) == ("{2}mdb", "olcDatabase={2}mdb,cn=config")
        assert backend.suffixes == ("",)
        assert found.whole

    def test_reads_the_counts_of_the_monitor(self, captures: Path) -> None:
        counts = facts_of((captures / "openldap" / "indexes" / "cn-databases.ldif").read_bytes())
        assert {one.suffix: one.entries for one in counts if isinstance(one, EntryCount)} == {
            "dc=example,dc=com": 1,
            "dc=two": 0,
        }


class TestLines:
    def test_a_line_is_of_each_of_its_attributes(self) -> None:
        found = definitions("cn,sn EQ,pres")
        assert found["cn"] == IndexDefinition(attribute="cn", types=frozenset({"eq", "pres"}))
        assert {one.written for one in found.values()} == {"cn,sn EQ,pres"}

    def test_a_default_adds_up_and_holds_below(self) -> None:
        assert types("cn", "default pres,eq", "cn,sn", "DEFAULT sub", "mail", "l pres") == {
            "cn": ["eq", "pres"],
            "sn": ["eq", "pres"],
            "mail": ["eq", "pres", "sub"],
            "l": ["pres"],
        }

    @pytest.mark.parametrize(
        ("result", "kept"),
        [
            ("substr", ["sub"]),
            ("sub,subinitial", ["sub"]),
            ("subfinal,subany,subinitial,eq", ["eq", "sub"]),
            ("subinitial,subany", ["subany", "subinitial"]),
            ("eq,approx,nolang,nosubtypes", ["approx", "eq"]),
        ],
    )
    def test_types_are_in_slapd_s_words(self, result: str, kept: list[str]) -> None:
        assert types(f"cn {result}") == {"cn": kept}

    def test_specials(self) -> None:
        found = definitions("cn eq,nosubtypes", "sn eq,notags", "l eq,nolang", "o eq")
        assert {name: (one.subtypes, one.options) for name, one in found.items()} == {
            "cn": (False, True),
            "sn": (True, False),
            "l": (True, False),
            "o": (True, True),
        }

    def test_an_index_for_options_only_is_marked(self) -> None:
        assert types("cn;lang-fr eq") == {"cn;lang-fr": ["eq"]}

    @pytest.mark.parametrize(
        "line", ["", "cn", "cn any", "cn eq,all", "cn, sn eq", "cn eq sub", "c$(n) eq", "cn;; eq", f"{'a' * 5000} eq"]
    )
    def test_passes_over_what_slapd_refuses(self, line: str) -> None:
        read = IndexLines()
        read.take(line)
        assert (read.definitions, len(read.refused)) == ({}, 1)

    @given(st.lists(st.text(st.sampled_from("cnsn,; eqpressub\t\"'$default"), max_size=40) | st.text(), max_size=5))
    def test_no_line_crashes_it_and_every_attribute_is_one(self, lines: list[str]) -> None:
        for one in definitions(*lines).values():
            assert one.attribute.replace("-", "").replace(";", "").replace(".", "").replace("_", "").isalnum()


class TestEntries:
    @pytest.mark.parametrize("kind", ["config", "monitor", "ldif", "ldap", "null", "meta", "relay"])
    def test_databases_without_indexes_are_none(self, kind: str) -> None:
        assert not facts_of(f"dn: olcDatabase={{3}}{kind},cn=config\nolcSuffix: cn=x\n\n")[1:]

    def test_a_proxy_cache_s_own_database_is_none(self) -> None:
        text = DATABASE.replace("mdb,cn", "mdb,olcOverlay={0}pcache,olcDatabase={1}ldap,cn")
        assert not [fact for fact in facts_of(text + "\n") if isinstance(fact, IndexConfiguration)]

    @pytest.mark.parametrize(
        ("text", "whole"),
        [
            (DATABASE + "olcDbIndex: cn eq\n\n", True),
            (DATABASE + "\n", True),
            (DATABASE.replace("olcDbDirectory: /srv/db\n", "") + "olcDbIndex: cn eq\n\n", True),
            (DATABASE + "olcDbIndex: cn eq\n", False),  # cut, as it seems
            (DATABASE + "olcDbIndex: cn eq\nolcDbMode: 0600\n", True),
        ],
    )
    def test_is_whole_where_all_lines_are_shown(self, text: str, *, whole: bool) -> None:
        assert indexes_of(text).whole is whole

    def test_an_answer_to_another_question_takes_nothing_away(self) -> None:
        other = "dn: olcDatabase={1}mdb,cn=config\nobjectClass: x\nolcUpdateDN: cn=u\n\n"
        for text in (f"{other}{DATABASE}olcDbIndex: cn eq\n\n", f"{DATABASE}olcDbIndex: cn eq\n\n{other}"):
            found = indexes_of(text)
            assert ([one.attribute for one in found.backends[0].definitions], found.whole) == (["cn"], True)

    def test_a_database_without_indexes_is_one(self) -> None:
        assert indexes_of(DATABASE + "\n").backends[0].definitions == ()

    @pytest.mark.parametrize(
        "text",
        [
            "dn: olcDatabase={1}mdb,cn=config\nobjectClass: olcMdbConfig\nolcSuffix: dc=x\nolcUpdateDN: cn=u\n\n",
            "database mdb\nsuffix dc=x\nupdatedn cn=u\nthreads 8\n",
        ],
    )
    def test_an_excerpt_without_indexes_does_not_mean_that_there_are_none(self, text: str) -> None:
        assert not [fact for fact in facts_of(text) if isinstance(fact, IndexConfiguration)]

    def test_lines_that_slapd_would_refuse_are_noted(self) -> None:
        assert "slapd would refuse" in indexes_of(DATABASE + "olcDbIndex: cn none\n\n").origin.notes[0]

    @given(st.binary(max_size=200))
    def test_no_bytes_crash_it(self, data: bytes) -> None:
        assert indexes_of(DATABASE.encode() + b"olcDbIndex: cn eq\n\n" + data).backends


class TestSlapdConf:
    def test_databases_are_numbered_as_cn_config_numbers_them(self) -> None:
        found = indexes_of(
            "database frontend\ndatabase config\nrootpw x\ndatabase ldap\nsuffix dc=a\nindex cn eq\n"
            'database bdb\nsuffix "dc=b, dc=c"\nsuffix dc=d\nindex\tsn\teq\n'
            "database monitor\ndatabase mdb\nsuffix dc=e\ndirectory /srv/e\n"
        )
        assert [(one.name, one.suffixes, len(one.definitions)) for one in found.backends] == [
            ("{2}bdb", ("dc=b, dc=c", "dc=d"), 1),
            ("{4}mdb", ("dc=e",), 0),
        ]

    def test_lengths_of_substring_keys(self) -> None:
        found = indexes_of("index_substr_if_minlen 3\nindex_substr_any_step x\ndatabase mdb\ndirectory /x\n")
        assert found.substring_keys == SubstringKeys(if_minlen=3)

    def test_other_files_may_hold_more(self) -> None:
        assert not indexes_of("database mdb\ndirectory /x\ninclude /etc/more.conf\n").whole
        assert indexes_of("database mdb\ndirectory /x\ninclude /etc/core.schema\n").whole

    @given(st.binary(max_size=200))
    def test_no_bytes_crash_it(self, data: bytes) -> None:
        facts_of(b"database mdb\nsuffix dc=x\nindex cn eq\n" + data, form=FORMAT)


class TestOwnSearches:
    @pytest.mark.parametrize(
        ("setting", "attributes"),
        [
            (("refint_attributes", "member manager"), {"member": "refint", "manager": "refint"}),
            (
                ("olcUniqueURI", "ldap:///ou=p,dc=x?uid,mail?sub?(cn=*)"),
                {"uid": "unique", "mail": "unique", "cn": "unique"},
            ),
            (("unique_uri", '"strict ldap:///?uid?sub ldap:///dc=x?cn?one"'), {"uid": "unique", "cn": "unique"}),
            (("unique_uri", "ignore ldap:///?uid?sub"), {"*": "unique"}),
            (("unique_uri", '"strict ignore ldap:///?uid?sub ldap:///?cn?sub"'), {"*": "unique"}),
            (("unique_uri", "ldap:///"), {"*": "unique"}),
            (("unique_uri", "ldap:///??sub?(l=here)"), {"*": "unique", "l": "unique"}),
            (("olcUniqueIgnore", "ou"), {"*": "unique"}),
            (("constraint_attribute", "manager uri ldap:///ou=p,dc=x?uid?one"), {"uid": "constraint"}),
            (
                ("constraint_attribute", "title uri ldap:///dc=c?title?sub?(l=c)"),
                {"title": "constraint", "l": "constraint"},
            ),
            (
                ("constraint_attribute", 'cn set "[ldap:///dc=x?sn?sub?(uid=] + this/uid + [)] & this/cn"'),
                {"uid": "constraint"},
            ),
            (("constraint_attribute", "mail regex ^x?y?z$"), {}),
            (
                ("olcAccess", '{0}to * by set="[ldap:///dc=x??sub?(&(cn=ops)(memberUid=] + user/uid + [))]/cn" write'),
                {"cn": "a set of an access rule", "memberuid": "a set of an access rule"},
            ),
            (("access", 'to filter=(l=x) by dn.regex="^uid=[^,]+,dc=x$" read'), {}),
            (("sasl-regexp", '"uid=(.*),cn=auth" "ldap:///ou=my people,dc=x??sub?(uid=$1)"'), {"uid": "authz-regexp"}),
            (("authid-rewriteRule", '"^(.*)$" "ldap:///dc=x??sub?(mail=$1)" ":"'), {"mail": "authz-regexp"}),
            (("memberof-addcheck", "true"), {"member": "memberof"}),
            (("olcMemberOfAddCheck", "FALSE"), {}),
            (("olcNestGroupMember", "uniqueMember"), {"uniquemember": "nestgroup"}),
            (("nssov-map", "passwd uid sAMAccountName"), {"samaccountname": "nssov"}),
            (
                ("syncprov-sessionlog-source", "cn=log"),
                dict.fromkeys(["entrycsn", "reqstart", "reqdn", "reqresult"], "syncprov"),
            ),
            (
                (
                    "olcAuthzRegexp",
                    "{0}uid=([^,]*),cn=gssapi,cn=auth ldap:///dc=x??sub?(&(uid=$1)(objectClass=person))",
                ),
                {"uid": "authz-regexp", "objectclass": "authz-regexp"},
            ),
            (("authz-regexp", "uid=(.*),cn=auth uid=$1,dc=x"), {}),
            (("logpurge", "02+00:00 00+04:00"), {"reqstart": "accesslog"}),
            (("olcSyncrepl", "{0}rid=1 credentials=hunter2"), {"entryuuid": "syncrepl", "entrycsn": "syncrepl"}),
            (("dynlist-attrset", "groupOfURLs memberURL member+memberOf@groupOfNames*"), {"member": "dynlist"}),
            (("refint_attributes", "$(x) a;b `c`"), {}),
        ],
    )
    def test_what_a_setting_makes_slapd_search_for(self, setting: tuple[str, str], attributes: dict[str, str]) -> None:
        assert searched_by(own(setting).searches({})) == attributes

    def test_what_it_computes(self) -> None:
        found = own(
            ("olcDynListAttrSet", "{0}groupOfURLs memberURL member+memberOf"), ("collectinfo", '"ou=p,dc=x" l,st')
        ).computed
        assert {name: found[name] for name in ("memberof", "l", "st")} == {
            "memberof": "dynlist",
            "l": "collect",
            "st": "collect",
        }
        assert "member" not in found

    def test_overlays_without_settings(self) -> None:
        found = indexes_of(
            DATABASE + "olcDbIndex: cn eq\n\ndn: olcOverlay={0}syncprov,olcDatabase={1}mdb,cn=config\n"
            "olcOverlay: {0}syncprov\n\n"
        )
        assert searched_by(found.internal_searches) == {"entrycsn": "syncprov", "entryuuid": "syncprov"}
        assert searched_by(indexes_of("database mdb\ndirectory /x\noverlay dds\n").internal_searches) == {
            "entryexpiretimestamp": "dds"
        }

    @given(st.sampled_from(["unique_uri", "olcAuthzRegexp", "dynlist-attrset", "collectinfo"]), st.text(max_size=100))
    def test_no_value_crashes_it(self, name: str, value: str) -> None:
        found = own((name, value), (name, f"ldap:///{value}?{value}?sub?({value})"))
        for attribute in (*searched_by(found.searches({})), *found.computed):
            assert attribute == "*" or attribute.replace("-", "").replace(".", "").replace("_", "").isalnum()

    @given(st.sampled_from(["olcAccess", "olcAuthzRegexp"]), st.text(alphabet="(uid=) ?:,[]ldap:///&;x", max_size=60))
    def test_what_is_kept_of_a_live_answer_has_the_same_attributes(self, name: str, value: str) -> None:
        whole = f"{name} ldap:///dc=x?{value}"
        assert searched_by(own((name, reduced_urls(whole))).searches({})) == searched_by(
            own((name, whole)).searches({})
        )

    def test_no_value_and_no_account_is_kept_of_a_live_answer(self) -> None:
        url = "ldap:///dc=x??sub?(&(cn=secret)(uid=] + user/uid + [))"
        rule = f'{{0}}to * by dn="cn=secret,dc=x" read by set="[{url}]" write'
        assert reduced_urls(rule) == "ldap:///dc=x??sub?(cn=)(uid=)"

    @pytest.mark.parametrize(
        ("lines", "hidden"),
        [
            ("overlay memberof", ""),
            ("overlay syncprov", ""),
            ("overlay dynlist", "URLs in the entries"),
            ("overlay autogroup", "URLs in the entries"),
            ("overlay acme", "the overlay acme searches for is not known"),
            ("authz-policy to", "authzTo"),
            ("authz-policy none", ""),
            ("include /etc/more.conf", "includes other files"),
        ],
    )
    def test_what_the_settings_do_not_name_is_stated(self, lines: str, hidden: str) -> None:
        found = indexes_of(f"database mdb\nsuffix dc=x\ndirectory /x\nindex cn eq\n{lines}\n").hidden_searches
        assert bool(found) is bool(hidden)
        assert hidden in "".join(found)

    def test_without_the_entry_cn_config_its_account_mapping_is_not_known(self) -> None:
        assert "authz-regexp" in indexes_of(f"{DATABASE}olcDbIndex: cn eq\n\n").hidden_searches[0]
        assert not indexes_of(f"dn: cn=config\ncn: config\n\n{DATABASE}olcDbIndex: cn eq\n\n").hidden_searches


@pytest.mark.parametrize(
    ("entry", "directive", "glued"),
    [
        ("", "", False),
        ("olcSubordinate: TRUE\n", "subordinate\n", True),
        ("olcSubordinate: advertise\n", "subordinate advertise\n", True),
        ("olcSubordinate: FALSE\n", "subordinate no\n", False),
    ],
)
def test_a_database_that_is_glued_to_the_one_above_it(entry: str, directive: str, glued) -> None:
    text = f"database mdb\nsuffix dc=x\n{directive}directory /srv/db\nindex cn eq\nrootdn cn=a,dc=x\n"
    for read in (indexes_of(DATABASE + entry), indexes_of(text)):
        assert [one.glued for one in read.backends] == [glued]


def test_the_last_change_of_the_entry_with_all_indexes_is_read() -> None:
    (backend,) = indexes_of(f"{DATABASE}olcDbIndex: cn eq\nmodifyTimestamp: 20261122050000Z\n\n").backends
    assert backend.modified == datetime(2026, 11, 22, 5, tzinfo=UTC)
    (unknown,) = indexes_of(f"{DATABASE}olcDbIndex: cn eq\n\n").backends
    assert unknown.modified is None
