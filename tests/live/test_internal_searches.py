"""What servers search for themselves, on real servers: their own logs show the search, and that no index answers it."""

from __future__ import annotations

import re
from functools import partial
from itertools import count

from lab.directory_servers import DSE, PASSWORD, SUFFIX, account
from lab.host import Host, wait_for
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
LOG_389 = "/var/log/dirsrv/slapd-live/access"
INTERNAL = {"nsslapd-accesslog-level": "260", "nsslapd-plugin-logging": "on"}
"""The access log has the searches of plug-ins, too."""
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
LOCAL = ("setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups", "ldapwhoami", "-Q", "-Y", "EXTERNAL")
URI = ("-H", "ldap://127.0.0.1")
PLUGINS = "cn=plugins,cn=config"
SELF_SEARCHING = {
    "nsslapd-ldapiautobind": "on",
    "nsslapd-ldapimaptoentries": "on",
    "nsslapd-ldapientrysearchbase": SUFFIX,
}


def enabled(name, *lines):
    settings = "".join(f"-\nreplace: {line.partition(':')[0]}\n{line}\n" for line in lines)
    head = f"dn: cn={name},{PLUGINS}\nchangetype: modify\nreplace: nsslapd-pluginEnabled\nnsslapd-pluginEnabled: on\n"
    return f"{head}{settings}\n"


def added(dn, *lines):
    return f"dn: {dn}\nchangetype: add\n" + "".join(f"{line}\n" for line in lines) + "\n"


GROUPS = f'(targetattr="*")(version 3.0; acl "groups"; allow (search) groupdnattr="ldap:///{SUFFIX}?seeAlso";)'
RULES_389 = "".join(
    [
        enabled("attribute uniqueness", "uniqueness-attribute-name: title", f"uniqueness-subtrees: {SUFFIX}"),
        enabled("referential integrity postoperation", "referint-membership-attr: secretary"),
        enabled("MemberOf Plugin", "memberOfGroupAttr: documentAuthor"),
        enabled("Distributed Numeric Assignment Plugin"),
        added(
            f"cn=addn,{PLUGINS}",
            *("objectClass: nsSlapdPlugin", "objectClass: extensibleObject", "nsslapd-pluginPath: libaddn-plugin"),
            *("nsslapd-pluginInitfunc: addn_init", "nsslapd-pluginType: preoperation", "nsslapd-pluginEnabled: on"),
            *("nsslapd-pluginId: addn", "nsslapd-pluginVersion: 1", "nsslapd-pluginVendor: 389"),
            *("nsslapd-pluginDescription: addn", "addn_default_domain: example.com"),
        ),
        added(
            f"cn=ids,cn=Distributed Numeric Assignment Plugin,{PLUGINS}",
            *("objectClass: extensibleObject", "dnaType: employeeNumber", "dnaFilter: (departmentNumber=7)"),
            *(f"dnaScope: {SUFFIX}", "dnaNextValue: 1000", "dnaMagicRegen: -1"),
        ),
        added(
            f"cn=example.com,cn=addn,{PLUGINS}",
            *("objectClass: extensibleObject", f"addn_base: {SUFFIX}", "addn_filter: (carLicense=%s)"),
        ),
        added(
            "cn=mine,cn=mapping,cn=sasl,cn=config",
            *("objectClass: nsSaslMapping", r"nsSaslMapRegexString: \(.*\)", f"nsSaslMapBaseDNTemplate: {SUFFIX}"),
            *(r"nsSaslMapFilterTemplate: (employeeType=\1)", "nsSaslMapPriority: 1"),
        ),
        added(
            f"ou=view,{SUFFIX}",
            *("objectClass: organizationalUnit", "objectClass: nsView", "nsViewFilter: (roomNumber=7)"),
        ),
        f"dn: {SUFFIX}\nchangetype: modify\nadd: aci\naci: {GROUPS}\n\n",
    ]
)
ENTRY = added(
    f"cn=first,{SUFFIX}",
    *("objectClass: inetOrgPerson", "cn: first", "sn: first", "title: first", "departmentNumber: 7"),
    "employeeNumber: -1",
)
DELETED = f"dn: cn=first,{SUFFIX}\nchangetype: delete\n\n"


def test_what_389_ds_searches_for_is_known_and_scans_without_an_index(laboratory):
    need("ns-slapd", "ldapmodify", "setpriv")
    with Host("ldap") as host:
        server = laboratory.ds389(host, settings=INTERNAL | SELF_SEARCHING)
        manager = (*URI, "-x", "-D", "cn=Directory Manager", "-w", PASSWORD)
        client = (*URI, "-x", "-D", account("application_xyz"), "-w", PASSWORD)
        host.run(["ldapmodify", *manager], stdin=RULES_389)
        server.restart()
        triggers = (
            ("ldapmodify", manager, ENTRY, ("title", "employeeNumber", "departmentNumber")),
            ("ldapmodify", manager, DELETED, ("secretary", "documentAuthor")),
            (*LOCAL, ("-H", f"ldapi://{server.ldapi}"), "", ("uidNumber", "gidNumber")),
            ("ldapwhoami", ("-Q", "-Y", "DIGEST-MD5", "-U", "joe", "-w", "x", *URI), "", ("employeeType",)),
            ("ldapwhoami", (*URI, "-x", "-D", "joe@example.com", "-w", "x"), "", ("carLicense",)),
            ("ldapsearch", (*client, "-b", f"ou=services,{SUFFIX}", "(uid=x*)"), "", ("member", "uniqueMember")),
        )
        configuration = read_live(server, Family.DS389, INDEXES)
        known = {one.attribute.lower() for one in configuration.internal_searches}
        known |= product_of(Family.DS389).searched_by_rules
        indexed = {one.attribute.lower() for backend in configuration.backends for one in backend.definitions}
        for *command, arguments, stdin, attributes in triggers:
            before = len(host.run(["cat", LOG_389]))
            host.attempt([*command, *arguments], stdin=stdin)
            for attribute in map(str.lower, attributes):
                assert attribute in known or attribute == "carlicense"  # not in the answer of a live server
                searched = wait_for(partial(_internal, host, before, attribute), attribute)
                assert attribute in indexed or all("notes=" in result for result in searched)
        assert any("addn_filter" in sentence for sentence in configuration.hidden_searches)
        before = len(host.run(["cat", LOG_389]))
        host.run(["ldapsearch", *manager, "-b", f"ou=view,{SUFFIX}", "(objectClass=person)", "1.1"])
        assert "roomnumber" in known
        wait_for(lambda: "notes=U" in host.run(["cat", LOG_389])[before:], "the filter of the view is not added")


