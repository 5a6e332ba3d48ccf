"""What servers search for themselves, on real servers: their own logs show the search, and that no index answers it."""

from __future__ import annotations

import re
from functools import partial
from itertools import count

from lab.directory_servers import DSE, SUFFIX
from lab.host import Host, wait_for
from lab.internal_searches import (
    ADDN,
    CLIENT,
    INTERNAL,
    LOG_389,
    OVERLAY_MODULES,
    OVERLAYS_SLAPD,
    PLUGINS,
    RULES_389,
    RULES_SLAPD,
    SCHEMA,
    SELF_SEARCHING,
    SET_SLAPD,
    added,
    enabled,
    manager,
    provoke_389,
    provoke_slapd,
)
from lab.laboratory import need
from lab.terminal import paste
from ldapdiag.catalogue import installed_checks
from ldapdiag.diagnosis import diagnose
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.evidence.indexes.slapd_internal_searches import reduced_urls
from ldapdiag.finding import Clear, Finding
from ldapdiag.servers.products import product_of
from ldapdiag.servers.queries import CONFIG, INDEXES, Scope, queries_of
from ldapdiag.sources.gathering import gather
from reading import facts_of

PERSON = """\
dn: cn={name},{suffix}
changetype: add
objectClass: inetOrgPerson
cn: {name}
sn: {name}
title: {name}

"""
UNIQUE = """\
dn: cn=attribute uniqueness,cn=plugins,cn=config
changetype: modify
replace: nsslapd-pluginEnabled
nsslapd-pluginEnabled: on
-
replace: uniqueness-attribute-name
uniqueness-attribute-name: title
-
replace: uniqueness-subtrees
uniqueness-subtrees: {suffix}

"""
MODULES = "moduleload memberof\nmoduleload unique\n"
OVERLAYS = """\
index objectClass,uid eq
overlay memberof
memberof-group-oc groupOfNames
overlay unique
unique_uri ldap:///?title?sub
"""


def verdicts(path):
    judged = diagnose(gather([str(path)]), installed_checks()).judged
    return [one.verdict for one in judged if one.check == "missing-server-index"]


def test_attribute_uniqueness_of_389_ds(laboratory, tmp_path):
    need("ns-slapd", "dsconf", "ldapmodify")
    with Host("ldap") as host:
        server = laboratory.ds389(host, settings=INTERNAL)
        server.modify(UNIQUE.format(suffix=SUFFIX))
        server.restart()

        def internal(name):
            server.modify(PERSON.format(name=name, suffix=SUFFIX))
            wait_for(lambda: f"(title={name})" in host.run(["cat", LOG_389]), "the search is not in the log")
            lines = host.run(["cat", LOG_389]).partition(f"(title={name})")[2].splitlines()
            return next(line for line in lines if "RESULT" in line and "Internal" in line)

        def judged(name):
            (tmp_path / name).write_text(host.run(["cat", DSE]))
            return verdicts(tmp_path / name)

        assert "notes=" in internal("first")
        (one,) = judged("dse.ldif")
        assert isinstance(one, Finding)
        assert (one.observed["attribute"], one.observed["types"]) == ("title", ["eq"])
        paste(host, f"LDAP_URI=ldap://127.0.0.1\n{one.remedies[0].text}")
        wait_for(lambda: "nsTaskExitCode: 0" in server.search("cn=index,cn=tasks,cn=config"), "the build does not end")
        assert "notes=" not in internal("second")
        (one,) = judged("dse.ldif")
        assert isinstance(one, Clear)


