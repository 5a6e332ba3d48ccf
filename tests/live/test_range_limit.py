"""Ranges of 389-ds end at the size limit: with an index, those below a part of the database find too few entries."""

from __future__ import annotations

from lab.directory_servers import INSTANCE, PASSWORD, SUFFIX
from lab.host import Host, wait_for
from lab.odd_directory import BUILDS, INDEXES_389

PEOPLE, PART = 3000, f"ou=b,{SUFFIX}"
READABLE = 'aci: (targetattr="*")(version 3.0; acl "all"; allow (read,search,compare) userdn="ldap:///anyone";)'
INDEX = f"""dn: cn=title,{INDEXES_389}
changetype: add
objectClass: top
objectClass: nsIndex
cn: title
nsSystemIndex: false
nsIndexType: eq

dn: cn=title,{BUILDS}
changetype: add
objectClass: top
objectClass: extensibleObject
cn: title
nsInstance: userroot
ttl: 86400
nsIndexAttribute: title
"""


def entries():
    yield f"dn: {SUFFIX}\nobjectClass: top\nobjectClass: domain\ndc: example\n{READABLE}\n"
    for name in "ab":
        yield f"dn: ou={name},{SUFFIX}\nobjectClass: top\nobjectClass: organizationalUnit\nou: {name}\n"
    for number in range(PEOPLE):
        place = f"ou={'a' if number % 6 else 'b'},{SUFFIX}"
        kinds = "".join(f"objectClass: {one}\n" for one in ("top", "person", "organizationalPerson"))
        yield f"dn: cn=n{number},{place}\n{kinds}cn: n{number}\nsn: s\ntitle: t{number * 7919 % PEOPLE:04}\n"


def test_a_list_ends_at_the_size_limit_unless_it_is_in_an_and(laboratory):
    """The truth: t0300 and later are nine tenths, of 500 below ou=b 450."""
    with Host("ldap") as host:
        server = laboratory.ds389(host)
        server.stop()
        host.run("cat > /run/load.ldif; chmod 644 /run/load.ldif", stdin="\n".join(entries()))
        host.run(["ns-slapd", "ldif2db", "-D", INSTANCE, "-n", "userRoot", "-i", "/run/load.ldif"])
        server.start()

        def found(filter_, base=PART, *options):
            asked = ["ldapsearch", "-x", "-H", "ldap://127.0.0.1", *options, "-LLL", "-b", base, filter_, "1.1"]
            done = host.attempt(asked)
            return done.stdout.count("dn: "), done.returncode

        filters = "(title>=t0300)", "(|(title>=t0300)(title>=t0400))", "(&(objectClass=person)(title>=t0300))"
        assert [found(one) for one in filters] == [(450, 0)] * 3
        server.modify(INDEX)
        wait_for(lambda: "nsTaskExitCode: 0" in server.search(BUILDS, "(cn=title)", "nsTaskExitCode"), "not built")
        cut, either, with_another = (found(one) for one in filters)
        assert cut[0] < 450
        assert either[0] < 450
        assert (cut[1], either[1], with_another) == (0, 0, (450, 0))
        assert found(filters[0], PART, "-D", "cn=Directory Manager", "-w", PASSWORD) == (450, 0)  # without a limit
