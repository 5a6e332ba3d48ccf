#!/bin/sh
# Before removal: bytecode is of no package, and a folder with it would stay. An upgrade by rpm (1) comes here after the new version
# has compiled its own; one by dpkg comes before that.
[ "$1" != 1 ] || exit 0
[ ! -d /usr/lib/ldapdiag ] || find /usr/lib/ldapdiag -name __pycache__ -type d -prune -exec rm -rf {} +