def test_overlays_of_slapd(laboratory, tmp_path):
    need("slapd", "slapadd")
    with Host("ldap") as host:
        server = laboratory.slapd(host, configuration=MODULES, database=OVERLAYS, level="stats,filter")

        def logged(change):
            before = len(server.log.read_text())
            server.modify(change)
            return server.log.read_text()[before:]

        def judged():
            (tmp_path / "cn-config.ldif").write_text(server.search("cn=config"))
            return verdicts(tmp_path / "cn-config.ldif")

        log = logged(PERSON.format(name="first", suffix=SUFFIX))
        assert re.search(r"\(title\) not indexed", log)
        group = f"dn: cn=group,{SUFFIX}\nchangetype: add\nobjectClass: groupOfNames\nmember: cn=first,{SUFFIX}\n\n"
        log = logged(f"{group}dn: cn=first,{SUFFIX}\nchangetype: delete\n\n")
        assert "(member) not indexed" not in log, "memberof reads the groups by their DNs"
        (one,) = judged()
        assert isinstance(one, Finding)
        assert (one.observed["attribute"], one.observed["types"]) == ("title", ["eq"])
        server.modify("dn: olcDatabase={1}mdb,cn=config\nchangetype: modify\nadd: olcDbIndex\nolcDbIndex: title eq\n\n")
        names = map("person{}".format, count())
        person = partial(PERSON.format, suffix=SUFFIX)
        wait_for(lambda: "(title) not indexed" not in logged(person(name=next(names))), "the index is not built")
        (one,) = judged()
        assert isinstance(one, Clear)


def read_live(server, family, file):
    """Return the indexes in the answers to what a live server is asked; a query that names no attribute is none."""
    answers = [
        server.search(one.base.format(configContext="cn=config"), "-s", SCOPES[one.scope], one.filter, *one.attributes)
        for one in queries_of(family)
        if one.file == file and "monitor" not in one.base
    ]
    (found,) = [fact for fact in facts_of("\n".join(answers)) if isinstance(fact, IndexConfiguration)]
    return found


SCOPES = {Scope.BASE: "base", Scope.SUBTREE: "sub"}


def test_what_389_ds_searches_for_is_known_and_scans_without_an_index(laboratory):
    need("ns-slapd", "ldapmodify", "setpriv")
    with Host("ldap") as host:
        server = laboratory.ds389(host, settings=INTERNAL | SELF_SEARCHING)
        host.run(["ldapmodify", *manager(server)], stdin=RULES_389 + ADDN)
        server.restart()
        configuration = read_live(server, Family.DS389, INDEXES)
        known = {one.attribute.lower() for one in configuration.internal_searches}
        known |= product_of(Family.DS389).searched_by_rules
        assert ("postalcode" in known, configuration.virtual_attributes.get("street")) == (True, "class of service")
        indexed = {one.attribute.lower() for backend in configuration.backends for one in backend.definitions}
        before = len(host.run(["cat", LOG_389]))
        for attributes in provoke_389(host, server):
            for attribute in map(str.lower, attributes):
                assert attribute in known or attribute == "carlicense"  # not in the answer of a live server
                if attribute == "roomnumber":  # added to the filter of a client
                    wait_for(partial(_is_noted, host, before), "the view is not searched")
                    continue
                searched = wait_for(partial(_internal, host, before, attribute), attribute)
                assert attribute in indexed or all("notes=" in result for result in searched)
            before = len(host.run(["cat", LOG_389]))
        assert any("addn_filter" in sentence for sentence in configuration.hidden_searches)


def _is_noted(host, before):
    return "notes=U" in host.run(["cat", LOG_389])[before:]


def _internal(host, before, attribute):
    """Return the results of the internal searches for an attribute that are behind this place of the log."""
    log = host.run(["cat", LOG_389])[before:].lower()
    operations = re.findall(rf"(\S+ \(internal\) op=\S+) srch .*\({attribute}[<>]?=", log)
    return [line for one in operations for line in log.splitlines() if f"{one} result" in line]


def _reads_all(server, before):
    return "id=-1 first=1" in server.log.read_text()[before:]


def _scanned(server, before, attribute):
    return f"({attribute}) not indexed" in server.log.read_text()[before:]


GROUP = added(
    f"cn=group,{SUFFIX}",
    *("objectClass: groupOfURLs", "cn: group", f"memberURL: ldap:///{SUFFIX}??sub?(departmentNumber=7)"),
)


