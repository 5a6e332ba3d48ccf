"""Names planted in the fields of every format: none is in the anonymised capture, nor in what it has encoded.

In a template N is a name of letters alone, as an ordinary word, and A an address; each is another one.
"""

from __future__ import annotations

import base64
import io
import re
from contextlib import suppress
from functools import partial
from itertools import count
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

import pytest

from ldapdiag.evidence.bundle import Gap
from ldapdiag.sources.anonymising.anonymise import anonymise
from ldapdiag.sources.files.input import Input

if TYPE_CHECKING:
    from collections.abc import Iterator

SECRET = b"a secret of this test"
SYLLABLES = ("ba", "du", "fi", "go", "ke", "la", "mo", "ni", "pu", "ri", "su", "te", "vo", "wa", "xi", "zu")
LATIN = "abdefgiklmnopqrstuvwxz"
SCRIPTS = {"Latin": LATIN, "Cyrillic": "абдефгиклмнопщрстувшхз", "Greek": "αβδεφγικλμνοπϙρστυθωψξ"}
PLACE = r"(?<![A-Za-z])(?:N|(?<!-)A)(?![A-Za-z])|(?<=0x)N|(?<=3)N"
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
olcRootDN: employeeID=N,o=N
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
6b00111e.192c9c34 0x7f9c0d5fe6c0 conn=1000 op=0 BIND dn="employeeID=N N,cn=N"N N,o=N" method=128
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
[20/Nov/2026:08:45:20.751921248 +0000] conn=7 op=4 ADD dn="employeeID=N,ou=N"
[20/Nov/2026:08:45:20.751921248 +0000] conn=7 op=5 DEL dn="cn=N"N N"
[20/Nov/2026:08:45:20.751921248 +0000] conn=7 op=6 SRCH base="N, o=N" scope=2 filter="(cn=N"N N)" attrs="cn"
[20/Nov/2026:08:45:20.751921248 +0000] conn=7 op=6 STAT read index: attribute=uid key(eq)=N --> count 1
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
Proto Recv-Q Send-Q  Local Address Foreign Address (state)     rxbytes txbytes rhiwat shiwat process:pid   state \
options
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
		iifname { "lo", "N0" } accept
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
    "conntrack.txt": """tcp      6 29 ESTABLISHED src=A dst=A sport=41946 dport=389 src=A dst=A sport=389 \
dport=41946 [ASSURED] mark=0 secctx=N_u:object_r:N_t:s0 zone=3 use=1
ipv4     2 tcp      6 117 SYN_SENT src=A dst=A sport=4194 dport=389 [UNREPLIED] src=A dst=A sport=389 dport=4194 \
mark=0 secctx=N use=1 labels=N helper=N
conntrack v1.4.7 (conntrack-tools): 2 flow entries have been shown.
""",
    "conntrack.xml": """<?xml version="1.0" encoding="utf-8"?>
<conntrack>
<flow><meta direction="original"><layer3 protonum="2" protoname="ipv4"><src>A</src><dst>A</dst></layer3><layer4 \
protonum="6" protoname="tcp"><sport>60496</sport><dport>389</dport></layer4></meta><meta \
direction="independent"><state>ESTABLISHED</state><timeout>431997</timeout><mark>0</mark><secctx>N_u:N:s0</secctx>\
<helper>N</helper><labels>N</labels><use>1</use><id>2080597921</id><assured/></meta></flow>
</conntrack>
""",
    "f5.txt": """Sys::Connections
A:49931  A:80  A:49931  A:80  tcp  5  (tmm: 0)  none  none
Total records returned: 1
""",
    "f5-all.txt": """Sys::Connections
A:49931 - A:80 - A:49931 - A:80
---------------------------------------------------------------------
  TMM           0
  Type          any
  Protocol      tcp
  Idle Time     19
  Idle Timeout  300
  Slot          1
  Connection ID N
  Virtual Path  /N/N
  Acceleration  none
Total records returned: 1
""",
    "powershell.csv": \
