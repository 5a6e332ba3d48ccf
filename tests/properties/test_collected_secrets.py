"""Of a configuration the script prints settings it knows by name: no password, key or hash, however it is written."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess

import pytest

from internal_searches import searched_by
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.sources.live.ssh.remote import script
from reading import facts_of

SECRETS = ["Geheim", "{SSHA}", "hunter2"]


KNOWN = "server_root=; server_hidden=; server_trusted=1"
"""Of a server's process, as the script sees it."""


def printed(function, *arguments, stdin=b"", awk=None, folder=None, known=KNOWN):
    """Return what one function of the script prints."""
    text = script(MORE_PATH="").rstrip().removesuffix("main")
    path = "/usr/sbin:/usr/bin:/sbin:/bin"
    if awk:
        (folder / "awk").symlink_to(shutil.which(awk))
        path = f"{folder}:{path}"
    body = f'{text}\nTIMEOUT=; SUDO=; {known}\nPATH={path}\n{function} "$@"\n'
    shown = subprocess.run(
        ["sh", "-c", body, "sh", *arguments], input=stdin, capture_output=True, check=False, timeout=10
    )
    assert shown.stderr == b""
    return shown.stdout.decode()


def told(text, path="host/file.txt"):
    """Return what is configured of connections, and what of indexes (None: nothing)."""
    facts = facts_of(text, path=path)
    (configuration,) = [one for one in facts if isinstance(one, Configuration)]
    return configuration, next((one for one in facts if isinstance(one, IndexConfiguration)), None)


def hidden(text: str) -> None:
    coded = [base64.b64encode(secret.encode()).decode().rstrip("=")[:-1] for secret in SECRETS]
    assert [secret for secret in [*SECRETS, *coded] if secret.lower() in text.lower()] == []


DSE = f"""dn: cn=config
objectClass: top
cn: config
nsslapd-rootpw: {{SSHA}}Geheim
NSSLAPD-ROOTPW;x-tag: Geheim
nsslapd-rootpw:: {base64.b64encode(b"Geheim und hunter2").decode()}
nsslapd-idletimeout: 36
 00
nsslapd-root
 pw: Geheim
nsslapd-maxdescriptors: 1024
# nsslapd-port: Geheim
 nsslapd-threadnumber: hunter2
NSSLAPD-Port: 389
userPassword: Geheim

dn: cn=replica,cn=config
objectClass: nsDS5Replica
nsDS5ReplicaBindDN: cn=replication
 manager,cn=config
nsDS5ReplicaCredentials: {{AES-TUhN}}Geheim
 hunter2

dn: cn=encryption,cn=config
nsSymmetricKey:: R2VoZWlt
nsKeyfilePassword: hunter2

dn: uid=a,dc=example,dc=com
userPassword: hunter2
nsIdleTimeout: -1

dn: cn=userRoot,cn=ldbm database,cn=plugins,cn=config
objectClass: nsBackendInstance
cn: userRoot
nsslapd-suffix: dc=example,dc=com
nsslapd-encryption-pin: Geheim

dn: cn=index,cn=userRoot,cn=ldbm database,cn=plugins,cn=config
objectClass: top
cn: index
description: Geheim

dn: cn=uid,cn=index,cn=userRoot,cn=ldbm database,cn=plugins,cn=config
objectClass: nsIndex
cn: uid
nsIndexType: eq
nsIndexType: su
 b
description: hunter2
userPassword: Geheim
 nsIndexType: pres

dn: cn=far,cn=chaining database,cn=plugins,cn=config
nsslapd-suffix: dc=far
nsFarmServerURL: ldap://Geheim/
nsMultiplexorCredentials: hunter2

dn: cn=7-bit check,cn=plugins,cn=config
nsslapd-pluginInitfunc: NS7bitAttr_Init
nsslapd-pluginEnabled: on
nsslapd-pluginarg0: Geheim
nsslapd-pluginarg1: hunter2

dn: cn=Pass Through Authentication,cn=plugins,cn=config
nsslapd-pluginarg0: ldap://Geheim/dc=far hunter2
nsslapd-pluginInitfunc: passthruauth_init

dn: cn=uid uniqueness,cn=plugins,cn=config
nsslapd-pluginarg0: uid
nsslapd-pluginEnabled: on
nsslapd-pluginInitfunc: NSUniqueAttr_Init
nsslapd-pluginConfigArea: Geheim
"""
AWKS = [awk for awk in ("mawk", "gawk", "original-awk") if shutil.which(awk)] or [None]


