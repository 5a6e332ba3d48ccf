from __future__ import annotations

import pytest

from indexes_389 import index, plugin, read
from internal_searches import searched_by
from ldapdiag.evidence.indexes import ds389_internal_searches as searchers
from reading import facts_of


def sasl(template: str) -> str:
    return f"dn: cn=m,cn=mapping,cn=sasl,cn=config\nnsSaslMapFilterTemplate: {template}\n\n"


def definition(*lines: str, plugin: str = "any") -> str:
    return definition_of(f"cn=one,cn={plugin},cn=plugins,cn=config", *lines)


def autobind(state: str, *lines: str) -> str:
    return definition_of("cn=config", f"nsslapd-ldapimaptoentries: {state}", *lines)


def definition_of(dn: str, *lines: str) -> str:
    return f"dn: {dn}\n" + "".join(f"{line}\n" for line in lines) + "\n"


def arguments(*values: str) -> tuple[str, ...]:
    return tuple(f"nsslapd-pluginarg{number}: {value}" for number, value in enumerate(values))


REFERINT, UNIQUENESS, DNA = "referential integrity", "attribute uniqueness", "distributed numeric assignment"
SEARCHING = [
    (plugin("referint_postop_init", "referint-membership-attr: Member"), REFERINT, "member"),
    (plugin("referint_postop_init", *arguments("0", "/log", "0", "member", "owner")), REFERINT, "member owner"),
    (plugin("NSUniqueAttr_Init", "uniqueness-attribute-name: uid"), UNIQUENESS, "uid"),
    (plugin("NSUniqueAttr_Init", *arguments("uid", "dc=x")), UNIQUENESS, "uid"),
    (plugin("NSUniqueAttr_Init", *arguments("attribute=mail")), UNIQUENESS, "mail"),
    (plugin("NS7bitAttr_Init", *arguments("uid")), "", ""),
    (
        plugin("memberof_postop_init", "memberofgroupattr: member", "memberofattr: memberOf"),
        "MemberOf",
        "member memberof",
    ),
    (plugin("retrocl_plugin_init"), "retro changelog", "changenumber targetuniqueid"),
    (plugin("usn_init"), "USN", "entryusn"),
    (definition("dnaType: uidNumber", "dnaFilter: (objectClass=posixAccount)"), DNA, "uidnumber objectclass"),
    (definition("autoMemberGroupingAttr: member:dn"), "automatic membership", "member"),
    (definition("autoMemberFilter: (&(a=1)(!(b=*)))"), "automatic membership", "a b"),
    (definition("autoMemberFilter: (&(a=1"), "", ""),
    (definition("linkType: directReport", "managedType: manager"), "linked attributes", "directreport manager"),
    (
        definition("objectClass: nsDSWindowsReplicationAgreement"),
        "Windows synchronization",
        "ntuniqueid ntuserdomainid member uniquemember",
    ),
    (sasl("(krbPrincipalName=\\1@\\2)"), "SASL mapping", "krbprincipalname"),
    (autobind("on"), "autobind", "uidnumber gidnumber"),
    (autobind("on", "nsslapd-ldapigidnumbertype: roomNumber"), "autobind", "uidnumber roomnumber"),
    (autobind("off"), "", ""),
    (
        definition_of("cn=config", "nsslapd-security: on"),
        "mapping of client certificates",
        "uid mail cn ou o l st c certsubjectdn",
    ),
    (definition("addn_filter: (uid=%s)"), "binds with an Active Directory name", "uid"),
    (
        definition_of("cn=d,cn=HTTP-BASIC,cn=identity mapping,cn=config", "dsSearchFilter: (mail=${Authorization})"),
        "identity mapping",
        "mail",
    ),
    (definition_of("ou=v,dc=x", "objectClass: nsView", "nsViewFilter: (l=here)"), "views", "l"),
]
"""What makes the server search, what for, and of which attributes."""