def test_what_slapd_searches_for_is_known_and_scans_without_an_index(laboratory):
    need("slapd", "slapadd", "setpriv")
    with Host("ldap") as host:
        settings = f"{SCHEMA}{OVERLAY_MODULES}{RULES_SLAPD}"
        database = f"index objectClass,uid,secretary eq\n{OVERLAYS_SLAPD}overlay dynlist\n{SET_SLAPD}"
        server = laboratory.slapd(host, configuration=settings, database=database, level="stats,filter")
        configuration = read_live(server, Family.OPENLDAP, CONFIG)
        known = {one.attribute.lower() for one in configuration.internal_searches}
        before = len(server.log.read_text())
        for attributes in provoke_slapd(host, server):
            for attribute in attributes:
                assert attribute.lower() in known
                if attribute == "secretary":
                    wait_for(partial(_reads_all, server, before), "the index of refint is used")
                else:
                    wait_for(partial(_scanned, server, before, attribute), attribute)
            before = len(server.log.read_text())
        host.run(["ldapmodify", *manager(server)], stdin=GROUP)
        host.run(["ldapsearch", *CLIENT, "-b", SUFFIX, "(objectClass=groupOfURLs)"])
        wait_for(lambda: "(departmentNumber) not indexed" in server.log.read_text(), "the URL is not searched")
        assert "departmentnumber" not in known
        assert any("dynlist" in sentence for sentence in configuration.hidden_searches)
        rule = next(line for line in server.search("cn=config").splitlines() if "businessCategory=" in line)
        assert reduced_urls(rule) == f"ldap:///{SUFFIX}??sub?(businessCategory=)"


LINKS = "".join(
    [
        *map(enabled, ("Linked Attributes", "Auto Membership Plugin", "Managed Entries")),
        added(
            f"cn=links,cn=Linked Attributes,{PLUGINS}",
            *("objectClass: extensibleObject", "linkType: seeAlso", "managedType: secretary"),
        ),
        added(
            f"cn=auto,cn=Auto Membership Plugin,{PLUGINS}",
            *("objectClass: autoMemberDefinition", f"autoMemberScope: {SUFFIX}"),
            *(
                "autoMemberFilter: (employeeType=auto)",
                f"autoMemberDefaultGroup: cn=all,{SUFFIX}",
                "autoMemberGroupingAttr: member:dn",
            ),
        ),
        added(f"cn=all,{SUFFIX}", "objectClass: groupOfNames"),
        added(
            f"cn=made,{SUFFIX}",
            *("objectClass: mepTemplateEntry", "mepRDNAttr: cn", "mepStaticAttr: objectClass: device"),
            "mepMappedAttr: cn: $cn",
        ),
        added(f"ou=made,{SUFFIX}", "objectClass: organizationalUnit"),
        added(
            f"cn=made,cn=Managed Entries,{PLUGINS}",
            *("objectClass: extensibleObject", f"originScope: {SUFFIX}", "originFilter: (carLicense=made)"),
            *(f"managedBase: ou=made,{SUFFIX}", f"managedTemplate: cn=made,{SUFFIX}"),
        ),
    ]
)
LINKED = "".join(
    [
        *(
            added(f"cn={name},{SUFFIX}", "objectClass: inetOrgPerson", f"sn: {name}", *lines)
            for name, *lines in (
                ("one", "employeeType: auto", "carLicense: made"),
                ("two", "employeeType: auto", f"seeAlso: cn=one,{SUFFIX}"),
            )
        ),
        f"dn: cn=one,{SUFFIX}\nchangetype: modrdn\nnewrdn: cn=uno\ndeleteoldrdn: 1\n\n",
        f"dn: cn=two,{SUFFIX}\nchangetype: delete\n\n",
    ]
)
CLASSES = "".join(
    [
        added(f"cn=templates,{SUFFIX}", "objectClass: nsContainer"),
        added(
            f"cn=sales,cn=templates,{SUFFIX}",
            *("objectClass: extensibleObject", "objectClass: cosTemplate", "street: S"),
        ),
        *(
            added(
                f"cn={kind},{SUFFIX}",
                *("objectClass: ldapSubEntry", "objectClass: cosSuperDefinition", f"objectClass: cos{kind}Definition"),
                *lines,
            )
            for kind, *lines in (
                (
                    *("Classic", f"cosTemplateDn: cn=templates,{SUFFIX}", "cosSpecifier: departmentNumber"),
                    "cosAttribute: street override",
                ),
                ("Indirect", "cosIndirectSpecifier: manager", "cosAttribute: l override"),
            )
        ),
        added(f"cn=boss,{SUFFIX}", "objectClass: inetOrgPerson", "sn: boss", "l: L"),
        added(
            f"cn=joe,{SUFFIX}",
            *("objectClass: inetOrgPerson", "sn: joe", "departmentNumber: sales", f"manager: cn=boss,{SUFFIX}"),
        ),
    ]
)
FIX_UP = added("cn=all,cn=fixup linked attributes,cn=tasks,cn=config", "objectClass: extensibleObject")