""""LocalAddress","LocalPort","RemoteAddress","RemotePort","State","OwningProcess","ProcessName","PSComputerName","InstanceID","UserName"
"A","389","A","58862","Established","688","N","N","A++389++A++58862","N\\N"
"A","389","A","58863","N","688","N, N","N","N","face N"
N said N
""",
    "ip-route.txt": """default via A dev N proto static
A/24 dev N proto kernel scope link src A
default proto static metric 20 \\    nexthop via A dev N weight 1 \\ nexthop via A dev N weight 1
10.0.0.0/8 via A dev N table N proto N realm N
unreachable A dev lo metric 1
""",
    "ip-addr.txt": """2: N: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue master N state UP group N default
    link/ether 02:42:ac:11:00:02 brd ff:ff:ff:ff:ff:ff link-netns N
    altname N
    alias N N
    inet A/24 brd A scope global N
    inet A peer A/32 scope global secondary N:N
3: N@N: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP group default
4: N    inet A/24 scope global dynamic noprefixroute N
""",
    "sysctl.txt": """net.ipv4.tcp_keepalive_time = 7200
kernel.hostname = N
kernel.domainname = N.example
net.ipv4.conf.N.forwarding = 1
net.ipv4.neigh.N.gc_stale_time = 60
net/ipv4/conf/N/forwarding = 1
kernel.core_pattern = |/N/N %p
net.ipv4.tcp_congestion_control = cubic
kernel.version = #1 SMP N
""",
    "netlink-host.txt": """ldapdiag-host 1
name: N
system: Linux 6.1.0-18-amd64 x86_64
clock: 2026-11-20T13:00:01.123456789Z
machine: N
address: A
route: default via A dev N
""",
    "processes.txt": """ldapdiag-processes 1
clock: 1795339761.17
process: 1171 N S 1795327433.24 net:[4026532177]
listener: 1171 A 389
configuration: 1171 /N/N/slapd-N/dse.ldif
""",
    "threads.txt": """x86_64
/proc/uptime:86403.18 6114.98
/proc/29/stat:29 (N N) S 0 0 0 0 -1 4194560 4345 0 0 0 0 2 0 0 20 0 1 0 1 1
/proc/29/task/36/stat:36 (N) S 0 0 0 0 -1 4194624 33 0 0 0 0 0 0 0 20 0 1 0 1 1
/proc/29/task/36/wchan:futex_do_wait
""",
    "fd.txt": """total 0
lrwx------ 1 N N 64 Nov 20 10:38 64 -> socket:[545182]
lr-x------ 1 N N 64 Nov 20 10:38 65 -> /N/N N/N
""",
    "uptime-who.txt": "N    tty1  2026-11-20 08:00 (N.example)\n         system boot  2026-11-20 08:00\n",
    "registry.reg": """Windows Registry Editor Version 5.00

[HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Services\\NTDS\\Parameters]
"Expensive Search Results Threshold"=dword:00000001
"Src Root Domain Srv"="N.example"
"Root Domain"="DC=N,DC=N"
"Machine DN Name"="CN=NTDS Settings,CN=N,CN=Servers,CN=N,DC=N"
"DSA Database file"="D:\\\\N\\\\ntds.dit"
"Hierarchy"="N"

[HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Services\\ADAM_N\\Diagnostics]
"15 Field Engineering"=dword:00000005
""",
    "probe.txt": "ldapdiag-probe 1\ntarget: ldap://N\naddress: A\nport: 389\noutcome: refused\nseconds: 0.004\n",
    "probe2.txt": "ldapdiag-probe 1\ntarget: ldapi://%2Frun%2FN%2FN.sock\nport: 0\noutcome: refused\nseconds: 0.004\n",
    "errors-389": """	389-Directory/2.3.1 B2025.016.1616
	N:389 (/etc/dirsrv/slapd-N)

[20/Nov/2026:08:45:18.529737884 +0000] - ERR - accept_thread - Not listening for new connections - too many fds open
[22/Nov/2026:12:50:40.827339230 +0000] - INFO - bdb_db2index - N: Indexing attribute: uid
[22/Nov/2026:12:50:40.827339230 +0000] - INFO - bdb_public_bdb_import_main - import N: Import complete.
[22/Nov/2026:12:50:40.827339230 +0000] - WARN - some_plugin - N is N (N)
[22/Nov/2026:12:50:40.827339230 +0000] - ERR - schema-compat-plugin - warning: no entries set up under cn=N, ou=N,dc=N
[22/Nov/2026:12:50:40.827339230 +0000] - ERR - slapi_ldap_bind - Could not send bind request for id [cn=N N] \
authentication mechanism [SIMPLE]: error -1 (Can't contact LDAP server), system error 107 (Transport endpoint is not \
connected), network error 11 (N, host "N.example:389")
[22/Nov/2026:12:50:40.827339230 +0000] - NOTICE - bdb_start - user N of N
[22/Nov/2026:12:50:40.827339230 +0000] - ERR - dna-plugin - dna_config N N
""",
    "slapd2.log": """Nov 20 09:21:35 N slapd[25675]: fd=127 DENIED from N.example (A)
Nov 20 09:21:35 N slapd[25675]: conn=1 fd=12 ACCEPT from PATH=/N/N (PATH=/N/N)
Nov 20 09:21:35 N slapd[25675]: conn=1 op=1 CMP dn="cn=N N,o=N" attr="cn"
Nov 20 09:21:35 N slapd[25675]: conn=1 op=1 EXT oid=1.3.6.1.4.1.4203.1.11.1 text=N
Nov 20 09:21:35 N slapd[25675]: conn=1 op=1 PASSMOD id="cn=N N" new
Nov 20 09:21:35 N slapd[25675]: conn=1 op=1 MODRDN dn="cn=N N" newrdn="cn=N" newsup="ou=N"
Nov 20 09:21:35 N slapd[25675]: connection_input: conn=1 deferring operation: N
Nov 20 09:21:35 N slapd[25675]: slap_client_connect: URI=ldap://N.example DN="cn=N N" ldap_sasl_bind_s failed (-1)
Nov 20 09:21:35 N slapd[25675]: do_syncrepl: rid=001 N N
Nov 20 09:21:35 N slapd[25675]: N N N
""",
    "access.json": """{"date":"[20/Nov/2026:08:45:20.751921248 +0000] \
","utc_time":"1763628320.1","event":"HEADER","version":"389-Directory/3.1.2 B2025.1","instance":"N","local_time":"x"}
{"local_time":"2026-11-20T08:45:20.751921248 \
+0000","key":"17-1","conn_id":1,"operation":"CONNECTION","fd":64,"slot":64,"client_ip":"A","server_ip":"A","ldapi":false,"haproxied":true,"haproxy_ip":"A"}
{"local_time":"2026-11-20T08:45:20.751921248 \
+0000","key":"17-1","conn_id":1,"op_id":0,"operation":"BIND","bind_dn":"cn=N \
N","version":3,"method":"128","mech":"N","authzid":"u:N"}
{"local_time":"2026-11-20T08:45:20.751921248 \
+0000","key":"17-1","conn_id":1,"op_id":1,"operation":"SEARCH","base_dn":"o=N","scope":2,"filter":"(cn=N \
N)","attrs":["cn"],"authzid":"N"}
{"local_time":"2026-11-20T08:45:20.751921248 \
+0000","key":"17-1","conn_id":1,"op_id":1,"operation":"RESULT","err":34,"msg":"N N","bind_dn":"N"}
{"local_time":"2026-11-20T08:45+0000","conn_id":1,"new":"N N","list":["N",["N N"]],"x":{"y":"N"}}
{"local_time":"2026-11-20T08:45+0000","conn_id":1,"operation":"STAT","stat_key":"eq","stat_key_value":"N"}
{"local_time":"2026-11-20T08:45+0000","conn_id":1,"operation":"ADD","target_dn":"employeeID=N,cn=\\"N\\" N"}
{"local_time":"2026-11-20T08:45:20.751921248 +0000","key":"17-1","conn_id":1,"op_id":2,"new":"N N
{"local_time":"2026-11-20T08:45:20.751921248 \
+0000","key":"17-1","conn_id":1,"op_id":2,"operation":"MODRDN","target_dn":"cn=N,o=N","newrdn":"cn=N N","newsup":"o=N"}
{"local_time":"2026-11-20T08:45:20.751921248 \
+0000","key":"17-1","conn_id":1,"op_id":3,"operation":"CLIENT_CERT","subject":"CN=N,O=N N","issuer":"CN=N"}
{"local_time":"2026-11-20T08:45:20.751921248 \
+0000","key":"17-1","conn_id":1,"op_id":3,"operation":"AUTOBIND","bind_dn":"cn=N","reason":"N","description":"N N"}
""",
    "access-389-b": """	389-Directory/2.3.1 B2023.1
	N.example:389 (/etc/dirsrv/slapd-N)

[20/Nov/2026:08:45:20.751921248 +0000] conn=7 fd=64 slot=64 SSL connection from A to A
[20/Nov/2026:08:45:20.751921248 +0000] conn=7 TLS1.2 256-bit AES; client CN=N N,O=N; issuer CN=N N
[20/Nov/2026:08:45:20.751921248 +0000] conn=7 TLS1.2 client bound as uid=N,o=N
[20/Nov/2026:08:45:20.751921248 +0000] conn=7 TLS1.2 failed to map client certificate to LDAP DN (N N)
[20/Nov/2026:08:45:20.751921248 +0000] conn=7 fd=64 slot=64 connection from local to /N/slapd-N.socket
[20/Nov/2026:08:45:20.751921248 +0000] conn=7 AUTOBIND dn="cn=N N"
[20/Nov/2026:08:45:20.751921248 +0000] conn=7 op=0 BIND dn="" method=sasl version=3 mech=N
[20/Nov/2026:08:45:20.751921248 +0000] conn=7 op=2 CMP dn="cn=N N,o=N" attr="cn"
[20/Nov/2026:08:45:20.751921248 +0000] conn=7 op=2 MODRDN dn="cn=N" newrdn="cn=N N" newsuperior="(null)"
[20/Nov/2026:08:45:20.751921248 +0000] conn=7 op=2 SRCH base="o=N" scope=2 filter="(cn=N N)" attrs="cn sn"
[20/Nov/2026:08:45:20.751921248 +0000] conn=7 op=2 VLV 0:9:N 1:2 (0)
[20/Nov/2026:08:45:20.751921248 +0000] conn=7 op=3 N N
""",
    "access-opendj": """[20/Nov/2026:08:45:20 +0000] CONNECT conn=1 from=A:4000 to=A:389 protocol=LDAP
[20/Nov/2026:08:45:20 +0000] BIND REQ conn=1 op=0 msgID=1 version=3 type=SIMPLE dn="cn=N N"
[20/Nov/2026:08:45:20 +0000] BIND RES conn=1 op=0 msgID=1 result=49 authFailureReason="N N" authDN="uid=N,o=N" etime=1
[20/Nov/2026:08:45:20 +0000] SEARCH REQ conn=1 op=1 msgID=2 base="o=N" scope=wholeSubtree filter="(cn=N N)" \
attrs="cn,sn"
[20/Nov/2026:08:45:20 +0000] SEARCH RES conn=1 op=1 msgID=2 result=0 reason="N N" etime=1 additionalInfo=N
[20/Nov/2026:08:45:20 +0000] MODIFY REQ conn=1 op=1 msgID=2 dn="cn=N N"
[20/Nov/2026:08:45:20 +0000] DISCONNECT conn=1 reason="closed by N" msg="N N"
[20/Nov/2026:08:45:20 +0000] DELETE REQ conn=1 op=2 msgID=3 dn="employeeID=N,cn=N"N N"
""",
    "access-ping": """[20/Nov/2026:08:45:20.121 +0000] CONNECT product="Directory Server" instanceName="N" \
startupID="N" threadID=1 conn=1 from="A" to="A" protocol="LDAP" clientConnectionPolicy="N N"
[20/Nov/2026:08:45:20.121 +0000] BIND RESULT instanceName="N" startupID="N" conn=1 op=0 msgID=1 requesterIP="A" \
requesterDN="cn=N N" version="3" dn="uid=N,o=N" authType="SIMPLE" resultCode=49 message="N N" additionalInfo="N N" \
authFailureReason="N N" etime=1.1 from="A" origin="N" clientConnectionPolicy="N"
[20/Nov/2026:08:45:20.121 +0000] SEARCH RESULT instanceName="N" conn=1 op=1 msgID=2 base="o=N" scope=2 filter="(cn=N \
N)" attrs="cn" resultCode=0 etime=2.1 entriesReturned=1 intermediateClientRequest="app='N' ip=A"
""",
    "access-dsee": """[20/Nov/2026:08:45:20 +0000] conn=7 op=-1 msgId=-1 - fd=20 slot=20 LDAP connection from A:4000 \
to A
[20/Nov/2026:08:45:20 +0000] conn=7 op=0 msgId=1 - BIND dn="cn=N N" method=128 version=3
[20/Nov/2026:08:45:20 +0000] conn=7 op=0 msgId=1 - RESULT err=49 tag=97 nentries=0 etime=0, N N
[20/Nov/2026:08:45:20 +0000] conn=7 op=1 msgId=2 - SRCH base="o=N" scope=2 filter="(cn=N N)" attrs="cn"
[20/Nov/2026:08:45:20 +0000] conn=7 op=2 msgId=3 - DEL dn="employeeID=N,cn=N"N N"
""",
    "access-sdk": """[20/Nov/2026:17:08:00 +0000] CONNECT conn=0 from="A:54254" to="A:23891"
[20/Nov/2026:17:08:00 +0000] BIND REQUEST conn=0 op=0 msgID=1 version=3 dn="cn=N,o=N" authType="SIMPLE"
[20/Nov/2026:17:08:00 +0000] BIND RESULT conn=0 op=0 msgID=1 resultCode=34 diagnosticMessage="no DN 'N"N' as "N N" \
is" etime=1.251
""",
    "access-sdk.json": r"""{ "timestamp":"2026-11-20T17:08:00.330Z", "message-type":"request", \
"operation-type":"bind", "connection-id":0, "operation-id":0, "message-id":1, "dn":"cn=N\\, N,ou=\"N, N\",o=N", \
"authentication-type":"simple" }
{ "timestamp":"2026-11-20T17:08:00.332Z", "message-type":"response", "operation-type":"bind", "connection-id":0, \
"operation-id":0, "message-id":1, "result-code-value":34, "diagnostic-message":"no DN 'N N'" }
""".replace("\\\n", ""),
    "bigip.txt": 'ltm profile tcp /N/N {\n    defaults-from /N/N\n    description "N N"\n    idle-timeout 300\n}\n',
}  # fmt: skip


