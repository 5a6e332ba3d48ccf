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

# tcp(7): tcp_keepalive_time, tcp_keepalive_intvl, tcp_keepalive_probes. They apply only to sockets with SO_KEEPALIVE.
KERNEL_KEEPALIVE_TIME = 7200
KERNEL_KEEPALIVE_INTERVAL = 75
KERNEL_KEEPALIVE_PROBES = 9

# Documentation/networking/nf_conntrack-sysctl.rst: nf_conntrack_tcp_timeout_established, five days.
KERNEL_CONNTRACK_ESTABLISHED = 432_000