@pytest.fixture(params=AWKS, ids=lambda awk: awk or "awk")
def awk(request, tmp_path):
    return {"awk": request.param, "folder": tmp_path}


def test_of_a_dse_ldif_only_settings_are_printed(tmp_path, awk) -> None:
    file = tmp_path / "dse.ldif"
    file.write_text(DSE)
    text = printed("ns_slapd_settings", str(file), **awk)
    hidden(text)
    configuration, indexes = told(text)
    assert (configuration.idle_timeout_seconds, configuration.max_descriptors, configuration.ports) == (
        3600,
        1024,
        (389,),
    )
    (backend,) = indexes.backends
    assert (backend.name, backend.suffixes, indexes.whole) == ("userRoot", ("dc=example,dc=com",), True)
    assert {one.attribute: one.types for one in backend.definitions} == {"uid": {"eq", "sub"}}
    assert searched_by(indexes.internal_searches) == {"uid": "attribute uniqueness"}
    assert configuration.complete
    assert configuration.replication_accounts == ("cn=replicationmanager,cn=config",)
    assert dict(configuration.idle_exemptions) == {"uid=a,dc=example,dc=com": -1}
    assert "7bit" in text, "that a plug-in is there is no secret"


def test_an_ldif_with_other_line_ends_is_no_way_around(tmp_path, awk) -> None:
    file = tmp_path / "dse.ldif"
    file.write_bytes(DSE.replace("\n", "\r\n").encode())
    hidden(printed("ns_slapd_settings", str(file), **awk))


SLAPD_CONF = """# rootpw Geheim
include /etc/ldap/secrets.conf
idletimeout 900
  rootpw Geheim
threads 16 hunter2
database mdb
suffix "dc=example,dc=com"
 rootpw Geheim
ROOTPW {SSHA}hunter2
rootpw
 hunter2
syncrepl rid=001 provider=ldap://a credentials=Geheim
  binddn="cn=replicator,dc=example,dc=com"
  credentials="hunter2 Geheim"
syncrepl rid=2 credentials=Geheim
updatedn cn=updater,dc=example,dc=com Geheim
TLSCertificateKeyFile /etc/Geheim.pem
index uid,mail eq,su
  b
index cn
  rootpw Geheim
index sn eq
  rootpw Geheim
index ou
overlay chain
  rootpw hunter2
chain-idassert-bind bindmethod=simple credentials=hunter2
overlay refint hunter2
refint_attributes member "manager"
  rootpw Geheim
overlay unique
unique_uri "ldap:///ou=people,dc=example,dc=com?uid?sub" Geheim
  hunter2
constraint_attribute userPassword regex Geheim
constraint_attribute l uri ldap:///ou=o,dc=x?l?sub?(st=Geheim)
access to dn="cn=Geheim" by set="[ldap:///dc=x??sub?(&(o=hunter2)(gidNumber=] + user/gidNumber
  + [))]" write
authz-regexp uid=Geheim,cn=auth ldap:///dc=x??sub?(mail=hunter2)
index_substr_any_len 3 hunter2
"""


def test_of_a_slapd_conf_only_first_words_are_printed(tmp_path, awk) -> None:
    file = tmp_path / "slapd.conf"
    file.write_text(SLAPD_CONF)
    text = printed("slapd_conf_settings", str(file), **awk)
    hidden(text)
    configuration, indexes = told(text, path="host/slapd.conf")
    assert (configuration.idle_timeout_seconds, configuration.threads, configuration.complete) == (900, 16, False)
    assert set(configuration.replication_accounts) == {
        "cn=replicator,dc=example,dc=com",
        "cn=updater,dc=example,dc=com",
    }
    (backend,) = indexes.backends
    assert {one.attribute for one in backend.definitions} == {"sn"}, "slapd would refuse the other lines"
    assert indexes.substring_keys.any_len == 3
    assert searched_by(indexes.internal_searches) == {
        "member": "refint",
        "manager": "refint",
        "uid": "unique",
        "l": "constraint",
        "st": "constraint",
        "o": "a set of an access rule",
        "gidnumber": "a set of an access rule",
        "mail": "authz-regexp",
        "entryuuid": "syncrepl",
        "entrycsn": "syncrepl",
    }