def planted(letters: str) -> tuple[dict[str, bytes], list[bytes]]:
    """Return the files with other names in each place, and the names: words in these letters, and addresses."""
    numbers, names, script = count(1), list[bytes](), str.maketrans(LATIN, letters)

    def name(found: re.Match[str]) -> str:
        number = next(numbers)
        address = f"10.{number % 100 + 100}.{number // 100 + 30}.{number % 97 + 100}"
        syllables = (SYLLABLES[number * 2654435761 >> shift & 15] for shift in (4, 8, 12, 16))
        names.append((address if found[0] == "A" else f"q{''.join(syllables)}".translate(script)).encode())
        return names[-1].decode()

    files = {
        path: re.sub(PLACE, name, text + "N N\n" * path.startswith(("access", "errors", "slapd.s", "slapd2")))
        for path, text in FILES.items()
    }
    monitor = re.sub(r"(?<![A-Za-z])[NA](?![A-Za-z])", name, "1:20261120084520Z:3:3:-:cn=N N,o=N:0:0:0:1:ip=A")
    encoded = base64.b64encode(monitor.encode() + b"\xff").decode()
    files["cn-monitor.ldif"] = f"dn: cn=monitor\nversion: 389-Directory/2.3.1\nconnection:: {encoded}\n"
    return {path: text.encode() for path, text in files.items()}, names


def forms(content: bytes) -> Iterator[bytes]:
    """Yield a content, and what is in it as base64 or percent-encoded."""
    yield content
    yield unquote_to_bytes(content)
    for found in BASE64.findall(content):
        with suppress(ValueError):
            yield base64.b64decode(found)


@pytest.mark.parametrize("letters", SCRIPTS.values(), ids=SCRIPTS)
def test_no_planted_name_is_left(letters: str) -> None:
    files, names = planted(letters)
    assert len(set(names)) == len(names) > 500
    pieces = [
        Input(path=f"app1/{path}", folder="app1", label=path, source=partial(io.BytesIO, content))
        for path, content in files.items()
    ]
    left = []
    for one in anonymise(pieces, secret=SECRET, gaps=[Gap(target="app1", reason="no answer")]).pieces:
        with one.open() as stream:
            content = stream.read() + f"{one.path} {one.label} {one.folder} {one.asked}".encode()
        every = b"\n".join(forms(content)).decode(errors="replace").lower().encode()
        left += [f"{one.path}: {name.decode()} in {line(files[one.name], name)}" for name in names if name in every]
    assert not left, "\n".join(left)


def line(content: bytes, name: bytes) -> str:
    return next((one.decode() for one in content.splitlines() if name in one), "another file")