def test_links_memberships_and_managed_entries_of_389_ds_are_found_by_their_dns(laboratory):
    """The task that mends links is what needs the indexes that are known: of presence, of both attributes."""
    need("ns-slapd", "ldapmodify")
    with Host("ldap") as host:
        server = laboratory.ds389(host, settings=INTERNAL)
        host.run(["ldapmodify", *manager(server)], stdin=LINKS)
        server.restart()
        before = len(host.run(["cat", LOG_389]))
        host.run(["ldapmodify", *manager(server)], stdin=LINKED)
        assert f"member: cn=uno,{SUFFIX}" in server.search(f"cn=all,{SUFFIX}")
        wait_for(lambda: f'DEL dn="cn=two,{SUFFIX}"' in host.run(["cat", LOG_389])[before:], "the log is not written")
        searched = re.findall(r"\(Internal\) op=\S+ SRCH .*scope=([12])", host.run(["cat", LOG_389])[before:])
        assert searched == [], "each is read by its DN"
        host.run(["ldapmodify", *manager(server)], stdin=FIX_UP)
        known = {one.attribute.lower() for one in read_live(server, Family.DS389, INDEXES).internal_searches}
        for attribute in ("seealso", "secretary"):
            assert attribute in known
            noted = partial(_presence, host, before, attribute)
            assert all("notes=" in result for result in wait_for(noted, attribute))


def test_class_of_service_of_389_ds_needs_no_index_but_of_object_classes(laboratory):
    """Definitions and templates are found by their class when one changes; what a specifier names is read by its DN."""
    need("ns-slapd", "ldapmodify")
    with Host("ldap") as host:
        server = laboratory.ds389(host, settings=INTERNAL)
        before = len(host.run(["cat", LOG_389]))
        host.run(["ldapmodify", *manager(server)], stdin=CLASSES)
        asked = ("-b", SUFFIX, "(sn=joe)", "street", "l")
        computed = partial(host.run, ["ldapsearch", *manager(server), *asked])
        wait_for(lambda: "street: S\nl: L\n" in computed(), "nothing is computed")
        wait_for(lambda: 'SRCH base="cn=boss,' in host.run(["cat", LOG_389])[before:], "the log is not written")
        log = host.run(["cat", LOG_389])[before:].lower()
        filters = re.findall(rf'internal\S* op=\S+ srch base="[^"]*{SUFFIX}" scope=[12] filter="(.*?)"', log)
        assert {name for text in filters for name in re.findall(r"\((\w+)=", text)} == {"objectclass"}


def _presence(host, before, attribute):
    """Return the results of the internal searches for presence; the task writes its filter without parentheses."""
    log = host.run(["cat", LOG_389])[before:].lower()
    operations = re.findall(rf'(\S+ op=\S+) srch .*filter="\(?{attribute}=\*', log)
    return [line for one in operations for line in log.splitlines() if f"{one} result" in line]
