"""Two real servers that search for themselves, and what makes them: plug-ins, overlays, rules of access and mappings.

Of `Rule`s a 389-ds, of lines of slapd.conf a slapd; `provoke_389` and `provoke_slapd` do once what each is for.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from lab.directory_servers import PASSWORD, SUFFIX, account
from lab.host import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lab.directory_servers import Server
    from lab.host import Host

LOG_389 = "/var/log/dirsrv/slapd-live/access"
INTERNAL = {"nsslapd-accesslog-level": "260", "nsslapd-plugin-logging": "on"}
"""The access log has the searches of plug-ins, too."""
SELF_SEARCHING = {
    "nsslapd-ldapiautobind": "on",
    "nsslapd-ldapimaptoentries": "on",
    "nsslapd-ldapientrysearchbase": SUFFIX,
}
LOCAL = ("setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups", "ldapwhoami", "-Q", "-Y", "EXTERNAL")
URI = ("-H", "ldap://127.0.0.1")
CLIENT = (*URI, "-x", "-D", account("application_xyz"), "-w", PASSWORD)
PLUGINS = "cn=plugins,cn=config"


def enabled(name: str, *lines: str) -> str:
    """Return LDIF that enables a plug-in of 389-ds with these settings."""
    settings = "".join(f"-\nreplace: {line.partition(':')[0]}\n{line}\n" for line in lines)
    head = f"dn: cn={name},{PLUGINS}\nchangetype: modify\nreplace: nsslapd-pluginEnabled\nnsslapd-pluginEnabled: on\n"
    return f"{head}{settings}\n"


def added(dn: str, *lines: str) -> str:
    """Return LDIF that adds an entry."""
    return f"dn: {dn}\nchangetype: add\n" + "".join(f"{line}\n" for line in lines) + "\n"


GROUPS = f'(targetattr="*")(version 3.0; acl "groups"; allow (search) groupdnattr="ldap:///{SUFFIX}?seeAlso";)'
RULES_389 = "".join(
    [
        enabled("attribute uniqueness", "uniqueness-attribute-name: title", f"uniqueness-subtrees: {SUFFIX}"),
        enabled("referential integrity postoperation", "referint-membership-attr: secretary"),
        enabled("MemberOf Plugin", "memberOfGroupAttr: documentAuthor"),
        enabled("Distributed Numeric Assignment Plugin"),
        added(
            f"cn=ids,cn=Distributed Numeric Assignment Plugin,{PLUGINS}",
            *("objectClass: extensibleObject", "dnaType: employeeNumber", "dnaFilter: (departmentNumber=7)"),
            *(f"dnaScope: {SUFFIX}", "dnaNextValue: 1000", "dnaMagicRegen: -1"),
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
        added(
            f"cn=role,{SUFFIX}",
            *("objectClass: ldapSubEntry", "objectClass: nsRoleDefinition", "objectClass: nsComplexRoleDefinition"),
            *("objectClass: nsFilteredRoleDefinition", "nsRoleFilter: (postalCode=7)"),
        ),
        added(
            f"cn=class,{SUFFIX}",
            *("objectClass: ldapSubEntry", "objectClass: cosSuperDefinition", "objectClass: cosPointerDefinition"),
            *(f"cosTemplateDn: cn=template,{SUFFIX}", "cosAttribute: street"),
        ),
        f"dn: {SUFFIX}\nchangetype: modify\nadd: aci\naci: {GROUPS}\n\n",
    ]
)
ADDN = "".join(
    [
        added(
            f"cn=addn,{PLUGINS}",
            *("objectClass: nsSlapdPlugin", "objectClass: extensibleObject", "nsslapd-pluginPath: libaddn-plugin"),
            *("nsslapd-pluginInitfunc: addn_init", "nsslapd-pluginType: preoperation", "nsslapd-pluginEnabled: on"),
            *("nsslapd-pluginId: addn", "nsslapd-pluginVersion: 1", "nsslapd-pluginVendor: 389"),
            *("nsslapd-pluginDescription: addn", "addn_default_domain: example.com"),
        ),
        added(
            f"cn=example.com,cn=addn,{PLUGINS}",
            *("objectClass: extensibleObject", f"addn_base: {SUFFIX}", "addn_filter: (carLicense=%s)"),
        ),
    ]
)
"""Binds by a name; which attribute is searched for, the answers of a live server do not show."""
ENTRY = added(
    f"cn=first,{SUFFIX}",
    *("objectClass: inetOrgPerson", "cn: first", "sn: first", "title: first", "departmentNumber: 7"),
    "employeeNumber: -1",
)
DELETED = f"dn: cn=first,{SUFFIX}\nchangetype: delete\n\n"
VIEW = ("-b", f"ou=view,{SUFFIX}", "(objectClass=person)", "1.1")


def manager(server: Server) -> tuple[str, ...]:
    """Return the options with which the administrator binds."""
    return (*URI, "-x", "-D", server.administrator, "-w", PASSWORD)


def provoke_389(host: Host, server: Server) -> Iterator[tuple[str, ...]]:
    """Let a 389-ds search for itself, one kind after the other, and yield the attributes that it then looks up."""
    triggers = (
        ("ldapmodify", manager(server), ENTRY, ("title", "employeeNumber", "departmentNumber")),
        ("ldapmodify", manager(server), DELETED, ("secretary", "documentAuthor")),
        (*LOCAL, ("-H", f"ldapi://{server.ldapi}"), "", ("uidNumber", "gidNumber")),
        ("ldapwhoami", ("-Q", "-Y", "DIGEST-MD5", "-U", "joe", "-w", "x", *URI), "", ("employeeType",)),
        ("ldapwhoami", (*URI, "-x", "-D", "joe@example.com", "-w", "x"), "", ("carLicense",)),
        ("ldapsearch", (*CLIENT, "-b", f"ou=services,{SUFFIX}", "(uid=x*)"), "", ("member", "uniqueMember")),
        ("ldapsearch", (*manager(server), *VIEW), "", ("roomNumber",)),
    )
    for *command, arguments, stdin, attributes in triggers:
        host.attempt([*command, *arguments], stdin=stdin)
        yield attributes


SCHEMA = "include /etc/ldap/schema/dyngroup.schema\n"
OVERLAY_MODULES = "".join(f"moduleload {name}\n" for name in ("unique", "refint", "constraint", "dynlist"))
RULES_SLAPD = f"""\
sasl-regexp gidNumber=1000.uidNumber=1000,cn=peercred,cn=external,cn=auth ldap:///{SUFFIX}??sub?(employeeNumber=1000)
"""
OVERLAYS_SLAPD = f"""\
overlay unique
unique_uri ldap:///?title?sub?(employeeType=unique)
overlay refint
refint_attributes secretary
overlay constraint
constraint_attribute displayName uri ldap:///{SUFFIX}?roomNumber?sub?(carLicense=ok)
"""
SET_SLAPD = (
    f'access to attrs=description by set="[ldap:///{SUFFIX}??sub?(businessCategory=ops)]/entryDN & user" '
    "read by * read\n"
)
UNIQUE_ENTRY = added(
    f"cn=first,{SUFFIX}",
    *("objectClass: inetOrgPerson", "cn: first", "sn: first", "title: first", "employeeType: unique"),
    "description: any",
)
CONSTRAINED = f"dn: cn=first,{SUFFIX}\nchangetype: modify\nadd: displayName\ndisplayName: x\n\n"


def provoke_slapd(host: Host, server: Server) -> Iterator[tuple[str, ...]]:
    """Let a slapd search for itself, one kind after the other, and yield the attributes that it then looks up."""
    triggers = (
        ("ldapmodify", manager(server), UNIQUE_ENTRY, ("title", "employeeType")),
        ("ldapmodify", manager(server), CONSTRAINED, ("roomNumber", "carLicense")),
        ("ldapsearch", (*CLIENT, "-b", SUFFIX, "(objectClass=person)"), "", ("businessCategory",)),
        (*LOCAL, ("-H", f"ldapi://{server.ldapi}"), "", ("employeeNumber",)),
    )
    for *command, arguments, stdin, attributes in triggers:
        host.attempt([*command, *arguments], stdin=stdin)
        yield attributes
    before = len(server.log.read_text())
    host.run(["ldapmodify", *manager(server)], stdin=DELETED)
    wait_for(partial(_is_logged, server, before, "DEL"), "the deletion is not logged")
    yield ("secretary",)


def _is_logged(server: Server, before: int, word: str) -> bool:
    return f" {word} " in server.log.read_text()[before:]
