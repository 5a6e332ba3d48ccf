"""Names planted in the fields of every format: none is in the anonymised capture, nor in what it has encoded.

In a template N is a name of letters alone, as an ordinary word, and A an address; each is another one.
"""

from __future__ import annotations

import base64
import binascii
import io
import re
from functools import partial
from itertools import count
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

from ldapdiag.evidence.bundle import Gap
from ldapdiag.sources.anonymising.anonymise import Anonymised, anonymise
from ldapdiag.sources.files.input import Input

if TYPE_CHECKING:
    from collections.abc import Iterator

SECRET = b"a secret of this test"
SYLLABLES = ("ba", "du", "fi", "go", "ke", "la", "mo", "ni", "pu", "ri", "su", "te", "vo", "wa", "xi", "zu")
BASE64 = re.compile(rb"[A-Za-z0-9+/]{8,}={0,2}")
LDIF = """dn: o=N
objectClass: organization
o: N
description: N of N
telephoneNumber: N

dn: cn=N N,ou=N N,o=N
cn: N N
sn: N
givenName: N
street: N N
homeDirectory: /home/N/N

dn: cn=config
nsslapd-localuser: N
nsslapd-localhost: N.N.example
nsslapd-instancedir: /usr/lib64/dirsrv/slapd-N
nsslapd-rootdn: cn=N N

dn: cn="o=N",cn=mapping tree,cn=config
cn: o=N
nsslapd-backend: N
nsslapd-parent-suffix: o=N

dn: cn=N,cn=ldbm database,cn=plugins,cn=config
nsslapd-suffix: o=N
nsslapd-directory: /N/N/db

dn: cn=agmt-N,cn=replica,cn=o\\3DN,cn=mapping tree,cn=config
nsDS5ReplicaHost: N.example
nsDS5ReplicaBindDN: cn=N N
description: N N

dn: olcDatabase={1}mdb,cn=config
olcSuffix: o=N
olcRootDN: cn=N N,o=N
olcDbDirectory: /srv/N/db
olcAccess: {0}to dn.subtree="o=N" by dn.exact="cn=N N,o=N" write by group.exact="cn=N" read
olcLimits: {0}dn.exact="cn=N N" size=unlimited
olcAuthzRegexp: {0}"uid=([^,]+),cn=N,cn=auth" "cn=$1,o=N"
olcSyncrepl: {0}rid=001 provider=ldap://N.example binddn="cn=N N,o=N" credentials=N searchbase="o=N" authzid="u:N"

dn: cn=Connection 1,cn=Connections,cn=Monitor
monitorConnectionAuthzDN: cn=N N,o=N
monitorConnectionPeerAddress: IP=A:40000
"""
FILES = {
    "connections.csv": '"LocalAddress","LocalPort","RemoteAddress","RemotePort","State","OwningProcess","ProcessName"\n'
    '"A","389","A","50000","Established","688","N.exe"\n',
    "cn-config.ldif": LDIF,
    "slapd.conf": 'suffix "o=N"\nrootdn "cn=N N,o=N"\ndatabase mdb\ndirectory /N/N\nrootpw N\n'
    'access to dn.subtree="o=N" by dn.exact="cn=N N" write\n',
    "mountinfo.txt": """22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
30 22 0:50 / /srv/N rw,relatime - ceph A:6789,A:6789:/N rw,name=N,secret=<hidden>,fsid=0,acl,mon_addr=A:6789
31 22 0:51 / /srv/a rw,relatime - lustre A@tcp:A@tcp:/N rw,flock,lazystatfs
32 22 0:52 / /srv/b rw,relatime - cifs //N/N rw,vers=3.0,sec=krb5,cruid=0,username=N,domain=N,uid=0,addr=A,user=N
33 22 8:3 / /srv/c rw - xfs /dev/disk/by-path/ip-A:3260-iscsi-iqn.2001-04.com.N:N-lun-1 rw
34 22 0:53 / /srv/d rw - nfs4 N.example:/N/N rw,vers=4.2,addr=A,clientaddr=A
35 22 0:54 / /srv/e rw - fuse.glusterfs N:/N rw,user_id=0
36 22 253:7 / /srv/f rw - ext4 /dev/mapper/N-N rw
37 22 8:4 / /srv/g rw - ext4 /dev/disk/by-label/N rw
38 22 8:5 / /srv/h rw - ext4 /dev/disk/by-id/wwn-0xN rw
39 22 0:55 / /srv/i rw - 9p N rw,aname=/N,trans=virtio
40 22 0:56 / /srv/j rw - overlay overlay rw,lowerdir=/N/N,upperdir=/srv/N
41 22 0:57 / /srv/k rw - afs #N:N.vol rw
""",
    "proc-mounts.txt": "/dev/sda1 / ext4 rw,relatime 0 0\nA,A:/N /srv/a ceph rw,name=N,secret=N 0 0\n"
    "//N/N$ /srv/b cifs rw,username=N,domain=N,addr=A 0 0\nN@N.example:/N /srv/c fuse.sshfs rw,user_id=0 0 0\n",
    "sysfs.txt": """/sys/block/dm-0/dev: 254:0 slaves: sda1  dm/name: N-N  dm/uuid: LVM-N  md/level:
/sys/block/dm-1/dev: 254:1 slaves: sdb  dm/name: N  dm/uuid: mpath-3N  md/level:
/sys/block/dm-2/dev: 254:2 slaves: sdb  dm/name: N  dm/uuid: CRYPT-LUKS2-0-N  md/level:
/sys/block/dm-0/dm/uuid: LVM-N
/sys/block/sda/device/wwid: naa.N
/sys/block/sda/queue/write_cache: write back
""",
    "ss-tanoiep.txt": """State  Recv-Q Send-Q Local Address:Port  Peer Address:Port Process
ESTAB  0      0      A:389  A:40000 users:(("N",pid=7,fd=12)) uid:999 ino:5 sk:1 cgroup:/system.slice/N.service <->
ESTAB  0      0      A:389  A:40001 users:(("N",pid=7,fd=13)) ino:6 sk:2 cgroup:/N.slice/N-N.scope <->
ESTAB  0      0      A:389  N.example:40002 ino:6 sk:3 cgroup:/kubepods.slice/pod_N/N <->
""",
    "show-sess-all.txt": """0x55620e339920: [20/Nov/2026:12:01:08.073714] id=0 proto=tcpv4 source=A:56140
  flags=0x4a, conn_retries=0, conn_exp=<NEVER> conn_et=0x000 srv_conn=0x55620e278c30, pend_pos=(nil) waiting=0 epoch=0
  frontend=N (id=2 mode=tcp), listener=N (id=1) addr=A:389
  backend=N (id=3 mode=tcp) addr=A:51750
  server=N (id=1) addr=A:389
  task=0x55620e464e10 (state=0x00 nice=0 calls=3 rate=0 exp=59m39s tmask=0x1 age=21s)
  scf=0x55620e418c30 flags=0x00000000 state=EST endp=CONN,0x55620e464d20,0x028c0001 sub=1
""",
    "show-sess.txt": "0x55eed01ef920: proto=tcpv4 src=A:39716 fe=N be=N srv=N ts=00 epoch=0 age=22s calls=3 rate=0 "
    "rq[f=848000h,i=0,an=00h,rx=59m39s,wx=,ax=] scf=[8,0h,fd=12] scb=[8,1h,fd=13] exp=59m39s rc=0 c_exp=\n",
    "haproxy.cfg": """global
  user N
  log N.example local0
  stats socket /run/N/N.sock
defaults
  timeout client 1h
  timeout server 90m
frontend N
  bind A:389 name N
  acl N src A
  default_backend N
backend N
  option httpchk GET /N
  server N A:389 check
  server N N.example:389 check
userlist N
  user N password N
listen N
  bind :636
  use_backend N if N
""",
    "slapd.stderr.log": """6b00111e.192c9c34 0x7f9c0d5fe6c0 conn=1000 fd=12 ACCEPT from IP=A:40000 (IP=0.0.0.0:389)
6b00111e.192c9c34 0x7f9c0d5fe6c0 conn=1000 op=0 BIND dn="N" method=128
6b00111e.192c9c34 0x7f9c0d5fe6c0 conn=1000 op=0 BIND dn="cn=N N" method=128
6b00111e.192c9c34 0x7f9c0d5fe6c0 conn=1000 op=0 BIND authcid="N@N" authzid="u:N"
6b00111e.192c9c34 0x7f9c0d5fe6c0 conn=1000 op=0 PROXYAUTHZ dn="N"
6b00111e.192c9c34 0x7f9c0d5fe6c0 conn=1000 op=1 SRCH base="o=N" scope=2 deref=0 filter="(&(cn=N N)(o=N))"
6b00111e.192c9c34 0x7f9c0d5fe6c0 conn=1000 op=1 SEARCH RESULT tag=101 err=34 nentries=0 text=invalid DN N
""",
    "access": """	389-Directory/2.3.1 B2023.1
	N.example:389 (/etc/dirsrv/slapd-N)

[20/Nov/2026:08:45:20.751921248 +0000] conn=7 fd=64 slot=64 connection from A to A
[20/Nov/2026:08:45:20.751921248 +0000] conn=7 op=0 BIND dn="N" method=128 version=3
[20/Nov/2026:08:45:20.751921248 +0000] conn=7 op=0 RESULT err=34 tag=97 nentries=0 etime=0.1 - N N is no DN
[20/Nov/2026:08:45:20.751921248 +0000] conn=7 op=1 BIND dn="cn=N N" method=128 version=3 authzid="u:N"
[20/Nov/2026:08:45:20.751921248 +0000] conn=7 op=2 SRCH base="o=N" scope=2 filter="(cn=N N)" authzid="dn:cn=N N"
[20/Nov/2026:08:45:20.751921248 +0000] conn=7 op=3 MOD dn="cn=N N,o=N"
""",
    "netstat.txt": """Active Internet connections (servers and established)
Proto Recv-Q Send-Q Local Address           Foreign Address         State       PID/Program name
tcp        0      0 A:389          A:40000        ESTABLISHED 7/N
tcp        0      0 N.example:ldap     N:40001        ESTABLISHED 7/N
""",
    "lsof.txt": """COMMAND PID USER   FD   TYPE DEVICE SIZE/OFF NODE NAME
N      7 N    3u  IPv6  35788      0t0  TCP *:389 (LISTEN)
N      7 N    4u  IPv4  35789      0t0  TCP A:636->A:40000 (ESTABLISHED)
""",
    "lsof-F.txt": "p7\nc N\nu0\nL N\nf3\ntIPv6\nPTCP\nn*:389\nTST=LISTEN\nf4\ntIPv4\nPTCP\nnA:389->A:4000\n",
    "macos.txt": """Active Internet connections (including servers)
Proto Recv-Q Send-Q  Local Address Foreign Address (state)     rxbytes txbytes rhiwat shiwat process:pid   state options
tcp4       0      0  A.40001       A.389           ESTABLISHED  6100  3165 131072 132104  N N:2133 00102 00000008 00
""",
    "solaris.txt": """TCP: IPv4
   Local Address        Remote Address      User    Pid       Command     Swind  Send-Q  Rwind  Recv-Q    State
-------------------- -------------------- -------- ------ --------------- ------ ------ ------- ------ -----------
*.389                *.*                  N       2133 N             0      0  128000      0 LISTEN
A.389                A.40001              N       2133 N         49640      0   49640      0 ESTABLISHED
""",
    "windows.txt": """Active Connections

  Proto  Local Address          Foreign Address        State           PID
  TCP    A:389        A:40000     ESTABLISHED     700
  N
 [N.exe]
""",
    "ps.txt": """USER PID                  STARTED STAT COMMAND
N       1171 Sat Nov 20 08:00:02 2026 Ssl  /opt/N/N -D N
N       1172 Sat Nov 20 08:00:02 2026 R    ps
""",
    "iptables-save.txt": """# Generated by iptables-save v1.8.9 (nf_tables) on Mon Nov 23 18:20:11 2026
*filter
:FORWARD DROP [12:720]
:N - [0:0]
-A FORWARD -m set --match-set N src -j N
-A N -s A/32 -p tcp -m comment --comment "N N" -j ACCEPT
-A N -m limit --limit 3/min -j LOG --log-prefix "N "
-A N -m owner --uid-owner N -m comment --comment N -g N
COMMIT
""",
    "nft.txt": """table inet N {
	set N {
		elements = { A, A }
	}
	chain N {
		type filter hook forward priority filter; policy accept;
		ip saddr @N accept comment "N N"
		meta skuid "N" log prefix "N " jump N
	}
}
""",
    "dsconfig.txt": """Property                              : Value(s)
--------------------------------------:------------------------
idle-time-limit                       : 5 m
server-fqdn                           : N.N.example
proxied-authorization-identity-mapper : N N
                                      : N
""",
    "dsconf.txt": """file-descriptor-count  :  1024
idle-timeout           :  none
host-access-dir-path   :  /N/N
suffix                 :  o=N
db-path                :  /srv/N
""",
    "index-status.txt": """\
Index Name          Raw DB Name                    Valid  Confidential  Record Count  Over Entry Limit  95%
-----------------------------------------------------------------------------------------------------------
cn.caseIgnoreMatch  /dc=N,dc=N/cn.caseIgnoreMatch  true   false         20601         0                 0

Index: /dc=N,dc=N/givenName.caseIgnoreSubstringsMatch:6
Over index-entry-limit keys: [N] [N N] [N]
""",
    "errors": """[20/Nov/2026:08:45:20.751921248 +0000] - ERR - accept_and_configure - PR_Accept() failed, error -5971
[20/Nov/2026:08:45:20.751921248 +0000] - ERR - NSMMReplicationPlugin - agmt="cn=agmt-N" (N:389) - bind failed
""",
    "bigip.txt": 'ltm profile tcp /N/N {\n    defaults-from /N/N\n    description "N N"\n    idle-timeout 300\n}\n',
}  # fmt: skip