def test_of_a_slapd_d_only_settings_are_printed(tmp_path, awk) -> None:
    folder = tmp_path / "slapd.d"
    (folder / "cn=config").mkdir(parents=True)
    (folder / "cn=config.ldif").write_text(
        "# AUTO-GENERATED FILE\ndn: cn=config\nobjectClass: olcGlobal\ncn: config\nolcIdleTimeout: 900\n"
        "olcThreads: 16\n"
        "olcTLSCertificateKeyFile: /etc/Geheim\n"
        "olcAuthzRegexp: {0}uid=Geheim,cn=auth ldap:///dc=x??sub?(mail=hunter2)\n"
    )
    rootpw = base64.b64encode(b"{SSHA}hunter2").decode()
    (folder / "cn=config" / "olcDatabase={1}mdb.ldif").write_text(
        f"dn: olcDatabase={{1}}mdb\nobjectClass: olcMdbConfig\nolcRootPW:: {rootpw}\nolcRootPW: Geheim\n"
        'olcAccess: {0}to dn="cn=Geheim" by set="[ldap:///dc=x??sub?(o=hunter2)]" read\nolcAccess: {1}to * by * none\n'
        "olcSuffix: dc=example,dc=com\nolcDbIndex: uid,ma\n il eq,sub\nolcDbCryptKey: hunter2\n"
        'olcSyncrepl: {0}rid=001 provider=ldap://a bindmethod=simple binddn="cn=repl\n icator,dc=example,dc=com" '
        "credentials=Gehe\n im\nolcSyncrepl:: R2VoZWlt\nolcUpdateDN: cn=updater\n"
    )
    (folder / "cn=config" / "olcDatabase={1}mdb.ldif.bak").write_text("olcIdleTimeout: 1\n")
    (folder / "cn=config" / "olcDatabase={1}mdb").mkdir()
    (folder / "cn=config" / "olcDatabase={1}mdb" / "olcOverlay={0}refint.ldif").write_text(
        "dn: olcOverlay={0}refint\nobjectClass: olcRefintConfig\nolcOverlay: {0}refint\nolcRefintAttribute: member\n"
        "olcRefintModifiersName: Geheim\n"
    )
    (folder / "cn=config" / "olcDatabase={1}mdb" / "olcOverlay={1}chain.ldif").write_text(
        "dn: olcOverlay={1}chain\nolcOverlay: {1}chain\nolcDbIDAssertBind: bindmethod=simple credentials=hunter2\n"
    )
    text = printed("slapd_d_settings", str(folder), known=f"{KNOWN}; openldap_folder=$1", **awk)
    hidden(text)
    configuration, indexes = told(text)
    assert (configuration.idle_timeout_seconds, configuration.threads, configuration.complete) == (900, 16, True)
    assert set(configuration.replication_accounts) == {"cn=replicator,dc=example,dc=com", "cn=updater"}
    (backend,) = indexes.backends
    assert (backend.name, backend.suffixes, indexes.whole) == ("{1}mdb", ("dc=example,dc=com",), True)
    assert {one.attribute: one.types for one in backend.definitions} == {"uid": {"eq", "sub"}, "mail": {"eq", "sub"}}
    assert searched_by(indexes.internal_searches).keys() == {"member", "entryuuid", "entrycsn", "mail", "o"}
    assert "dn: olcOverlay={1}chain,olcDatabase={1}mdb,cn=config\n" in text


def test_of_opendjs_config_only_settings_are_printed(tmp_path, awk) -> None:
    file = tmp_path / "config.ldif"
    file.write_text(
        "dn: cn=config\nobjectClass: ds-cfg-root-config\ncn: config\nds-cfg-idle-time-limit: 5 m\n\n"
        "dn: cn=LDAP,cn=Connection Handlers,cn=config\nobjectClass: ds-cfg-ldap-connection-handler\n"
        "ds-cfg-listen-port: 1389\n"
        "ds-cfg-enabled: true\nds-cfg-key-store-pin: Geheim\n\n"
        "dn: cn=Secret,cn=Virtual Attributes,cn=config\nds-cfg-attribute-type: userPassword\nds-cfg-value: hunter2\n\n"
        "dn: cn=Idle,cn=Virtual Attributes,cn=config\nds-cfg-value: 77\n"
        "ds-cfg-attribute-type: ds-rlim-idle-time-limit\n\n"
        "dn: cn=Directory Manager,cn=Root DNs,cn=config\nuserPassword: {SSHA}Geheim\nds-rlim-idle-time-limit: 0\n\n"
        "dn: ds-cfg-backend-id=userRoot,cn=Backends,cn=config\nobjectClass: ds-cfg-je-backend\n"
        "ds-cfg-backend-id: userRoot\nds-cfg-base-dn: dc=example,dc=com\nds-cfg-cipher-key: Geheim\n\n"
        "dn: cn=Index,ds-cfg-backend-id=userRoot,cn=Backends,cn=config\nobjectClass: ds-cfg-branch\ncn: Index\n\n"
        "dn: ds-cfg-attribute=uid,cn=Index,ds-cfg-backend-id=userRoot,cn=Backends,cn=config\n"
        "objectClass: ds-cfg-backend-index\nds-cfg-attribute: uid\nds-cfg-index-type: equality\n"
        "ds-cfg-index-confidential: hunter2\n"
    )
    text = printed("java_settings", str(file), **awk)
    hidden(text)
    configuration, indexes = told(text)
    (backend,) = indexes.backends
    assert (backend.name, backend.suffixes, indexes.whole) == ("userRoot", ("dc=example,dc=com",), True)
    assert {one.attribute: one.types for one in backend.definitions} == {"uid": {"equality"}}
    assert (configuration.idle_timeout_seconds, configuration.account_idle_timeout_seconds) == (300, 77)
    assert configuration.ports == (1389,)


