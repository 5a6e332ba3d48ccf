"""What plug-ins and overlays search for without an index, on real servers: their own logs show it."""

from __future__ import annotations

import re
from functools import partial
from itertools import count

from lab.directory_servers import DSE, SUFFIX
from lab.host import Host, wait_for
from lab.laboratory import need
from lab.terminal import paste
from ldapdiag.catalogue import installed_checks
from ldapdiag.diagnosis import diagnose
from ldapdiag.finding import Clear, Finding
from ldapdiag.sources.gathering import gather

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
            log = "/var/log/dirsrv/slapd-live/access"
            server.modify(PERSON.format(name=name, suffix=SUFFIX))
            wait_for(lambda: f"(title={name})" in host.run(["cat", log]), "the search is not in the log")
            lines = host.run(["cat", log]).partition(f"(title={name})")[2].splitlines()
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