def planted() -> tuple[dict[str, bytes], list[bytes]]:
    """Return the files with other names in each place, and the names: words and addresses."""
    numbers, names = count(1), list[bytes]()

    def name(found: re.Match[str]) -> str:
        number = next(numbers)
        address = f"10.{number % 200 + 20}.{number // 200 + 30}.{number % 97 + 100}"
        digits = (number * 2654435761 >> shift & 15 for shift in (4, 8, 12, 16))
        names.append((address if found[0] == "A" else "q" + "".join(SYLLABLES[one] for one in digits)).encode())
        return names[-1].decode()

    files = {
        path: re.sub(r"(?<![A-Za-z])(?:N|(?<!-)A)(?![A-Za-z])|(?<=0x)N|(?<=3)N", name, text)
        for path, text in FILES.items()
    }
    monitor = re.sub(r"(?<![A-Za-z])[NA](?![A-Za-z])", name, "1:20261120084520Z:3:3:-:cn=N N,o=N:0:0:0:1:ip=A")
    encoded = base64.b64encode(monitor.encode() + b"\xff").decode()
    files["cn-monitor.ldif"] = f"dn: cn=monitor\nversion: 389-Directory/2.3.1\nconnection:: {encoded}\n"
    return {path: text.encode() for path, text in files.items()}, names


def anonymised(files: dict[str, bytes]) -> Anonymised:
    pieces = [
        Input(path=f"app1/{path}", folder="app1", label=path, source=partial(io.BytesIO, content))
        for path, content in files.items()
    ]
    return anonymise(pieces, secret=SECRET, gaps=[Gap(target="app1", reason="no answer")])


def forms(content: bytes) -> Iterator[bytes]:
    """Yield a content, and what is in it as base64 or percent-encoded."""
    yield content
    yield unquote_to_bytes(content)
    for found in BASE64.findall(content):
        try:
            yield base64.b64decode(found)
        except (binascii.Error, ValueError):
            continue


def test_no_planted_name_is_left() -> None:
    files, names = planted()
    assert len(set(names)) == len(names) > 200
    left = []
    for one in anonymised(files).pieces:
        with one.open() as stream:
            content = stream.read()
        every = b"\n".join(forms(content + f"{one.path} {one.label} {one.folder} {one.asked}".encode())).lower()
        left += [f"{one.path}: {name.decode()} in {line(files[one.name], name)}" for name in names if name in every]
    assert not left, "\n".join(left)


def line(content: bytes, name: bytes) -> str:
    return next((one.decode() for one in content.splitlines() if name in one), "another file")