class TestWhatTheServerSearchesFor:
    @pytest.mark.parametrize(("text", "by", "attributes"), SEARCHING)
    def test_is_relied_upon(self, text: str, by: str, attributes: str) -> None:
        assert searched_by(read(text + index()).internal_searches) == dict.fromkeys(attributes.split(), by)

    def test_may_be_relied_upon_for_more_than_one_reason(self) -> None:
        text = plugin("NSUniqueAttr_Init", "uniqueness-attribute-name: uid") + sasl("(uid=\\1)")
        assert searched_by(read(text + index()).internal_searches) == {"uid": "attribute uniqueness, SASL mapping"}

    @pytest.mark.parametrize("order", [1, -1])
    def test_is_not_relied_upon_while_the_plug_in_is_off(self, order: int) -> None:
        off = plugin("dna_init", name="dna", on=False)
        definition = "dn: cn=ids,cn=dna,cn=plugins,cn=config\ndnaType: uidNumber\n\n"
        uniqueness = plugin("NSUniqueAttr_Init", "uniqueness-attribute-name: mail", name="other", on=False)
        assert searched_by(read("".join([off, definition, uniqueness][::order]) + index()).internal_searches) == {}

    def test_what_is_no_attribute_type_is_left_out(self) -> None:
        text = plugin("NSUniqueAttr_Init", "uniqueness-attribute-name: u;id", "uniqueness-attribute-name: `x`")
        assert searched_by(read(text + index()).internal_searches) == {}

    def test_autobind_searches_below_its_base(self) -> None:
        found = read(autobind("on", "nsslapd-ldapientrysearchbase: ou=people,dc=x") + index()).internal_searches
        assert {(one.bases, one.frequent) for one in found} == {(("ou=people,dc=x",), True)}

    def test_what_searches_by_the_entries_is_stated(self) -> None:
        assert read(plugin("dynamic_lists_init") + index()).hidden_searches
        assert not read(plugin("dynamic_lists_init", on=False) + index()).hidden_searches

    @pytest.mark.parametrize(
        ("vendor", "on", "hidden"),
        [("IPA", True, True), ("IPA", False, False), ("389 Project", True, False), ("Sun Microsystems", True, False)],
    )
    def test_a_plug_in_of_another_vendor_may_search_for_anything(self, vendor: str, on: bool, hidden: bool) -> None:  # noqa: FBT001  a table
        text = plugin("ipapwd_init", f"nsslapd-pluginVendor: {vendor}", name="ipa_pwd", on=on)
        found = read(text + index()).hidden_searches
        assert found == (("what the plug-in ipa_pwd searches for is not known",) if hidden else ())

    def test_class_of_service_and_roles_are_computed(self) -> None:
        values = "cosAttribute: postalCode override\ncosAttribute: ;x"
        text = f"dn: cn=c,dc=example,dc=com\nobjectClass: cosSuperDefinition\n{values}\n\n"
        assert read(text + index()).virtual_attributes == {"nsrole": "roles", "postalcode": "class of service"}

    def test_makes_no_configuration_of_indexes_alone(self) -> None:
        assert facts_of(plugin("usn_init")) == []

    def test_every_setting_is_asked_for_and_picks_its_entry(self) -> None:
        for name in (*searchers.NAMING, *searchers.FILTERING):
            assert name in searchers.PLUGIN_ATTRIBUTES
            assert f"({name}=*)" in searchers.PLUGIN_FILTER or "_" in name

    def test_has_bounds(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(searchers, "MOST_FOUND", 3)
        lines = (f"uniqueness-attribute-name: a{number}" for number in range(9))
        found = read(plugin("NSUniqueAttr_Init", *lines) + index())
        assert len(searched_by(found.internal_searches)) == 3
        assert "Only the first 3 attributes" in found.origin.notes[0]
        assert "Only the first 3 attributes" in found.hidden_searches[0]