HAPROXY = """global
  stats socket /run/haproxy.sock mode 600 level admin
userlist people
  user tiger insecure-password hunter2
  user lion password {SSHA}Geheim
defaults
  timeout client 1h
  timeout server 90m
  option httpchk GET /Geheim
  option clitcpka
listen ldap
  bind 10.77.2.1:389 ssl crt /etc/Geheim.pem
  server ds1 10.77.1.2:389 check agent-send hunter2
  stats auth admin:Geheim
  http-request auth realm hunter2
"""


def test_of_a_haproxy_only_addresses_and_timeouts_are_printed(tmp_path, awk) -> None:
    file = tmp_path / "haproxy.cfg"
    file.write_text(HAPROXY)
    text = printed("haproxy_settings", str(file), **awk)
    hidden(text)
    (timeouts,) = facts_of(text, path="host/haproxy.cfg")
    assert [service.seconds for service in timeouts.services] == [3600]
    assert timeouts.services[0].servers == {("10.77.1.2", 389)}


OTHER_FILES = {
    "shadow": "root:$6$Geheim$hunter2:19000:0:99999:7:::\nserver:$6$Geheim:19000::::::\nbind:hunter2:1::::::\n",
    "key": "-----BEGIN PRIVATE KEY-----\nGeheimGeheimGeheim\nhunter2\n-----END PRIVATE KEY-----\n",
    "credentials": "[default]\naws_secret_access_key = Geheim\npassword=hunter2\npassword: hunter2\n",
    "netrc": "machine ds1 login admin password hunter2\n",
    "pin": "Internal (Software) Token:Geheim\n",
}


@pytest.mark.parametrize("function", ["ns_slapd_settings", "slapd_conf_settings", "java_settings", "haproxy_settings"])
@pytest.mark.parametrize("file", OTHER_FILES)
def test_of_a_file_that_is_no_configuration_nothing_is_printed(tmp_path, function, file, awk) -> None:
    """A process may name /etc/shadow as its configuration."""
    (tmp_path / file).write_text(OTHER_FILES[file])
    assert printed(function, str(tmp_path / file), **awk) == ""


def test_where_proc_does_not_tell_an_account_ps_does() -> None:
    assert printed("account_number", "none", known="ps() { test $4 = ruser= && echo ' daemon '; }") == "1\n"
    assert printed("account_number", "none", known="ps() { false; }") == ""
    assert printed("account_number", str(os.getpid())) == f"{os.getuid()}\n"


def test_a_configuration_without_settings_is_no_evidence(tmp_path) -> None:
    file = tmp_path / "dse.ldif"
    file.write_text("dn: cn=x\nuserPassword: Geheim\n")
    assert printed("ns_slapd_settings", str(file)) == ""


def test_a_path_that_was_folded_is_found(tmp_path) -> None:
    file = tmp_path / "dse.ldif"
    file.write_text("dn: cn=config\nnsslapd-errorlog: /var/log/dirsrv/\n slapd-a/errors\nnsslapd-ldapilisten: on\n")
    text = script(MORE_PATH="").rstrip().removesuffix("main")
    body = f"{text}\nTIMEOUT=; SUDO=; slapd_config={file}\ndse_value nsslapd-errorlog; dse_value nsslapd-ldapilisten"
    shown = subprocess.run(["sh", "-c", body], capture_output=True, text=True, check=True)
    assert shown.stdout == "/var/log/dirsrv/slapd-a/errors\non\n"
