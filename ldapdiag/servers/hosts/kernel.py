"""Linux kernel settings: the names that sysctl(8) uses, and the defaults for sockets that set nothing themselves."""

from __future__ import annotations

IP_FORWARD = "net.ipv4.ip_forward"
KEEPALIVE_TIME = "net.ipv4.tcp_keepalive_time"
KEEPALIVE_INTERVAL = "net.ipv4.tcp_keepalive_intvl"
KEEPALIVE_PROBES = "net.ipv4.tcp_keepalive_probes"
CONNTRACK_ESTABLISHED = "net.netfilter.nf_conntrack_tcp_timeout_established"
CONNTRACK_COUNT = "net.netfilter.nf_conntrack_count"
CONNTRACK_MAX = "net.netfilter.nf_conntrack_max"
CONNTRACK_BUCKETS = "net.netfilter.nf_conntrack_buckets"
CONNTRACK_LOOSE = "net.netfilter.nf_conntrack_tcp_loose"
PORT_RANGE = "net.ipv4.ip_local_port_range"
RESERVED_PORTS = "net.ipv4.ip_local_reserved_ports"
REUSE_TIME_WAIT = "net.ipv4.tcp_tw_reuse"
TIMESTAMPS = "net.ipv4.tcp_timestamps"

# tcp(7): tcp_keepalive_time, tcp_keepalive_intvl, tcp_keepalive_probes. They apply only to sockets with SO_KEEPALIVE.
KERNEL_KEEPALIVE_TIME = 7200
KERNEL_KEEPALIVE_INTERVAL = 75
KERNEL_KEEPALIVE_PROBES = 9

# Documentation/networking/nf_conntrack-sysctl.rst: nf_conntrack_tcp_timeout_established, five days.
KERNEL_CONNTRACK_ESTABLISHED = 432_000

# Documentation/networking/ip-sysctl.rst: ip_local_port_range; tcp_tw_reuse (0: off, 1: on, 2: to loopback only).
KERNEL_PORT_RANGE = (32768, 60999)
KERNEL_REUSE_TIME_WAIT = 2
# include/net/tcp.h, TCP_TIMEWAIT_LEN: not a setting.
TIME_WAIT_SECONDS = 60
# nf_nat_core.c, nf_nat_l4proto_unique_tuple(): a source port of 1024 or more is replaced by one of these.
NAT_PORT_RANGE = (1024, 65535)