def _internal(host, before, attribute):
    """Return the results of the internal searches for an attribute that are behind this place of the log."""
    log = host.run(["cat", LOG_389])[before:].lower()
    operations = re.findall(rf"(\S+ \(internal\) op=\S+) srch .*\({attribute}[<>]?=", log)
    return [line for one in operations for line in log.splitlines() if f"{one} result" in line]


def _scanned(server, before, attribute):
    return f"({attribute}) not indexed" in server.log.read_text()[before:]


RULES_SLAPD = f"""\
sasl-regexp gidNumber=1000.uidNumber=1000,cn=peercred,cn=external,cn=auth ldap:///{SUFFIX}??sub?(employeeNumber=1000)
"""
SELF_SEARCHING_SLAPD = f"""\
index objectClass,uid,secretary eq
overlay unique
unique_uri ldap:///?title?sub?(employeeType=unique)
overlay refint
refint_attributes secretary
overlay constraint
constraint_attribute displayName uri ldap:///{SUFFIX}?roomNumber?sub?(carLicense=ok)
overlay dynlist
access to attrs=description by set="[ldap:///{SUFFIX}??sub?(businessCategory=ops)]/entryDN & user" read by * read
"""
UNIQUE_ENTRY = added(
    f"cn=first,{SUFFIX}",
    *("objectClass: inetOrgPerson", "cn: first", "sn: first", "title: first", "employeeType: unique"),
    "description: any",
)
GROUP = added(
    f"cn=group,{SUFFIX}",
    *("objectClass: groupOfURLs", "cn: group", f"memberURL: ldap:///{SUFFIX}??sub?(departmentNumber=7)"),
)


def test_what_slapd_searches_for_is_known_and_scans_without_an_index(laboratory):
    need("slapd", "slapadd", "setpriv")
    modules = "".join(f"moduleload {name}\n" for name in ("unique", "refint", "constraint", "dynlist"))
    with Host("ldap") as host:
        settings = f"{SCHEMA}{modules}{RULES_SLAPD}"
        server = laboratory.slapd(host, configuration=settings, database=SELF_SEARCHING_SLAPD, level="stats,filter")
        manager = (*URI, "-x", "-D", server.administrator, "-w", PASSWORD)
        client = (*URI, "-x", "-D", account("application_xyz"), "-w", PASSWORD)
        configuration = read_live(server, Family.OPENLDAP, CONFIG)
        known = {one.attribute.lower() for one in configuration.internal_searches}
        constrained = f"dn: cn=first,{SUFFIX}\nchangetype: modify\nadd: displayName\ndisplayName: x\n\n"
        triggers = (
            ("ldapmodify", manager, UNIQUE_ENTRY, ("title", "employeeType")),
            ("ldapmodify", manager, constrained, ("roomNumber", "carLicense")),
            ("ldapsearch", (*client, "-b", SUFFIX, "(objectClass=person)"), "", ("businessCategory",)),
            (*LOCAL, ("-H", f"ldapi://{server.ldapi}"), "", ("employeeNumber",)),
        )
        for *command, arguments, stdin, attributes in triggers:
            before = len(server.log.read_text())
            host.attempt([*command, *arguments], stdin=stdin)
            for attribute in attributes:
                assert attribute.lower() in known
                wait_for(partial(_scanned, server, before, attribute), attribute)
        before = len(server.log.read_text())
        host.run(["ldapmodify", *manager], stdin=DELETED)
        wait_for(lambda: "id=-1 first=1" in server.log.read_text()[before:], "the index of refint is used")
        assert "secretary" in known
        host.run(["ldapmodify", *manager], stdin=GROUP)
        host.run(["ldapsearch", *client, "-b", SUFFIX, "(objectClass=groupOfURLs)"])
        wait_for(lambda: "(departmentNumber) not indexed" in server.log.read_text(), "the URL is not searched")
        assert "departmentnumber" not in known
        assert any("dynlist" in sentence for sentence in configuration.hidden_searches)
        rule = next(line for line in server.search("cn=config").splitlines() if "businessCategory=" in line)
        assert reduced_urls(rule) == f"ldap:///{SUFFIX}??sub?(businessCategory=)"


SCHEMA = "include /etc/ldap/schema/dyngroup.schema\n"
